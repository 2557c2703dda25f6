package source

import (
	"context"
	"math/bits"
	"slices"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/source/definition"
)

// relation is what a view, or a part of one, reads: the rows of a leaf, or those pairs
// of rows of two relations that meet a condition. A view or sub-select that only
// filters and computes is resolved into what it reads. A relation thus stands for a
// table, a join, a SELECT or a view.
type relation struct {
	leaf        *leaf // nil for a join
	left, right *relation
	outer       bool       // a LEFT JOIN
	on          []equality // from the join's condition: true where both sides have a row
	where       []equality // true of all rows
	leaves      leaves
	private     leaves // the leaves with private rows
	columns     []field
}

// field is a column of a relation with its name there.
type field struct {
	name  string // folded; "" for an expression without a name
	value value
	twice bool // merged by USING or NATURAL with a column to the left; * leaves it out
}

// leaf is one use of a table, or of a SELECT that does more than filter and compute.
// Each use has a leaf of its own.
type leaf struct {
	bit     leaves
	table   string // as the schema spells it; "" for a SELECT
	name    string // for messages
	private bool
	keys    []key  // of a table: the sets of columns that identify a row
	parts   []part // of a SELECT: itself, or the parts of a compound
}

// part is one SELECT of a leaf.
type part struct {
	relation *relation
	columns  []field
	groups   []group
}

// group is one way in which a SELECT combines rows: those that agree on the values.
type group struct {
	what   string // for messages, after the view's name
	by     []value
	window bool
}

// has reports whether all rows of a group agree on v, byte by byte.
func (g group) has(v value) bool {
	return slices.ContainsFunc(g.by, func(w value) bool { return w.same(v) && w.collation == binaryCollation })
}

// leaves is a set of leaves, one bit for each.
type leaves uint64

const maxLeaves = 64

func (l leaves) has(all leaves) bool { return l&all == all }
func (l leaves) count() int          { return bits.OnesCount64(uint64(l)) }

// value is the value of an expression on a row.
type value struct {
	leaf      *leaf  // if not nil, the expression is a column of this leaf, passed on as stored
	column    string // folded
	computed  int    // identifies a named expression of a sub-select; else 0
	reads     leaves // the leaves whose rows decide the value
	affinity  affinity
	collation string // of the column; "" for an expression; or unknownCollation
	collates  bool   // the expression has a COLLATE
	joins     int    // how many || can join a text of it, here and below
	forms     forms  // of its values
}

// forms says of which forms the values of an expression are, by the types that the schema declares.
type forms uint8

const (
	integer     forms = 1 << iota // also in a column whose reals are stored as integers where they can be
	real                          // never an integer
	digits                        // texts that begin below the letters, so none of clockWord
	bytes_                        // other texts and blobs
	folded                        // compared by another collation than BINARY
	ofArguments                   // of a function: those of its arguments
	clock                         // of a function: of date and time
	anyForm     = integer | real | digits | bytes_ | folded
)

// formsOf returns the forms of a column or a CAST of a declared type.
func formsOf(declared string) forms {
	switch sqlvalue.AffinityOf(declared) {
	case sqlvalue.Textual:
		return bytes_
	case sqlvalue.Float:
		return real | bytes_
	case sqlvalue.Blob:
		return integer | real | bytes_
	}
	return integer | bytes_
}

// mixed reports whether values can be equal and differ, as 1 and 1.0 or 'a' and 'A' do. SQLite takes
// any of them for all, by a plan that can depend on statistics of all rows.
func (f forms) mixed() bool { return f&folded != 0 || f&integer != 0 && f&real != 0 }

const (
	binaryCollation  = "BINARY"
	unknownCollation = "?"
)

// same reports whether two values are the same column of the same leaf.
func (v value) same(w value) bool { return v.leaf != nil && v.leaf == w.leaf && v.column == w.column }

// equal reports whether two values are equal on every row.
func (v value) equal(w value) bool { return v.same(w) || v.computed != 0 && v.computed == w.computed }

// equality is left = right without a COLLATE.
type equality struct{ left, right value }

// collation returns the collation by which SQLite compares: that of the left side if it
// is a column, else that of the right side if that is one, else BINARY.
func (e equality) collation() string {
	switch {
	case e.left.collation != "":
		return e.left.collation
	case e.right.collation != "":
		return e.right.collation
	}
	return binaryCollation
}

// stored reports whether the comparison takes stored values as they are: it converts
// neither, and 'a' differs from 'A'. Such equalities are transitive.
func (e equality) stored() bool {
	return e.left.leaf != nil && e.right.leaf != nil && e.collation() == binaryCollation &&
		e.left.affinity == e.right.affinity && e.left.affinity != unknownAffinity
}

// all returns the equalities that hold for every row. Those of the right side of a LEFT
// JOIN are left out, because its columns are NULL in a row without a match.
func (r *relation) all() []equality {
	out := slices.Clone(r.where)
	if r.leaf != nil {
		return out
	}
	out = append(out, r.left.all()...)
	if !r.outer {
		out = append(append(out, r.on...), r.right.all()...)
	}
	return out
}

// each calls f with each leaf.
func (r *relation) each(f func(*leaf)) {
	if r.leaf != nil {
		f(r.leaf)
		return
	}
	r.left.each(f)
	r.right.each(f)
}

// privateLeaf returns the leaf with private rows. The relation must have one.
func (r *relation) privateLeaf() *leaf {
	var out *leaf
	r.each(func(l *leaf) {
		if l.private {
			out = l
		}
	})
	return out
}

// base is a table of the file as its schema declares it.
type base struct {
	columns []field // without a leaf
	rowid   string  // the INTEGER PRIMARY KEY, folded; "" if it has none
	keys    []key
}

// key is a list of columns such that no two rows of the table have equal values in all.
type key []keyColumn

type keyColumn struct {
	name      string // folded
	collation string // by which values are told apart; "" for integers, which all collations compare alike
}

// isRowid reports whether a folded name is one of SQLite's names for the rowid.
func isRowid(name string) bool { return name == "rowid" || name == "oid" || name == "_rowid_" }

// baseOf reads the columns and keys of a table from the schema and its CREATE TABLE.
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
		v := value{column: query.FoldName(column), affinity: affinityOf(declared), collation: binaryCollation, joins: joinsOf(created), forms: formsOf(declared)}
		if c, ok := collations[v.column]; ok {
			v.collation = c
		}
		if !known {
			v.collation = unknownCollation
		}
		if query.SameName(declared, "any") { // none in a STRICT table, NUMERIC in others
			v.affinity = unknownAffinity
		}
		if v.collation != binaryCollation {
			v.forms |= folded
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

// readKeys reads the unique indexes that cover all rows and have only columns. A
// primary key of one column without an index is the rowid.
func (b *base) readKeys(ctx context.Context, q Querier, table string, primary []string) error {
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
		b.rowid = primary[0]
		b.keys = append(b.keys, key{{name: b.rowid}})
	}
	return nil
}

// finds reports whether at most one row of the leaf can meet the equalities whose other
// sides the known leaves decide. A NULL meets none.
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

// metBy reports whether comparing column with other is comparing the key's column, in
// such a way that it tells stored values apart as the key does. The affinity of the
// other side must not change the stored value, as '01' becomes 1 beside a number.
// BINARY tells apart whatever another collation does.
func (c keyColumn) metBy(l *leaf, column, other value, collation string, known leaves) bool {
	if column.leaf != l || column.column != c.name || !known.has(other.reads) {
		return false
	}
	if c.collation != "" && collation != binaryCollation && collation != c.collation {
		return false
	}
	switch column.affinity {
	case numericAffinity: // stored values are numbers, or texts that do not look like one
		return true
	case textAffinity:
		return other.affinity == textAffinity || other.affinity == noAffinity
	case noAffinity:
		return other.affinity == noAffinity
	}
	return false
}
