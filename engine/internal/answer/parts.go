package answer

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/post"
	"dpsql/sqlfront/syntax"
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

// partKey names some periods of a table, whose domains never change.
type partKey struct {
	table int64
	over  period.Range
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

// placed is a part of a release with its share of a query.
type placed struct {
	released.Answers
	query query.Query
}

// fromTemplate returns the candidate of a release of each period. The query is cut by period, each
// part answers what lies in its own, and the answers are added: the parts are about different rows,
// and their noise is independent.
func (db *Database) fromTemplate(ctx context.Context, v *view.View, r Request, m *catalog.Template) (released.Candidate, error) {
	c := released.Candidate{Origin: released.FromRelease, Name: m.Name, Kind: m.Using, Columns: m.Columns}
	if r.Question != sqlfront.Weight {
		c = r.uncounted(m.Name, m.Using)
		return c, nil
	}
	touched, parts := r.Table.Touched(r.Query), v.Parts(m.ID)
	var built []period.Range
	for n := range parts {
		built = append(built, period.Only(n))
	}
	if missing := touched.Minus(period.Of(built...)); len(missing) > 0 { // a domain may have 2^60 periods
		c.Refusal = db.lacks(r, m, missing, dropped(m, missing))
		return c, nil
	}
	if hull, _ := touched.Hull(); touched.Count() == 1 {
		in, refusal := db.about(r, hull)
		if refusal != "" {
			c.Refusal = refusal
			return c, nil
		}
		in.template = m
		one, err := db.ofRelease(ctx, in, parts[hull.First])
		one.Name, one.Columns = m.Name, m.Columns
		one.Note = released.JoinNotes(one.Note, "part "+r.Table.Partition.Text(hull))
		return one, err
	}
	for n := range touched.Each() {
		if db.unbuilt(parts[n]) {
			c.Origin, c.Note = released.FromScript, "its parts are built before: its error is known then"
			return c, nil
		}
	}
	var of []*catalog.Release
	for n := range touched.Each() {
		of = append(of, parts[n])
	}
	if _, err := db.loadAll(ctx, r.Table, of); err != nil {
		return c.Failed(err)
	}
	all := make([]placed, 0, len(of))
	support := new(big.Int)
	for n := range touched.Each() {
		p, size, refusal, err := db.place(ctx, r, m, parts[n])
		if err != nil {
			return c.Failed(err)
		}
		if refusal != "" {
			c.Refusal = refusal
			return c, nil
		}
		support.Add(support, size)
		all = append(all, p)
	}
	c.Support = released.SupportSize{M: support}
	c.Note = fmt.Sprintf("%d parts, %s", len(all), names(r.Table.Partition, touched))
	e, err := added(ctx, all, r.Settings.Confidence)
	if err != nil {
		return c.Failed(err)
	}
	c.Margin, c.Known, c.Answer = e.Error.Reach(), e.Verified, released.AnsweredBy(e)
	for n := range touched.Each() {
		if at := r.asOf(period.Of(period.Only(n)), parts[n].CreatedAt); !at.IsZero() { // the running one, at most
			c = c.Dated(at)
		}
	}
	return c.Marked(r.Settings), nil
}

// unbuilt reports whether a release is one that a rehearsed script builds.
func (db *Database) unbuilt(r *catalog.Release) bool {
	if db.rehearsed == nil {
		return false
	}
	_, yes := db.rehearsed.Unbuilt[Unbuilt{syntax.Release, r.ID}]
	return yes
}

// place takes a query to a part of a template. It returns m there, or the reason why the part
// cannot answer.
func (db *Database) place(ctx context.Context, r Request, m *catalog.Template, part *catalog.Release) (p placed, size *big.Int, refusal string, err error) {
	in, ok := db.within(r, part.Span)
	if !ok {
		return p, nil, "", sqlerr.New(sqlerr.Internal, "a part has no values of the query")
	}
	see := kind.Of(part.Using).Cover(in.Query, part.Columns, part.MaxSupport)
	where := ", in " + r.Table.Partition.Text(part.Span)
	if see.Refusal != "" {
		return p, nil, see.Refusal + where, nil
	}
	if waits(part) {
		in.template = m
		return p, nil, interrupted(in, part), nil
	}
	if p.Answers, err = db.Load(ctx, in.Table, part); err != nil {
		return p, nil, "", err
	}
	if see = p.Cover(see); see.Refusal != "" {
		return p, nil, see.Refusal + where, nil
	}
	if p.query, size = see.Query, see.Size.M; size == nil {
		size = new(big.Int)
		if known := released.SupportOf(see.Query); known.M != nil {
			size = known.M
		}
	}
	return p, size, "", nil
}

// waits reports whether a release answers nothing before it is finished.
func waits(r *catalog.Release) bool { return r.Unfinished() && !kind.Of(r.Using).AnswersUnfinished() }

// interrupted says that a release is unfinished, and which statement finishes it.
func interrupted(r Request, rel *catalog.Release) string {
	finish := "the same CREATE RELEASE"
	if r.template != nil {
		finish = view.RefreshPart(r.template, r.Table.Partition, rel.Span.First)
	}
	return "its build was interrupted: " + finish + " goes on with it, and costs nothing"
}

// dropped returns those of several periods without a part that had one. REFRESH builds them anew only
// if they are named.
func dropped(m *catalog.Template, missing period.Ranges) (had period.Ranges) {
	if missing.Count() == 1 { // it is named anyway
		return nil
	}
	return missing.Intersect(m.Ever)
}

// lacks says which parts a query needs and the release does not have, and how it gets them or the
// query does without.
func (db *Database) lacks(r Request, m *catalog.Template, missing, dropped period.Ranges) string {
	p := r.Table.Partition
	text := "it has no part for " + names(p, missing)
	if gone := missing.Intersect(r.Table.Retired); len(gone) > 0 {
		return text + "; " + names(p, gone) + " is retired"
	}
	last := missing[len(missing)-1].Last
	statement := "REFRESH RELEASE " + syntax.WriteName(m.Name)
	switch {
	case len(dropped) > 0:
		return fmt.Sprintf("%s; %s was dropped: %s builds one part anew", text, names(p, dropped), view.RefreshPart(m, p, dropped[0].First))
	case !p.Clocked():
		return fmt.Sprintf("%s: %s builds it", text, view.RefreshPart(m, p, last))
	case missing.Count() == 1 && (p.Closed(last, r.now) || m.Early):
		return fmt.Sprintf("%s: %s builds it", text, view.RefreshPart(m, p, last))
	case p.Closed(last, r.now) || m.Early:
		return text + ": " + statement + " builds what is due"
	}
	if all := r.Table.Periods(); last == all[0].First {
		return fmt.Sprintf("%s, which ends at %s: %s builds it then", text, p.End(last).Format(time.RFC3339), statement)
	}
	first := p.FirstDay(last)
	day := query.DateForm(query.StoredISO)
	return fmt.Sprintf("%s, which ends at %s: %s builds it then; WHERE %s < '%s' leaves it out", text, p.End(last).Format(time.RFC3339), statement,
		r.Table.Columns[r.Table.PeriodColumn].Name, day.Shown(query.Int(first)).Str())
}

// added adds the answers of several parts.
func added(ctx context.Context, all []placed, confidence float64) (released.Estimate, error) {
	queries, parts := make([]query.Query, len(all)), make([]released.Answers, len(all))
	for i, p := range all {
		queries[i], parts[i] = p.query, p.Answers
	}
	ask := func(confidence float64) (released.Estimate, error) {
		return parts[0].Add(ctx, parts, queries, confidence)
	}
	e, err := ask(confidence)
	e.At = func(confidence float64) (post.Interval, error) {
		other, err := ask(confidence)
		return other.Error, err
	}
	return e, err
}
