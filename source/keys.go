package source

import (
	"context"
	"slices"

	"dpsql/query"
	"dpsql/source/definition"
)

// base is a table of the file as its schema declares it.
type base struct {
	columns []field // of no leaf
	rowid   bool    // the number of a row can be named
	keys    []key
}

// key is a list of columns: no two rows of the table have equal values in all.
type key []keyColumn

type keyColumn struct {
	name      string // folded
	collation string // by which values are told apart; "" of integers, for which all are alike
}

const rowidName = "rowid"

// isRowid reports whether a folded name is one of SQLite's for the number of a row.
func isRowid(name string) bool { return name == rowidName || name == "oid" || name == "_rowid_" }

// baseOf reads the columns and keys of a table whose CREATE TABLE is given.
func baseOf(ctx context.Context, q Querier, table, created string) (base, error) {
	var b base
	collations, known := definition.Collations(created, query.FoldName)
	var primary []string
	found, err := q.QueryContext(ctx, `SELECT name, type, pk FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1 ORDER BY cid`, table)
	if err != nil {
		return b, failure(ctx, err, table)
	}
	defer found.Close()
	for found.Next() {
		var column, declared string
		var pk int
		if err := found.Scan(&column, &declared, &pk); err != nil {
			return b, failure(ctx, err, table)
		}
		v := value{column: query.FoldName(column), affinity: affinityOf(declared), collation: binaryCollation}
		if c, ok := collations[v.column]; ok {
			v.collation = c
		}
		if !known {
			v.collation = unknownCollation
		}
		if query.SameName(declared, "any") { // none in a STRICT table, NUMERIC in others
			v.affinity = unknownAffinity
		}
		b.columns = append(b.columns, field{name: v.column, value: v})
		if pk > 0 {
			primary = append(primary, v.column)
		}
	}
	if err := found.Err(); err != nil {
		return b, failure(ctx, err, table)
	}
	found.Close()
	return b, b.readKeys(ctx, q, table, primary)
}

// readKeys reads the unique indexes that are total and over columns. A primary
// key of one column that has no index is the number of the row.
func (b *base) readKeys(ctx context.Context, q Querier, table string, primary []string) error {
	var without bool
	err := q.QueryRowContext(ctx, `SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?`, table).Scan(&without)
	if err != nil {
		return failure(ctx, err, table)
	}
	b.rowid = !without && !slices.ContainsFunc(b.columns, func(f field) bool { return f.name == rowidName })
	if b.rowid {
		b.keys = append(b.keys, key{{name: rowidName}})
	}
	found, err := q.QueryContext(ctx, `SELECT l.seq, l.origin = 'pk', l."unique" AND NOT l.partial, coalesce(x.name, ''), coalesce(x.coll, '')
		FROM pragma_index_list(?, 'main') AS l, pragma_index_xinfo(l.name, 'main') AS x WHERE x.key ORDER BY l.seq, x.seqno`, table)
	if err != nil {
		return failure(ctx, err, table)
	}
	defer found.Close()
	indexed, last := false, -1
	for found.Next() {
		var index int
		var column, collation string
		var pk, total bool
		if err := found.Scan(&index, &pk, &total, &column, &collation); err != nil {
			return failure(ctx, err, table)
		}
		indexed = indexed || pk
		if !total {
			continue
		}
		if index != last {
			b.keys = append(b.keys, nil)
			last = index
		}
		k := &b.keys[len(b.keys)-1]
		*k = append(*k, keyColumn{query.FoldName(column), collation}) // an expression is "", as no column is
	}
	if err := found.Err(); err != nil {
		return failure(ctx, err, table)
	}
	if len(primary) == 1 && !indexed {
		b.keys = append(b.keys, key{{name: primary[0]}})
	}
	return nil
}

// finds reports whether at most one row of the leaf can meet the equalities whose
// other sides the known leaves decide. None is true of a row that has NULL there.
func (k key) finds(l *leaf, equalities []equality, known leaves) bool {
	for _, c := range k {
		met := func(e equality) bool {
			return c.metBy(l, e.left, e.right, e.collation(), known) || c.metBy(l, e.right, e.left, e.collation(), known)
		}
		if !slices.ContainsFunc(equalities, met) {
			return false
		}
	}
	return true
}

// metBy reports whether the comparison of a column with another value is one of
// the key's column that tells stored values apart as the key does. The affinity
// of the other side must not change what is stored, as '01' becomes 1 beside a
// number. BINARY tells apart whatever another collation does.
func (c keyColumn) metBy(l *leaf, column, other value, collation string, known leaves) bool {
	if column.leaf != l || column.column != c.name || !known.has(other.reads) {
		return false
	}
	if c.collation != "" && collation != binaryCollation && collation != c.collation {
		return false
	}
	switch column.affinity {
	case numericAffinity: // what is stored is a number already, or no text that looks like one
		return true
	case textAffinity:
		return other.affinity == textAffinity || other.affinity == noAffinity
	case noAffinity:
		return other.affinity == noAffinity
	}
	return false
}
