package answer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlfront"
	"dpsql/sqlfront/post"
	"dpsql/sqlfront/syntax"
)

// candidates lists the ways to answer a request, usable or not: stored answers,
// releases, mechanisms, and a direct answer. Only EXPLAIN needs those that SET
// mechanism excludes.
func (db *Database) candidates(ctx context.Context, v *view.View, r Request) ([]released.Candidate, error) {
	if r.Query.Equal(query.None(r.Table.Universe)) {
		return []released.Candidate{released.Empty()}, nil
	}
	if r.Question == sqlfront.Order {
		return db.distributions(ctx, v, r)
	}
	all, err := db.stored(ctx, v, r)
	if err != nil {
		return nil, err
	}
	all = slices.Grow(all, len(v.Releases)+len(v.Mechanisms)+1)
	for i := range v.Releases {
		rel := &v.Releases[i]
		if rel.TableID == r.Table.ID && rel.Template == 0 && r.considers(rel.Using, rel.Name) {
			if r.Question != sqlfront.Weight {
				c, err := db.notLinear(ctx, r, rel)
				if err != nil {
					return nil, err
				}
				all = append(all, c)
				continue
			}
			c, err := db.ofRelease(ctx, r, rel)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	for i := range v.Templates {
		m := &v.Templates[i]
		if m.TableID == r.Table.ID && r.considers(m.Using, m.Name) {
			c, err := db.fromTemplate(ctx, v, r, m)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	for i := range v.Mechanisms {
		m := &v.Mechanisms[i]
		if m.TableID == r.Table.ID && r.considers("smw", m.Name) {
			if r.Question != sqlfront.Weight {
				all = append(all, r.uncounted(m.Name, "smw"))
				continue
			}
			c, unbuilt, err := db.rehearsed.candidate(r, Unbuilt{syntax.Mechanism, m.ID}, m.Name, "smw", m.Columns)
			if !unbuilt {
				c, err = db.fromMechanism(v, r, m)
			}
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	if column, ok := r.unlisted(); ok {
		c, ok, err := db.rest(ctx, v, r, column)
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, c)
		}
	}
	if r.Table.Source == "" || !r.considers("direct", "direct") { // an exported release has no rows to count
		return all, nil
	}
	return append(all, db.direct(v, r)), nil
}

// mostUnlisted bounds the columns that rest takes apart: for n of them there are 2^n parts.
const mostUnlisted = 3

// unlisted returns the first column without a domain that the query depends on, if its support is
// infinite: then it has weights for texts that it does not name. It is false for too many columns,
// and for a question that is no linear query.
func (r Request) unlisted() (column int, ok bool) {
	if r.Question == sqlfront.Weight && r.Table.Universe.Size() == nil && released.SupportOf(r.Query).Infinite {
		columns := slices.DeleteFunc(r.Query.Columns(), func(c int) bool { return r.Table.Columns[c].Domain.Finite() })
		if n := len(columns); n > 0 && n <= mostUnlisted {
			return columns[0], true
		}
	}
	return 0, false
}

// ofRelease returns the candidate of a release for a count, also of one that a rehearsed script
// creates.
func (db *Database) ofRelease(ctx context.Context, r Request, rel *catalog.Release) (released.Candidate, error) {
	asOf := r.asOf(r.Table.Touched(r.Query), rel.CreatedAt)
	r, refusal := db.about(r, rel.Span)
	if refusal != "" {
		return released.Candidate{Origin: released.FromRelease, Name: rel.Name, Kind: rel.Using, Columns: rel.Columns, Refusal: refusal}, nil
	}
	c, unbuilt, err := db.rehearsed.candidate(r, Unbuilt{syntax.Release, rel.ID}, rel.Name, rel.Using, rel.Columns)
	if unbuilt {
		return c, err
	}
	c, err = db.releaseOf(r, rel).Candidate(ctx, r.Query, r.Settings, r.Explaining, r.statement)
	return c.Dated(asOf), err
}

// text returns the question about the query in canonical form, by which its answers are
// stored. A query begins with a weight or with the name of a column, and none has a colon
// behind it, so no two questions have one text.
func (r Request) text() string {
	switch r.Question {
	case sqlfront.Units:
		return "units: " + r.named().String()
	case sqlfront.Order:
		return fmt.Sprintf("order of column %d: %s", r.column, r.named())
	case sqlfront.DistinctValues:
		return fmt.Sprintf("values of column %d: %s", r.column, r.named())
	}
	return r.named().String()
}

// digestOf identifies a question about the records of a query.
func digestOf(q query.Query, question sqlfront.Question, column int) [32]byte {
	d := q.Digest()
	if question == sqlfront.Weight {
		return d
	}
	return sha256.Sum256(binary.BigEndian.AppendUint64(append(d[:], byte(question)), uint64(column)))
}

// considers reports whether candidates of a kind, or the one with the name, matter.
func (r Request) considers(kind, name string) bool {
	return r.Explaining || released.Candidate{Kind: kind, Name: name}.Allowed(r.Settings.Mechanism)
}

// stored returns the earlier answers to this query, which are free.
func (db *Database) stored(ctx context.Context, v *view.View, r Request) ([]released.Candidate, error) {
	answers, err := db.storedAnswers(ctx, r)
	if err != nil {
		return nil, err
	}
	return db.storedCandidates(v, r, answers)
}

// storedAnswers returns the answers that are stored, and those that the present lease
// remembers.
func (db *Database) storedAnswers(ctx context.Context, r Request) (answers []catalog.Answer, err error) {
	if !r.fresh {
		if answers, err = db.store.Answers(ctx, r.Table.ID, r.text()); err != nil {
			return nil, err
		}
	}
	return append(answers, db.Live.memory.find(r)...), nil
}

// storedCandidates returns a candidate for each stored answer.
func (db *Database) storedCandidates(v *view.View, r Request, answers []catalog.Answer) ([]released.Candidate, error) {
	var out []released.Candidate
	for _, a := range answers {
		margin, err := db.Margin(a.Kind, a.Law, r.Settings.Confidence)
		if err != nil {
			return nil, err
		}
		kind := "smw"
		if slices.Contains(boughtKinds[:], a.Kind) {
			kind = "direct"
		}
		e := db.Estimate(a, margin)
		note := released.StoredNote
		if e.AsOf = r.asOf(r.Table.Touched(r.Query), a.CreatedAt); !e.AsOf.IsZero() {
			note += ", as of " + released.AsOfText(e.AsOf)
		}
		out = append(out, released.Candidate{Origin: released.FromStored, Name: a.Via, Kind: kind, Support: storedSupport(v, r, a),
			Margin: margin, Known: true, Note: note,
			Answer: released.AnsweredBy(e)})
	}
	return out, nil
}

// storedSupport returns m over the columns of the mechanism that gave the answer.
func storedSupport(v *view.View, r Request, a catalog.Answer) released.SupportSize {
	for _, m := range v.Mechanisms {
		if m.ID == a.MechanismID {
			return released.Cover(r.Query, m.Columns, math.MaxUint64).Size
		}
	}
	return released.SupportOf(r.Query)
}

// affordable returns the reason why an amount cannot be charged to each of some periods, or "".
// Nil is every period. A curator's statement that a charge may wait for is refused by the charge itself.
func affordable(v *view.View, t *view.Table, over period.Ranges, amount accounting.Amount) string {
	a := v.Accounts[t.Account]
	if over == nil {
		over = period.Ranges{period.All}
	}
	for s := range a.Spending.In(over) {
		if a.Caps.Fits(s.Spent, amount) || t.Grant == nil && amount.Rho <= a.Idle {
			continue
		}
		if t.Grant != nil {
			return catalog.OverBudget(amount.Rho).Message
		}
		text := "it needs ρ = " + released.Short(amount.Rho.Float()) + " and the interactive account has " + released.Short(a.Caps.Remaining(s.Spent).Rho.Float()) + " left"
		if t.HasPeriods() {
			text += " in " + t.Partition.Name(s.Over.First)
		}
		return text
	}
	return ""
}

// Margin returns the half-width, in counts, of an answer. It follows from the answer's
// public parameters alone.
func (db *Database) Margin(of catalog.AnswerKind, law json.RawMessage, confidence float64) (float64, error) {
	key := kind.MarginKey{Kind: of, Law: string(law), Confidence: confidence}
	r := db.margins.get(key, func() kind.MarginResult { return kind.Margin(key) })
	return r.Width, r.Err
}

// Estimate returns an answer with its margin at the confidence asked for.
func (db *Database) Estimate(a catalog.Answer, margin float64) released.Estimate {
	return released.Estimate{Value: a.Estimate, Error: post.Within(margin), Verified: true,
		At: func(confidence float64) (post.Interval, error) {
			width, err := db.Margin(a.Kind, a.Law, confidence)
			return post.Within(width), err
		}}
}

// candidate returns the candidate for a release or mechanism that the script creates.
// Whether it covers the query follows from its plan, and for some releases so does the
// margin. It returns false for a release or mechanism that existed before.
func (r *Rehearsed) candidate(q Request, key Unbuilt, name, using string, columns []int) (c released.Candidate, unbuilt bool, err error) {
	if r == nil {
		return c, false, nil
	}
	plan, ok := r.Unbuilt[key]
	if !ok {
		return c, false, nil
	}
	see := plan.Cover(q.Query)
	c = released.Candidate{Origin: released.FromScript, Name: name, Kind: using, Columns: columns, Support: see.Size, Refusal: see.Refusal, Note: plan.Outlined().Unclear}
	if c.Refusal != "" || c.Note != "" {
		return c, true, nil
	}
	if q.Table.Unclear(columns) == "" {
		p, err := plan.Predict(see.Query, q.Settings.Confidence)
		if err != nil {
			c, err = c.Failed(err)
			return c, true, err
		}
		c.Margin, c.Known = p.Margin, p.Known
	}
	c.Margin = math.Floor(c.Margin)
	if c.Note = "is created before: its error is known then"; c.Known {
		c.Note = "is created before: its error is predicted"
	}
	return c, true, nil
}

// asOf returns when rows of some periods were read, if one of the periods had not ended then. It is
// zero otherwise: what is read later is the same, but for rows that come late.
func (r Request) asOf(over period.Ranges, read time.Time) (at time.Time) {
	if t := r.Table; t.HasPeriods() && t.Partition.Clocked() && len(over) > 0 && !t.Partition.Closed(over[len(over)-1].Last, read) {
		return read
	}
	return at
}

// named returns the query as its answers are stored: over all periods, so that the answer about
// one of them is never taken for another's.
func (r Request) named() query.Query {
	if r.whole != nil {
		return *r.whole
	}
	return r.Query
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
