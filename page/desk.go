package page

import (
	"context"
	"errors"
	"slices"
	"time"

	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/around"
	"dpsql/sqlfront/syntax"
)

// Desk answers from the releases of a Picture. It is for one asker at a time.
type Desk struct {
	tables   []*table
	settings released.Settings
	public   around.Database // computes functions of domains
}

// table is a table with its releases, as package sqlfront binds against it.
type table struct {
	Table
	desk     *Desk
	universe *query.Universe
	releases []opened
	now      time.Time
}

// opened is a release in memory.
type opened struct {
	released.Release
	answers released.Answers
}

// Open returns a Desk. payloads are those of the releases, in their order. Errors: Corrupt, Unsupported.
func Open(p Picture, payloads [][]byte) (*Desk, error) {
	if len(payloads) != len(p.Releases) {
		return nil, sqlerr.New(sqlerr.Corrupt, "%d releases have %d payloads", len(p.Releases), len(payloads))
	}
	d := &Desk{settings: released.DefaultSettings()}
	for _, t := range p.Tables {
		u, err := t.universe()
		if err != nil {
			return nil, err
		}
		d.tables = append(d.tables, &table{Table: t, desk: d, universe: u})
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
		over := t.universe
		if r.Columns != nil {
			over = over.Project(r.Columns)
		}
		a, err := kind.Open(over, r.Name, r.About, payloads[i])
		if err != nil {
			return nil, err
		}
		t.releases = append(t.releases, opened{released.Release{Kind: kind, Name: r.Name, Columns: r.Columns, MaxSupport: r.MaxSupport,
			Load: func(context.Context) (released.Answers, error) { return a, nil }}, a})
	}
	return d, nil
}

// Close gives the memory back that functions took.
func (d *Desk) Close() { d.public.Close() }

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
	errNoRows = sqlerr.New(sqlerr.Unsupported, "this page holds no rows: it answers SELECT and SET")
	errAround = sqlerr.New(sqlerr.Unsupported, "this page answers one SELECT of aggregates at a time, and nothing around them").
			WithHint("ask for the groups, and compute with the rows that come back")
	errSold = sqlerr.New(sqlerr.Unsupported, "this page sells no answers: SET accuracy means nothing to it")
)

// Ask answers a statement: a SELECT of one table's aggregates, or SET, which lasts until another SET. Every
// error is a *sqlerr.Error, or that of the context.
func (d *Desk) Ask(ctx context.Context, text string) (*released.Result, error) {
	read, err := syntax.Read(text)
	if err != nil {
		return nil, err
	}
	if set, ok := read.Statement.(*syntax.Set); ok {
		return &released.Result{}, d.set(set.Name, set.Value)
	}
	if read.Query == nil || read.Explain {
		return nil, errNoRows
	}
	defer func(session released.Settings) { d.settings = session }(d.settings)
	for _, o := range read.Settings {
		if err := d.set(o.Name, o.Value); err != nil {
			return nil, err
		}
	}
	sel, ok := read.Statement.(*syntax.Select)
	if !ok || sel.Composed() {
		if st, err := around.Of(read); err == nil {
			return nil, d.refusal(ctx, st, read.Why)
		} else if !ok {
			return nil, read.Why
		}
	}
	t, b, err := d.bind(sel)
	if err != nil {
		if st, other := around.Of(read); other == nil {
			return nil, d.refusal(ctx, st, err)
		}
		return nil, err
	}
	return t.answer(ctx, b)
}

// refusal returns the error of a statement with something around its aggregates, which is no aggregate itself
// for the reason why: its own fault, as it would have it where such statements are answered, or errAround.
func (d *Desk) refusal(ctx context.Context, st *around.Statement, why error) error {
	said := func(err error) error {
		if why != nil && !st.Nested() {
			return why
		}
		return err
	}
	left := st.Tables
	if slices.ContainsFunc(left, func(n syntax.Name) bool { return d.named(n.Text) != nil }) {
		cores, rest, err := st.Cut(d.columns)
		if err != nil {
			return said(err)
		}
		if left = rest.Tables; len(left) == 0 && !slices.ContainsFunc(cores, around.Core.Waits) {
			return d.unbound(ctx, cores, said)
		}
	}
	for _, name := range left {
		return unknown(name)
	}
	return errAround
}

// unbound returns the error of a core that cannot be bound, or errAround.
func (d *Desk) unbound(ctx context.Context, cores []around.Core, said func(error) error) error {
	cores, err := d.public.Resolve(ctx, cores, around.Source{Copy: func(_ context.Context, name syntax.Name) (*around.Table, error) {
		return nil, sqlerr.New(sqlerr.Unknown, "there is no public table %s", name.Text).At(name.Position)
	}}, nil, nil)
	if err != nil {
		return err
	}
	for i := range cores {
		sel, err := cores[i].Select()
		if err != nil {
			return said(err)
		}
		if _, _, err := d.bind(sel); err != nil {
			return err
		}
	}
	return errAround
}

// columns returns the names of the columns of a private table.
func (d *Desk) columns(name syntax.Name) (names []string, private bool) {
	t := d.named(name.Text)
	if t == nil {
		return nil, false
	}
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names, true
}

// unknown is the error of a table that is not there.
func unknown(name syntax.Name) error {
	return sqlerr.New(sqlerr.Unknown, "there is no private table %s", name.Text).
		WithHint("SHOW TABLES lists the private tables").At(name.Position)
}

// set changes a setting.
func (d *Desk) set(name syntax.Name, value string) error {
	next := d.settings
	if err := next.Set(name.Text, value); err != nil {
		return sqlerr.Locate(err, name.Position)
	}
	if next.Accuracy != 0 {
		return errSold
	}
	d.settings = next
	return nil
}

// bind binds a SELECT to its table.
func (d *Desk) bind(sel *syntax.Select) (*table, *sqlfront.Bound, error) {
	for _, name := range sel.Tables {
		if t := d.named(name.Text); t != nil {
			asked := *t
			asked.now = time.Now()
			b, err := sqlfront.Bind(sel, &asked, nil)
			return t, b, err
		}
	}
	return nil, nil, unknown(sel.Table)
}

// Name, Universe, Unit, Now and Evaluate implement interfaces of package sqlfront.
func (t *table) Name() string              { return t.Table.Name }
func (t *table) Universe() *query.Universe { return t.universe }
func (t *table) Unit() string              { return t.Table.Unit }
func (t *table) Now() time.Time            { return t.now }

func (t *table) Evaluate(function string, rows [][]any) ([]any, error) {
	return t.desk.public.Evaluate(context.Background(), 0, function, rows)
}

// Keys implements sqlfront.Listed by the texts that releases publish.
func (t *table) Keys(column int) (keys []query.Value, lists []string, err error) {
	for _, r := range t.releases {
		place := column
		if r.Columns != nil {
			place = slices.Index(r.Columns, column)
		}
		if place < 0 || t.universe.Columns()[column].Domain.Finite() {
			continue
		}
		if texts, ok := r.answers.Texts(place); ok {
			keys, lists = append(keys, texts...), append(lists, r.Name)
		}
	}
	return keys, lists, nil
}

// asked is one of the queries of a SELECT.
type asked struct {
	query    query.Query
	slot     sqlfront.Slot
	settings released.Settings
}

// answer answers a bound SELECT: each of its distinct queries by the best release.
func (t *table) answer(ctx context.Context, b *sqlfront.Bound) (*released.Result, error) {
	s := t.desk.settings
	if b.Numbers > sqlfront.MaxNumbers {
		return nil, released.ErrNumbers
	}
	all, index := distinct(b, s)
	answers := make([]released.Answered, len(all))
	var first *sqlerr.Error
	failed := 0
	for i, a := range all {
		best, err := t.best(ctx, b, a)
		var refused *sqlerr.Error
		switch {
		case errors.As(err, &refused) && refused.Code != sqlerr.Corrupt:
			if failed++; first == nil {
				first = refused
			}
			continue
		case err != nil:
			return nil, err
		}
		answers[i].By, answers[i].Confidence = best, a.settings.Confidence
	}
	switch {
	case first != nil && len(all) > 1:
		return nil, released.Partly(first, len(all), failed)
	case first != nil:
		return nil, first
	}
	for i := range answers {
		var err error
		if answers[i].Estimate, err = answers[i].By.Answer(ctx); err != nil {
			return nil, err
		}
	}
	out := released.Selected(b, index, answers, s)
	if t.Table.Unit != "" {
		out.Answer.Kept = []released.Kept{{Table: t.Table.Name, Unit: t.Table.Unit, MaxRows: t.MaxRows}}
	}
	out.Answer.Warnings = out.Warnings
	return out, nil
}

// distinct returns the distinct queries of a SELECT, and for each of its queries the place among them. One in several
// slots gets the confidence that the most demanding one needs.
func distinct(b *sqlfront.Bound, s released.Settings) (all []asked, index []int) {
	known := make(map[[32]byte]int, len(b.Queries))
	index = make([]int, len(b.Queries))
	for i, q := range b.Queries {
		k := b.Slots[b.SlotOf(i)]
		key := released.Digest(q, k.Question, k.Column)
		n, ok := known[key]
		if !ok {
			n = len(all)
			known[key], all = n, append(all, asked{q, k, s})
		}
		index[i] = n
		all[n].settings.Confidence = max(all[n].settings.Confidence, released.Shared(s.Confidence, k.Split))
	}
	return all, index
}

// best chooses among the ways to answer a query.
func (t *table) best(ctx context.Context, b *sqlfront.Bound, a asked) (*released.Candidate, error) {
	all, err := t.candidates(ctx, b, a)
	if err != nil {
		return nil, err
	}
	return released.Choose(all, released.Asked{Settings: a.settings, Table: t.Table.Name})
}

// candidates lists the ways to answer a query.
func (t *table) candidates(ctx context.Context, b *sqlfront.Bound, a asked) (all []released.Candidate, err error) {
	if a.query.Equal(query.None(t.universe)) {
		return []released.Candidate{released.Empty()}, nil
	}
	statement := func() []int { return released.Queried(b) }
	for _, r := range t.releases {
		c := released.Candidate{Kind: r.Kind.Name(), Name: r.Name}
		if !c.Allowed(a.settings.Mechanism) {
			continue
		}
		switch a.slot.Question {
		case sqlfront.Weight:
			c, err = r.Candidate(ctx, a.query, a.settings, false, statement)
		case sqlfront.DistinctValues:
			c, err = r.values(ctx, a, statement)
		case sqlfront.Order:
			order := released.Order{Query: a.query, Column: a.slot.Column, Settings: a.settings}
			c, err = order.Candidate(ctx, func(ctx context.Context, q query.Query, s released.Settings) (released.Candidate, error) {
				return r.Candidate(ctx, q, s, false, statement)
			}, r.answers.Independent)
		default:
			c = released.Uncounted(a.slot.Question, r.Name, r.Kind.Name())
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	column, ok := released.Unlisted(a.query)
	if !ok || a.slot.Question != sqlfront.Weight {
		return all, nil
	}
	half := a
	half.settings = a.settings.Halved()
	c, ok, err := released.Rest(a.query, column, func(q query.Query) (*released.Candidate, error) {
		half.query = q
		parts, err := t.candidates(ctx, b, half)
		return released.Tightest(parts, a.settings.Mechanism), err
	})
	if ok {
		all = append(all, c)
	}
	return all, err
}

// values returns the candidate for the number of values of a column.
func (r opened) values(ctx context.Context, a asked, statement func() []int) (released.Candidate, error) {
	values, err := released.EachValue(a.query, a.slot.Column)
	if err != nil {
		return released.Candidate{}, err
	}
	s := a.settings
	s.Accuracy, s.Margins = 0, released.Proven
	c := released.Candidate{Origin: released.FromRelease, Name: r.Name, Kind: r.Kind.Name(), Columns: r.Columns}
	return released.Values(ctx, c, values, s.Confidence, func(q query.Query, confidence float64) (released.Candidate, error) {
		s := s
		s.Confidence = confidence
		return r.Candidate(ctx, q, s, false, statement)
	})
}
