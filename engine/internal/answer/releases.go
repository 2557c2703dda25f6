package answer

import (
	"context"
	"math"

	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Load returns a release. Its first use reads it from the catalog.
func (db *Database) Load(ctx context.Context, t *view.Table, r *catalog.Release) (released.Answers, error) {
	all, err := db.loadAll(ctx, t, []*catalog.Release{r})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// loadAll returns several releases of a table. Those that were not used before are read in one
// transaction.
func (db *Database) loadAll(ctx context.Context, t *view.Table, releases []*catalog.Release) ([]released.Answers, error) {
	if db.rehearsed != nil { // the copy has no payloads
		db = db.rehearsed.Original
	}
	c := &db.releases
	c.mu.Lock()
	defer c.mu.Unlock()
	loaded := make([]released.Answers, len(releases))
	missing := 0
	for i, r := range releases {
		if loaded[i] = c.byID[r.ID]; loaded[i] == nil {
			missing++
		}
	}
	if missing == 0 {
		return loaded, nil
	}
	if c.byID == nil {
		c.byID = make(map[int64]released.Answers)
	}
	err := db.store.Read(ctx, func(tx *catalog.Tx) error {
		all, err := tx.Releases(t.ID)
		if err != nil {
			return err
		}
		there := make(map[int64]bool, len(all))
		for i := range all {
			there[all[i].ID] = true
		}
		for i, r := range releases {
			if loaded[i] != nil {
				continue
			}
			if !there[r.ID] {
				return sqlerr.New(sqlerr.Unknown, "release %s was dropped meanwhile", r.Name)
			}
			payload, err := tx.ReleasePayload(r)
			if err != nil {
				return err
			}
			of := t
			if in, ok := db.within(Request{Table: t, Query: query.None(t.Universe)}, r.Span); ok {
				of = in.Table
			}
			if loaded[i], err = kind.Of(r.Using).Open(of.Over(r.Columns), r.Name, r.Params, payload); err != nil {
				return err
			}
			c.byID[r.ID] = loaded[i]
		}
		return nil
	})
	return loaded, err
}

// releaseOf returns a release for its candidate to a request.
func (db *Database) releaseOf(r Request, rel *catalog.Release) released.Release {
	out := released.Release{Kind: kind.Of(rel.Using), Name: rel.Name, Columns: rel.Columns, MaxSupport: rel.MaxSupport,
		Load: func(ctx context.Context) (released.Answers, error) { return db.Load(ctx, r.Table, rel) }}
	if waits(rel) {
		out.Waits = interrupted(r, rel)
	}
	return out
}

// unbuilt reports whether a release is one that a rehearsed script builds.
func (db *Database) unbuilt(r *catalog.Release) bool {
	if db.rehearsed == nil {
		return false
	}
	_, yes := db.rehearsed.Unbuilt[Unbuilt{syntax.Release, r.ID}]
	return yes
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
