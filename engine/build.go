package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/mechanisms/projection"
	"dpsql/source"
)

// releaseParams describe a release in the catalog, for people.
type releaseParams struct {
	Transform string `json:"transform"`
	Rows      uint64 `json:"rows"`
	Law       string `json:"law"`
	Sampler   string `json:"sampler"`
	Heavy     string `json:"heavy,omitempty"`
	Clip      int64  `json:"clip,omitempty"`
	Threshold int64  `json:"threshold,omitempty"`
	Published int    `json:"published,omitempty"` // heavy cells that the release names
}

// buildProjection pays for a planned release, builds it and stores it.
func (db *DB) buildProjection(ctx context.Context, b *pay.Bill, name string, p projectionPlan, report func(done, all int64)) error {
	steps := &buildSteps{report: report}
	var builder *projection.Builder
	var cells *source.Histogram
	err := db.rows.OnSnapshot(ctx, p.table, func(sn *rows.Snapshot) error {
		paid, err := db.desk.Build(ctx, b, sn, catalog.KindReleases, "create release", name, p.cost)
		if err != nil {
			return err
		}
		steps.read(0, 1)
		if builder, err = projection.NewBuilder(p.universe, p.params, db.random()); err != nil {
			return err
		}
		cells, err = sn.Cells(ctx, paid, p.columns, builder.Coder(), math.MaxInt, steps.read)
		return err
	})
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it is paid for, and all is read: keep it
	steps.done(1)
	release, err := builder.Build(cells.All())
	if err != nil {
		return err
	}
	steps.done(2)
	return db.storeRelease(ctx, name, p, release)
}

func (db *DB) storeRelease(ctx context.Context, name string, p projectionPlan, release *projection.Release) error {
	payload, err := release.MarshalBinary()
	if err != nil {
		return err
	}
	h := p.params.Heavy
	about := releaseParams{Transform: string(p.params.Transform), Rows: p.params.Rows, Law: p.params.Law.String(), Sampler: "exact",
		Heavy: string(h.Form), Clip: h.Clip, Threshold: h.Threshold, Published: release.Published()}
	if p.params.Bulk {
		about.Sampler = "table"
	}
	params, err := json.Marshal(about)
	if err != nil {
		return err
	}
	return db.store.Write(ctx, func(tx *catalog.Tx) error {
		return tx.AddRelease(&catalog.Release{Name: name, TableID: p.table.ID, Columns: p.columns, Using: "projection",
			Params: params, Epsilon: p.cost.Epsilon, Delta: p.cost.Delta, MaxSupport: p.support}, payload)
	})
}

// shape says in a few words what was chosen for a release.
func (p releaseParams) shape() string {
	text := fmt.Sprintf("%s, %d rows", p.Transform, p.Rows)
	switch projection.Form(p.Heavy) {
	case projection.Clipped:
		text += fmt.Sprintf(", %d heavy cells published above clip %d", p.Published, p.Clip)
	case projection.Named:
		text += fmt.Sprintf(", %d heavy cells named", p.Published)
	}
	return text
}
