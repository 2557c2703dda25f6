package source

import (
	"math/bits"
	"slices"
)

// relation is what a view or a part of one reads: the rows of a leaf, or pairs
// of rows of two relations of which a condition is true. Views and sub-selects
// that only filter and compute are resolved into what they read, so that a
// relation stands for a table, a join, a SELECT and a view alike.
type relation struct {
	leaf        *leaf // nil for a join
	left, right *relation
	outer       bool       // a LEFT JOIN
	on          []equality // of the join's condition: they hold where both sides have a row
	where       []equality // they hold for all rows
	leaves      leaves
	private     leaves // those of the leaves that have private rows
	columns     []field
}

// field is a column of a relation under its name there.
type field struct {
	name  string // folded; "" for an expression without a name
	value value
	twice bool // USING or NATURAL has it from a table to the left: * leaves it out
}

// leaf is one use of a table, or of a SELECT that does more than filter and
// compute. Another use has a leaf of its own.
type leaf struct {
	bit     leaves
	table   string // as the schema spells it; "" for a SELECT
	name    string // for people
	private bool
	keys    []key  // of a table: which of its columns name a row
	parts   []part // of a SELECT: one, or those of a compound
}

// part is one SELECT of a leaf.
type part struct {
	relation *relation
	columns  []field
	groups   []group
}

// group is a way in which a SELECT takes rows together: those that agree on the
// values.
type group struct {
	what string // for people: what follows the view's name
	by   []value
}

// has reports whether the group only takes rows together that agree on v, byte
// by byte.
func (g group) has(v value) bool {
	return slices.ContainsFunc(g.by, func(w value) bool { return w.same(v) && w.collation == binaryCollation })
}

// leaves is a set of leaves, one bit each.
type leaves uint64

const maxLeaves = 64

func (l leaves) has(all leaves) bool { return l&all == all }
func (l leaves) count() int          { return bits.OnesCount64(uint64(l)) }

// value is what an expression gives on a row.
type value struct {
	leaf      *leaf  // the expression is a column of this leaf, passed on as stored; else nil
	column    string // folded
	computed  int    // tells expressions apart that have a name in a sub-select; else 0
	reads     leaves // whose rows decide the value
	affinity  affinity
	collation string // of the column; "" for what is no column; unknownCollation
	collates  bool   // COLLATE stands in the expression
}

const (
	binaryCollation  = "BINARY"
	unknownCollation = "?"
)

// same reports whether two values are the same column of the same leaf.
func (v value) same(w value) bool { return v.leaf != nil && v.leaf == w.leaf && v.column == w.column }

// equal reports whether two values are equal on every row.
func (v value) equal(w value) bool { return v.same(w) || v.computed != 0 && v.computed == w.computed }

// equality is left = right, without COLLATE in it.
type equality struct{ left, right value }

// collation is that by which SQLite compares: of the left side if that is a
// column, else of the right, else BINARY.
func (e equality) collation() string {
	switch {
	case e.left.collation != "":
		return e.left.collation
	case e.right.collation != "":
		return e.right.collation
	}
	return binaryCollation
}

// stored reports whether stored values are compared as they are: none is turned
// into another for it, and 'a' is not 'A'. Such equalities are transitive.
func (e equality) stored() bool {
	return e.left.leaf != nil && e.right.leaf != nil && e.collation() == binaryCollation &&
		e.left.affinity == e.right.affinity && e.left.affinity != unknownAffinity
}

// all returns the equalities that hold for every row. In the right side of a
// LEFT JOIN a row may have NULL in place of everything.
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

// privateLeaf returns the leaf with private rows, of a relation that has one.
func (r *relation) privateLeaf() *leaf {
	var out *leaf
	r.each(func(l *leaf) {
		if l.private {
			out = l
		}
	})
	return out
}
