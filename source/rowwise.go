package source

import (
	"slices"

	"dpsql/sqlerr"
)

// rowwise refuses a relation in which one private row could bring about two rows, or
// change a row that another private row brings about.
//
// Each row of the relation is made of one row of each leaf, or of NULL for the leaves
// on the right of a LEFT JOIN. It is there if its own rows meet the conditions,
// whatever other private rows there are, because only one leaf is private and it stands
// in no right side. So removing a private row removes the rows made of it and no
// others. It remains to show that there is at most one. Two rows made of the same
// private row agree on every leaf: a public leaf is reached by a key, and every column
// of the key equals a value of leaves on which they agree. If the equality is that of a
// LEFT JOIN, they agree on all leaves to its left and so on whether it has a match.
//
// A UNION ALL has the rows of its parts. A private table may stand in only one of them.
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

// privateTables returns the names of the private tables that are read, one for each
// use.
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

// manyNames says which private tables are read, when there is not exactly one.
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

// nullable reports whether any of the leaves stands on the right of a LEFT JOIN.
func (r *relation) nullable(l leaves) bool {
	switch {
	case r.leaf != nil:
		return false
	case r.left.leaves.has(l):
		return r.left.nullable(l)
	}
	return r.outer || r.right.nullable(l)
}

// reach is an equality that finds rows of a leaf once the leaves in after are known.
type reach struct {
	equality
	after leaves
}

// reaches appends the equalities by which leaves are reached. Those of a LEFT JOIN and
// of its right side hold only if there is a match, which all leaves to the left decide.
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

// reachedFrom returns the leaves that have at most one row for each row of the given
// leaf.
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

// unreached returns a leaf that is not among the known ones, or nil if there is none.
func (r *relation) unreached(known leaves) *leaf {
	var out *leaf
	r.each(func(l *leaf) {
		if out == nil && !known.has(l.bit) {
			out = l
		}
	})
	return out
}

// Mixes returns the refusal of a view that may repeat or mix the rows that it reads.
// All readers use its words. unit is the unit's column, or "" without one. what is the
// predicate for the part that is not understood to work row by row, or unit by unit, as
// in "has a LIMIT".
func Mixes(source, unit, what string) *sqlerr.Error {
	if unit == "" {
		return sqlerr.New(sqlerr.Unsupported, "%s %s: a row of a table could count in it more than once, or change other rows", source, what)
	}
	return sqlerr.New(sqlerr.Unsupported, "%s %s: its rows could be those of several units", source, what)
}
