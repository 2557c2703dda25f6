package postgres

import (
	"context"
	"math"

	"dpsql/query"
	"dpsql/source"
)

// Cells implements source.Reader. The server counts by value, and its groups
// stream by once: memory is needed for the cells only.
func (r *reader) Cells(ctx context.Context, t source.Table, columns []int, coder query.Coder, most int) (*source.Histogram, error) {
	projected, err := t.Project(columns)
	if err == nil {
		err = projected.Over(coder.Universe())
	}
	if err != nil {
		return nil, err
	}
	if err := t.CheckUnit(); err != nil {
		return nil, err
	}
	var cells *source.Histogram
	err = r.read(ctx, t, func(rel *relation) error {
		rows, err := rowsOf(rel, t)
		if err != nil {
			return err
		}
		if t.Unit == "" {
			if err := r.loosen(ctx, rel, rows, columns); err != nil {
				return err
			}
		}
		tally := source.NewTally(coder, most)
		p := newPlan(rows, columns)
		switch {
		case t.Unit != "":
			cells, err = r.bounded(ctx, tally, most, func() error { return r.tallyKept(ctx, rel, rows, t, columns, coder, tally) })
		case len(rel.shares) > 0 && len(p.fetch) == p.asked && !r.alone && !r.answered:
			cells, err = r.share(ctx, rel.shares, p, coder, tally, most, t.Progress)
		default:
			cells, err = r.bounded(ctx, tally, most, func() error { return r.tally(ctx, p, coder, tally) })
		}
		if err == nil {
			allRead(t, rel)
		}
		return err
	})
	r.answered = r.answered || err == nil
	return cells, err
}

// allRead reports that all partitions were read where they were not read one by
// one, which follows from how many rows the server expects: how many steps there
// are must not tell.
func allRead(t source.Table, rel *relation) {
	if t.Progress != nil && rel.leaves > 0 {
		t.Progress(rel.leaves, rel.leaves)
	}
}

// bounded runs a reading that stops the server's statement where there are too
// many cells. A statement that was stopped would end the transaction, and with
// it the snapshot; so it goes back to a savepoint. That there are too many is
// private, and must not show.
func (r *reader) bounded(ctx context.Context, cells *source.Tally, most int, read func() error) (*source.Histogram, error) {
	if most < math.MaxInt {
		if err := r.run(ctx, "SAVEPOINT cells"); err != nil {
			return nil, err
		}
	}
	if err := read(); err != nil {
		return nil, err
	}
	h, err := cells.Histogram()
	if err == nil {
		return h, nil
	}
	const back = "ROLLBACK TO SAVEPOINT cells; RELEASE SAVEPOINT cells"
	late := r.run(ctx, back)
	if stateOf(late) == cancelled && ctx.Err() == nil { // what stopped the statement came late
		late = r.run(ctx, back)
	}
	if late != nil {
		return nil, late
	}
	return nil, err
}

// cancelled is the SQLSTATE of a statement that was asked to stop.
const cancelled = "57014"

// tally adds the groups of rows to the cells, until there are too many.
func (r *reader) tally(ctx context.Context, p plan, coder query.Coder, cells *source.Tally) error {
	tuple := make([]query.Value, len(p.fetch))
	return r.rows(ctx, p.statement(), func(row [][]byte) bool {
		if !p.tuple(row, tuple) {
			return true
		}
		e, ok := coder.Code(tuple[:p.asked])
		return !ok || cells.Add(e, int8Of(row[len(p.fetch)]))
	})
}

// tallyKept is tally for the rows that are kept of each unit. They are ranked
// here: all rows of a table sorted by unit come in a third of the time that the
// server takes to rank them (BenchmarkCells).
func (r *reader) tallyKept(ctx context.Context, rel *relation, all rowset, t source.Table, columns []int, coder query.Coder, cells *source.Tally) error {
	u, err := rel.unit(t)
	if err != nil {
		return err
	}
	return r.streamKept(ctx, rel, all, t, u, columns, func(tuple []query.Value) bool {
		e, ok := coder.Code(tuple)
		return !ok || cells.Add(e, 1)
	})
}
