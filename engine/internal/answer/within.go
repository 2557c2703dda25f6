package answer

import (
	"fmt"
	"slices"
	"time"

	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/query"
	"dpsql/sqlfront"
)

// begun cuts what was bound to the periods that have begun: rows of later ones count nowhere. So
// nothing about them is read, bought or stored. Groups that are only of later periods are left
// out. It depends on the clock and the declaration alone.
func begun(t *view.Table, b *sqlfront.Bound, now time.Time) error {
	if !t.Partition.Clocked() {
		return nil
	}
	all := t.Periods()
	some := t.Begun(now)
	if all.Within(some) {
		return nil
	}
	u, none := t.Universe, query.None(t.Universe)
	in := query.Where(u, t.PeriodColumn, t.Partition.Set(t.Columns[t.PeriodColumn].Domain, some))
	width := b.Width()
	set, left := 0, 0
	if len(b.Sets) > 0 {
		left = b.Sets[0]
	}
	queries, groups := b.Queries[:0:0], b.Groups[:0:0]
	sets := slices.Clone(b.Sets)
	for g, keys := range b.Groups {
		for left == 0 {
			set++
			left = b.Sets[set]
		}
		left--
		lost := len(keys) > 0 && width > 0
		cut := make([]query.Query, width)
		for k := range width {
			q := b.Queries[g*width+k]
			var err error
			if cut[k], err = q.And(in); err != nil {
				return err
			}
			lost = lost && cut[k].Equal(none) && !q.Equal(none)
		}
		if lost {
			sets[set]--
			continue
		}
		queries, groups = append(queries, cut...), append(groups, keys)
	}
	b.Queries, b.Groups, b.Sets, b.Slots = queries, groups, sets, slices.Clone(b.Slots)
	for k := range b.Slots {
		var err error
		if b.Slots[k].Base, err = b.Slots[k].Base.And(in); err != nil {
			return err
		}
	}
	return nil
}

// within returns the request about the rows of some periods alone. It is false if none of them
// can have a row, or if the query counts rows of others.
func (db *Database) within(r Request, over period.Range) (Request, bool) {
	t := r.Table
	if over == t.Part || !t.HasPeriods() {
		return r, over == t.Part
	}
	u := db.universes.get(partKey{t.ID, over}, func() *query.Universe {
		part, some := t.Within(over)
		if !some {
			return nil
		}
		return part.Universe
	})
	if u == nil {
		return r, false
	}
	part := *t
	part.Universe, part.Columns, part.Part, part.NHat = u, u.Columns(), over, t.RowCount(over)
	var ok bool
	if r.whole == nil {
		whole := r.Query
		r.whole = &whole
	}
	r.Table = &part
	r.Query, ok = r.Query.Within(u)
	return r, ok
}

// asPart makes r a request for a query over all periods of the table whose part r is about, with
// no rows of others: its support is cut to those.
func (r Request) asPart(sets []query.ColumnSet) Request {
	u := r.whole.Universe()
	t := r.Table
	d := u.Columns()[t.PeriodColumn].Domain
	if !slices.ContainsFunc(sets, func(s query.ColumnSet) bool { return s.Column == t.PeriodColumn }) {
		sets = append(sets, query.ColumnSet{Column: t.PeriodColumn, Set: t.Partition.Set(d, period.Ranges{t.Part})})
		slices.SortFunc(sets, func(a, b query.ColumnSet) int { return a.Column - b.Column })
	}
	whole := query.Conjunction(u, sets)
	r.whole = &whole
	r.Query, _ = whole.Within(t.Universe)
	return r
}

// names lists periods for people.
func names(p *period.Partition, all period.Ranges) string {
	const most = 4
	text := ""
	for i, r := range all {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, period.Ranges(all[i:]).Count())
		}
		if i > 0 {
			text += ", "
		}
		text += p.Text(r)
	}
	return text
}

// about returns the request as a release or mechanism of some periods answers it, or the reason
// why it does not: it knows no rows of other periods.
func (db *Database) about(r Request, span period.Range) (_ Request, refusal string) {
	switch {
	case !r.Table.HasPeriods():
		return r, ""
	case span == period.All: // see catalog.Mechanism.Charged
		return r, "an earlier dpsql stored it as one of all periods, and it is of one: drop it"
	}
	if missing := r.Table.Touched(r.Query).Minus(period.Ranges{span}); len(missing) > 0 {
		return r, fmt.Sprintf("it has no rows of %s, only of %s", names(r.Table.Partition, missing), r.Table.Partition.Text(span))
	}
	in, ok := db.within(r, span)
	if !ok {
		return r, "it has no rows of these periods"
	}
	return in, ""
}
