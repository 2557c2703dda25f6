package engine

import (
	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// view is one consistent picture of the public catalog. It holds nothing that
// depends on private rows but what was released.
type view struct {
	publics    []string
	sources    []catalog.Source
	tables     []*table
	releases   []catalog.Release
	mechanisms []catalog.Mechanism
	unbuilt    []unbuilt // in a rehearsal
	accounts   map[int64]account
	answers    *answerKeys // of the stored answers; nil where they were not looked at
	missing    string      // the name of the database file where there is none; else ""
}

// account is a budget and what of it is spent.
type account struct {
	catalog.Account
	spent   accounting.Amount
	unbuilt bool // in a rehearsal: no statement has opened it yet
}

func (a account) left() accounting.Amount { return a.Caps.Left(a.spent) }

// table is a private table as the front end binds against it.
type table struct {
	catalog.Table
	universe *query.Universe
	outside  *catalog.Source // the source that has its rows; nil for the file

	// undecided are in a rehearsal the columns whose domain cannot be known yet,
	// and why. The domain that they have is a single value.
	undecided map[int]string
}

// unclear says why one of the columns, nil being all, has no known domain; "" where
// all of them have one.
func (t *table) unclear(columns []int) string {
	return t.undecided[t.firstUndecided(columns)]
}

// firstUndecided returns the first of the columns without a known domain, -1 where
// all of them have one.
func (t *table) firstUndecided(columns []int) int {
	if len(t.undecided) == 0 {
		return -1
	}
	if columns == nil {
		columns = allColumns(t)
	}
	for _, c := range columns {
		if t.undecided[c] != "" {
			return c
		}
	}
	return -1
}

// place names where the table's rows are, for people; "" in an exported file.
func (t *table) place() string {
	if t.outside == nil {
		return t.Source
	}
	return t.outside.Name + "." + t.Source
}

// rows says where the table's private rows are.
func (t *table) rows() source.Table { return sourceOf(t.Table) }

func sourceOf(t catalog.Table) source.Table {
	return source.Table{Source: t.Source, Columns: t.Columns, Unit: t.Unit, MaxRows: t.MaxRows, Key: t.Key}
}

// sensitivity returns L, the most rows that one unit can change: 1 where a
// unit is a row.
func (t *table) sensitivity() int64 { return max(1, t.MaxRows) }

// readView reads the public catalog in a transaction.
func readView(tx *catalog.Tx) (*view, error) {
	v := &view{accounts: make(map[int64]account)}
	var err error
	if v.publics, err = tx.Publics(); err != nil {
		return nil, err
	}
	if v.sources, err = tx.Sources(); err != nil {
		return nil, err
	}
	tables, err := tx.Tables()
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		u, err := t.Universe()
		if err != nil {
			return nil, err
		}
		known := &table{Table: t, universe: u}
		if t.SourceID != 0 {
			if known.outside, err = tx.SourceByID(t.SourceID); err != nil {
				return nil, err
			}
		}
		v.tables = append(v.tables, known)
	}
	if v.releases, err = tx.Releases(0); err != nil {
		return nil, err
	}
	if v.mechanisms, err = tx.Mechanisms(0); err != nil {
		return nil, err
	}
	for i, m := range v.mechanisms {
		v.mechanisms[i] = published(m)
	}
	return v, v.readAccounts(tx)
}

// published returns what is public of a mechanism: whether a run is open, but
// not its τ.
func published(m catalog.Mechanism) catalog.Mechanism {
	if m.Run != nil {
		m.Run = &catalog.OpenRun{Number: m.Run.Number}
	}
	return m
}

func (v *view) readAccounts(tx *catalog.Tx) error {
	accounts, err := tx.Accounts()
	if err != nil {
		return err
	}
	for _, a := range accounts {
		spent, err := tx.Spent(a.ID)
		if err != nil {
			return err
		}
		v.accounts[a.ID] = account{Account: a, spent: spent}
	}
	return nil
}

// selected returns the private table that a SELECT is on. Of several tables the
// others are joined to it.
func (v *view) selected(sel *sqlfront.Select) (*table, error) {
	for _, name := range sel.Tables {
		if t := v.private(name.Text); t != nil {
			return t, nil
		}
	}
	return nil, v.unknown(sel.Table.Text, sel.Table.Position)
}

// table returns the named private table, or an error that helps to find it.
func (v *view) table(name string, position int) (*table, error) {
	if t := v.private(name); t != nil {
		return t, nil
	}
	return nil, v.unknown(name, position)
}

// private returns the named private table, nil when there is none.
func (v *view) private(name string) *table {
	for _, t := range v.tables {
		if query.SameName(t.Name, name) {
			return t
		}
	}
	return nil
}

// unknown says why a name is not that of a private table.
func (v *view) unknown(name string, position int) error {
	for _, p := range v.publics {
		if query.SameName(p, name) {
			return sqlerr.New(sqlerr.Unsupported, "%s is a public table", p).
				WithHint("public tables serve in domains and joins; read them with sqlite3").At(position)
		}
	}
	for _, t := range v.tables {
		if t.outside == nil && query.SameName(t.Source, name) {
			return sqlerr.New(sqlerr.Unsupported, "%s holds private rows", t.Source).
				WithHint("ask the private table %s instead", t.Name).At(position)
		}
	}
	e := sqlerr.New(sqlerr.Unknown, "there is no private table %s", name).At(position)
	if v.missing != "" {
		e.Message += ": the file " + v.missing + " does not exist"
		return e.WithHint("check the name of the database; the first CREATE or .import makes a new file")
	}
	if len(v.tables) > 0 {
		return e.WithHint("SHOW TABLES lists the private tables")
	}
	return e.WithHint("CREATE PRIVATE TABLE declares one")
}

// release returns the named release, nil when there is none.
func (v *view) release(name string) *catalog.Release {
	for i := range v.releases {
		if query.SameName(v.releases[i].Name, name) {
			return &v.releases[i]
		}
	}
	return nil
}

// mechanism returns the named mechanism, nil when there is none.
func (v *view) mechanism(name string) *catalog.Mechanism {
	for i := range v.mechanisms {
		if query.SameName(v.mechanisms[i].Name, name) {
			return &v.mechanisms[i]
		}
	}
	return nil
}

// tableByID returns the table that a release or mechanism is on.
func (v *view) tableByID(id int64) *table {
	for _, t := range v.tables {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// limits returns the limits of a table's account.
func (v *view) limits(t *table) catalog.Limits { return v.accounts[t.Account].Limits }

// unbuilt is a release or mechanism that a rehearsal has planned, and that is not
// there.
type unbuilt struct {
	object     sqlfront.Object
	name, kind string // as a candidate's
	table      int64
	columns    []int // nil for all
	maxSupport uint64
}

// planned returns the planned release or mechanism of that name, nil when there
// is none.
func (v *view) planned(name string) *unbuilt {
	for i := range v.unbuilt {
		if query.SameName(v.unbuilt[i].name, name) {
			return &v.unbuilt[i]
		}
	}
	return nil
}

// exists reports whether a release or mechanism of that name is there or planned.
func (v *view) exists(object sqlfront.Object, name string) bool {
	if u := v.planned(name); u != nil && u.object == object {
		return true
	}
	return object == sqlfront.Release && v.release(name) != nil || object == sqlfront.Mechanism && v.mechanism(name) != nil
}

// nameFree reports whether a statement has nothing to do because the thing
// exists, and refuses a name that is taken.
func (v *view) nameFree(name sqlfront.Name, ifNotExists, same bool) (done bool, err error) {
	if same && ifNotExists {
		return true, nil
	}
	if v.release(name.Text) != nil || v.mechanism(name.Text) != nil || v.planned(name.Text) != nil {
		return false, sqlerr.New(sqlerr.Invalid, "the name %s is taken", name.Text).
			WithHint("releases and mechanisms share one list of names").At(name.Position)
	}
	for _, word := range []string{"auto", "smw", "projection", "direct", "constant"} {
		if query.SameName(name.Text, word) {
			return false, sqlerr.New(sqlerr.Invalid, "%s means something else in SET mechanism", name.Text).At(name.Position)
		}
	}
	return false, nil
}

// target resolves ON table (columns). No column list means all columns, nil.
func (v *view) target(name sqlfront.Name, list []sqlfront.Name) (*table, []int, error) {
	t, err := v.table(name.Text, name.Position)
	if err != nil {
		return nil, nil, err
	}
	if t.Source == "" {
		return nil, nil, sqlerr.New(sqlerr.Invalid, "this file holds no rows of %s", t.Name).At(name.Position)
	}
	picked := make([]bool, len(t.Columns))
	for _, c := range list {
		i, ok := t.universe.Index(c.Text)
		if !ok {
			return nil, nil, sqlerr.New(sqlerr.Unknown, "%s has no column %s", t.Name, c.Text).
				WithHint("DESCRIBE %s lists its columns", t.Name).At(c.Position)
		}
		picked[i] = true
	}
	var columns []int
	for i, yes := range picked {
		if yes {
			columns = append(columns, i)
		}
	}
	if len(columns) == len(t.Columns) {
		columns = nil
	}
	return t, columns, nil
}

// allColumns lists the columns of a table.
func allColumns(t *table) []int {
	columns := make([]int, len(t.Columns))
	for i := range columns {
		columns[i] = i
	}
	return columns
}
