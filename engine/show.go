package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/pay"
	"dpsql/engine/internal/stored"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/direct"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// show lists a part of the public catalog.
func (s *Session) show(ctx context.Context, st *syntax.Show) (*Result, error) {
	if st.What == syntax.Settings {
		return s.showSettings(), nil
	}
	if st.What == syntax.Ledger {
		return s.db.showLedger(ctx)
	}
	v, err := s.db.current(ctx)
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
		return s.db.showBudget(v, s.settings), nil
	}
	return nil, sqlerr.New(sqlerr.Internal, "a list is not handled")
}

// columns returns columns from pairs of a name and a type.
func columns(namesAndTypes ...string) []Column {
	var all []Column
	for i := 0; i < len(namesAndTypes); i += 2 {
		all = append(all, Column{Name: namesAndTypes[i], Type: namesAndTypes[i+1]})
	}
	return all
}

// texts returns columns of type TEXT.
func texts(names ...string) []Column {
	columns := make([]Column, len(names))
	for i, n := range names {
		columns[i] = Column{Name: n, Type: "TEXT"}
	}
	return columns
}

func (s *Session) showSettings() *Result {
	r := &Result{Columns: texts("setting", "value")}
	for _, name := range SettingNames {
		r.Rows = append(r.Rows, []any{name, s.settings.Get(name)})
	}
	return r
}

// showTables lists the tables. The number of rows of a private table is the noisy one,
// with its margin at the confidence. It is NULL until it is bought.
func showTables(v *view.View, confidence float64) (*Result, error) {
	r := &Result{Columns: columns("table", "TEXT", "kind", "TEXT", "columns", "INTEGER", "universe", "TEXT", "unit", "TEXT", "rows", "INTEGER", "margin", "INTEGER", "source", "TEXT", "limits", "TEXT")}
	for _, t := range v.Tables {
		size := "infinite"
		if n := t.Universe.Size(); n != nil {
			size = n.String()
		}
		var rows, margin any
		if t.NHat != nil {
			bound, err := pay.RowCountBound(*t.NHat, 1-confidence)
			if err != nil {
				return nil, err
			}
			rows, margin = t.NHat.Value, bound
		}
		r.Rows = append(r.Rows, []any{t.Name, "private", int64(len(t.Columns)), size, view.UnitText(t.Unit, t.MaxRows), rows, margin, textOrNull(t.Place()), textOrNull(v.Limits(t).String())})
	}
	for _, p := range v.Publics {
		r.Rows = append(r.Rows, []any{p, "public", nil, nil, nil, nil, nil, p, nil})
	}
	return r, nil
}

// textOrNull returns nil for an empty text.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// describe lists the columns of a private table with their domains. It adds the table's
// unit, the place of its rows, and the limits on what SELECTs may spend.
func (s *Session) describe(ctx context.Context, st *syntax.Describe) (*Result, error) {
	v, err := s.db.current(ctx)
	if err != nil {
		return nil, err
	}
	t, err := v.Table(st.Table.Text, st.Table.Position)
	if err != nil {
		return nil, err
	}
	return describe(v, t), nil
}

func describe(v *view.View, t *view.Table) *Result {
	r := &Result{Columns: columns("column", "TEXT", "type", "TEXT", "domain", "TEXT", "size", "INTEGER", "unit", "TEXT", "source", "TEXT", "limits", "TEXT")}
	for _, c := range t.Columns {
		row := []any{c.Name, c.Domain.Type().String(), "any text or NULL", nil, view.UnitText(t.Unit, t.MaxRows), textOrNull(t.Place()), textOrNull(v.Limits(t).String())}
		if c.Domain.Finite() {
			row[2], row[3] = c.Domain.String(), int64(c.Domain.Size())
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func showReleases(v *view.View) *Result {
	r := &Result{Columns: columns("release", "TEXT", "table", "TEXT", "columns", "TEXT", "method", "TEXT", "epsilon", "TEXT", "delta", "TEXT", "max_support", "INTEGER", "bytes", "INTEGER", "created", "TEXT")}
	for i := range v.Releases {
		rel := &v.Releases[i]
		var support any // NULL where there is no bound
		if rel.MaxSupport < catalog.AnySupport {
			support = int64(rel.MaxSupport)
		}
		r.Rows = append(r.Rows, []any{rel.Name, rel.Table, view.ColumnNames(v.TableByID(rel.TableID), rel.Columns), method(rel),
			rel.Epsilon.String(), rel.Delta.String(), support, rel.Size, rel.CreatedAt.Format(time.RFC3339)})
	}
	return r
}

// method describes how a release was made.
func method(r *catalog.Release) string {
	switch r.Using {
	case "marginals":
		return described(r, func(p stored.MarginalsAbout) string {
			settled := ""
			if !p.Settled {
				settled = ", not settled"
			}
			return fmt.Sprintf("%s%s, %s noise", p.Shape(), settled, p.Law)
		})
	case "smw":
		return described(r, func(p stored.HypothesisAbout) string {
			agreed := "complete"
			if !p.Complete {
				agreed = "incomplete"
			}
			return fmt.Sprintf("smw, %s, %d updates, %s", p.Class, p.Updates, agreed)
		})
	}
	return described(r, func(p stored.ReleaseAbout) string {
		return fmt.Sprintf("projection, %s, %s noise from the %s sampler", p.Shape(), p.Law, p.Sampler)
	})
}

// described describes a release by what is stored about it, or by its algorithm if that
// cannot be read.
func described[about any](r *catalog.Release, describe func(about) string) string {
	var p about
	if json.Unmarshal(r.Params, &p) != nil {
		return r.Using
	}
	return describe(p)
}

func showMechanisms(v *view.View) (*Result, error) {
	r := &Result{Columns: columns("mechanism", "TEXT", "table", "TEXT", "columns", "TEXT", "epsilon", "TEXT", "runs", "TEXT", "comparisons", "TEXT", "max_support", "INTEGER", "prior", "TEXT", "within", "INTEGER", "guaranteed alpha", "REAL", "paper's alpha", "REAL", "created", "TEXT")}
	for i := range v.Mechanisms {
		m := &v.Mechanisms[i]
		p, err := stored.ReadMechanism(m)
		if err != nil {
			return nil, err
		}
		t := v.TableByID(m.TableID)
		r.Rows = append(r.Rows, []any{m.Name, m.Table, view.ColumnNames(t, m.Columns), m.Epsilon.String(),
			fmt.Sprintf("%d of %d", m.RunsStarted, m.Updates), fmt.Sprintf("%d of %d", m.Comparisons, p.Queries), int64(p.MaxSupport),
			p.PriorText(), p.Threshold + p.Bound, guaranteed(p), paperAlpha(m, p.Params, v.Accounts[t.Account]), m.CreatedAt.Format(time.RFC3339)})
	}
	return r, nil
}

// guaranteed returns α, or nil if the number of updates was given instead.
func guaranteed(p stored.MechanismParams) any {
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
// budget in words.
func (db *DB) showBudget(v *view.View, s Settings) *Result {
	r := &Result{Columns: texts("table", "account", "unit", "total", "spent", "left", "in words")}
	for _, t := range v.Tables {
		a, ok := v.Accounts[t.Account]
		if !ok {
			continue
		}
		left := a.Remaining()
		row := func(account, unit string, total, spent, left fmt.Stringer, words string) {
			if total.String() != "0" {
				r.Rows = append(r.Rows, []any{t.Name, account, unit, total.String(), spent.String(), left.String(), words})
			}
		}
		row("releases", "ε", a.Caps.ReleaseEpsilon, a.Spent.Epsilon, left.Epsilon, percent(left.Epsilon, a.Caps.ReleaseEpsilon))
		row("releases", "δ", a.Caps.ReleaseDelta, a.Spent.Delta, left.Delta, percent(left.Delta, a.Caps.ReleaseDelta))
		row("interactive", "ρ", a.Caps.InteractiveRho, a.Spent.Rho, left.Rho, db.interactiveWords(a, t, s))
	}
	return r
}

func percent[T accounting.Epsilon | accounting.Delta](left, total T) string {
	return fmt.Sprintf("%.0f %% left for releases", 100*float64(left)/float64(max(total, 1)))
}

// interactiveWords describes the interactive account in words.
func (db *DB) interactiveWords(a view.Account, t *view.Table, s Settings) string {
	total := fmt.Sprintf("ρ = %s is ε = %v at δ = %v", view.Short(a.Caps.InteractiveRho.Float()), a.Caps.InteractiveEpsilon, a.Caps.InteractiveDelta)
	if limits := a.Limits.String(); limits != "" {
		total += "; " + limits
	}
	p := db.answers.Price(direct.Request{Accuracy: answer.Suggested, Confidence: s.Confidence, Sensitivity: t.Sensitivity()})
	if !p.Possible {
		return total
	}
	answers := "too little for a direct answer"
	switch n := int64(a.Remaining().Rho) / p.Rho; {
	case n == 1:
		answers = "1 more direct answer"
	case n > 1:
		answers = fmt.Sprintf("about %d more direct answers", n)
	}
	return fmt.Sprintf("%s within ±%d (%s %%); %s", answers, answer.Suggested, view.Counts(100*s.Confidence), total)
}

// showLedger verifies the chain and lists every line, oldest first.
func (db *DB) showLedger(ctx context.Context) (*Result, error) {
	r := &Result{Columns: columns("seq", "INTEGER", "at", "TEXT", "rows of", "TEXT", "account", "TEXT", "action", "TEXT", "object", "TEXT", "epsilon", "TEXT", "delta", "TEXT", "rho", "TEXT", "hash", "TEXT")}
	return r, db.store.Read(ctx, func(tx *catalog.Tx) error {
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
		bases := make(map[int64]string)
		for _, a := range accounts {
			bases[a.ID] = strings.Join(a.Bases, ", ")
		}
		for _, e := range entries {
			r.Rows = append(r.Rows, []any{e.Seq, e.At.Format(time.RFC3339), bases[e.Account], string(e.Kind), e.Action, e.Object,
				amountText(e.Amount.Epsilon), amountText(e.Amount.Delta), amountText(e.Amount.Rho), fmt.Sprintf("%x", e.Hash[:8])})
		}
		return nil
	})
}

// amountText returns an amount as text, or "" for 0.
func amountText[T accounting.Epsilon | accounting.Delta | accounting.Rho](a T) any {
	if a == 0 {
		return nil
	}
	return fmt.Sprint(a)
}

func showSources(v *view.View) *Result {
	r := &Result{Columns: columns("source", "TEXT", "kind", "TEXT", "dsn_env", "TEXT", "timeout", "TEXT", "tables", "INTEGER", "created", "TEXT")}
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

// Vocabulary holds the public names and values that statements can use. The shell
// completes from it.
type Vocabulary struct {
	Tables     []TableWords // private tables
	Sources    []string
	Publics    []string
	Releases   []string
	Mechanisms []string
}

// TableWords holds the names of a private table and its columns.
type TableWords struct {
	Name    string
	Columns []ColumnWords
}

// ColumnWords holds the name of a column and its declared values as SQL literals. If there
// are more than mostWords values it holds none.
type ColumnWords struct {
	Name   string
	Values []string
}

// mostWords is the largest number of values that are listed for a column.
const mostWords = 200

// Vocabulary reads the names from the public catalog.
func (s *Session) Vocabulary(ctx context.Context) (Vocabulary, error) {
	v, err := s.db.view(ctx)
	if err != nil {
		return Vocabulary{}, public(ctx, err)
	}
	out := Vocabulary{Publics: v.Publics}
	for _, s := range v.Sources {
		out.Sources = append(out.Sources, s.Name)
	}
	for _, t := range v.Tables {
		words := TableWords{Name: t.Name}
		for _, c := range t.Columns {
			words.Columns = append(words.Columns, ColumnWords{c.Name, literals(c.Domain)})
		}
		out.Tables = append(out.Tables, words)
	}
	for _, r := range v.Releases {
		out.Releases = append(out.Releases, r.Name)
	}
	for _, m := range v.Mechanisms {
		out.Mechanisms = append(out.Mechanisms, m.Name)
	}
	return out, nil
}

func literals(d query.Domain) []string {
	if !d.Finite() || d.Size() > mostWords {
		return nil
	}
	values := make([]string, d.Size())
	for i := range values {
		values[i] = d.Value(uint64(i)).String()
	}
	return values
}
