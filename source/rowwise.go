package source

import (
	"slices"

	"dpsql/sqlerr"
)

// rowwise refuses a relation of which a private row could bring about two rows,
// or change what another brings about.
//
// Each row of the relation is made of one row of each leaf, or of NULL for the
// leaves to the right of a LEFT JOIN, and is there if its own rows meet the
// conditions, whatever other private rows there are: of these there is one leaf,
// which stands in no right side. So removing a private row removes the rows made
// of it and no others, and it remains that there is at most one. Two rows made of
// the same private row agree on every leaf: a public leaf is reached by a key, of
// which every column equals a value of leaves on which they agree. Where the
// equality is that of a LEFT JOIN, they agree on all leaves to its left and so on
// whether it has a match.
//
// A UNION ALL has the rows of its parts. A table that is private must stand in
// one of them only.
func (r *relation) rowwise() error {
	if r.private.count() != 1 {
		return mixedf("reads %s", manyNames(r))
	}
	if r.nullable(r.private) {
		return mixedf("has private rows on the right of a LEFT JOIN")
	}
	from := r.privateLeaf()
	if err := from.rowwise(); err != nil {
		return err
	}
	if lost := r.unreached(r.reachedFrom(from)); lost != nil {
		return mixedf("joins %s, but not by = on all columns of a unique key of it", lost.name)
	}
	return nil
}

// rowwise is relation.rowwise for a leaf with private rows.
func (l *leaf) rowwise() error {
	seen := make(map[string]bool)
	for _, p := range l.parts {
		if len(p.groups) > 0 {
			return mixed(p.groups[0].what)
		}
		if p.relation.private == 0 {
			continue
		}
		if err := p.relation.rowwise(); err != nil {
			return err
		}
		for _, table := range p.relation.privateTables() {
			if seen[table] {
				return mixedf("reads %s twice", table)
			}
			seen[table] = true
		}
	}
	return nil
}

// privateTables returns the private tables that are read, each as often as it is.
func (r *relation) privateTables() []string {
	var out []string
	r.each(func(l *leaf) {
		if l.private && l.table != "" {
			out = append(out, l.table)
		}
		for _, p := range l.parts {
			out = append(out, p.relation.privateTables()...)
		}
	})
	return out
}

// manyNames says which private tables are read, where it is not one.
func manyNames(r *relation) string {
	tables := r.privateTables()
	slices.Sort(tables)
	for i := 1; i < len(tables); i++ {
		if tables[i] == tables[i-1] {
			return "the private table " + tables[i] + " twice"
		}
	}
	if len(tables) < 2 {
		return "public tables only"
	}
	return "the private tables " + tables[0] + " and " + tables[1]
}

// nullable reports whether the leaves stand on the right of a LEFT JOIN.
func (r *relation) nullable(l leaves) bool {
	switch {
	case r.leaf != nil:
		return false
	case r.left.leaves.has(l):
		return r.left.nullable(l)
	}
	return r.outer || r.right.nullable(l)
}

// reach is an equality that finds rows of a leaf, once others are known.
type reach struct {
	equality
	after leaves
}

// reaches adds the equalities by which leaves are reached. Those of a LEFT JOIN
// and of its right side hold where there is a match, which all leaves to the left
// decide.
func (r *relation) reaches(after leaves, out []reach) []reach {
	for _, e := range r.where {
		out = append(out, reach{e, after})
	}
	if r.leaf != nil {
		return out
	}
	out = r.left.reaches(after, out)
	if r.outer {
		after |= r.left.leaves
	}
	for _, e := range r.on {
		out = append(out, reach{e, after})
	}
	return r.right.reaches(after, out)
}

// reachedFrom returns the leaves of which at most one row each goes with a row of
// the given one.
func (r *relation) reachedFrom(from *leaf) leaves {
	all := r.reaches(0, nil)
	known, before := from.bit, leaves(0)
	for known != before {
		before = known
		var usable []equality
		for _, e := range all {
			if known.has(e.after) {
				usable = append(usable, e.equality)
			}
		}
		r.each(func(l *leaf) {
			if slices.ContainsFunc(l.keys, func(k key) bool { return k.finds(l, usable, known) }) {
				known |= l.bit
			}
		})
	}
	return known
}

// unreached returns a leaf that is not among those known; nil if there is none.
func (r *relation) unreached(known leaves) *leaf {
	var out *leaf
	r.each(func(l *leaf) {
		if out == nil && !known.has(l.bit) {
			out = l
		}
	})
	return out
}

// Mixes is the refusal of a view that may repeat or mix the rows that it reads,
// in the same words for all readers. What says what of it is not understood to work
// row by row or, with the column of a unit, unit by unit, as in "has a LIMIT".
func Mixes(source, unit, what string) *sqlerr.Error {
	if unit == "" {
		return sqlerr.New(sqlerr.Unsupported, "%s %s: a row of a table could count in it more than once, or change other rows", source, what)
	}
	return sqlerr.New(sqlerr.Unsupported, "%s %s: its rows could be those of several units", source, what)
}
