package postgres

import (
	"context"
	"strconv"
)

// maxParts is the most partitions of which a statement is made.
const maxParts = 256

const partsText = `SELECT n.nspname::text, c.relname::text, c.relkind = 'f', has_table_privilege(c.oid, 'SELECT') AND NOT c.relrowsecurity
	FROM pg_partition_tree($1::oid::regclass) AS p JOIN pg_class AS c ON c.oid = p.relid JOIN pg_namespace AS n ON n.oid = c.relnamespace
	WHERE p.isleaf ORDER BY c.oid`

// parts returns the partitions of a table of which some are on other servers,
// if the user may read each of them. They are read one by one in one statement,
// so that each server counts its own rows: of a statement over the whole table
// the server can leave that to others only where it groups by the key of the
// partitions, and fetches all rows otherwise. Partitions of its own it counts
// best itself.
func (r *reader) parts(ctx context.Context, rel *relation) ([]*relation, error) {
	if rel.kind != 'p' {
		return nil, nil
	}
	var parts []*relation
	foreign, readable := false, true
	err := r.rows(ctx, statement{partsText, texts(strconv.FormatInt(rel.oid, 10)), "dpsql_parts"}, func(row [][]byte) bool {
		parts = append(parts, &relation{schema: string(row[0]), name: string(row[1])})
		foreign = foreign || row[2][0] == 1
		readable = readable && row[3][0] == 1
		return true
	})
	if err != nil || !foreign || !readable || len(parts) > maxParts {
		return nil, err
	}
	return parts, nil
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
