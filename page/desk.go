package page

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/around"
	"dpsql/sqlfront/syntax"
)

// Desk answers from the releases of a Picture. It is for one asker at a time.
type Desk struct {
	tables    []*table
	publics   []*public
	settings  released.Settings
	around    around.Database // runs what is around aggregates
	functions around.Database // computes functions of domains, while a statement is bound
	began     time.Time       // the statement
}

// table is a table with its releases, as package sqlfront binds against it.
type table struct {
	Table
	desk      *Desk
	universe  *query.Universe
	releases  []opened
	partition *period.Partition // nil without periods
	parts     map[period.Range]*query.Universe
}

// Open returns a Desk. payloads are those of the releases and of the public tables, in their order. Errors: Corrupt, Unsupported.
func Open(p Picture, payloads [][]byte) (*Desk, error) {
	if len(payloads) != len(p.Releases)+len(p.Publics) {
		return nil, sqlerr.New(sqlerr.Corrupt, "%d releases and %d public tables have %d payloads", len(p.Releases), len(p.Publics), len(payloads))
	}
	d := &Desk{settings: released.DefaultSettings()}
	for _, t := range p.Tables {
		u, err := t.universe()
		if err != nil {
			return nil, err
		}
		opened := &table{Table: t, desk: d, universe: u}
		if err := opened.divide(); err != nil {
			return nil, err
		}
		d.tables = append(d.tables, opened)
	}
	for i, known := range p.Publics {
		opened, err := known.open(payloads[len(p.Releases)+i])
		if err != nil {
			return nil, err
		}
		d.publics = append(d.publics, opened)
	}
	for i, r := range p.Releases {
		t := d.named(r.Table)
		if t == nil {
			return nil, sqlerr.New(sqlerr.Corrupt, "release %s is of no table", r.Name)
		}
		kind, err := opener(r.Using)
		if err != nil {
			return nil, err
		}
		span, over := period.All, t.universe
		if r.Over != nil {
			span = *r.Over
			if over = t.within(span); over == nil {
				return nil, sqlerr.New(sqlerr.Corrupt, "release %s is of no period of its table", r.Name)
			}
		}
		if r.Columns != nil {
			over = over.Project(r.Columns)
		}
		a, err := kind.Open(over, r.Name, r.About, payloads[i])
		if err != nil {
			return nil, err
		}
		asOf, _ := time.Parse(time.RFC3339, r.AsOf) // zero for ""
		t.releases = append(t.releases, opened{released.Release{Kind: kind, Name: r.Name, Columns: r.Columns, MaxSupport: r.MaxSupport,
			Load: func(context.Context) (released.Answers, error) { return a, nil }}, a, r.shown(t, kind, len(payloads[i])), r.Part, span, asOf})
	}
	return d, nil
}

// Close gives the memory back that functions and statements around aggregates took.
func (d *Desk) Close() {
	d.around.Close()
	d.functions.Close()
}

// named returns the table of a name, or nil.
func (d *Desk) named(name string) *table {
	for _, t := range d.tables {
		if query.SameName(t.Table.Name, name) {
			return t
		}
	}
	return nil
}

// Errors of what a page does not do.
var (
	errNoRows = sqlerr.New(sqlerr.Unsupported, "this page holds no rows: it answers SELECT, EXPLAIN, DESCRIBE, SHOW and SET")
	errMean   = sqlerr.New(sqlerr.Unsupported, "under SET accuracy a page answers no mean: how close it is follows from answers that a page does not buy").
			WithHint("SET accuracy = default; the answer comes with its margin")
)

// Ask answers a statement: a query, or SET, which lasts until another SET. Every error is a *sqlerr.Error, or that
// of the context.
func (d *Desk) Ask(ctx context.Context, text string) (*released.Result, error) {
	d.began = time.Now()
	if tokens, err := syntax.Lex(text); err == nil { // else Read says why
		if err := tooDeep(tokens); err != nil {
			return nil, err
		}
	}
	read, err := syntax.Read(text)
	if err != nil {
		return nil, err
	}
	if set, ok := read.Statement.(*syntax.Set); ok {
		return &released.Result{}, d.set(set.Name, set.Value)
	}
	if read.Query == nil {
		return d.list(read.Statement)
	}
	defer func(session released.Settings) { d.settings = session }(d.settings)
	for _, o := range read.Settings {
		if err := d.set(o.Name, o.Value); err != nil {
			return nil, err
		}
	}
	out, err := d.query(ctx, released.Query{Read: read, Around: sync.OnceValues(func() (*around.Statement, error) { return around.Of(read) })})
	if err == nil && out.Answer != nil {
		out.Answer.Warnings = out.Warnings
	}
	return out, err
}

// list answers SHOW and DESCRIBE.
func (d *Desk) list(st syntax.Statement) (*released.Result, error) {
	var out *released.Result
	full := false
	switch st := st.(type) {
	case *syntax.Describe:
		t := d.named(st.Table.Text)
		if t == nil {
			return nil, d.unknown(st.Table)
		}
		out, full = t.shown().Describe(st.Full, t.lists), st.Full
	case *syntax.Show:
		full = st.Full
		switch st.What {
		case syntax.Settings:
			out = released.ShowSettings(d.settings)
		case syntax.Tables:
			var all []released.ShownTable
			for _, t := range d.tables {
				all = append(all, t.shown())
			}
			var publics []string
			for _, p := range d.publics {
				publics = append(publics, p.Name)
			}
			slices.Sort(publics)
			out = released.ShowTables(all, publics)
		case syntax.Releases:
			out = released.ShowReleases()
			for _, t := range d.tables {
				for _, r := range t.releases {
					r.shown.Show(out, r.part == "")
				}
				for _, g := range t.growing() {
					g.shown(t).Show(out)
				}
			}
			out.ByName()
		}
	}
	switch {
	case out == nil:
		return nil, errNoRows
	case full:
		out.Brief = nil
	}
	return out, nil
}

// shown returns the table as lists have it.
func (t *table) shown() released.ShownTable {
	return released.ShownTable{Name: t.Table.Name, Universe: t.universe, Unit: t.unitText()}
}

// lists returns the names of the releases with texts of a column without a domain.
func (t *table) lists(column int) (names []string) {
	for _, r := range t.releases {
		if place := r.place(column); place >= 0 && !t.universe.Columns()[column].Domain.Finite() && r.shown.Made.Texts {
			names = released.AppendNew(names, cmp.Or(r.part, r.Name))
		}
	}
	return names
}

// place returns the place of a table's column in the release, -1 if it has none.
func (r opened) place(column int) int {
	if r.Columns == nil {
		return column
	}
	return slices.Index(r.Columns, column)
}

// set changes a setting.
func (d *Desk) set(name syntax.Name, value string) error {
	next := d.settings
	if err := next.Set(name.Text, value); err != nil {
		return sqlerr.Locate(err, name.Position)
	}
	d.settings = next
	return nil
}

// query answers a query: the private aggregate that it is, or one with surroundings.
func (d *Desk) query(ctx context.Context, q released.Query) (*released.Result, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	return released.Either(q, func(sel *syntax.Select) (*released.Result, error) {
		all := []released.Selection{{Select: sel}}
		if q.Read.Explain {
			out, _, err := d.Explain(ctx, all)
			if err == nil && q.Read.Full {
				out.Brief = nil
			}
			return out, err
		}
		joint, err := d.Together(ctx, all, nil)
		if err != nil {
			return nil, err
		}
		return joint.Result(), nil
	}, func(st released.Surrounded) (*released.Result, error) {
		from := around.Source{Copy: func(_ context.Context, name syntax.Name) (*around.Table, error) {
			if p := d.public(name.Text); p != nil {
				return p.copied(), nil
			}
			return nil, sqlerr.New(sqlerr.Unknown, "there is no public table %s", name.Text).At(name.Position)
		}}
		return released.Surroundings{Tables: d, Database: &d.around, From: from}.Run(ctx, st, nil)
	})
}

// Columns implements released.Tables.
func (d *Desk) Columns(name syntax.Name) (names []string, private bool) {
	t := d.named(name.Text)
	if t == nil {
		return nil, false
	}
	for _, c := range t.Declared() {
		names = append(names, c.Name)
	}
	return names, true
}

// Public implements released.Tables.
func (d *Desk) Public(name syntax.Name) error {
	if d.public(name.Text) != nil {
		return nil
	}
	if d.named(name.Text) == nil {
		return d.unknown(name)
	}
	return sqlerr.New(sqlerr.Unsupported, "%s is private", syntax.Excerpt(name.Text, 40)).At(name.Position)
}

// unknown is the error of a private table that is not there.
func (d *Desk) unknown(name syntax.Name) error {
	if p := d.public(name.Text); p != nil {
		return released.ErrPublic(p.Name).At(name.Position)
	}
	return sqlerr.New(sqlerr.Unknown, "there is no private table %s", name.Text).
		WithHint("SHOW TABLES lists the private tables").At(name.Position)
}

// statement is several SELECTs that are bound together.
type statement struct {
	parts  []released.Part
	tables []*table // of each part
	asks   []asked  // the distinct queries of all parts
}

// asked is one of the queries of a statement.
type asked struct {
	released.Ask
	table     *table
	statement func() []int // the columns that queries of its part are on
	most      float64      // the width that the answer may have, for each unit of SET accuracy
}

// need makes the query at least as precise as the slot needs.
func (a *asked) need(s released.Settings, k sqlfront.Slot) {
	if a.most = min(a.most, k.Scale); s.Accuracy > 0 { // else it may be infinite
		a.For.Settings.Accuracy = s.Accuracy * a.most
	}
	a.For.Settings.Confidence = max(a.For.Settings.Confidence, released.Shared(s.Confidence, k.Split))
}

// question tells queries apart.
type question struct {
	table  *table
	digest [32]byte
}

// bind binds SELECTs. A query in several slots gets the confidence that the most demanding one needs.
func (d *Desk) bind(all []released.Selection) (*statement, error) {
	st := &statement{}
	known := make(map[question]int)
	numbers := 0
	for _, s := range all {
		t, err := d.selected(s.Select)
		if err != nil {
			return nil, released.Unbound(err)
		}
		b, err := s.Bind(t)
		if err != nil {
			return nil, released.Unbound(err)
		}
		if t.partition != nil {
			if err := released.Begun(t.universe, b, t.partition, t.Periods.Column, period.Ranges{{First: math.MinInt64, Last: t.Periods.Begun}}); err != nil {
				return nil, released.Unbound(err)
			}
		}
		if numbers += b.Numbers; numbers > sqlfront.MaxNumbers {
			return nil, released.Unbound(released.ErrNumbers)
		}
		index, on := make([]int, len(b.Queries)), sync.OnceValue(func() []int { return released.Queried(b) })
		for i, q := range b.Queries {
			k := b.Slots[b.SlotOf(i)]
			key := question{t, released.Digest(q, k.Question, k.Column)}
			n, ok := known[key]
			if !ok {
				n = len(st.asks)
				known[key] = n
				st.asks = append(st.asks, asked{released.Ask{Query: q, Question: k.Question, Column: k.Column,
					For: released.Asked{Settings: d.settings, Accuracy: d.settings.Accuracy, Table: t.Table.Name}}, t, on, math.Inf(1)})
			}
			index[i] = n
			if d.settings.Accuracy > 0 && (k.PerRow > 0 || k.Rows > 0) {
				return nil, released.Unbound(errMean)
			}
			st.asks[n].need(d.settings, k)
		}
		st.parts, st.tables = append(st.parts, released.Part{Bound: b, Index: index}), append(st.tables, t)
	}
	return st, nil
}

// selected returns the table that a SELECT is on.
func (d *Desk) selected(sel *syntax.Select) (*table, error) {
	for _, name := range sel.Tables {
		if t := d.named(name.Text); t != nil {
			return t, nil
		}
	}
	return nil, d.unknown(sel.Table)
}

// columns returns the columns of each SELECT.
func (st *statement) columns() [][]released.Column {
	all := make([][]released.Column, len(st.parts))
	for i, p := range st.parts {
		all[i] = released.ColumnsOf(p.Bound)
	}
	return all
}

// plan lists the ways to answer each query. Only EXPLAIN needs those that SET mechanism excludes.
func (st *statement) plan(ctx context.Context, explaining bool) (err error) {
	for i := range st.asks {
		a := &st.asks[i]
		if a.Candidates, err = a.candidates(ctx, a.Query, a.For.Settings, explaining); err != nil {
			return err
		}
	}
	return nil
}

// choose chooses the best candidate of every query. It returns the error of a statement of which one has none.
func (st *statement) choose() error {
	var first error
	failed := 0
	for i := range st.asks {
		a := &st.asks[i]
		var err error
		if a.Best, err = released.Choose(a.Candidates, a.For); err != nil {
			if failed++; first == nil {
				first = err
			}
		}
	}
	var e *sqlerr.Error
	if errors.As(first, &e) && len(st.asks) > 1 {
		return released.Partly(e, len(st.asks), failed)
	}
	return first
}

// Bind implements released.Tables.
func (d *Desk) Bind(_ context.Context, all []released.Selection) ([][]released.Column, error) {
	st, err := d.bind(all)
	if err != nil {
		return nil, err
	}
	return st.columns(), nil
}

// Together implements released.Tables.
func (d *Desk) Together(ctx context.Context, all []released.Selection, ready func([][]released.Column) error) (joint released.Joint, err error) {
	st, err := d.bind(all)
	if err != nil {
		return joint, err
	}
	if ready != nil {
		if err := ready(st.columns()); err != nil {
			return joint, err
		}
	}
	if err := st.plan(ctx, false); err != nil {
		return joint, err
	}
	if err := st.choose(); err != nil {
		return joint, err
	}
	joint = released.Joint{Parts: st.parts, Settings: d.settings, Answers: make([]released.Answered, len(st.asks))}
	for i, a := range st.asks {
		e, err := a.Best.Answer(ctx)
		if err != nil {
			return joint, err
		}
		joint.Answers[i] = released.Answered{Estimate: e, By: a.Best, Confidence: a.For.Settings.Confidence}
	}
	for _, t := range st.tables {
		kept := released.Kept{Table: t.Table.Name, Unit: t.Table.Unit, MaxRows: t.MaxRows, Period: t.periodWord()}
		if t.Table.Unit != "" && !slices.Contains(joint.Kept, kept) {
			joint.Kept = append(joint.Kept, kept)
		}
	}
	return joint, nil
}

// Explain implements released.Tables.
func (d *Desk) Explain(ctx context.Context, all []released.Selection) (*released.Result, [][]released.Column, error) {
	st, err := d.bind(all)
	if err != nil {
		return nil, nil, err
	}
	if err := st.plan(ctx, true); err != nil {
		return nil, nil, err
	}
	e := released.Explained{Refusal: st.choose()}
	for i, p := range st.parts {
		e.Parts = append(e.Parts, released.ExplainedPart{Part: p, Table: st.tables[i].Table.Name, Columns: st.tables[i].universe.Columns()})
	}
	for _, a := range st.asks {
		e.Asks = append(e.Asks, a.Ask)
	}
	out := e.Result()
	out.Warnings = slices.Clone(released.Joint{Parts: st.parts}.Warnings())
	return out, st.columns(), nil
}

// Name, Universe, Unit, Now and Evaluate implement interfaces of package sqlfront.
func (t *table) Name() string              { return t.Table.Name }
func (t *table) Universe() *query.Universe { return t.universe }
func (t *table) Unit() string              { return t.Table.Unit }
func (t *table) Now() time.Time            { return t.desk.began }

func (t *table) Evaluate(function string, rows [][]any) ([]any, error) {
	return t.desk.functions.Evaluate(context.Background(), 0, function, rows)
}

// Keys implements sqlfront.Listed by the texts that releases publish, and those that public tables list.
func (t *table) Keys(column int) (keys []query.Value, lists []string, err error) {
	for _, r := range t.releases {
		place := r.place(column)
		if place < 0 || t.universe.Columns()[column].Domain.Finite() {
			continue
		}
		if texts, ok := r.answers.Texts(place); ok {
			keys, lists = append(keys, texts...), released.AppendNew(lists, cmp.Or(r.part, r.Name))
		}
	}
	keys, lists = t.listed(column, keys, lists)
	return keys, lists, nil
}

// candidates lists the ways to answer a query.
func (a asked) candidates(ctx context.Context, q query.Query, s released.Settings, explaining bool) (all []released.Candidate, err error) {
	if q.Equal(query.None(a.table.universe)) {
		return []released.Candidate{released.Empty()}, nil
	}
	for _, r := range a.table.releases {
		c := released.Candidate{Origin: released.FromRelease, Kind: r.Kind.Name(), Name: r.Name, Columns: r.Columns}
		if r.part != "" || !explaining && !c.Allowed(s.Mechanism) {
			continue
		}
		count := func(ctx context.Context, q query.Query, s released.Settings) (released.Candidate, error) {
			return a.ofRelease(ctx, r, q, s, explaining)
		}
		switch a.Question {
		case sqlfront.Weight:
			c, err = count(ctx, q, s)
		case sqlfront.Order:
			in, refusal := a.table.about(q, r.span)
			if c.Refusal = refusal; refusal == "" {
				c, err = released.Order{Query: in, Column: a.Column, Settings: s}.Candidate(ctx, count, r.answers.Independent)
			}
		case sqlfront.DistinctValues:
			c, err = released.Values(ctx, c, q, a.Column, s, count)
		default:
			c = released.Uncounted(a.Question, r.Name, r.Kind.Name())
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	for _, g := range a.table.growing() {
		c := released.Uncounted(a.Question, g.name, g.using)
		if !explaining && !c.Allowed(s.Mechanism) {
			continue
		}
		count := func(ctx context.Context, q query.Query, s released.Settings) (released.Candidate, error) {
			return a.fromParts(ctx, g, q, s, explaining)
		}
		switch a.Question {
		case sqlfront.Weight:
			c, err = count(ctx, q, s)
		case sqlfront.Order:
			c, err = released.Order{Query: q, Column: a.Column, Settings: s}.Candidate(ctx, count, func() bool { return false })
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	column, ok := released.Unlisted(q)
	if !ok || a.Question != sqlfront.Weight {
		return all, nil
	}
	c, ok, err := released.Rest(q, column, func(q query.Query) (*released.Candidate, error) {
		parts, err := a.candidates(ctx, q, s.Halved(), explaining)
		return released.Tightest(parts, s.Mechanism), err
	})
	if ok {
		all = append(all, c)
	}
	return all, err
}
