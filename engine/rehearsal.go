package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/declare"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// Rehearsal runs a script on a copy of the catalog in memory and adds up its cost. The
// copy has no private rows. A rehearsal reads, draws and builds nothing. Declarations,
// charges and plans are the same as in a run, and releases and answers are stored empty.
// Facts that a run would learn from private rows, such as N̂, stay unknown.
type Rehearsal struct {
	s       *Session                    // on the original database; SET changes its settings
	copy    *Session                    // on the copy
	view    *view.View                  // of the copy, after the last statement
	before  map[int64]accounting.Amount // spent from each account before the script
	dropped []*view.Table               // tables that the script dropped; the spending on their rows counts
	unknown []string                    // reasons why the total may differ

	stubs     map[string]bool                  // tables made up for rows that do not exist yet, by folded name
	unread    map[string]bool                  // tables that the script declares public; their rows are not in the copy
	undecided map[int64]map[int]string         // columns of private tables whose domains are read from unread tables, with the reason
	unbuilt   map[answer.Unbuilt]kind.Forecast // the releases and mechanisms that the script creates
}

// Rehearse begins a rehearsal from the present catalog. The caller must Close it.
func (s *Session) Rehearse(ctx context.Context) (*Rehearsal, error) {
	r, err := s.rehearse(ctx)
	if err != nil {
		return nil, public(ctx, err)
	}
	return r, nil
}

func (s *Session) rehearse(ctx context.Context) (*Rehearsal, error) {
	if s.by.id != 0 || s.by.err != nil {
		return nil, s.curatorOnly("rehearse scripts")
	}
	readable, err := s.db.publicRowsOf(ctx)
	if err != nil {
		return nil, err
	}
	store, err := s.db.store.Copy(ctx, readable)
	if err != nil {
		return nil, err
	}
	r := &Rehearsal{s: s, before: make(map[int64]accounting.Amount), stubs: make(map[string]bool), unread: make(map[string]bool),
		undecided: make(map[int64]map[int]string), unbuilt: make(map[answer.Unbuilt]kind.Forecast)}
	db := &DB{store: store, role: s.by.role, settings: s.db.settings, coins: s.db.coins, now: s.db.now, rehearsal: r, building: make(chan struct{}, 1),
		rows: rows.Refusing(sqlerr.New(sqlerr.Internal, "a rehearsal would read private rows"))}
	db.desk = s.db.desk.On(store)
	db.answers = s.db.answers.Rehearse(store, db.rows, db.desk, r.unbuilt)
	r.copy = db.NewSession()
	if err := r.look(ctx); err != nil {
		store.Close()
		return nil, err
	}
	for id, a := range r.view.Accounts {
		r.before[id] = a.Spent
	}
	return r, nil
}

// Close releases the copy.
func (r *Rehearsal) Close() error {
	r.copy.db.around.close()
	return r.copy.db.store.Close()
}

// publicRowsOf returns the tables that public tables and views read.
func (db *DB) publicRowsOf(ctx context.Context) (tables []string, err error) {
	err = db.store.Read(ctx, func(tx *catalog.Tx) error {
		publics, err := tx.Publics()
		if err != nil {
			return err
		}
		for _, public := range publics {
			if schemas.ReadsNoPrivateRows(ctx, tx, public, nil) != nil {
				continue // missing, or any statement that uses it is refused
			}
			bases, err := source.Bases(ctx, tx.SQL(), public)
			if err != nil {
				return err
			}
			tables = append(tables, bases...)
		}
		return nil
	})
	return tables, err
}

// look updates the view of the copy.
func (r *Rehearsal) look(ctx context.Context) error {
	v, err := r.copy.current(ctx)
	if err != nil {
		return err
	}
	for _, t := range v.Tables {
		t.Undecided, t.Unread = r.undecided[t.ID], r.unread
	}
	r.view = v
	return nil
}

// Plan returns what a statement would do and cost, in the columns of EXPLAIN. It runs SET,
// SHOW and DESCRIBE; the lists show the database as it is now.
func (r *Rehearsal) Plan(ctx context.Context, text string, args []query.Value) (*Result, error) {
	out, err := r.plan(ctx, text, args)
	if err != nil {
		return nil, public(ctx, err)
	}
	return out, nil
}

func (r *Rehearsal) plan(ctx context.Context, text string, args []query.Value) (*Result, error) {
	p, err := Prepare(text)
	if err != nil {
		return nil, err
	}
	return r.planned(ctx, p, args)
}

func (r *Rehearsal) planned(ctx context.Context, p *Prepared, args []query.Value) (out *Result, err error) {
	if p.read.Query == nil && len(p.read.Parameters) > 0 {
		return p.literally(args, func(p *Prepared) (*Result, error) { return r.planned(ctx, p, nil) })
	}
	r.copy.dir = r.s.dir
	if r.copy.settings, err = p.settings(r.s.settings, args); err != nil {
		return nil, err
	}
	if p.read.Query != nil {
		return r.query(ctx, p, args)
	}
	statement, text := p.read.Statement, p.read.Text
	switch st := statement.(type) {
	case *syntax.Describe:
		if t := r.view.Private(st.Table.Text); t != nil {
			return describe(r.view, t, st.Full), nil
		}
	case *syntax.ExplainCreate:
		return r.copy.outlook(ctx, st, r.view)
	case *syntax.Advise:
		return r.copy.advise(ctx, st, r.view)
	case *syntax.Set, *syntax.Show:
	default:
		if err := r.s.curatorOnly("declare, drop or export"); err != nil {
			return nil, err
		}
		out, err := r.declare(ctx, text, statement)
		if failed := r.look(ctx); err == nil {
			err = failed
		}
		return out, afterOthers(err)
	}
	return r.s.Exec(ctx, text, args)
}

// afterOthers adds to a refusal for lack of budget that the script itself has spent part
// of the budget.
func afterOthers(err error) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Code != sqlerr.Budget {
		return err
	}
	c := *e
	c.Message += " after the statements before it"
	return &c
}

// query explains a query and buys its answers in the copy.
func (r *Rehearsal) query(ctx context.Context, p *Prepared, args []query.Value) (*Result, error) {
	return released.Either(p.query(), func(sel *syntax.Select) (*Result, error) {
		return r.together(ctx, []released.Selection{{Select: sel, Args: args}}, !p.read.Explain)
	}, func(st released.Surrounded) (*Result, error) { return r.surround(ctx, st, args) })
}

// together explains SELECTs that are asked together and buys their answers in the copy.
func (r *Rehearsal) together(ctx context.Context, all []released.Selection, buys bool) (*Result, error) {
	r.copy.begin()
	st, err := r.copy.db.answers.Bind(ctx, r.copy.asker(), r.view, all)
	if name, why := r.cannotBind(all, err); why != "" {
		r.leaves("what SELECTs with %s cost: %s", name, why)
		return planned("unknown", "", "unknown", why), nil
	}
	if err != nil {
		return nil, err
	}
	if err := st.Plan(ctx, answer.Planning{Explaining: true}); err != nil {
		return nil, err
	}
	for i := range st.Asks {
		r.doubt(st.Asks[i].Table, st.Asks[i].Candidates)
	}
	out := st.Explained()
	if st.First != nil {
		r.leaves("what averages cost whose numbers of rows are counted first")
		st = st.First
	}
	if err := st.Choose(); err != nil {
		if buys {
			r.leaves("what follows a SELECT that is refused, where a run stops: %s", err)
		}
		return out, nil
	}
	if buys {
		err = r.buy(ctx, st)
	}
	return out, err
}

// surround plans a statement with private aggregates in it, or with public tables only. It does
// not run what surrounds the aggregates: the script may have declared the public tables, and
// their rows are not in the copy.
func (r *Rehearsal) surround(ctx context.Context, st released.Surrounded, args []query.Value) (*Result, error) {
	around := r.copy.surroundings(r.view)
	if around.NamePrivate(st.Tables) {
		for _, t := range st.Tables {
			if r.unread[query.FoldName(t.Text)] {
				why := t.Text + " is declared public by this script, and its rows are not known yet"
				r.leaves("what statements with %s cost: %s", t.Text, why)
				return planned("unknown", "", "unknown", why), nil
			}
		}
	}
	c, err := around.Cut(ctx, st, args, nil)
	if err != nil {
		return nil, err
	}
	if c.Waits != 0 {
		const why = "an aggregate waits for the answer of another one"
		r.leaves("what a statement costs in which %s", why)
		return planned("unknown", "", "unknown", why), nil
	}
	if len(c.Asks) == 0 {
		return planned("sqlite", "public", "0", "names no private table"), nil
	}
	out, err := r.together(ctx, c.Asks, !c.Rest.Explain)
	if err != nil {
		return nil, err
	}
	out.Explain([]any{"sqlite", "public", nil, nil, nil, "0", "runs what is left of the statement"})
	return out, nil
}

// cannotBind returns the reason why a SELECT cannot be bound, if that is a column with an
// unknown domain or a table with unknown rows, and its name.
func (r *Rehearsal) cannotBind(all []released.Selection, err error) (name, why string) {
	var column *sqlfront.UndecidedError
	var table *view.UnreadError
	if errors.As(err, &column) {
		for _, s := range all {
			t, err := r.view.Selected(s.Select)
			if err == nil && column.Column < len(t.Columns) && query.SameName(t.Columns[column.Column].Name, column.Name) && t.Undecided[column.Column] != "" {
				return column.Name, t.Undecided[column.Column]
			}
		}
	} else if errors.As(err, &table) {
		return table.Name, table.Error()
	}
	return "", ""
}

// doubt marks the candidates whose support depends on an unknown domain.
func (r *Rehearsal) doubt(t *view.Table, candidates []released.Candidate) {
	for i := range candidates {
		c := &candidates[i]
		if why := t.Unclear(c.Columns); why != "" && c.Origin == released.FromScript && c.Refusal == "" {
			c.Note = released.JoinNotes(c.Note, "m is not known")
			r.leaves("whether %s admits the supports of queries: %s", c.Name, why)
		}
	}
}

// buy charges the copy for the statement's purchases and stores their answers with the
// value 0.
func (r *Rehearsal) buy(ctx context.Context, st *answer.Statement) error {
	purchases := st.Purchases()
	if len(purchases) == 0 {
		return nil
	}
	err := r.copy.db.store.Write(ctx, func(tx *catalog.Tx) error {
		for _, p := range purchases {
			for _, n := range p.Asks {
				stored, err := p.Price.Stored(st.Asks[n].Request, 0)
				if err != nil {
					return err
				}
				if err := tx.PutAnswer(&stored); err != nil {
					return err
				}
			}
		}
		for t, due := range st.Due {
			cost, _ := answer.Total(due)
			if cost.Rho == 0 {
				continue
			}
			if err := tx.Buy(*st.Buyers.Of(t.Account), catalog.Payment{Account: t.Account, Action: "direct answers", Object: t.Name, Rho: cost.Rho, Shares: answer.Shares(due)}); err != nil {
				return err
			}
		}
		return nil
	})
	for _, p := range purchases {
		for _, n := range p.Asks {
			a := &st.Asks[n]
			if slices.ContainsFunc(a.Candidates, func(c released.Candidate) bool {
				return c.Origin == released.FromScript && c.Refusal == "" && !c.Known && c.Allowed(a.Settings.Mechanism)
			}) {
				r.leaves("whether what this script creates answers within SET accuracy: where it does, less is bought")
			}
		}
	}
	if err != nil {
		return err
	}
	return r.look(ctx)
}

// leaves adds something that is unknown before the script has run.
func (r *Rehearsal) leaves(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.unknown, text) {
		r.unknown = append(r.unknown, text)
	}
}

// planned returns the row of a statement that is not a SELECT.
func planned(name, kind, cost, note string) *Result {
	return released.Explanation("REAL", []any{name, kind, nil, nil, nil, cost, note})
}

const doneNote = "exists: nothing to do"

// declare runs a declaration on the copy. It stores a release or mechanism without the
// parts that come from private rows.
func (r *Rehearsal) declare(ctx context.Context, text string, statement syntax.Statement) (*Result, error) {
	d := r.copy.declaration()
	var name syntax.Name
	var kind, note string
	var err error
	switch st := statement.(type) {
	case *syntax.CreateRelease:
		return r.release(ctx, st)
	case *syntax.CreateMechanism:
		return r.mechanism(ctx, st)
	case *syntax.RefreshRelease:
		return r.refresh(ctx, st)
	case *syntax.CreatePrivate:
		return r.private(ctx, st)
	case *syntax.CreatePublic:
		switch {
		case st.Keys != nil:
			return r.discover(ctx, st)
		case st.As > 0:
			return r.publish(ctx, text, st)
		}
		return r.public(ctx, st)
	case *syntax.Grant:
		return r.grant(ctx, st)
	case *syntax.Drop:
		return r.drop(ctx, st)
	case *syntax.RetirePeriod:
		name, kind = st.Table, "private table"
		note, err = d.Retire(ctx, st)
	case *syntax.Export:
		name, kind, note = st.Releases[0], "release", "is exported"
		for _, each := range st.Releases {
			if _, _, failed := declare.Exported(r.view, each); err == nil && (r.view.Template(each.Text) == nil || !isPage(st)) { // its parts are built before
				err = failed
			}
		}
	case *syntax.CreateView:
		name, kind, note = st.Name, "view", "is created"
		_, err = d.CreateView(ctx, st)
	case *syntax.CreateUser:
		name, kind, note, err = st.Name, "user", noteOf(st.Alter, "gets another password", "is created"), d.CreateUser(ctx, st)
	case *syntax.CreateSource:
		known := slices.ContainsFunc(r.view.Sources, func(s catalog.Source) bool { return query.SameName(s.Name, st.Name.Text) })
		name, kind, note = st.Name, "source", noteOf(known, doneNote, "is declared")
		_, err = d.CreateSource(ctx, st)
	case *syntax.AlterPrivate:
		if err = d.AlterPrivate(ctx, st); err == nil {
			err = r.look(ctx)
		}
		if t := r.view.Private(st.Name.Text); t != nil {
			name, kind, note = syntax.Name{Text: t.Name}, "private table", "is changed: "+cmp.Or(r.view.LimitsText(t), "no limits")
		}
	default:
		err = sqlerr.New(sqlerr.Internal, "a statement is not handled")
	}
	if err != nil {
		return nil, err
	}
	return planned(name.Text, kind, "0", note), nil
}

// public declares a public table. Its rows may be missing.
func (r *Rehearsal) public(ctx context.Context, st *syntax.CreatePublic) (*Result, error) {
	done := slices.ContainsFunc(r.view.Publics, func(p string) bool { return query.SameName(p, st.Name.Text) })
	if err := r.standIn(ctx, st.Name.Text, publicColumns(st)); err != nil {
		return nil, err
	}
	if err := r.copy.declaration().CreatePublic(ctx, st); err != nil {
		return nil, err
	}
	r.unread[query.FoldName(st.Name.Text)] = !done || r.Unread(st.Name.Text)
	return planned(st.Name.Text, "public table", "0", noteOf(done, doneNote, "is declared")), nil
}

// grant plans GRANT and REVOKE: a line for each user and table.
func (r *Rehearsal) grant(ctx context.Context, st *syntax.Grant) (*Result, error) {
	if err := r.copy.declaration().Grant(ctx, st); err != nil {
		return nil, err
	}
	out := released.Explanation("REAL")
	for _, u := range st.Users {
		for _, t := range st.Tables {
			out.Explain([]any{u.Text, "user", nil, nil, nil, "0", noteOf(st.Revoke, "may no longer ask ", "may ask ") + t.Text})
		}
	}
	return out, nil
}

func noteOf(done bool, yes, no string) string {
	if done {
		return yes
	}
	return no
}

// private declares a private table. Its rows may be missing.
func (r *Rehearsal) private(ctx context.Context, st *syntax.CreatePrivate) (*Result, error) {
	if st.IfNotExists && r.view.Private(st.Name.Text) != nil {
		return planned(st.Name.Text, "private table", "0", doneNote), nil
	}
	if st.In.Text == "" {
		var columns []string
		for _, c := range st.Columns {
			columns = append(columns, c.Name.Text)
		}
		for _, o := range st.Options {
			if o.Name.Text == "unit" {
				columns = append(columns, o.Value)
			}
		}
		if err := r.standIn(ctx, st.Source.Text, columns); err != nil {
			return nil, err
		}
	}
	if _, err := r.copy.declaration().CreatePrivate(ctx, st); err != nil {
		return nil, err
	}
	if err := r.look(ctx); err != nil {
		return nil, err
	}
	t := r.view.Private(st.Name.Text)
	r.undecided[t.ID] = make(map[int]string)
	a := r.view.Accounts[t.Account]
	note := fmt.Sprintf("is declared; its budget is ε = %s, δ = %s", a.Epsilon, a.Delta)
	if t.HasPeriods() {
		note += " for " + t.EachPeriod()
	}
	for _, def := range st.Columns {
		if def.Source != nil && r.Unread(def.Source.Table.Text) {
			i := slices.IndexFunc(t.Columns, func(c query.Column) bool { return query.SameName(c.Name, def.Name.Text) })
			why := fmt.Sprintf("the domain of %s is read from %s, which is not declared public yet", def.Name.Text, def.Source.Table.Text)
			r.undecided[t.ID][i] = why
			note = released.JoinNotes(note, why)
		}
	}
	return planned(t.Name, "private table", "0", note), nil
}

func publicColumns(st *syntax.CreatePublic) (columns []string) {
	for _, c := range st.Columns {
		columns = append(columns, c.Name.Text)
	}
	return append(columns, "dpsql_no_column") // a table needs a column
}

// publish plans CREATE PUBLIC TABLE … AS SELECT …: what the SELECT costs, and a table without
// its rows.
func (r *Rehearsal) publish(ctx context.Context, text string, st *syntax.CreatePublic) (*Result, error) {
	if done, err := r.copy.declaration().CanPublish(ctx, st); err != nil || done {
		return planned(st.Name.Text, "public table", "0", doneNote), err
	}
	inner := published(text, st)
	p, err := Prepare(inner)
	if err != nil {
		return nil, shifted(err, st.As-1)
	}
	names, err := r.copy.outline(ctx, p)
	if err != nil {
		return nil, shifted(err, st.As-1)
	}
	out, err := r.plan(ctx, inner, nil)
	if err != nil {
		return nil, shifted(err, st.As-1)
	}
	return out, r.madePublic(ctx, st, append(names, withMargins(names)...))
}

// discover plans a list of keys: what it costs, and a table without its rows.
func (r *Rehearsal) discover(ctx context.Context, st *syntax.CreatePublic) (*Result, error) {
	if done, err := r.copy.declaration().CanPublish(ctx, st); err != nil || done {
		return planned(st.Name.Text, "public table", "0", doneNote), err
	}
	p, action, err := r.copy.declaration().PlanKeys(st, r.view)
	if err != nil {
		return nil, err
	}
	if err := r.charge(ctx, &p, catalog.KindReleases, action, st.Name.Text, func(*catalog.Tx) error { return nil }); err != nil {
		return nil, err
	}
	if err := r.madePublic(ctx, st, []string{st.Keys.As.Text}); err != nil {
		return nil, err
	}
	err = r.copy.db.store.Write(ctx, func(tx *catalog.Tx) error { return tx.AddKeyList(declare.KeyListOf(st)) })
	return withColumns(planned(st.Name.Text, "public table", view.Amount(p.Cost), "its keys are discovered"), &p), err
}

// madePublic makes a public table that a statement computes, without its rows.
func (r *Rehearsal) madePublic(ctx context.Context, st *syntax.CreatePublic, columns []string) error {
	if err := r.standIn(ctx, st.Name.Text, columns); err != nil {
		return err
	}
	r.unread[query.FoldName(st.Name.Text)] = true
	plain := *st
	plain.As, plain.Keys = 0, nil
	return r.copy.declaration().CreatePublic(ctx, &plain)
}

// standIn makes a table with these columns in the copy, if the database has no table of
// that name. A private table can then be declared before its rows are imported.
func (r *Rehearsal) standIn(ctx context.Context, name string, columns []string) error {
	return r.copy.db.store.Write(ctx, func(tx *catalog.Tx) error {
		has := make(map[string]bool)
		rows, err := tx.SQL().QueryContext(ctx, `SELECT name FROM pragma_table_xinfo(?)`, name)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var column string
			if err := rows.Scan(&column); err != nil {
				return err
			}
			has[query.FoldName(column)] = true
		}
		if err := rows.Err(); err != nil {
			return err
		}
		fold := query.FoldName(name)
		if len(has) > 0 && !r.stubs[fold] || strings.HasPrefix(fold, "sqlite_") || strings.HasPrefix(fold, "dpsql_") {
			return nil
		}
		r.stubs[fold] = true
		for _, c := range columns {
			text := `ALTER TABLE ` + query.Quoted(name) + ` ADD COLUMN ` + query.Quoted(c)
			if len(has) == 0 {
				text = `CREATE TABLE ` + query.Quoted(name) + ` (` + query.Quoted(c) + `)`
			}
			if has[query.FoldName(c)] {
				continue
			}
			if _, err := tx.SQL().ExecContext(ctx, text); err != nil {
				return err
			}
			has[query.FoldName(c)] = true
		}
		return nil
	})
}

// release plans a release and stores it empty.
func (r *Rehearsal) release(ctx context.Context, st *syntax.CreateRelease) (*Result, error) {
	st = declare.Chosen(st, r.view)
	if rel := r.view.Release(st.Name.Text); rel != nil && rel.Unfinished() {
		return planned(rel.Name, rel.Using, "0", "exists: its build is finished"), nil
	}
	done, err := r.view.NameFree(st.Name, st.IfNotExists, r.view.Release(st.Name.Text) != nil || r.view.Template(st.Name.Text) != nil)
	if done || err != nil {
		return planned(st.Name.Text, string(st.Using), "0", doneNote), err
	}
	if st.EachPeriod {
		if _, err := r.copy.declaration().CreateRelease(ctx, st); err != nil {
			return nil, err
		}
		return planned(st.Name.Text, string(st.Using), "0", "is created; REFRESH RELEASE builds its parts"), r.look(ctx)
	}
	p, err := r.copy.declaration().PlanRelease(ctx, st, r.view)
	if err != nil {
		return nil, err
	}
	o := p.Outlined()
	if err := r.store(ctx, p, o.Release(st.Name.Text, string(st.Using)), false); err != nil {
		return nil, err
	}
	if o.Unclear != "" {
		r.leaves("which queries %s answers: %s", st.Name.Text, o.Unclear)
	}
	note := released.JoinNotes(released.JoinNotes("is created", o.Open), o.Outlook)
	return withColumns(planned(st.Name.Text, string(st.Using), view.Amount(o.Cost), note), o), nil
}

// store charges the copy for a release and stores it empty, again in place of the one of its name.
func (r *Rehearsal) store(ctx context.Context, p kind.Plan, rel *catalog.Release, again bool) (err error) {
	if rel.Params, err = json.Marshal(p.Outlined().About); err != nil {
		return err
	}
	err = r.charge(ctx, p.Outlined(), catalog.KindReleases, "create release", rel.Name, func(tx *catalog.Tx) error {
		if again {
			if err := tx.DropRelease(rel.Name); err != nil {
				return err
			}
		}
		return tx.AddRelease(rel, nil)
	})
	r.unbuilt[answer.Unbuilt{Object: syntax.Release, ID: rel.ID}] = p
	return err
}

// charge charges the copy for what is planned, and stores it.
func (r *Rehearsal) charge(ctx context.Context, p *kind.Outline, k catalog.Kind, action, name string, store func(*catalog.Tx) error) error {
	return r.copy.db.store.Write(ctx, func(tx *catalog.Tx) error {
		if err := tx.Charge(p.Table.Account, p.Table.Span(), k, action, name, p.Cost); err != nil {
			return err
		}
		return store(tx)
	})
}

// refresh plans the parts that a REFRESH RELEASE builds, and stores them empty.
func (r *Rehearsal) refresh(ctx context.Context, st *syntax.RefreshRelease) (*Result, error) {
	parts, err := r.copy.declaration().PlanParts(ctx, st)
	if err != nil {
		return nil, err
	}
	var cost accounting.Amount
	for i := range parts {
		p := &parts[i]
		if err := r.store(ctx, p.Plan, p.Release, p.Again); err != nil {
			return nil, err
		}
		of := p.Outlined().Cost
		cost.Epsilon, cost.Delta = max(cost.Epsilon, of.Epsilon), max(cost.Delta, of.Delta)
	}
	note := "has no part to build"
	if len(parts) > 0 {
		note = fmt.Sprintf("%d parts are built; each costs its own period", len(parts))
		if len(parts) == 1 {
			note = "1 part is built; it costs its own period"
		}
	}
	return planned(st.Name.Text, "release", view.Amount(cost), note), r.look(ctx)
}

// withColumns adds the columns to the row of a release or mechanism.
func withColumns(r *Result, p *kind.Outline) *Result {
	r.Rows[0][2] = view.ColumnNames(p.Table, p.Columns)
	return r
}

// mechanism reserves a mechanism's budget and stores it without runs.
func (r *Rehearsal) mechanism(ctx context.Context, st *syntax.CreateMechanism) (*Result, error) {
	done, err := r.view.NameFree(st.Name, st.IfNotExists, r.view.Mechanism(st.Name.Text) != nil)
	if done || err != nil {
		return planned(st.Name.Text, "smw", "0", doneNote), err
	}
	p, err := r.copy.declaration().PlanMechanism(st, r.view)
	if err != nil {
		return nil, err
	}
	m := &catalog.Mechanism{Name: st.Name.Text, TableID: p.Table.ID, Span: p.Table.Part, Columns: p.Columns, Epsilon: p.Epsilon, Rho: p.Cost.Rho, Params: json.RawMessage(`{}`)}
	err = r.charge(ctx, p.Outlined(), catalog.KindInteractive, "reserve mechanism", m.Name, func(tx *catalog.Tx) error { return tx.AddMechanism(m, nil) })
	if err != nil {
		return nil, err
	}
	r.unbuilt[answer.Unbuilt{Object: syntax.Mechanism, ID: m.ID}] = p
	return withColumns(planned(m.Name, "smw", view.Amount(p.Cost), "is created; its ρ is reserved"), p.Outlined()), nil
}

// drop runs a DROP on the copy.
func (r *Rehearsal) drop(ctx context.Context, st *syntax.Drop) (*Result, error) {
	was := r.view
	u, err := r.copy.db.user(ctx, st.Name.Text)
	if err != nil {
		return nil, err
	}
	if err := r.copy.declaration().Drop(ctx, st); err != nil {
		return nil, err
	}
	if err := r.look(ctx); err != nil {
		return nil, err
	}
	note := "is dropped; what was spent stays spent"
	if st.Kind == syntax.User {
		return planned(st.Name.Text, string(st.Kind), "0", noteOf(u == nil, "does not exist: nothing to do", note)), nil
	}
	if st.Kind == syntax.View {
		return planned(st.Name.Text, string(st.Kind), "0", noteOf(st.IfExists, "is dropped, if it exists", "is dropped")), nil
	}
	switch m, t := was.Mechanism(st.Name.Text), was.Private(st.Name.Text); {
	case !exists(was, st):
		note = "does not exist: nothing to do"
	case st.Kind == syntax.PublicTable:
		delete(r.unread, query.FoldName(st.Name.Text))
	case st.Kind == syntax.PrivateTable:
		r.dropped = append(r.dropped, t)
	case st.Kind == syntax.Mechanism:
		if _, planned := r.unbuilt[answer.Unbuilt{Object: syntax.Mechanism, ID: m.ID}]; planned {
			r.leaves("what dropping %s gives back", m.Name)
		}
	}
	return planned(st.Name.Text, string(st.Kind), "0", note), nil
}

// exists reports whether the object of a DROP exists.
func exists(v *view.View, st *syntax.Drop) bool {
	switch st.Kind {
	case syntax.Release:
		return v.Release(st.Name.Text) != nil || v.Template(st.Name.Text) != nil
	case syntax.Mechanism:
		return v.Mechanism(st.Name.Text) != nil
	case syntax.PrivateTable:
		return v.Private(st.Name.Text) != nil
	case syntax.SourceObject:
		return slices.ContainsFunc(v.Sources, func(s catalog.Source) bool { return query.SameName(s.Name, st.Name.Text) })
	}
	return slices.ContainsFunc(v.Publics, func(p string) bool { return query.SameName(p, st.Name.Text) })
}

// The engine calls the methods below on the rehearsal of a copy. They may be called on
// nil, as they are for every other database.

// Unread implements declare.Unknown.
func (r *Rehearsal) Unread(table string) bool { return r.unread[query.FoldName(table)] }

// Payload implements declare.Unknown. The copy of the catalog has no payloads.
func (r *Rehearsal) Payload(ctx context.Context, rel *catalog.Release) ([]byte, error) {
	if _, ok := r.unbuilt[answer.Unbuilt{Object: syntax.Release, ID: rel.ID}]; ok {
		return nil, nil
	}
	return catalog.Get(ctx, r.s.db.store, func(tx *catalog.Tx) ([]byte, error) { return declare.Payload(tx, rel) })
}

// Outside implements declare.Unknown. If the catalog has another table over the rows, they
// have its budget.
func (r *Rehearsal) Outside(in *catalog.Source, t catalog.Table) *declare.Outside {
	place := in.Name + "." + t.Source
	for _, other := range r.view.Tables {
		if other.SourceID == in.ID && query.SameName(other.Source, t.Source) {
			a, period := r.view.Accounts[other.Account], t.Period
			if a.Partition != nil && query.SameName(other.Period, t.Period) {
				period = a.Partition.Column
			}
			return &declare.Outside{Source: *in, Schema: source.Schema{Bases: a.Bases, Period: period}}
		}
	}
	r.leaves("whether the rows of %s have a budget already, and whether %s is what is declared: its server is not asked", place, t.Name)
	return &declare.Outside{Source: *in, Schema: source.Schema{Bases: []string{place}, Period: t.Period}}
}

// Total returns what the statements so far would spend from each account, and what would
// remain. Its warnings list what is unknown. A statement that would be free costs 0, and
// equal queries cost once. The Total of the rows is what all accounts would spend.
func (r *Rehearsal) Total() *Result {
	out := &Result{Columns: released.Listed("table", "TEXT", "account", "TEXT", "unit", "TEXT", "left", "DECIMAL", "this script", "DECIMAL", "left then", "DECIMAL", "in words", "TEXT"),
		Brief: &Result{Columns: released.Texts("table", "account", "this script", "left then", "in words")}, Total: map[string]float64{"epsilon": 0, "delta": 0, "rho": 0}}
	for _, tables := range byAccount(r.charged()) {
		a, ok := r.view.Accounts[tables[0].Account]
		if !ok {
			continue
		}
		names, was := tableNames(tables), a.Caps.Remaining(r.before[tables[0].Account])
		row := func(account, unit string, total, left, then accounting.Amount, of func(accounting.Amount) amount, words, brief string) {
			if of(total).String() == "0" {
				return
			}
			spent := accounting.Amount{Epsilon: left.Epsilon - then.Epsilon, Delta: left.Delta - then.Delta, Rho: left.Rho - then.Rho}
			out.Rows = append(out.Rows, []any{names, account, unit, of(left).String(), of(spent).String(), of(then).String(), words})
			out.Brief.Rows = append(out.Brief.Rows, []any{released.BriefList(names), account + " " + unit, released.Rounded(of(spent).Float()), released.Rounded(of(then).Float()), brief})
		}
		caps := accounting.Amount{Epsilon: a.Caps.ReleaseEpsilon, Delta: a.Caps.ReleaseDelta, Rho: a.Caps.InteractiveRho}
		then := a.Remaining()
		out.Total["epsilon"] += (was.Epsilon - then.Epsilon).Float()
		out.Total["delta"] += (was.Delta - then.Delta).Float()
		out.Total["rho"] += (was.Rho - then.Rho).Float()
		epsilons, deltas := percent(then.Epsilon, caps.Epsilon), percent(then.Delta, caps.Delta)
		row("releases", "ε", caps, was, then, func(a accounting.Amount) amount { return a.Epsilon }, epsilons, epsilons)
		row("releases", "δ", caps, was, then, func(a accounting.Amount) amount { return a.Delta }, deltas, deltas)
		brief, words := r.s.db.interactiveWords(a, tables, r.s.settings)
		row("interactive", "ρ", caps, was, then, func(a accounting.Amount) amount { return a.Rho }, words, brief)
	}
	for _, u := range r.unknown {
		out.Warnings = append(out.Warnings, "not known before the script has run: "+u)
	}
	return out
}

// charged returns the tables, and for each account that has lost all its tables one that
// was dropped.
func (r *Rehearsal) charged() []*view.Table {
	all := slices.Clone(r.view.Tables)
	for _, t := range r.dropped {
		if !slices.ContainsFunc(all, func(other *view.Table) bool { return other.Account == t.Account }) {
			all = append(all, t)
		}
	}
	return all
}
