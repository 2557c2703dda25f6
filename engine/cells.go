package engine

import (
	"context"
	"io"
	"math/big"
	"os"
	"slices"
	"strings"

	"dpsql/catalog"
	"dpsql/engine/internal/declare"
	"dpsql/engine/internal/view"
	"dpsql/internal/exporter"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// export runs EXPORT RELEASE. The end of the file's name says what is written: the release
// itself, its cells, or a page.
func (s *Session) export(ctx context.Context, d *declare.Statement, st *syntax.Export) error {
	if _, err := os.Lstat(s.path(st.Path)); st.IfNotExists && err == nil {
		return nil
	}
	if isPage(st) {
		return s.exportPage(ctx, d, st)
	}
	if len(st.Releases) > 1 {
		return errOnePage.At(st.Releases[1].Position)
	}
	if st.Options != nil {
		return errOnePage.At(st.Options[0].Name.Position)
	}
	v, err := d.Exports(ctx)
	if err != nil {
		return err
	}
	r, t, err := declare.Exported(v, st.Releases[0])
	if err != nil {
		return err
	}
	format := exporter.For(st.Path)
	if format == nil {
		return d.Export(ctx, st)
	}
	cells, err := s.cellsOf(ctx, r, t)
	if err != nil {
		return sqlerr.Locate(err, st.Releases[0].Position)
	}
	err = s.db.store.Export(ctx, s.path(st.Path), func(w io.Writer) error {
		out, err := format(w, cells.columns)
		if err != nil {
			return err
		}
		if err := cells.write(ctx, out); err != nil {
			return err
		}
		return out.Close()
	})
	return sqlerr.Locate(err, st.PathPosition)
}

// maxExported bounds the cells that are exported, and exportedAtOnce those that one SELECT asks
// for.
const (
	maxExported    = 5_000_000
	exportedAtOnce = 50_000
)

// cells are the cells of a release. They are what the release answers to SELECTs with GROUP BY,
// so they are released numbers alone: nothing is read and nothing is charged.
type cells struct {
	session  *Session // of its own settings
	release  *catalog.Release
	table    *view.Table
	covered  []query.Column
	columns  []exporter.Column // of the file
	sets     [][]int           // of covered columns, whose cells are exported; the empty set is the total
	marginal bool              // the release measured marginals
	done     int64
	all      int64
	report   func(done, all int64) // may be nil
}

// cellsOf returns the cells of a release. Errors: Unsupported if they are too many, or if a column
// has no declared domain.
func (s *Session) cellsOf(ctx context.Context, r *catalog.Release, t *view.Table) (*cells, error) {
	c := &cells{release: r, table: t, report: s.progress}
	columns := t.Over(r.Columns).Columns()
	order := query.Declared(columns)
	for _, i := range order {
		c.covered = append(c.covered, columns[i])
	}
	opened, err := s.db.answers.Load(ctx, t, r)
	if err != nil {
		return nil, err
	}
	measured := opened.Measured()
	if c.marginal = measured != nil; c.marginal {
		c.sets = subsets(measured, order)
	} else {
		set := make([]int, len(c.covered))
		for i := range set {
			set[i] = i
		}
		c.sets = [][]int{set}
	}
	all := new(big.Int)
	for _, set := range c.sets {
		size := big.NewInt(1)
		for _, i := range set {
			column := c.covered[i]
			if !column.Domain.Finite() {
				return nil, sqlerr.New(sqlerr.Unsupported, "the cells of a release over %s, which has no declared domain, are outside the dialect", column.Name).
					WithHint("export the release itself: TO '%s.db'", r.Name)
			}
			size.Mul(size, new(big.Int).SetUint64(column.Domain.Size()))
		}
		all.Add(all, size)
	}
	if all.Cmp(big.NewInt(maxExported)) > 0 {
		return nil, sqlerr.New(sqlerr.Unsupported, "the release has %v cells, and at most %d are exported", all, int64(maxExported)).
			WithHint("write what you need of them with .mode csv, .once 'file' and a SELECT with GROUP BY; or export the release itself: TO '%s.db'", r.Name)
	}
	c.all, c.columns = all.Int64(), c.fileColumns()
	c.session = &Session{db: s.db, settings: s.settings}
	c.session.begin()
	c.session.settings.Accuracy = 0
	return c, c.session.settings.Set("mechanism", r.Name)
}

// subsets returns the sets and all their subsets, the smaller ones first. They have the places of columns in an order.
func subsets(sets [][]int, order []int) [][]int {
	var all [][]int
	for _, of := range sets {
		var set []int
		for place, column := range order {
			if slices.Contains(of, column) {
				set = append(set, place)
			}
		}
		for bits := range 1 << len(set) {
			subset := []int{}
			for i, column := range set {
				if bits>>i&1 == 1 {
					subset = append(subset, column)
				}
			}
			all = append(all, subset)
		}
	}
	slices.SortFunc(all, func(a, b []int) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return slices.Compare(a, b)
	})
	return slices.CompactFunc(all, slices.Equal)
}

// fileColumns returns the columns of the file. Of marginals the first names the columns that a cell
// has values of; the others are NULL.
func (c *cells) fileColumns() []exporter.Column {
	var all []exporter.Column
	if c.marginal {
		all = append(all, exporter.Column{Name: "marginal", Kind: exporter.Texts})
	}
	for _, column := range c.covered {
		kind := exporter.Texts
		switch {
		case column.Steps() != nil:
			kind = exporter.Floats
		case column.ShownType() == query.TypeInteger:
			kind = exporter.Integers
		}
		all = append(all, exporter.Column{Name: column.Name, Kind: kind})
	}
	all = append(all, exporter.Column{Name: "estimate", Kind: exporter.Integers}, exporter.Column{Name: "low", Kind: exporter.Floats},
		exporter.Column{Name: "high", Kind: exporter.Floats}, exporter.Column{Name: "confidence", Kind: exporter.Floats},
		exporter.Column{Name: "margins", Kind: exporter.Texts})
	return exporter.Distinct(all)
}

// write writes all cells.
func (c *cells) write(ctx context.Context, out exporter.Writer) error {
	for _, set := range c.sets {
		if err := c.writeSet(ctx, out, set, 0, nil); err != nil {
			return err
		}
	}
	return nil
}

// writeSet writes the cells of a set of columns. Conditions fix the values of its first columns,
// so that what is left is few enough for one SELECT.
func (c *cells) writeSet(ctx context.Context, out exporter.Writer, set []int, fixed int, where []string) error {
	left := uint64(1)
	for _, i := range set[fixed:] {
		left *= c.covered[i].Domain.Size()
	}
	if left <= exportedAtOnce || fixed == len(set)-1 {
		return c.ask(ctx, out, set, where)
	}
	for v := range c.covered[set[fixed]].Domain.All().Each() {
		if err := c.writeSet(ctx, out, set, fixed+1, append(slices.Clip(where), c.equals(c.covered[set[fixed]], v))); err != nil {
			return err
		}
	}
	return nil
}

// equals writes the condition that a column has a value.
func (c *cells) equals(column query.Column, v query.Value) string {
	name := syntax.WriteName(column.Name)
	steps := column.Steps()
	switch {
	case v.IsNull():
		return name + " IS NULL"
	case steps != nil && column.Form.IsRounded():
		text := name + " >= " + query.Decimal(steps.Multiple(v.Int64()))
		if _, last := steps.Bounds(); v.Int64() < last-1 {
			text += " AND " + name + " < " + query.Decimal(steps.Multiple(v.Int64()+1))
		}
		return text
	case steps != nil:
		return name + " = " + query.Decimal(steps.Multiple(v.Int64()))
	}
	return name + " = " + column.Form.Shown(v).String()
}

// ask writes the cells of a set of columns that conditions select.
func (c *cells) ask(ctx context.Context, out exporter.Writer, set []int, where []string) error {
	keys := make([]string, len(set))
	named := make([]string, len(set))
	for i, n := range set {
		named[i] = c.covered[n].Name
		keys[i] = syntax.WriteName(named[i])
	}
	text := "SELECT " + strings.Join(append(slices.Clip(keys), "COUNT(*)"), ", ") + " FROM " + syntax.WriteName(c.table.Name)
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	if len(keys) > 0 {
		text += " GROUP BY " + strings.Join(keys, ", ")
	}
	parsed, err := syntax.Parse(text)
	if err != nil {
		return err
	}
	sel, ok := parsed.(*syntax.Select)
	if !ok {
		return sqlerr.New(sqlerr.Internal, "the cells of a release are no SELECT")
	}
	r, err := c.session.db.answers.Select(ctx, c.session.asker(), sel, nil)
	if err != nil {
		return err
	}
	if r.Answer.Cost != (released.Cost{}) {
		return sqlerr.New(sqlerr.Internal, "a cell of a release was charged for")
	}
	first := 0
	row := make([]any, len(c.columns))
	if c.marginal {
		row[0], first = strings.Join(named, ", "), 1
	}
	measures := row[first+len(c.covered):]
	for n, cell := range r.Rows {
		for i, column := range set {
			row[first+column] = cell[i]
		}
		clear(measures)
		measures[0] = cell[len(set)]
		if ends, ok := r.Answer.Intervals[n][len(set)].(Interval); ok {
			measures[1], measures[2], measures[3], measures[4] = ends.Low, ends.High, r.Answer.Confidence, "proven"
			if r.Answer.Simulated {
				measures[4] = "simulated"
			}
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	if c.done += int64(len(r.Rows)); c.report != nil {
		c.report(c.done, c.all)
	}
	return nil
}
