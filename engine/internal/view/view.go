// Package view is the public picture of a database's catalog: tables with their
// domains, releases, mechanisms and budgets. Everything in it was declared or released
// before, so nothing in it depends on private rows in a way that was not paid for.
// Plans are made from it alone.
package view

import (
	"context"
	"fmt"
	"math/big"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// View is one consistent picture of the public catalog. Nothing in it depends on
// private rows, except what was released.
type View struct {
	Publics    []string
	Sources    []catalog.Source
	Tables     []*Table
	Releases   []catalog.Release // the parts of templates too
	Templates  []catalog.Template
	Mechanisms []catalog.Mechanism
	Accounts   map[int64]Account
	Waiting    map[string]catalog.Waiting // charges, by the statements of curators that they serve; nil in a part
	User       *catalog.User              // who sees this much; nil for all of the catalog
	whole      *View                      // what a user's view is a part of; nil for all of the catalog
	granted    *granted                   // the parts that users may see; nil in a part
	unanswered *unanswered                // what is known of stored answers; nil in a part
	missing    string                     // the name of the database file if it does not exist; else ""
}

// State identifies the state of the catalog that a view is of, whoever sees it.
func (v *View) State() any {
	if v.whole != nil {
		return v.whole
	}
	return v
}

// UserID returns the id of the user who sees this much, 0 for all of the catalog.
func (v *View) UserID() int64 {
	if v.User == nil {
		return 0
	}
	return v.User.ID
}

// Unanswered is catalog.Store.Unanswered for a view that was current when the statement began. What a
// statement looked up holds for the next ones, as long as nothing is committed. Look-ups are one after
// another, so they are a third of a prepared count beside others (BenchmarkPrepared of package server).
func (v *View) Unanswered(ctx context.Context, store *catalog.Store, table int64, queries []string) []bool {
	if v.whole != nil {
		v = v.whole
	}
	return v.unanswered.among(table, queries, func() []bool { return store.Unanswered(ctx, table, queries) })
}

// maxUnanswered bounds the texts, in bytes, of the queries that a view remembers to have no stored answer.
const maxUnanswered = 1 << 20

// unanswered are queries that have no stored answer in a state of the catalog.
type unanswered struct {
	mu      sync.Mutex
	queries map[tableQuery]bool // true
	size    int                 // of their texts, in bytes
}

// tableQuery is the text of a query on a table.
type tableQuery struct {
	table int64
	text  string
}

// among reports which queries have no stored answer. It looks them up unless that is known of all.
func (u *unanswered) among(table int64, queries []string, lookUp func() []bool) []bool {
	u.mu.Lock()
	known := 0
	for _, text := range queries {
		if !u.queries[tableQuery{table, text}] {
			break
		}
		known++
	}
	u.mu.Unlock()
	if known == len(queries) {
		all := make([]bool, known)
		for i := range all {
			all[i] = true
		}
		return all
	}
	all := lookUp()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.queries == nil {
		u.queries = make(map[tableQuery]bool)
	}
	for i, text := range queries {
		if q := (tableQuery{table, text}); all[i] && !u.queries[q] && u.size+len(text) <= maxUnanswered {
			u.queries[q] = true
			u.size += len(text)
		}
	}
	return all
}

// Account is a table's budget and how much of it has been spent.
type Account struct {
	catalog.Account
	Spent    accounting.Amount // the most in any one period
	Spending catalog.Spending  // in each period
}

// RemainingIn returns what is left in each of some periods: of ε, δ and ρ the least. Nil is
// every period.
func (a Account) RemainingIn(over period.Ranges) accounting.Amount {
	if over == nil {
		return a.Remaining()
	}
	return a.Caps.Remaining(a.Spending.Most(over))
}

// Remaining returns what is left of the budget, with periods in every one of them.
func (a Account) Remaining() accounting.Amount { return a.Caps.Remaining(a.Spent) }

// Table is a private table in the form that the front end binds against.
type Table struct {
	catalog.Table
	Universe *query.Universe
	Outside  *catalog.Source // the source that has its rows; nil for the file
	Answered bool            // some query on it has a stored answer: the others need not be looked for
	Grant    *catalog.Grant  // what its user may take through it; nil in a view of all of the catalog

	// Lists has, for columns without a domain, the public tables that list keys of them.
	Lists map[int][]string

	// Undecided has, in a rehearsal, the columns whose domain cannot be known yet,
	// with the reason. Their domain here is a single value.
	Undecided map[int]string

	// Unread has, in a rehearsal, the public tables whose rows are not there, by
	// folded name.
	Unread map[string]bool

	Partition    *period.Partition // of its account, if the table says in which period a row lies; else nil
	PeriodColumn int               // the column that says it; -1 for none
	PeriodDomain query.Domain      // of that column, as declared: in a part of the table, Columns has a part of it
	Retired      period.Ranges     // the periods whose rows are not read any more
	base         string            // the base table of the rows that lie in periods
	Part         period.Range      // the periods whose rows count; All for all rows of the table
}

// setPartition takes over the periods of the table's account.
func (t *Table) setPartition(a catalog.Account) {
	t.Retired = a.Retired
	if i, ok := t.Universe.Index(t.Period); ok && t.Period != "" && a.Partition != nil {
		t.Partition, t.PeriodColumn, t.PeriodDomain = a.Partition, i, t.Columns[i].Domain
		if t.Outside == nil && len(a.Bases) == 1 {
			t.base = a.Bases[0]
		}
	}
}

// HasPeriods reports whether every row of the table lies in a period.
func (t *Table) HasPeriods() bool { return t.Partition != nil }

// Span returns the periods that a reading of all rows that count is charged to. Nil is every
// period, and stands for the rows of a table that does not say in which period they lie.
func (t *Table) Span() period.Ranges {
	if !t.HasPeriods() {
		return nil
	}
	return period.Ranges{t.Part}
}

// Touched returns the periods in which a query over the table's universe counts rows. It is
// told from the query and the domain alone. Nil is every period, of a table without them.
func (t *Table) Touched(q query.Query) period.Ranges {
	if !t.HasPeriods() {
		return nil
	}
	return t.Partition.Touched(q, t.PeriodColumn)
}

// PeriodWord says what the periods of the table are: "month", or "batch" for the values of that
// column; "" if it has none.
func (t *Table) PeriodWord() string {
	if !t.HasPeriods() {
		return ""
	}
	return released.PeriodWord(t.Partition, t.Period)
}

// UnreadError says that a SELECT of a rehearsal needs the rows of an Unread table, or the keys of
// a release that is not built.
type UnreadError struct {
	Name    string
	Release bool
}

// Error implements error.
func (e *UnreadError) Error() string {
	if e.Release {
		return "the keys that " + e.Name + " publishes are not known yet"
	}
	return e.Name + " is not declared public yet"
}

// Unclear returns the reason why one of the columns has no known domain, or "". Nil
// means all columns.
func (t *Table) Unclear(columns []int) string {
	return t.Undecided[t.FirstUndecided(columns)]
}

// FirstUndecided returns the first of the columns without a known domain, or -1.
func (t *Table) FirstUndecided(columns []int) int {
	if len(t.Undecided) == 0 {
		return -1
	}
	if columns == nil {
		columns = AllColumns(t)
	}
	for _, c := range columns {
		if t.Undecided[c] != "" {
			return c
		}
	}
	return -1
}

// Place names, for people, the place of the table's rows. It is "" in an exported file.
func (t *Table) Place() string {
	if t.Outside == nil {
		return t.Source
	}
	return t.Outside.Name + "." + t.Source
}

// Rows returns the table's private rows as package source reads them.
func (t *Table) Rows() source.Table {
	rows := SourceTable(t.Table)
	if t.HasPeriods() {
		rows.Period = &source.Period{Column: t.PeriodColumn, Partition: *t.Partition, Declared: t.PeriodDomain, Base: t.base}
	}
	return rows
}

// SourceTable returns a table as package source reads it.
func SourceTable(t catalog.Table) source.Table {
	return source.Table{Source: t.Source, Columns: t.Columns, Unit: t.Unit, MaxRows: t.MaxRows, Key: t.Key}
}

// Sensitivity returns L, the largest number of rows that one unit can change. It is 1
// if a unit is a row.
func (t *Table) Sensitivity() int64 { return max(1, t.MaxRows) }

// Read reads the public catalog in a transaction.
func Read(tx *catalog.Tx) (*View, error) {
	v := &View{Accounts: make(map[int64]Account), granted: new(granted), unanswered: new(unanswered)}
	var err error
	if v.Publics, err = tx.Publics(); err != nil {
		return nil, err
	}
	if v.Sources, err = tx.Sources(); err != nil {
		return nil, err
	}
	tables, err := tx.Tables()
	if err != nil {
		return nil, err
	}
	lists, err := tx.KeyLists()
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		u, err := t.Universe()
		if err != nil {
			return nil, err
		}
		known := &Table{Table: t, Universe: u, Lists: listsOf(t, u, lists), PeriodColumn: -1, Part: period.All}
		if t.SourceID != 0 {
			if known.Outside, err = tx.SourceByID(t.SourceID); err != nil {
				return nil, err
			}
		}
		if known.Answered, err = tx.HasAnswers(t.ID); err != nil {
			return nil, err
		}
		v.Tables = append(v.Tables, known)
	}
	if v.Releases, err = tx.Releases(0); err != nil {
		return nil, err
	}
	if v.Templates, err = tx.Templates(0); err != nil {
		return nil, err
	}
	if v.Mechanisms, err = tx.Mechanisms(0); err != nil {
		return nil, err
	}
	for i, m := range v.Mechanisms {
		v.Mechanisms[i] = published(m)
	}
	if err := v.readAccounts(tx); err != nil {
		return nil, err
	}
	if v.Waiting, err = tx.Waiting(); err != nil {
		return nil, err
	}
	for _, t := range v.Tables {
		t.setPartition(v.Accounts[t.Account].Account)
	}
	return v, nil
}

// listsOf returns the lists of keys of a table's columns.
func listsOf(t catalog.Table, u *query.Universe, lists []catalog.KeyList) (of map[int][]string) {
	for _, l := range lists {
		i, ok := u.Index(l.Column)
		if !ok || !query.SameName(l.Table, t.Name) || u.Columns()[i].Domain.Finite() {
			continue
		}
		if of == nil {
			of = make(map[int][]string)
		}
		of[i] = append(of[i], l.Public)
	}
	return of
}

// published returns the public part of a mechanism. It includes whether a run is open,
// but not the run's τ.
func published(m catalog.Mechanism) catalog.Mechanism {
	if m.Run != nil {
		m.Run = &catalog.OpenRun{Number: m.Run.Number}
	}
	return m
}

func (v *View) readAccounts(tx *catalog.Tx) error {
	accounts, err := tx.Accounts()
	if err != nil {
		return err
	}
	for _, a := range accounts {
		spent, err := tx.Spent(a.ID)
		if err != nil {
			return err
		}
		v.Accounts[a.ID] = Account{Account: a, Spent: spent.Most(period.Ranges{period.All}), Spending: spent}
	}
	return nil
}

// Selected returns the private table that a SELECT is on. Other tables in its FROM are
// joined to that one.
func (v *View) Selected(sel *syntax.Select) (*Table, error) {
	for _, name := range sel.Tables {
		if t := v.Private(name.Text); t != nil {
			return t, nil
		}
	}
	return nil, v.unknown(sel.Table.Text, sel.Table.Position)
}

// Table returns the named private table, or an error that helps to find it.
func (v *View) Table(name string, position int) (*Table, error) {
	if t := v.Private(name); t != nil {
		return t, nil
	}
	return nil, v.unknown(name, position)
}

// Private returns the named private table, or nil if there is none.
func (v *View) Private(name string) *Table {
	for _, t := range v.Tables {
		if query.SameName(t.Name, name) {
			return t
		}
	}
	return nil
}

// Missing says that the database file does not exist, or returns "".
func (v *View) Missing() string {
	if v.missing == "" {
		return ""
	}
	return "the file " + v.missing + " does not exist"
}

// unknown returns the error for a name that no private table has.
func (v *View) unknown(name string, position int) error {
	for _, p := range v.Publics {
		if query.SameName(p, name) {
			return released.ErrPublic(p).At(position)
		}
	}
	for _, t := range v.Tables {
		if v.User == nil && t.Outside == nil && query.SameName(t.Source, name) {
			return sqlerr.New(sqlerr.Unsupported, "%s holds private rows", t.Source).
				WithHint("ask the private table %s instead", t.Name).At(position)
		}
	}
	e := sqlerr.New(sqlerr.Unknown, "there is no private table %s", name).At(position)
	if missing := v.Missing(); missing != "" {
		e.Message += ": " + missing
		return e.WithHint("check the name of the database; the first CREATE or .import makes a new file")
	}
	if len(v.Tables) > 0 || v.User != nil {
		return e.WithHint("SHOW TABLES lists the private tables")
	}
	return e.WithHint("CREATE PRIVATE TABLE declares one")
}

// Release returns the named release, or nil if there is none.
func (v *View) Release(name string) *catalog.Release {
	for i := range v.Releases {
		if query.SameName(v.Releases[i].Name, name) {
			return &v.Releases[i]
		}
	}
	return nil
}

// Mechanism returns the named mechanism, or nil if there is none.
func (v *View) Mechanism(name string) *catalog.Mechanism {
	for i := range v.Mechanisms {
		if query.SameName(v.Mechanisms[i].Name, name) {
			return &v.Mechanisms[i]
		}
	}
	return nil
}

// TableByID returns the table that a release or mechanism is on.
func (v *View) TableByID(id int64) *Table {
	for _, t := range v.Tables {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// Limits returns the limits of a table's account, and with them those of a user.
func (v *View) Limits(t *Table) catalog.Limits {
	l := v.Accounts[t.Account].Limits
	if g := t.Grant; g != nil {
		l.BuyOff = l.BuyOff || g.Quota.Rho == 0
		if g.Quota.Charge > 0 && (l.MaxCharge == 0 || g.Quota.Charge < l.MaxCharge) {
			l.MaxCharge = g.Quota.Charge
		}
	}
	return l
}

// DeltaShare returns the part of the releases account's δ that a release without a delta of
// its own takes. It is in proportion to the release's ε.
func (a Account) DeltaShare(e accounting.Epsilon) accounting.Delta {
	if a.Caps.ReleaseEpsilon <= 0 {
		return 0
	}
	share := new(big.Int).Mul(big.NewInt(int64(a.Caps.ReleaseDelta)), big.NewInt(int64(min(e, a.Caps.ReleaseEpsilon))))
	return accounting.Delta(share.Quo(share, big.NewInt(int64(a.Caps.ReleaseEpsilon))).Int64())
}

// LimitsText returns the limits of a table as the options of a declaration, and its answer time
// unless that is the default. Users, who wait for it, see it in any case.
func (v *View) LimitsText(t *Table) string {
	text := v.Limits(t).String()
	if t.AnswerTime == catalog.DefaultAnswerTime && v.User == nil {
		return text
	}
	if text != "" {
		text += ", "
	}
	return text + "answer_time = " + AnswerTime(t.AnswerTime)
}

// AnswerTime returns an answer time as a declaration has it.
func AnswerTime(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("'%d s'", d/time.Second)
	}
	return fmt.Sprintf("'%d ms'", d.Milliseconds())
}

// Allows refuses a purchase about a table that the limits of its account or the quota of a
// user do not allow, or more than was agreed. Errors: those of Limits.Check, Agreement.Check and Grant.Check.
func (v *View) Allows(t *Table, by catalog.Buyer, cost accounting.Rho) error {
	if err := v.Accounts[t.Account].Limits.Check(by, cost); err != nil {
		return err
	}
	if err := by.Agreed.Check(t.Account, by.Taken+cost); err != nil || t.Grant == nil {
		return err
	}
	return t.Grant.Check(by, cost)
}

// NameFree reports whether a statement has nothing to do because the thing exists. It
// refuses a name that is taken.
func (v *View) NameFree(name syntax.Name, ifNotExists, same bool) (done bool, err error) {
	if same && ifNotExists {
		return true, nil
	}
	if v.Release(name.Text) != nil || v.Template(name.Text) != nil || v.Mechanism(name.Text) != nil {
		return false, sqlerr.New(sqlerr.Exists, "the name %s is taken", name.Text).Of(sqlerr.Thing).
			WithHint("releases and mechanisms share one list of names").At(name.Position)
	}
	for _, word := range append([]string{"auto", "constant"}, released.MechanismKinds...) {
		if query.SameName(name.Text, word) {
			return false, sqlerr.New(sqlerr.Invalid, "%s means something else in SET mechanism", name.Text).At(name.Position)
		}
	}
	return false, nil
}

// Target resolves ON table (columns). No column list means all columns, nil.
func (v *View) Target(name syntax.Name, list []syntax.Name) (*Table, []int, error) {
	t, err := v.Table(name.Text, name.Position)
	if err != nil {
		return nil, nil, err
	}
	if t.Source == "" {
		return nil, nil, sqlerr.New(sqlerr.Invalid, "this file holds no rows of %s", t.Name).At(name.Position)
	}
	picked := make([]bool, len(t.Columns))
	for _, c := range list {
		i, ok := t.Universe.Index(c.Text)
		if !ok {
			return nil, nil, sqlerr.New(sqlerr.Unknown, "%s has no column %s", t.Name, c.Text).Of(sqlerr.Column).
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

// AllColumns lists the columns of a table.
func AllColumns(t *Table) []int {
	columns := make([]int, len(t.Columns))
	for i := range columns {
		columns[i] = i
	}
	return columns
}

// Amount writes a cost.
func Amount(a accounting.Amount) string {
	var parts []string
	if a.Epsilon != 0 {
		parts = append(parts, fmt.Sprintf("ε %v", a.Epsilon))
	}
	if a.Delta != 0 {
		parts = append(parts, fmt.Sprintf("δ %v", a.Delta))
	}
	if a.Rho != 0 {
		parts = append(parts, "ρ "+released.Short(a.Rho.Float()))
	}
	if parts == nil {
		return "0"
	}
	return strings.Join(parts, ", ")
}

// Cache keeps the last view of the catalog until something is committed to the file.
// Its view is shared and never changed.
type Cache struct {
	mu   sync.Mutex
	at   catalog.Version
	view *View
}

// Current returns the public catalog as it is now: the last view if nothing was committed
// since, by any process, and otherwise a new one. For a user it returns what she may see; 0
// is no user. Callers must not change it.
func (c *Cache) Current(ctx context.Context, store *catalog.Store, user int64) (*View, error) {
	v, err := c.current(ctx, store)
	if err != nil || user == 0 {
		return v, err
	}
	return v.of(ctx, store, user)
}

func (c *Cache) current(ctx context.Context, store *catalog.Store) (*View, error) {
	before, err := store.Version(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	at, v := c.at, c.view
	c.mu.Unlock()
	if before.Known() && at == before {
		return v, nil
	}
	err = store.Read(ctx, func(tx *catalog.Tx) error {
		var err error
		if v, err = Read(tx); err != nil {
			return err
		}
		if len(v.Tables) == 0 && store.Missing() {
			v.missing = filepath.Base(store.Path())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if before.Known() { // the view read is not older than that version
		c.keep(before, v)
	}
	return v, nil
}

// keep keeps a view of a version of the file, or of a later one.
func (c *Cache) keep(at catalog.Version, v *View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.view = at, v
}

// ColumnNames lists the columns of a release, a mechanism or a candidate. Nil means
// all.
func ColumnNames(t *Table, columns []int) string { return released.ColumnNames(t.Columns, columns) }

// Over returns the universe of some of the table's columns.
func (t *Table) Over(columns []int) *query.Universe {
	if columns == nil {
		return t.Universe
	}
	return t.Universe.Project(columns)
}
