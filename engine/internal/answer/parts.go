package answer

import (
	"context"
	"fmt"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// fromTemplate returns the candidate of a release of each period.
func (db *Database) fromTemplate(ctx context.Context, v *view.View, r Request, m *catalog.Template) (released.Candidate, error) {
	if r.Question != sqlfront.Weight {
		return released.Uncounted(r.Question, m.Name, m.Using), nil
	}
	touched, parts := r.Table.Touched(r.Query), v.Parts(m.ID)
	g := released.Growing{Name: m.Name, Kind: m.Using, Columns: m.Columns, Partition: r.Table.Partition,
		Lacks: func(missing period.Ranges) string { return db.lacks(r, m, missing, dropped(m, missing)) },
		Part: func(n int64) (released.Release, query.Query, bool) {
			in, ok := db.within(r, parts[n].Span)
			in.template = m
			return db.releaseOf(in, parts[n]), in.Query, ok
		},
		One: func(ctx context.Context, n int64) (released.Candidate, error) {
			r := r
			r.template = m
			return db.ofRelease(ctx, r, parts[n])
		},
		AsOf: func(n int64) time.Time { return r.asOf(period.Of(period.Only(n)), parts[n].CreatedAt) }}
	var built []period.Range
	for n := range parts {
		built = append(built, period.Only(n))
	}
	g.Built = period.Of(built...)
	if !g.Covers(touched) || touched.Count() == 1 {
		return g.Candidate(ctx, touched, r.Settings)
	}
	c := released.Candidate{Origin: released.FromRelease, Name: m.Name, Kind: m.Using, Columns: m.Columns}
	var of []*catalog.Release
	for n := range touched.Each() {
		if of = append(of, parts[n]); db.unbuilt(parts[n]) {
			c.Origin, c.Note = released.FromScript, "its parts are built before: its error is known then"
			return c, nil
		}
	}
	if _, err := db.loadAll(ctx, r.Table, of); err != nil { // in one transaction
		return c.Failed(err)
	}
	return g.Candidate(ctx, touched, r.Settings)
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
	text := "it has no part for " + released.PeriodNames(p, missing)
	if gone := missing.Intersect(r.Table.Retired); len(gone) > 0 {
		return text + "; " + released.PeriodNames(p, gone) + " is retired"
	}
	last := missing[len(missing)-1].Last
	statement := "REFRESH RELEASE " + syntax.WriteName(m.Name)
	switch {
	case len(dropped) > 0:
		return fmt.Sprintf("%s; %s was dropped: %s builds one part anew", text, released.PeriodNames(p, dropped), view.RefreshPart(m, p, dropped[0].First))
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
	return fmt.Sprintf("%s, which ends at %s: %s builds it then; %s", text, p.End(last).Format(time.RFC3339), statement,
		released.LeftOut(p, r.Table.Columns[r.Table.PeriodColumn].Name, last))
}
