package page

import (
	"context"
	"slices"
	"time"

	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
)

// opened is a release in memory.
type opened struct {
	released.Release
	answers released.Answers
	shown   released.ShownRelease
	part    string // the release of each period that it is a part of
	span    period.Range
	asOf    time.Time // zero if all of its periods had ended
}

// growing is a release of each period.
type growing struct {
	name, using string
	parts       map[int64]opened
	built       period.Ranges
	last        opened
}

// divide reads the periods of the table.
func (t *table) divide() error {
	if t.Periods == nil {
		return nil
	}
	if i := t.Periods.Column; i < 0 || i >= len(t.Columns) || !t.universe.Columns()[i].Domain.Finite() {
		return sqlerr.New(sqlerr.Corrupt, "the periods of %s cannot be read", t.Table.Name)
	}
	c := t.universe.Columns()[t.Periods.Column]
	t.partition, t.parts = &period.Partition{Column: c.Name, By: t.Periods.By, Form: c.Form}, make(map[period.Range]*query.Universe)
	for _, text := range t.Periods.Texts {
		t.partition.Texts = append(t.partition.Texts, string(text))
	}
	return nil
}

// within returns the universe of the rows of some periods; nil if there can be none.
func (t *table) within(over period.Range) *query.Universe {
	u, known := t.parts[over]
	if !known && t.partition != nil {
		u, _ = released.InPeriods(t.universe, t.partition, t.Periods.Column, over)
		t.parts[over] = u
	}
	return u
}

// about returns a query as a release of some periods answers it, or why it does not.
func (t *table) about(q query.Query, span period.Range) (in query.Query, refusal string) {
	if t.partition == nil || q.Universe() != t.universe {
		return q, ""
	}
	if refusal = released.Elsewhere(t.partition, t.touched(q), span); refusal != "" {
		return q, refusal
	}
	u := t.within(span)
	if u == nil {
		return q, released.ErrNowhere
	}
	in, ok := q.Within(u)
	if !ok {
		return q, released.ErrNowhere
	}
	return in, ""
}

// touched returns the periods in which a query counts rows.
func (t *table) touched(q query.Query) period.Ranges { return t.partition.Touched(q, t.Periods.Column) }

// growing returns the releases of each period, in the order of their first parts.
func (t *table) growing() (all []*growing) {
	for _, r := range t.releases {
		if r.part == "" {
			continue
		}
		i := slices.IndexFunc(all, func(g *growing) bool { return g.name == r.part })
		if i < 0 {
			i, all = len(all), append(all, &growing{name: r.part, using: r.Kind.Name(), parts: make(map[int64]opened)})
		}
		g := all[i]
		g.parts[r.span.First], g.last = r, r
		g.built = g.built.Union(period.Ranges{r.span})
	}
	return all
}

// shown returns the release as lists have it.
func (g *growing) shown(t *table) released.ShownGrowing {
	return released.ShownGrowing{Name: g.name, Table: t.Table.Name, Columns: g.last.shown.Columns, Using: g.using,
		Partition: t.partition, Word: t.periodWord(), Built: g.built, Each: g.last.shown.Cost()}
}

// ofRelease returns the candidate of a release for a count.
func (a asked) ofRelease(ctx context.Context, r opened, q query.Query, s released.Settings, explaining bool) (released.Candidate, error) {
	in, refusal := a.table.about(q, r.span)
	if refusal != "" {
		return released.Candidate{Origin: released.FromRelease, Name: r.Name, Kind: r.Kind.Name(), Columns: r.Columns, Refusal: refusal}, nil
	}
	c, err := r.Candidate(ctx, in, s, explaining, a.statement)
	if !r.asOf.IsZero() && a.table.touched(q).Contains(r.span.Last) {
		c = c.Dated(r.asOf)
	}
	return c, err
}

// fromParts returns the candidate of a release of each period for a count.
func (a asked) fromParts(ctx context.Context, g *growing, q query.Query, s released.Settings, explaining bool) (released.Candidate, error) {
	t := a.table
	return released.Growing{Name: g.name, Kind: g.using, Columns: g.last.Columns, Partition: t.partition, Built: g.built, Lacks: t.lacks,
		Part: func(n int64) (released.Release, query.Query, bool) {
			in, ok := q.Within(t.within(period.Only(n))) // of a part that was opened
			return g.parts[n].Release, in, ok
		},
		One: func(ctx context.Context, n int64) (released.Candidate, error) {
			return a.ofRelease(ctx, g.parts[n], q, s, explaining)
		},
		AsOf: func(n int64) time.Time { return g.parts[n].asOf }}.Candidate(ctx, t.touched(q), s)
}

// lacks says which parts a query needs that the page does not have, and how it does without.
func (t *table) lacks(missing period.Ranges) string {
	text := "it has no part for " + released.PeriodNames(t.partition, missing)
	if t.partition.Clocked() {
		text += "; " + released.LeftOut(t.partition, t.partition.Column, missing[len(missing)-1].Last)
	}
	return text
}

// periodWord says what the periods are; "" if there are none.
func (t *table) periodWord() string {
	if t.partition == nil {
		return ""
	}
	return released.PeriodWord(t.partition, t.partition.Column)
}

// unitText names, for people, what is protected.
func (t *table) unitText() string {
	text := released.UnitText(t.Table.Unit, t.MaxRows)
	if t.partition != nil {
		text += ", for " + released.EachPeriod(t.partition, t.partition.Column)
	}
	return text
}
