package postgres

import (
	"context"
	"math"
	"slices"
	"strings"

	"dpsql/query"
	"dpsql/source"
)

// Cells implements source.Reader. The server groups the rows by value and the groups
// are read once, so memory is needed only for the cells.
func (r *reader) Cells(ctx context.Context, p source.Permit, t source.Table, columns []int, coder query.Coder, most int) (*source.Histogram, error) {
	if err := source.Admit(p, t); err != nil {
		return nil, err
	}
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
		tally := source.NewTally(t, coder, most)
		p := newPlan(rows, columns)
		switch {
		case t.Unit != "":
			cells, err = r.bounded(ctx, tally, most, func() error { return r.tallyKept(ctx, rel, rows, t, columns, tally) })
		case len(rel.shares) > 0 && !rows.few && len(p.fetch) == p.asked && !r.alone && !r.answered:
			cells, err = r.share(ctx, rel.shares, p, tally, most, t.Progress)
		default:
			cells, err = r.bounded(ctx, tally, most, func() error { return r.tally(ctx, p, tally) })
		}
		if err == nil {
			allRead(t, rel)
		}
		return err
	})
	r.answered = r.answered || err == nil
	return cells, err
}

// Keys implements source.Reader. Without a unit the server groups the rows by value, else it
// sorts them by unit.
func (r *reader) Keys(ctx context.Context, p source.Permit, t source.Table, column int) (*source.Keys, error) {
	if err := source.Admit(p, t); err != nil {
		return nil, err
	}
	if _, err := t.Project([]int{column}); err != nil {
		return nil, err
	}
	if err := t.CheckUnit(); err != nil {
		return nil, err
	}
	var keys *source.Keys
	err := r.read(ctx, t, func(rel *relation) error {
		rows, err := rowsOf(rel, t)
		if err != nil {
			return err
		}
		keys = source.NewKeys() // read may run this again
		if t.Unit != "" {
			u, err := rel.unit(t)
			if err != nil {
				return err
			}
			return r.streamKept(ctx, rel, rows, t, u, []int{column}, func(tuple []query.Value) bool { keys.Add(tuple[0]); return true }, keys.End)
		}
		p := newPlan(rows, []int{column})
		tuple := make([]query.Value, len(p.fetch))
		return r.rows(ctx, p.statement(), func(row [][]byte) bool {
			if p.tuple(row, tuple) {
				keys.AddRows(tuple[0], int8Of(row[len(p.fetch)]))
			}
			return true
		})
	})
	r.answered = r.answered || err == nil
	return keys, err
}

// allRead reports progress for all partitions at once. The server's estimate of the
// rows decides whether partitions are read one by one, and the number of steps must
// not show which it was.
func allRead(t source.Table, rel *relation) {
	if t.Progress != nil && rel.leaves > 0 {
		t.Progress(rel.leaves, rel.leaves)
	}
}

// bounded runs a reading that stops the server's statement when there are too many
// cells. A stopped statement would end the transaction and its snapshot, so bounded
// returns to a savepoint. Whether there are too many cells is private and must not
// show.
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
	if failed := r.run(ctx, "ROLLBACK TO SAVEPOINT cells; RELEASE SAVEPOINT cells"); failed != nil {
		return nil, failed
	}
	return nil, err
}

// tally adds the groups of rows to the cells, until there are too many.
func (r *reader) tally(ctx context.Context, p plan, cells *source.Tally) error {
	tuple := make([]query.Value, len(p.fetch))
	return r.rows(ctx, p.statement(), func(row [][]byte) bool {
		if !p.tuple(row, tuple) {
			return true
		}
		e, ok := cells.Name(tuple[:p.asked])
		return !ok || cells.Add(e, int8Of(row[len(p.fetch)]))
	})
}

// tallyKept is tally for the rows that are kept of each unit. The ranks are computed
// here: fetching all rows of a table sorted by unit takes a third of the time in which
// the server ranks them (BenchmarkCells).
func (r *reader) tallyKept(ctx context.Context, rel *relation, all rowset, t source.Table, columns []int, cells *source.Tally) error {
	u, err := rel.unit(t)
	if err != nil {
		return err
	}
	return r.streamKept(ctx, rel, all, t, u, columns, func(tuple []query.Value) bool {
		e, ok := cells.Name(tuple)
		return !ok || cells.Add(e, 1)
	}, nil)
}

// rowset is a set of rows to read: the rows of a relation or of its parts.
type rowset struct {
	from    []string // each " FROM … AS r"; together they have all rows
	args    [][]byte // the parameters in them
	columns []column // all declared columns
	limit   string   // a condition that every row must meet, or ""
	few     bool     // limit finds few of the rows
}

// rowsOf returns the rows of a relation.
func rowsOf(rel *relation, t source.Table) (rowset, error) {
	s := rowset{from: rel.sources(), columns: make([]column, len(t.Columns))}
	for i, c := range t.Columns {
		var err error
		if s.columns[i], err = rel.column(c, t.Source); err != nil {
			return rowset{}, err
		}
	}
	if t.Period != nil {
		s = partOf(rel, t, s)
	}
	return s, nil
}

// plan says how rows inside the domains are grouped: by the columns asked for, and by
// the columns whose domains only Go can check.
type plan struct {
	rowset
	fetch []int // the columns grouped by, those asked for first
	asked int   // the number of columns asked for
	where string
}

// newPlan returns the plan for the columns asked for.
func newPlan(rows rowset, asked []int) plan {
	p := plan{rowset: rows, fetch: append([]int(nil), asked...), asked: len(asked)}
	fetched := make([]bool, len(rows.columns))
	for _, c := range asked {
		fetched[c] = true
	}
	w := writer{slices.Clip(rows.args)}
	parts := []string{rows.limit}
	for i, c := range rows.columns {
		condition, ok := w.within(c, c.Domain.All())
		switch {
		case ok:
			parts = append(parts, condition)
		case !fetched[i]:
			p.fetch = append(p.fetch, i)
			fallthrough
		default:
			parts = append(parts, c.fits)
		}
	}
	p.where, p.args = allOf(parts), w.args
	return p
}

// statement counts the rows by their values.
func (p plan) statement() statement {
	fields := p.fields()
	end := " WHERE " + p.where
	if len(fields) > 0 {
		end += " GROUP BY " + strings.Join(fields, ", ")
	}
	return statement{text: p.each("SELECT "+strings.Join(append(fields, "count(*)"), ", "), end), args: p.args}
}

// each returns a statement over all parts. Each part's SELECT starts with begin and
// ends with end.
func (s rowset) each(begin, end string) string {
	parts := make([]string, len(s.from))
	for i, from := range s.from {
		parts[i] = begin + from + end
	}
	return strings.Join(parts, " UNION ALL ")
}

func (p plan) fields() []string {
	fields := make([]string, len(p.fetch), len(p.fetch)+1)
	for i, c := range p.fetch {
		fields[i] = p.columns[c].text
	}
	return fields
}

// tuple reads the values of a row, the columns asked for first, and reports whether all
// of them lie in their domains.
func (p plan) tuple(row [][]byte, into []query.Value) bool {
	for i, c := range p.fetch {
		v, ok := query.Null(), true
		if row[i] != nil {
			v, ok = p.columns[c].value(row[i])
		}
		if !ok || !p.columns[c].Domain.Contains(v) {
			return false
		}
		into[i] = v
	}
	return true
}
