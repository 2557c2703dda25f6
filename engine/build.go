package engine

import (
	"context"
	"encoding/json"
	"math"

	"dpsql/catalog"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/stored"
	"dpsql/mechanisms/projection"
	"dpsql/source"
)

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
	about := stored.ReleaseAbout{Transform: string(p.params.Transform), Rows: p.params.Rows, Law: p.params.Law.String(), Sampler: "exact",
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
