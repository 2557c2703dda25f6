package declare

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// part is the part of a template that is being built.
type part struct {
	template *catalog.Template
	replaces int64 // the release whose place it takes; 0 for none
}

// place makes a release the part, before it is stored.
func (p *part) place(tx *catalog.Tx, r *catalog.Release) error {
	if p == nil {
		return nil
	}
	r.Template = p.template.ID
	if current, err := tx.Template(p.template.Name); err != nil || current == nil || current.ID != p.template.ID {
		return cmp.Or[error](err, sqlerr.New(sqlerr.Unknown, "the release %s was dropped meanwhile", p.template.Name))
	}
	if old, err := tx.Release(r.Name); err != nil || old == nil || old.ID != p.replaces {
		return err
	}
	return tx.DropRelease(r.Name)
}

// createTemplate stores how the parts of a release are built. It builds nothing and charges
// nothing.
func (s *Statement) createTemplate(ctx context.Context, st *syntax.CreateRelease, v *view.View) (warnings []string, err error) {
	t, columns, err := v.Target(st.Table, st.Columns)
	if err != nil {
		return nil, err
	}
	switch {
	case !t.HasPeriods():
		return nil, sqlerr.New(sqlerr.Invalid, "the budget of %s does not belong to periods", t.Name).
			WithHint("leave EACH PERIOD out, or declare the table with period = 'month of …'").At(st.Name.Position)
	case !kind.Of(string(st.Using)).Adds():
		return nil, sqlerr.New(sqlerr.Unsupported, "%s builds no release for each period", strings.ToUpper(string(st.Using))).
			WithHint("write USING PROJECTION or USING MARGINALS").At(st.Name.Position)
	}
	early, rest := splitEarly(st.Options)
	o := kind.NewOptions(early, "early")
	if file := kind.NewOptions(rest).Find("workload"); file != nil {
		return nil, sqlerr.New(sqlerr.Unsupported, "a release of each period has no workload: each REFRESH would read the file anew").
			WithHint("name the columns of its marginals, or give their degree").At(file.Name.Position)
	}
	if span := kind.NewOptions(rest).Find("period"); span != nil {
		return nil, sqlerr.New(sqlerr.Invalid, "the option period has no meaning with EACH PERIOD").
			WithHint("REFRESH RELEASE %s PERIOD '%s' builds one part alone", syntax.WriteName(st.Name.Text), span.Value).At(span.Name.Position)
	}
	m := &catalog.Template{Name: st.Name.Text, TableID: t.ID, Columns: columns, Using: string(st.Using), Early: o.Word("early", "off", "on") == "on"}
	if err := o.Done(); err != nil {
		return nil, err
	}
	if m.Early && !t.Partition.Clocked() {
		return nil, sqlerr.New(sqlerr.Invalid, "early has no meaning with the values of a column as periods, which do not end").At(early[0].Name.Position)
	}
	plan, err := s.PlanRelease(ctx, st, v)
	if err != nil {
		return nil, err
	}
	cost := plan.Outlined().Cost
	if a := v.Accounts[t.Account]; !a.Caps.Fits(accounting.Amount{}, cost) {
		return nil, sqlerr.New(sqlerr.Budget, "a part needs %s, and the releases account has ε %v, δ %v in each %s",
			view.Amount(cost), a.Caps.ReleaseEpsilon, a.Caps.ReleaseDelta, t.PeriodWord()).At(st.Name.Position)
	}
	if m.Options, err = json.Marshal(rest); err != nil {
		return nil, err
	}
	if a, ok := s.Rows.Access(ctx, plan.Outlined().Table); ok && a.Hint != "" {
		warnings = append(warnings, "REFRESH reads the whole table for each part; "+a.Hint+" would let it read one "+t.PeriodWord()+" alone")
	}
	return warnings, s.Store.Write(ctx, func(tx *catalog.Tx) error { return tx.AddTemplate(m) })
}

// onePart returns the statement of a part of a release of each period, and the view that the part
// would be built over: that of the last period that has ended, or of the first one if none has.
func (s *Statement) onePart(st *syntax.CreateRelease, v *view.View) (*syntax.CreateRelease, *view.View) {
	t := v.Private(st.Table.Text)
	if !st.EachPeriod || t == nil || !t.HasPeriods() {
		return st, v
	}
	all := t.Periods()
	n := all[0].First
	if ended := all.Intersect(period.Ranges{{First: period.All.First, Last: t.Partition.Begun(s.Now()) - 1}}); t.Partition.Clocked() && len(ended) > 0 {
		n = ended[len(ended)-1].Last
	}
	if some, ok := t.Within(period.Only(n)); ok {
		v = v.With(some)
	}
	one := *st
	_, one.Options = splitEarly(st.Options)
	one.EachPeriod = false
	return &one, v
}

// splitEarly takes the option early out of the options.
func splitEarly(options []syntax.Option) (early, rest []syntax.Option) {
	for _, o := range options {
		if o.Name.Text == "early" {
			early = append(early, o)
		} else {
			rest = append(rest, o)
		}
	}
	return early, rest
}

// Refresh builds the parts of a release that are due: for every period that has ended, or with
// early = on has begun, that never had a part and is not retired, the oldest first. Each part is
// charged to its period and stored before the next one begins, so a Refresh that is interrupted
// or runs twice builds nothing twice. It waits for one that is at the same release, and then does
// what is left. Only AGAIN, which would pay once more, does not wait. Refresh returns what it did,
// in one line. Errors: Budget, after all others are built, if a period cannot pay; Busy, if the
// other Refresh takes longer than statements wait.
func (s *Statement) Refresh(ctx context.Context, st *syntax.RefreshRelease) (note string, warnings []string, err error) {
	r, err := s.refreshing(ctx, st.Name)
	if err != nil {
		return "", nil, err
	}
	patience := s.Patience
	if st.Again {
		patience = 0
	}
	flight, err := s.Store.AcquireFlight(ctx, sha256.Sum256([]byte("refresh "+r.template.Name)), patience, r.template.Name+" is being refreshed")
	if err != nil {
		return "", nil, err
	}
	defer flight.Land()
	if r, err = s.refreshing(ctx, st.Name); err != nil { // another may have built meanwhile
		return "", nil, err
	}
	due, err := s.due(r, st)
	if err != nil {
		return "", nil, err
	}
	built, warnings, err := s.buildDue(ctx, r, st, due)
	if err != nil {
		return "", warnings, err
	}
	if r, err = s.refreshing(ctx, st.Name); err != nil {
		return "", warnings, err
	}
	done := "nothing to build"
	if built != nil {
		done = "built " + named(r.table.Partition, built)
	}
	parts := "parts"
	if len(r.parts) == 1 {
		parts = "part"
	}
	return fmt.Sprintf("%s: %s; %d %s", r.template.Name, done, len(r.parts), parts), warnings, nil
}

// buildDue builds parts, one after another. A period that cannot pay does not keep the others from
// theirs: the error about it comes last, and has what was built. Another error ends it.
func (s *Statement) buildDue(ctx context.Context, r refreshing, st *syntax.RefreshRelease, due []int64) (built period.Ranges, warnings []string, err error) {
	var short error // of the first period that cannot pay
	var others period.Ranges
	for _, n := range due {
		one := period.Ranges{period.Only(n)}
		done, more, err := s.buildPart(ctx, st, n, r.parts[n] != nil)
		for _, w := range more {
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
		switch {
		case err == nil && done:
			built = built.Union(one)
		case sqlerr.CodeOf(err) == sqlerr.Budget && short == nil:
			short = err
		case sqlerr.CodeOf(err) == sqlerr.Budget:
			others = others.Union(one)
		case err != nil:
			return built, warnings, withBuilt(err, r, built, others)
		}
		s.Bill.Settle()
	}
	return built, warnings, withBuilt(short, r, built, others)
}

// withBuilt adds to the error of a part which other periods cannot pay, and which parts were built.
func withBuilt(err error, r refreshing, built, short period.Ranges) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err
	}
	told := *e
	if short != nil {
		told.Message += "; nor can " + named(r.table.Partition, short) + " pay"
	}
	if built != nil {
		told.Message += "; built " + named(r.table.Partition, built)
	}
	return &told
}

// named lists periods for people: the first ten ranges, and how many periods more.
func named(p *period.Partition, all period.Ranges) string {
	const most = 10
	var names []string
	for i, r := range all {
		if i == most {
			return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), all[i:].Count())
		}
		if r.First+1 == r.Last {
			names = append(names, p.Name(r.First), p.Name(r.Last))
			continue
		}
		names = append(names, p.Text(r))
	}
	return strings.Join(names, ", ")
}

// refreshing is a template with its table and parts, as they are now.
type refreshing struct {
	view     *view.View
	template *catalog.Template
	table    *view.Table
	parts    map[int64]*catalog.Release
}

func (s *Statement) refreshing(ctx context.Context, name syntax.Name) (r refreshing, err error) {
	if r.view, err = s.view(ctx); err != nil {
		return r, err
	}
	if r.template = r.view.Template(name.Text); r.template == nil {
		if r.view.Release(name.Text) != nil {
			return r, sqlerr.New(sqlerr.Invalid, "%s is not a release of each period", name.Text).
				WithHint("its budget is spent; CREATE RELEASE … EACH PERIOD makes one that grows").At(name.Position)
		}
		return r, sqlerr.New(sqlerr.Unknown, "there is no release %s", name.Text).At(name.Position)
	}
	if r.table = r.view.TableByID(r.template.TableID); r.table == nil || !r.table.HasPeriods() {
		return r, sqlerr.New(sqlerr.Corrupt, "the private table of release %s is missing", r.template.Name)
	}
	r.parts = r.view.Parts(r.template.ID)
	return r, nil
}

// built returns the periods that have a part.
func (r refreshing) built() period.Ranges {
	var all []period.Range
	for n := range r.parts {
		all = append(all, period.Only(n))
	}
	return period.Of(all...)
}

// due returns the periods whose parts a statement builds, the oldest first.
func (s *Statement) due(r refreshing, st *syntax.RefreshRelease) (due []int64, err error) {
	if st.Period.Text != "" {
		n, err := s.duePeriod(r, st)
		if old := r.parts[n]; err == nil && (old == nil || st.Again || old.Unfinished()) {
			due = append(due, n)
		}
		return due, err
	}
	p := r.table.Partition
	if !p.Clocked() {
		example := r.table.Periods()
		if open := example.Minus(r.table.Retired).Minus(r.built()); open != nil {
			example = open
		}
		return nil, sqlerr.New(sqlerr.Invalid, "nothing tells when a value of %s has all its rows", p.Column).
			WithHint("name it: %s", view.RefreshPart(r.template, p, example[0].First)).At(st.Name.Position)
	}
	last := p.Begun(s.Now())
	if !r.template.Early {
		last--
	}
	open := r.table.Periods().Intersect(period.Ranges{{First: period.All.First, Last: last}}).Minus(r.template.Ever).Minus(r.table.Retired)
	for n, old := range r.parts {
		if old.Unfinished() {
			open = open.Union(period.Ranges{period.Only(n)})
		}
	}
	return slices.Collect(open.Each()), nil
}

// duePeriod returns the period that a statement names, if a part may be built for it.
func (s *Statement) duePeriod(r refreshing, st *syntax.RefreshRelease) (int64, error) {
	p, now := r.table.Partition, s.Now()
	n, err := p.Named(st.Period.Text)
	switch {
	case err != nil:
	case !r.table.Periods().Contains(n):
		err = sqlerr.New(sqlerr.Invalid, "no row of %s lies in %s", r.table.Name, p.Name(n)).
			WithHint("its periods are %s", named(p, r.table.Periods()))
	case r.table.Retired.Contains(n) && (r.parts[n] == nil || st.Again):
		a := r.view.Accounts[r.table.Account].Account
		err = catalog.Retired(&a, period.Only(n))
	case p.Clocked() && n > p.Begun(now):
		err = sqlerr.New(sqlerr.Invalid, "%s has not begun", p.Name(n))
	case p.Clocked() && !p.Closed(n, now) && !r.template.Early:
		err = sqlerr.New(sqlerr.Invalid, "%s ends at %s", p.Name(n), p.End(n).Format(time.RFC3339)).
			WithHint("rows that come later would not be in its part; a release with early = on has one for the running period")
	}
	return n, sqlerr.Locate(err, st.Period.Position)
}

// buildPart builds the part of a period that is due, or finishes it. It does nothing where another
// session meanwhile dropped the part that was to be finished, or retired the period: such a part
// has to be named. No other session can have built one.
func (s *Statement) buildPart(ctx context.Context, refresh *syntax.RefreshRelease, n int64, begun bool) (done bool, warnings []string, err error) {
	r, err := s.refreshing(ctx, refresh.Name)
	if err != nil {
		return false, nil, err
	}
	old := r.parts[n]
	if old == nil && refresh.Period.Text == "" && (begun || r.table.Retired.Contains(n)) {
		return false, nil, nil
	}
	st, v, err := r.partOf(n, refresh.Name)
	if err != nil {
		return false, nil, err
	}
	if old == nil {
		if _, err := v.NameFree(st.Name, false, false); err != nil {
			return false, nil, err
		}
	}
	one := *s
	one.part = &part{template: r.template}
	switch {
	case old == nil:
		warnings, err = one.build(ctx, st, v)
	case refresh.Again:
		one.part.replaces = old.ID
		s.Bill.Resume = view.RefreshPart(r.template, r.table.Partition, n) // AGAIN would pay once more
		warnings, err = one.build(ctx, st, v)
	default:
		warnings, err = one.resume(ctx, st, v, old)
	}
	return true, warnings, err
}

// partOf returns the statement that builds a part, and the view that it is built over.
func (r refreshing) partOf(n int64, name syntax.Name) (*syntax.CreateRelease, *view.View, error) {
	within, some := r.table.Within(period.Only(n))
	if !some {
		return nil, nil, sqlerr.New(sqlerr.Internal, "a period has no values")
	}
	st := &syntax.CreateRelease{Name: syntax.Name{Text: view.PartName(r.template, r.table.Partition, n), Position: name.Position},
		Table: syntax.Name{Text: r.table.Name}, Using: syntax.Algorithm(r.template.Using)}
	for _, c := range r.template.Columns {
		st.Columns = append(st.Columns, syntax.Name{Text: r.table.Columns[c].Name})
	}
	if json.Unmarshal(r.template.Options, &st.Options) != nil {
		return nil, nil, sqlerr.New(sqlerr.Corrupt, "how release %s is built cannot be read", r.template.Name)
	}
	return st, r.view.With(within), nil
}

// PlannedPart is a part of a template before it is built.
type PlannedPart struct {
	kind.Plan
	Release *catalog.Release // as it would be stored
	Again   bool             // in place of the one of that name
}

// PlanParts plans the parts that a REFRESH RELEASE would build, from public data alone. It changes
// nothing.
func (s *Statement) PlanParts(ctx context.Context, st *syntax.RefreshRelease) (all []PlannedPart, err error) {
	r, err := s.refreshing(ctx, st.Name)
	if err != nil {
		return nil, err
	}
	due, err := s.due(r, st)
	if err != nil {
		return nil, err
	}
	for _, n := range due {
		old := r.parts[n]
		if old != nil && !st.Again {
			continue // its fit is finished, at no cost
		}
		create, v, err := r.partOf(n, st.Name)
		if err != nil {
			return nil, err
		}
		p, err := s.PlanRelease(ctx, create, v)
		if err != nil {
			return nil, err
		}
		part := p.Outlined().Release(create.Name.Text, string(create.Using))
		part.Template = r.template.ID
		all = append(all, PlannedPart{p, part, old != nil})
	}
	return all, nil
}

// dropRelease drops a release, with its parts if it has any, or one part.
func dropRelease(tx *catalog.Tx, st *syntax.Drop) error {
	m, err := tx.Template(st.Name.Text)
	if err != nil {
		return err
	}
	switch {
	case m == nil && st.Period.Text == "":
		return tx.DropRelease(st.Name.Text)
	case m == nil:
		if r, err := tx.Release(st.Name.Text); err != nil || r != nil {
			return cmp.Or[error](err, sqlerr.New(sqlerr.Invalid, "%s has no parts", st.Name.Text))
		}
		return sqlerr.New(sqlerr.Unknown, "there is no release %s", st.Name.Text)
	case st.Period.Text == "":
		return tx.DropTemplate(m.Name)
	}
	p, err := partitionOf(tx, m)
	if err != nil {
		return err
	}
	n, err := p.Named(st.Period.Text)
	if err != nil {
		return sqlerr.Locate(err, st.Period.Position)
	}
	name := view.PartName(m, p, n)
	if r, err := tx.Release(name); err != nil || r == nil {
		return cmp.Or[error](err, sqlerr.New(sqlerr.Unknown, "%s has no part for %s", m.Name, p.Name(n)).At(st.Period.Position))
	}
	return tx.DropRelease(name)
}

// partitionOf returns the partition of a template's table.
func partitionOf(tx *catalog.Tx, m *catalog.Template) (*period.Partition, error) {
	t, err := tx.Table(m.Table)
	if err != nil {
		return nil, err
	}
	if t == nil || t.ID != m.TableID {
		return nil, sqlerr.New(sqlerr.Corrupt, "the private table of release %s is missing", m.Name)
	}
	a, err := tx.Account(t.Account)
	return a.Partition, err
}

// Retire ends the readings of a period's rows, through every table of the same rows, for ever.
// The period must have ended, and one of these tables must have it, or have had it and been charged
// for it. It returns what it did, in one line, with the releases that have no part for the period.
func (s *Statement) Retire(ctx context.Context, st *syntax.RetirePeriod) (note string, err error) {
	v, err := s.view(ctx)
	if err != nil {
		return "", err
	}
	t, err := v.Table(st.Table.Text, st.Table.Position)
	if err != nil {
		return "", err
	}
	if !t.HasPeriods() {
		return "", sqlerr.New(sqlerr.Invalid, "the budget of %s does not belong to periods", t.Name).At(st.Table.Position)
	}
	p, a := t.Partition, v.Accounts[t.Account]
	n, err := p.Named(st.Period.Text)
	if err == nil && t.Retired.Contains(n) {
		return p.Name(n) + " of " + t.Name + " is retired already", nil
	}
	all := v.PeriodsOf(a)
	switch {
	case err != nil:
	case !all.Contains(n):
		err = sqlerr.New(sqlerr.Invalid, "no table over %s has rows of %s", strings.Join(a.Bases, ", "), p.Name(n)).
			WithHint("they have those of %s", named(p, all))
	case p.Clocked() && !p.Closed(n, s.Now()):
		err = sqlerr.New(sqlerr.Invalid, "%s has not ended, and rows of it may still come", p.Name(n)).
			WithHint("it ends at %s", p.End(n).Format(time.RFC3339))
	}
	if err != nil {
		return "", sqlerr.Locate(err, st.Period.Position)
	}
	err = s.Store.Write(ctx, func(tx *catalog.Tx) error { return tx.Retire(t.Account, t.Name, period.Only(n)) })
	if err != nil {
		return "", err
	}
	var without []string
	for _, m := range v.Templates {
		of := v.TableByID(m.TableID)
		if of != nil && of.Account == t.Account && of.Periods().Contains(n) && v.Parts(m.ID)[n] == nil {
			without = append(without, m.Name)
		}
	}
	note = p.Name(n) + " of " + t.Name + " is retired: its rows are not read any more"
	if without != nil {
		note += "; it has no part in " + strings.Join(without, ", ")
	}
	return note, nil
}
