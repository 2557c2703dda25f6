package answer

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/stored"
	"dpsql/engine/internal/view"
	"dpsql/query"
	"dpsql/sqlfront"
)

// Candidates lists the ways to answer a request, usable or not: stored answers,
// releases, mechanisms, and a direct answer. What SET mechanism excludes is of
// interest to EXPLAIN only.
func (db *Database) Candidates(ctx context.Context, v *view.View, r Request) ([]Candidate, error) {
	if r.Query.Equal(query.None(r.Table.Universe)) {
		return []Candidate{constant(0)}, nil
	}
	all, err := db.Stored(ctx, v, r)
	if err != nil {
		return nil, err
	}
	all = slices.Grow(all, len(v.Releases)+len(v.Mechanisms)+1)
	for i := range v.Releases {
		rel := &v.Releases[i]
		if rel.TableID == r.Table.ID && r.considers(rel.Using, rel.Name) {
			c, ok := db.rehearsed.candidate(r, Unbuilt{sqlfront.Release, rel.ID}, rel.Name, rel.Using, rel.Columns)
			if !ok {
				if c, err = db.fromRelease(ctx, r, rel); err != nil {
					return nil, err
				}
			}
			all = append(all, c)
		}
	}
	for i := range v.Mechanisms {
		m := &v.Mechanisms[i]
		if m.TableID == r.Table.ID && r.considers("smw", m.Name) {
			c, ok := db.rehearsed.candidate(r, Unbuilt{sqlfront.Mechanism, m.ID}, m.Name, "smw", m.Columns)
			if !ok {
				if c, err = db.fromMechanism(v, r, m); err != nil {
					return nil, err
				}
			}
			all = append(all, c)
		}
	}
	if r.Table.Source == "" || !r.considers("direct", "direct") { // an exported release has no rows to count
		return all, nil
	}
	return append(all, db.direct(v, r)), nil
}

// considers reports whether a kind of candidate, or one of the name, matters.
func (r Request) considers(kind, name string) bool {
	return r.Explaining || Candidate{Kind: kind, Name: name}.Allowed(r.Settings.Mechanism)
}

// constant answers a query that no record can satisfy.
func constant(value int64) Candidate {
	return Candidate{Origin: fromConstant, Name: "constant", Kind: "constant", Columns: []int{}, support: view.FiniteSupport(0), Known: true,
		Note:   "no record can satisfy the query",
		Answer: answeredBy(Estimate{Value: value, Verified: true, at: func(float64) (float64, error) { return 0, nil }})}
}

// answeredBy is the answer of a candidate whose estimate is known.
func answeredBy(e Estimate) func(context.Context) (reply, error) {
	return func(context.Context) (reply, error) { return reply{Estimate: e}, nil }
}

// StoredNote is the note of stored answers in EXPLAIN.
const StoredNote = "stored"

// Stored returns the answers this query got before: they serve again for free.
func (db *Database) Stored(ctx context.Context, v *view.View, r Request) ([]Candidate, error) {
	answers, err := db.storedAnswers(ctx, r)
	if err != nil {
		return nil, err
	}
	return db.again(v, r, answers)
}

// storedAnswers returns the answers that are stored, and those that the present lease
// remembers.
func (db *Database) storedAnswers(ctx context.Context, r Request) ([]catalog.Answer, error) {
	answers, err := db.store.Answers(ctx, r.Table.ID, r.Query.String())
	if err != nil {
		return nil, err
	}
	return append(answers, db.Live.memory.find(r)...), nil
}

// again returns the candidates that stored answers are.
func (db *Database) again(v *view.View, r Request, answers []catalog.Answer) ([]Candidate, error) {
	var out []Candidate
	for _, a := range answers {
		margin, err := db.Margin(a.Kind, a.Law, r.Settings.Confidence)
		if err != nil {
			return nil, err
		}
		kind := "smw"
		if a.Kind == catalog.AnswerDirect {
			kind = "direct"
		}
		e := db.Estimate(a, margin)
		out = append(out, Candidate{Origin: fromStored, Name: a.Via, Kind: kind, support: storedSupport(v, r, a),
			Margin: margin, Known: true, Note: StoredNote,
			Answer: answeredBy(e)})
	}
	return out, nil
}

// storedSupport returns m as the mechanism saw it that gave the answer.
func storedSupport(v *view.View, r Request, a catalog.Answer) view.SupportSize {
	for _, m := range v.Mechanisms {
		if m.ID == a.MechanismID {
			return view.Cover(r.Query, m.Columns, math.MaxUint64).Size
		}
	}
	return view.SupportOf(r.Query)
}

// affordable returns why an amount cannot be charged, "" when it can.
func affordable(a view.Account, amount accounting.Amount) string {
	if a.Caps.Fits(a.Spent, amount) {
		return ""
	}
	return "it needs ρ = " + view.Short(amount.Rho.Float()) + " and the interactive account has " + view.Short(a.Left().Rho.Float()) + " left"
}

// Margin returns the half-width, in counts, of an answer that follows from its
// public parameters alone.
func (db *Database) Margin(kind catalog.AnswerKind, law json.RawMessage, confidence float64) (float64, error) {
	key := stored.MarginKey{Kind: kind, Law: string(law), Confidence: confidence}
	r := db.margins.get(key, func() stored.MarginResult { return stored.Margin(key) })
	return r.Width, r.Err
}

// Estimate returns an answer with its margin at the confidence it was asked at.
func (db *Database) Estimate(a catalog.Answer, margin float64) Estimate {
	return Estimate{Value: a.Estimate, Margin: margin, Verified: true,
		at: func(confidence float64) (float64, error) { return db.Margin(a.Kind, a.Law, confidence) }}
}

// candidate is that of a release or mechanism that the script creates: it covers
// the query or not, and how well it answers is unknown. It is false for what was
// there before.
func (r *Rehearsed) candidate(q Request, key Unbuilt, name, kind string, columns []int) (Candidate, bool) {
	if r == nil {
		return Candidate{}, false
	}
	most, ok := r.Unbuilt[key]
	if !ok {
		return Candidate{}, false
	}
	see := view.Cover(q.Query, columns, most)
	c := Candidate{Origin: FromScript, Name: name, Kind: kind, Columns: columns, support: see.Size, Refusal: see.Refusal}
	if c.Refusal == "" {
		c.Note = "is created before: its error is known then"
	}
	return c, true
}
