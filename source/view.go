package source

import (
	"context"
	"fmt"
	"slices"

	"dpsql/query"
	"dpsql/source/definition"
)

// maxViews bounds the depth of views over views.
const maxViews = 50

// definer resolves the definition of a view, and of the views below it, into a
// relation. It refuses what it does not understand.
type definer struct {
	ctx     context.Context
	q       Querier
	source  string
	public  func(table string) bool
	objects map[string]object // tables and views by folded name
	bases   map[string]base   // the tables read so far, by folded name
	reads   map[string]bool   // the tables named in definitions, as the schema spells them
	leaves  int
	numbers int // the number of the last computed field
	views   int // the depth of views being resolved
}

// understood refuses a view as the source of a table unless it understands the view to
// work row by row or, with a unit, unit by unit. The bases are the tables that the
// compiled view reads. If one of them was not found in the text, then the text was read
// differently from SQLite, and the view is refused.
//
// With periods it must work row by row, even if it has a unit. understood returns what the view
// reads.
func understood(ctx context.Context, q Querier, t Table, view object, objects map[string]object, bases []string) (*relation, error) {
	d := &definer{ctx: ctx, q: q, source: view.name, objects: objects, bases: make(map[string]base), reads: make(map[string]bool), public: func(table string) bool {
		return slices.ContainsFunc(t.Public, func(p string) bool { return query.SameName(p, table) })
	}}
	r, err := d.view(view)
	switch {
	case err != nil:
	case slices.ContainsFunc(bases, func(b string) bool { return !d.reads[b] }):
		err = mixedf("reads more than is understood")
	case r.private == 0: // every table is public, which the caller checks
	case t.Unit == "" || t.Period != nil:
		err = r.rowwise()
	default:
		err = r.unitwise(t.Unit)
	}
	m, ok := err.(mixed)
	switch {
	case !ok:
		return r, err
	case t.Period != nil:
		return nil, MixesPeriods(view.name, string(m))
	case t.Unit == "":
		return nil, Mixes(view.name, "", string(m)).WithHint("without a unit a view takes columns and conditions of one table, and joins public tables by = on a key; " +
			"with WITH (…, unit = …, max_rows = …) it may join and group by the unit's column")
	}
	return nil, Mixes(view.name, t.Unit, string(m)).WithHint("join its private tables by = on their columns of the unit, and group by the unit, too")
}

// mixed is an error: the predicate of a sentence whose subject is the view.
type mixed string

func (m mixed) Error() string { return string(m) }

func mixedf(format string, args ...any) error { return mixed(fmt.Sprintf(format, args...)) }

// environment has the common table expressions in scope.
type environment struct {
	ctes   []definition.CTE
	busy   map[string]bool
	around *environment
}

// find returns the common table expression of a name, and the environment in which its
// own names are resolved.
func (e *environment) find(name string) (*definition.CTE, *environment) {
	for ; e != nil; e = e.around {
		for i := range e.ctes {
			if query.SameName(e.ctes[i].Name, name) {
				return &e.ctes[i], e
			}
		}
	}
	return nil, nil
}

// table resolves a table or view of the schema.
func (d *definer) table(name string) (*relation, *value, error) {
	o, ok := d.objects[query.FoldName(name)]
	switch {
	case !ok:
		return nil, nil, mixedf("reads %s, which is no table or view of the file", name)
	case o.kind == "view":
		r, err := d.view(o)
		return r, nil, err
	}
	return d.base(o)
}

// base makes a leaf of a table. It also returns the value of its rowid, if that is a column. Any
// other rowid is of the storage: VACUUM numbers it anew by the rows before it.
func (d *definer) base(o object) (*relation, *value, error) {
	b, ok := d.bases[o.name]
	if !ok {
		var err error
		if b, err = baseOf(d.ctx, d.q, o.name, o.text); err != nil {
			return nil, nil, err
		}
		d.bases[o.name] = b
	}
	d.reads[o.name] = true
	r, err := d.leaf(&leaf{table: o.name, name: o.name, private: !d.public(o.name), keys: b.keys})
	if err != nil {
		return nil, nil, err
	}
	var rowid *value
	for _, f := range b.columns {
		f.value.leaf, f.value.reads = r.leaf, r.leaves
		r.columns = append(r.columns, f)
		if f.name == b.rowid && b.rowid != "" {
			rowid = &f.value
		}
	}
	return r, rowid, nil
}

// leaf gives a leaf its bit.
func (d *definer) leaf(l *leaf) (*relation, error) {
	if d.leaves == maxLeaves {
		return nil, mixedf("reads more than %d tables", maxLeaves)
	}
	l.bit = 1 << d.leaves
	d.leaves++
	r := &relation{leaf: l, leaves: l.bit}
	if l.private {
		r.private = l.bit
	}
	return r, nil
}

// view resolves a view. The names of its columns come from the schema.
func (d *definer) view(o object) (*relation, error) {
	if d.views++; d.views > maxViews {
		return nil, mixedf("stands on more than %d views", maxViews)
	}
	defer func() { d.views-- }()
	parsed, err := definition.ParseView(o.text)
	if err != nil {
		return nil, mixedf("has in %s a form that is not understood", o.name)
	}
	r, _, err := d.query(parsed.Select, nil, nil)
	if err != nil {
		return nil, err
	}
	names, err := columnNames(d.ctx, d.q, o.name)
	if err != nil {
		return nil, err
	}
	return r, r.rename(names)
}

// rename names the columns. It returns an error if the number of names differs.
func (r *relation) rename(names []string) error {
	if len(names) != len(r.columns) {
		return mixedf("has columns that are not understood")
	}
	for i, name := range names {
		r.columns[i].name = columnName(query.FoldName(name), i)
	}
	return nil
}

// query resolves a SELECT. It also returns the leaves of surrounding SELECTs that it
// reads.
func (d *definer) query(s *definition.Select, e *environment, around *scope) (*relation, leaves, error) {
	if len(s.With) > 0 {
		e = &environment{ctes: s.With, busy: make(map[string]bool), around: e}
	}
	if len(s.Cores) > 1 && slices.ContainsFunc(s.OrderBy, func(x *definition.Expr) bool { return x.Kind > definition.Literal || x.Args != nil }) {
		return nil, 0, mixedf("orders a compound by an expression")
	}
	l := &leaf{name: "a sub-select"}
	var outside leaves
	for i, c := range s.Cores {
		var order []*definition.Expr
		if len(s.Cores) == 1 {
			order = s.OrderBy
		}
		p, out, err := d.core(c, order, e, around)
		if err != nil {
			return nil, 0, err
		}
		if i > 0 && len(p.columns) != len(l.parts[0].columns) {
			return nil, 0, mixedf("has columns that are not understood")
		}
		outside |= out
		l.private = l.private || p.relation.private != 0
		l.parts = append(l.parts, p)
	}
	l.compound(s)
	if what := l.mixes(); what != "" {
		return nil, 0, errAlike(d.source, what)
	}
	if len(l.parts) == 1 && len(l.parts[0].groups) == 0 {
		r := *l.parts[0].relation
		r.columns = l.parts[0].columns
		return &r, outside, nil
	}
	r, err := d.leaf(l)
	if err != nil {
		return nil, 0, err
	}
	for i, f := range l.parts[0].columns {
		r.columns = append(r.columns, field{name: f.name, value: l.column(i)})
	}
	return r, outside, nil
}

// compound records how a compound's operators, and its LIMIT, combine rows.
func (l *leaf) compound(s *definition.Select) {
	for _, operator := range s.Operators {
		if operator == "UNION ALL" {
			continue
		}
		for i := range l.parts {
			l.parts[i].groups = append(l.parts[i].groups, group{what: "combines rows by " + operator, by: values(l.parts[i].columns)})
		}
	}
	if s.Limited {
		for i := range l.parts {
			l.parts[i].groups = append(l.parts[i].groups, group{what: "has a LIMIT"})
		}
	}
}

// mixes names a way in which private rows are combined by values that can be equal and differ. It
// returns "" if there is none. A window shows none of the values that it divides by.
func (l *leaf) mixes() string {
	for _, p := range l.parts {
		for _, g := range p.groups {
			for i, v := range g.by {
				if len(l.parts) > 1 && len(g.by) == len(p.columns) {
					v.forms |= l.column(i).forms
				}
				if v.forms.mixed() && l.private && !g.window {
					return g.what
				}
			}
		}
	}
	return ""
}

func values(columns []field) []value {
	out := make([]value, len(columns))
	for i, f := range columns {
		out[i] = f.value
	}
	return out
}

// column returns the value of a column of a leaf that is a SELECT. The column is named
// by its position, and has the affinity and collation on which all parts agree.
func (l *leaf) column(i int) value {
	v := l.parts[0].columns[i].value
	for _, p := range l.parts[1:] {
		w := p.columns[i].value
		if w.affinity != v.affinity {
			v.affinity = unknownAffinity
		}
		if w.collation != v.collation {
			v.collation = unknownCollation
		}
		v.joins, v.forms = max(v.joins, w.joins), v.forms|w.forms
	}
	if v.leaf == nil {
		v.affinity, v.collation = unknownAffinity, unknownCollation
	}
	return value{leaf: l, column: fmt.Sprint(i), reads: l.bit, affinity: v.affinity, collation: v.collation, joins: v.joins, forms: v.forms}
}
