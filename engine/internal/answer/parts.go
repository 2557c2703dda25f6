package answer

import (
	"context"
	"fmt"
	"math/big"
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
		c = released.Uncounted(r.Question, m.Name, m.Using)
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
