package engine

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

// candidates lists the ways to answer a request, usable or not: stored answers,
// releases, mechanisms, and a direct answer. What SET mechanism excludes is of
// interest to EXPLAIN only.
func (db *DB) candidates(ctx context.Context, v *view.View, r request) ([]candidate, error) {
	if r.query.Equal(query.None(r.table.Universe)) {
		return []candidate{constant(0)}, nil
	}
	all, err := db.stored(ctx, v, r)
	if err != nil {
		return nil, err
	}
	all = slices.Grow(all, len(v.Releases)+len(v.Mechanisms)+1)
	for i := range v.Releases {
		rel := &v.Releases[i]
		if rel.TableID == r.table.ID && r.considers(rel.Using, rel.Name) {
			c, ok := db.rehearsal.candidate(r, unbuiltKey{sqlfront.Release, rel.ID}, rel.Name, rel.Using, rel.Columns)
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
		if m.TableID == r.table.ID && r.considers("smw", m.Name) {
			c, ok := db.rehearsal.candidate(r, unbuiltKey{sqlfront.Mechanism, m.ID}, m.Name, "smw", m.Columns)
			if !ok {
				if c, err = db.fromMechanism(v, r, m); err != nil {
					return nil, err
				}
			}
			all = append(all, c)
		}
	}
	if r.table.Source == "" || !r.considers("direct", "direct") { // an exported release has no rows to count
		return all, nil
	}
	return append(all, db.direct(v, r)), nil
}

// considers reports whether a kind of candidate, or one of the name, matters.
func (r request) considers(kind, name string) bool {
	return r.explaining || candidate{kind: kind, name: name}.allowed(r.settings.Mechanism)
}

// constant answers a query that no record can satisfy.
func constant(value int64) candidate {
	return candidate{origin: fromConstant, name: "constant", kind: "constant", columns: []int{}, support: view.FiniteSupport(0), known: true,
		note:   "no record can satisfy the query",
		answer: answeredBy(estimate{value: value, verified: true, at: func(float64) (float64, error) { return 0, nil }})}
}

// answeredBy is the answer of a candidate whose estimate is known.
func answeredBy(e estimate) func(context.Context) (reply, error) {
	return func(context.Context) (reply, error) { return reply{estimate: e}, nil }
}

// storedNote is what EXPLAIN says of stored answers.
const storedNote = "stored"

// stored returns the answers this query got before: they serve again for free.
func (db *DB) stored(ctx context.Context, v *view.View, r request) ([]candidate, error) {
	answers, err := db.storedAnswers(ctx, r)
	if err != nil {
		return nil, err
	}
	return db.again(v, r, answers)
}

// storedAnswers returns the answers that are stored, and those that the present lease
// remembers.
func (db *DB) storedAnswers(ctx context.Context, r request) ([]catalog.Answer, error) {
	answers, err := db.store.Answers(ctx, r.table.ID, r.query.String())
	if err != nil {
		return nil, err
	}
	return append(answers, db.live.memory.find(r)...), nil
}

// again returns the candidates that stored answers are.
func (db *DB) again(v *view.View, r request, answers []catalog.Answer) ([]candidate, error) {
	var out []candidate
	for _, a := range answers {
		margin, err := db.margin(a.Kind, a.Law, r.settings.Confidence)
		if err != nil {
			return nil, err
		}
		kind := "smw"
		if a.Kind == catalog.AnswerDirect {
			kind = "direct"
		}
		e := db.estimate(a, margin)
		out = append(out, candidate{origin: fromStored, name: a.Via, kind: kind, support: storedSupport(v, r, a),
			margin: margin, known: true, note: storedNote,
			answer: answeredBy(e)})
	}
	return out, nil
}

// storedSupport returns m as the mechanism saw it that gave the answer.
func storedSupport(v *view.View, r request, a catalog.Answer) view.SupportSize {
	for _, m := range v.Mechanisms {
		if m.ID == a.MechanismID {
			return view.Cover(r.query, m.Columns, math.MaxUint64).Size
		}
	}
	return view.SupportOf(r.query)
}

// affordable returns why an amount cannot be charged, "" when it can.
func affordable(a view.Account, amount accounting.Amount) string {
	if a.Caps.Fits(a.Spent, amount) {
		return ""
	}
	return "it needs ρ = " + view.Short(amount.Rho.Float()) + " and the interactive account has " + view.Short(a.Left().Rho.Float()) + " left"
}

// margin returns the half-width, in counts, of an answer that follows from its
// public parameters alone.
func (db *DB) margin(kind catalog.AnswerKind, law json.RawMessage, confidence float64) (float64, error) {
	key := stored.MarginKey{Kind: kind, Law: string(law), Confidence: confidence}
	r := db.margins.get(key, func() stored.MarginResult { return stored.Margin(key) })
	return r.Width, r.Err
}

// estimate returns an answer with its margin at the confidence it was asked at.
func (db *DB) estimate(a catalog.Answer, margin float64) estimate {
	return estimate{value: a.Estimate, margin: margin, verified: true,
		at: func(confidence float64) (float64, error) { return db.margin(a.Kind, a.Law, confidence) }}
}
