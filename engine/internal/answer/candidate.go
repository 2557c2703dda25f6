package answer

import (
	"context"
	"math"
	"slices"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlfront"
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
				all = append(all, released.Uncounted(r.Question, m.Name, "smw"))
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
	if column, ok := released.Unlisted(r.Query); ok && r.Question == sqlfront.Weight {
		r := r
		r.fresh, r.centre, r.Settings = false, nil, r.Settings.Halved()
		c, ok, err := released.Rest(r.Query, column, func(q query.Query) (*released.Candidate, error) {
			r.Query = q
			return db.tightest(ctx, v, r)
		})
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

// stored returns the earlier answers to this query, which are free.
func (db *Database) stored(ctx context.Context, v *view.View, r Request) ([]released.Candidate, error) {
	answers, err := db.storedAnswers(ctx, r)
	if err != nil {
		return nil, err
	}
	whole := r
	whole.centre = nil
	all, err := db.storedCandidates(v, whole, answers)
	if err != nil || r.centre == nil || r.fresh {
		return all, err
	}
	if answers, err = db.store.Answers(ctx, r.Table.ID, r.bought()); err != nil {
		return nil, err
	}
	less, err := db.storedCandidates(v, r, answers)
	return append(all, less...), err
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
		e := db.estimate(r, a, margin)
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

// tightest returns the free answer with the least margin from what is stored, from releases and
// from the noisy number of rows, or nil if there is none.
func (db *Database) tightest(ctx context.Context, v *view.View, r Request) (*released.Candidate, error) {
	candidates, err := db.candidates(ctx, v, r)
	if err != nil {
		return nil, err
	}
	if n := r.Table.NHat; n != nil && r.Query.Equal(query.All(r.Table.Universe)) {
		c, err := db.rowCount(*n, r.Settings.Confidence)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, c)
	}
	return released.Tightest(candidates, r.Settings.Mechanism), nil
}
