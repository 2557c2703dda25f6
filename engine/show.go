package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/view"
	"dpsql/internal/complete"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/mechanisms/direct"
	"dpsql/mechanisms/smw"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// show lists a part of the public catalog.
func (s *Session) show(ctx context.Context, st *syntax.Show) (*Result, error) {
	r, err := s.list(ctx, st)
	if err != nil {
		return nil, err
	}
	if st.Full {
		r.Brief, r.Note = nil, "" // the rows say it
	}
	if st.What == syntax.Settings {
		return r, nil
	}
	v, err := s.current(ctx)
	if err == nil && v.Missing() != "" {
		r.Warnings = append(r.Warnings, v.Missing()+": the first CREATE or .import makes it")
	}
	return r, err
}

func (s *Session) list(ctx context.Context, st *syntax.Show) (*Result, error) {
	if st.What == syntax.Settings {
		return released.ShowSettings(s.settings), nil
	}
	if err := s.mayList(st); err != nil {
		return nil, err
	}
	switch st.What {
	case syntax.Users, syntax.Grants:
		return s.showUsers(ctx, st)
	case syntax.Ledger:
		return s.showLedger(ctx)
	}
	v, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	switch st.What {
	case syntax.Tables:
		return showTables(v, s.settings.Confidence)
	case syntax.Sources:
		return showSources(v), nil
	case syntax.Releases:
		return showReleases(v), nil
	case syntax.Mechanisms:
		return showMechanisms(v)
	case syntax.Budget:
		if st.For.Text != "" {
			return s.showPeriods(ctx, v, st.For)
		}
		if v.User != nil {
			return s.db.showQuotas(v, s.settings), nil
		}
		return s.db.showBudget(v, s.settings), nil
	}
	return nil, sqlerr.New(sqlerr.Internal, "a list is not handled")
}

// mayList refuses a list that the session may not see.
func (s *Session) mayList(st *syntax.Show) error {
	switch st.What {
	case syntax.Users, syntax.Grants:
	case syntax.Ledger, syntax.Sources:
		if s.by.id == 0 {
			return nil
		}
	case syntax.Budget: // of a user it is her quota
		if s.by.id == 0 || st.For.Text == "" {
			return nil
		}
		return s.curatorOnly("see what is left of a table's budget")
	default:
		return nil
	}
	return s.curatorOnly("see the " + string(st.What))
}

// showTables lists the tables. The number of rows of a private table is the noisy one,
// with its margin at the confidence. It is NULL until it is bought.
func showTables(v *view.View, confidence float64) (*Result, error) {
	var all []released.ShownTable
	for _, t := range v.Tables {
		shown := shownTable(v, t)
		if t.NHat != nil {
			bound, err := pay.RowCountBound(*t.NHat, 1-confidence)
			if err != nil {
				return nil, err
			}
			shown.Rows, shown.Margin = t.NHat.Value, bound
		}
		all = append(all, shown)
	}
	return released.ShowTables(all, v.Publics), nil
}

// shownTable returns a table as lists have it.
func shownTable(v *view.View, t *view.Table) released.ShownTable {
	return released.ShownTable{Name: t.Name, Universe: t.Universe, Unit: t.UnitText(), Source: placeOf(t), Limits: v.LimitsText(t)}
}

// placeOf returns the place of a table's rows, NULL where there are none. Users are not told.
func placeOf(t *view.Table) any {
	if t.Grant != nil {
		return nil
	}
	return textOrNull(t.Place())
}

// textOrNull returns nil for an empty text.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// describe lists the columns of a private table with their domains. It adds the table's
// unit, the place of its rows, the limits on what SELECTs may spend, and its answer time.
func (s *Session) describe(ctx context.Context, st *syntax.Describe) (*Result, error) {
	v, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	t, err := v.Table(st.Table.Text, st.Table.Position)
	if err != nil {
		return nil, err
	}
	r := describe(v, t, st.Full)
	r.Note = guarantee(v.Accounts[t.Account].Account, t)
	return r, nil
}

func describe(v *view.View, t *view.Table, full bool) *Result {
	return shownTable(v, t).Describe(full, func(i int) []string {
		lists := slices.Clone(t.Lists[i])
		for _, name := range v.Names(kind.WithTexts(v.Releases, &t.Table, i)) {
			lists = released.AppendNew(lists, name)
		}
		return lists
	})
}

func showReleases(v *view.View) *Result {
	r := released.ShowReleases()
	for i := range v.Releases {
		rel := &v.Releases[i]
		var support any // NULL where there is no bound
		if rel.MaxSupport < catalog.AnySupport {
			support = int64(rel.MaxSupport)
		}
		t := v.TableByID(rel.TableID)
		over, made := view.ColumnNames(t, rel.Columns), kind.Of(rel.Using).Describe(rel.Params)
		var span any // NULL where a table has no periods
		if t.HasPeriods() {
			span = t.Partition.Text(rel.Span)
		}
		shown := released.ShownRelease{Name: rel.Name, Table: rel.Table, Columns: over, Made: made, Epsilon: rel.Epsilon.String(), Delta: rel.Delta.String(),
			Support: support, Size: rel.Size, Created: rel.CreatedAt.Format(time.RFC3339), Span: span}
		shown.Show(r, rel.Template == 0)
	}
	for i := range v.Templates {
		m := &v.Templates[i]
		t := v.TableByID(m.TableID)
		shown := released.ShownGrowing{Name: m.Name, Table: m.Table, Columns: view.ColumnNames(t, m.Columns), Using: m.Using, Created: m.CreatedAt.Format(time.RFC3339),
			Partition: t.Partition, Word: t.PeriodWord()}
		var most accounting.Amount
		for n, r := range v.Parts(m.ID) {
			shown.Built = shown.Built.Union(period.Ranges{period.Only(n)})
			most.Epsilon, most.Delta = max(most.Epsilon, r.Epsilon), max(most.Delta, r.Delta)
		}
		shown.Each = briefAmount(most)
		shown.Show(r)
	}
	return r.ByName()
}

func showMechanisms(v *view.View) (*Result, error) {
	r := &Result{Columns: released.ListColumns(syntax.Mechanisms),
		Brief: &Result{Columns: released.Listed("mechanism", "TEXT", "table", "TEXT", "columns", "TEXT", "epsilon", "TEXT", "runs", "TEXT", "comparisons", "TEXT", "prior", "TEXT", "within", "INTEGER")}}
	for i := range v.Mechanisms {
		m := &v.Mechanisms[i]
		p, err := kind.ReadMechanism(m)
		if err != nil {
			return nil, err
		}
		t := v.TableByID(m.TableID)
		over := view.ColumnNames(t, m.Columns)
		runs, compared := fmt.Sprintf("%d of %d", m.RunsStarted, m.Updates), fmt.Sprintf("%d of %d", m.Comparisons, p.Queries)
		r.Rows = append(r.Rows, []any{m.Name, m.Table, over, m.Epsilon.String(), runs, compared, int64(p.MaxSupport),
			p.PriorText(), p.Threshold + p.Bound, guaranteed(p), paperAlpha(m, p.Params, v.Accounts[t.Account]), m.CreatedAt.Format(time.RFC3339)})
		r.Brief.Rows = append(r.Brief.Rows, []any{m.Name, m.Table, released.BriefList(over), released.Rounded(m.Epsilon.Float()), runs, compared, p.PriorText(), p.Threshold + p.Bound})
	}
	return r, nil
}

// guaranteed returns α, or nil if the number of updates was given instead.
func guaranteed(p released.MechanismParams) any {
	if p.Alpha == 0 {
		return nil
	}
	return math.Ceil(p.Alpha*1e6*(1-1e-12)) / 1e6 // gives back the α that the statement asked for
}

// threeDigits rounds a fraction up.
func threeDigits(x float64) float64 { return math.Ceil(x*1000) / 1000 }

// paperAlpha returns the α of the paper's theorem for the same ε, δ, m, k and β.
func paperAlpha(m *catalog.Mechanism, p smw.Params, a view.Account) float64 {
	return threeDigits(smw.PaperAlpha(smw.PaperParams{MaxSupport: p.MaxSupport, Queries: p.Queries, Beta: p.Beta,
		Epsilon: m.Epsilon.Float(), Delta: a.Caps.InteractiveDelta.Float(), Rows: p.NHat}))
}

// showBudget shows the two accounts of each table's rows, and describes the remaining
// budget in words. Tables of the same rows share a line.
func (db *DB) showBudget(v *view.View, s Settings) *Result {
	r := &Result{Columns: released.ListColumns(syntax.Budget), Brief: &Result{Columns: released.Texts("table", "account", "total", "left", "in words")}}
	for _, tables := range byAccount(v.Tables) {
		a, ok := v.Accounts[tables[0].Account]
		if !ok {
			continue
		}
		names, left := tableNames(tables), a.Remaining()
		row := func(account, unit string, total, spent, left amount, words, brief string) {
			if total.String() == "0" {
				return
			}
			r.Rows = append(r.Rows, []any{names, account, unit, total.String(), spent.String(), left.String(), words})
			r.Brief.Rows = append(r.Brief.Rows, []any{released.BriefList(names), account + " " + unit, released.Rounded(total.Float()), released.Rounded(left.Float()), brief})
		}
		epsilons, deltas := percent(left.Epsilon, a.Caps.ReleaseEpsilon), percent(left.Delta, a.Caps.ReleaseDelta)
		if a.Partition != nil {
			epsilons = released.JoinNotes(epsilons, "in the period with the least; "+periodsHint(tables))
			deltas = released.JoinNotes(deltas, "in the period with the least")
		}
		row("releases", "ε", a.Caps.ReleaseEpsilon, a.Spent.Epsilon, left.Epsilon, epsilons, epsilons)
		row("releases", "δ", a.Caps.ReleaseDelta, a.Spent.Delta, left.Delta, deltas, deltas)
		brief, words := db.interactiveWords(a, tables, s)
		row("interactive", "ρ", a.Caps.InteractiveRho, a.Spent.Rho, left.Rho, words, brief)
	}
	return r
}

// periodsHint names the statement that shows the periods of a budget.
func periodsHint(tables []*view.Table) string {
	for _, t := range tables {
		if t.HasPeriods() {
			return "SHOW BUDGET FOR " + syntax.WriteName(t.Name) + " lists them"
		}
	}
	return "a table with periods lists them"
}

// showQuotas shows a user what she may take through each table. What an account has left,
// others spend from too: she is told only whether it is less than her quota.
func (db *DB) showQuotas(v *view.View, s Settings) *Result {
	r := &Result{Columns: released.ListColumns(syntax.Budget), Brief: &Result{Columns: released.Texts("table", "account", "total", "left", "in words")}}
	for _, t := range v.Tables {
		g, words := t.Grant, "nothing may be bought"
		if g.Quota.Rho > 0 {
			var own view.Account
			own.Caps.InteractiveRho = g.Left()
			words = released.JoinNotes(db.answersLeft(own, []*view.Table{t}, s), v.Limits(t).String())
			if v.Accounts[t.Account].Remaining().Rho < g.Left() {
				words = released.JoinNotes(words, "the table's budget has less left")
			}
		}
		r.Rows = append(r.Rows, []any{t.Name, "quota", "ρ", g.Quota.Rho.String(), g.Spent.String(), g.Left().String(), words})
		r.Brief.Rows = append(r.Brief.Rows, []any{t.Name, "quota ρ", released.Rounded(g.Quota.Rho.Float()), released.Rounded(g.Left().Float()), strings.ReplaceAll(words, " more direct", " direct")})
	}
	return r
}

// amount is an ε, δ or ρ.
type amount interface {
	fmt.Stringer
	Float() float64
}

// byAccount groups tables that have one account, in order of appearance.
func byAccount(tables []*view.Table) (groups [][]*view.Table) {
	for _, t := range tables {
		i := slices.IndexFunc(groups, func(g []*view.Table) bool { return g[0].Account == t.Account })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], t)
	}
	return groups
}

func tableNames(tables []*view.Table) string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

func percent[T accounting.Epsilon | accounting.Delta](left, total T) string {
	return fmt.Sprintf("%.0f %% left for releases", 100*float64(left)/float64(max(total, 1)))
}

// interactiveWords describes the interactive account of some tables in words: what is left,
// and also what the account is.
func (db *DB) interactiveWords(a view.Account, tables []*view.Table, s Settings) (left, all string) {
	about := fmt.Sprintf("ρ = %s is ε = %v at δ = %v", released.Short(a.Caps.InteractiveRho.Float()), a.Caps.InteractiveEpsilon, a.Caps.InteractiveDelta)
	limits, answers := a.Limits.String(), db.answersLeft(a, tables, s)
	return released.JoinNotes(strings.ReplaceAll(answers, " more direct", " direct"), limits), released.JoinNotes(released.JoinNotes(answers, about), limits)
}

// answersLeft says how many direct answers the rest of the interactive account buys. It says
// so for each table, if the units of tables differ in size.
func (db *DB) answersLeft(a view.Account, tables []*view.Table, s Settings) string {
	var texts []string
	for _, t := range tables {
		p := db.answers.Price(direct.Request{Accuracy: answer.Suggested, Confidence: s.Confidence, Sensitivity: t.Sensitivity(), Answers: 1})
		if !p.Possible {
			return ""
		}
		text := "too little for a direct answer"
		switch n := int64(a.Remaining().Rho) / p.Rho; {
		case n == 1:
			text = "1 more direct answer"
		case n > 1:
			text = fmt.Sprintf("about %d more direct answers", n)
		}
		texts = append(texts, text)
	}
	within := fmt.Sprintf(" within ±%d (%s %%)", answer.Suggested, released.Counts(100*s.Confidence))
	if different := slices.Compact(slices.Clone(texts)); len(different) == 1 {
		return texts[0] + within
	}
	for i, t := range tables {
		texts[i] += " about " + t.Name
	}
	return strings.Join(texts, " or ") + "," + within
}

// showLedger verifies the chain and lists every line, oldest first. For people who are curators, a cost
// says whether it waits for its statement or has served it.
func (s *Session) showLedger(ctx context.Context) (*Result, error) {
	r := &Result{Columns: released.ListColumns(syntax.Ledger),
		Brief: &Result{Columns: released.Listed("seq", "INTEGER", "at", "TEXT", "rows of", "TEXT", "action", "TEXT", "object", "TEXT")}}
	return r, s.db.store.Read(ctx, func(tx *catalog.Tx) error {
		if err := tx.VerifyLedger(); err != nil {
			return err
		}
		entries, err := tx.Ledger()
		if err != nil {
			return err
		}
		accounts, err := tx.Accounts()
		if err != nil {
			return err
		}
		bases, partitions := make(map[int64]string), make(map[int64]*period.Partition)
		for _, a := range accounts {
			bases[a.ID] = strings.Join(a.Bases, ", ")
			if a.Partition != nil {
				partitions[a.ID] = a.Partition
			}
		}
		if len(partitions) > 0 {
			r.Brief.Columns = append(r.Brief.Columns, released.ColumnOf("periods", "TEXT"))
		}
		r.Brief.Columns = append(r.Brief.Columns, released.ColumnOf("cost", "TEXT"))
		came := make(map[int64]string) // of a charge, by its line
		for _, e := range entries {
			if line, state := catalog.Waits(e); s.told() {
				came[line] = state
			}
		}
		for _, e := range entries {
			var over any // NULL without periods
			if p := partitions[e.Account]; p != nil {
				over = p.Text(e.Over)
			}
			r.Rows = append(r.Rows, []any{e.Seq, e.At.Format(time.RFC3339), bases[e.Account], string(e.Kind), e.Action, e.Object,
				amountText(e.Amount.Epsilon), amountText(e.Amount.Delta), amountText(e.Amount.Rho), fmt.Sprintf("%x", e.Hash[:8]), over})
			action, _, _ := strings.Cut(e.Action, ":") // what follows are the terms of a budget
			brief := []any{e.Seq, e.At.Format("2006-01-02 15:04"), released.BriefList(bases[e.Account]), action, e.Object}
			if len(partitions) > 0 {
				brief = append(brief, over)
			}
			r.Brief.Rows = append(r.Brief.Rows, append(brief, textOrNull(released.JoinNotes(briefAmount(e.Amount), came[e.Seq]))))
		}
		return nil
	})
}

// briefAmount returns amounts as people read them, or "" for none.
func briefAmount(a accounting.Amount) string {
	var parts []string
	for _, of := range []struct {
		name string
		amount
	}{{"ε", a.Epsilon}, {"δ", a.Delta}, {"ρ", a.Rho}} {
		if of.Float() != 0 {
			parts = append(parts, of.name+" "+released.Rounded(of.Float()))
		}
	}
	return strings.Join(parts, ", ")
}

// amountText returns an amount as text, or "" for 0.
func amountText[T accounting.Epsilon | accounting.Delta | accounting.Rho](a T) any {
	if a == 0 {
		return nil
	}
	return fmt.Sprint(a)
}

func showSources(v *view.View) *Result {
	r := &Result{Columns: released.ListColumns(syntax.Sources)}
	for _, s := range v.Sources {
		var timeout any
		if s.Timeout > 0 {
			timeout = fmt.Sprintf("%d s", int64(s.Timeout.Seconds()))
		}
		tables := int64(0)
		for _, t := range v.Tables {
			if t.SourceID == s.ID {
				tables++
			}
		}
		r.Rows = append(r.Rows, []any{s.Name, s.Kind, s.DSNEnv, timeout, tables, s.CreatedAt.Format(time.RFC3339)})
	}
	return r
}

// Vocabulary holds the public names and values that statements can use.
type Vocabulary = complete.Vocabulary

// Vocabulary reads the names from the public catalog.
func (s *Session) Vocabulary(ctx context.Context) (Vocabulary, error) {
	v, err := s.current(ctx)
	if err != nil {
		return Vocabulary{}, public(ctx, err)
	}
	out := Vocabulary{Publics: v.Publics}
	for _, s := range v.Sources {
		out.Sources = append(out.Sources, s.Name)
	}
	if out.Users, err = s.userNames(ctx); err != nil {
		return Vocabulary{}, public(ctx, err)
	}
	for _, t := range v.Tables {
		words := complete.Table{Name: t.Name}
		for _, c := range t.Columns {
			words.Columns = append(words.Columns, complete.ColumnOf(c))
		}
		out.Tables = append(out.Tables, words)
	}
	for _, r := range v.Releases {
		if r.Template == 0 { // a part is named by its period
			out.Releases = append(out.Releases, r.Name)
		}
	}
	for _, m := range v.Templates {
		out.Releases = append(out.Releases, m.Name)
	}
	for _, m := range v.Mechanisms {
		out.Mechanisms = append(out.Mechanisms, m.Name)
	}
	return out, nil
}
