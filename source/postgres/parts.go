package postgres

import "context"

// maxParts is the most partitions of which a statement is made, and manyRows
// the least rows, by the server's estimate, that are worth several connections.
const (
	maxParts = 256
	manyRows = 1_000_000
)

const partsText = `SELECT n.nspname::text, c.relname::text, c.relkind = 'f', has_table_privilege(c.oid, 'SELECT') AND NOT c.relrowsecurity,
		greatest(c.reltuples, 0)::int8
	FROM pg_partition_tree($1::oid::regclass) AS p JOIN pg_class AS c ON c.oid = p.relid JOIN pg_namespace AS n ON n.oid = c.relnamespace
	WHERE p.isleaf ORDER BY c.reltuples DESC, c.oid`

// divide finds the partitions of a table that are read instead of it, if the
// user may read each of them.
//
// Where some are on other servers they are read one by one in one statement, so
// that each server counts its own rows: of a statement over the whole table the
// server can leave that to others only where it groups by the key of the
// partitions, and fetches all rows otherwise. Where all are here and large,
// several connections share them.
func (r *reader) divide(ctx context.Context, rel *relation) error {
	if rel.kind != 'p' {
		return nil
	}
	var parts []*relation
	foreign, readable, rows := false, true, int64(0)
	err := r.rows(ctx, statement{partsText, texts(rel.number()), "dpsql_parts"}, func(row [][]byte) bool {
		parts = append(parts, &relation{schema: string(row[0]), name: string(row[1])})
		foreign = foreign || row[2][0] == 1
		readable = readable && row[3][0] == 1
		rows += int8Of(row[4])
		return true
	})
	rel.leaves = len(parts)
	switch {
	case err != nil || !readable:
	case foreign && len(parts) <= maxParts:
		rel.parts = parts
	case !foreign && len(parts) > 1 && rows >= manyRows:
		rel.shares = parts
	}
	return err
}

// sources returns what the rows are read from: the parts, or the relation.
func (rel *relation) sources() []string {
	if len(rel.parts) == 0 {
		return []string{rel.from()}
	}
	out := make([]string, len(rel.parts))
	for i, p := range rel.parts {
		out[i] = p.from()
	}
	return out
}
