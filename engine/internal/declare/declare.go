// Package declare carries out the statements that change the catalog (CREATE, ALTER, DROP,
// REFRESH, RETIRE, GRANT and REVOKE), and EXPORT. A release or mechanism that needs private
// rows is charged first, by package pay, and reads them with the receipt. ADVISE and the
// plans for EXPLAIN spend nothing.
package declare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/kind"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/internal/period"
	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Statement is one declaration: the database that it changes, and the state of the session
// that runs it.
type Statement struct {
	kind.Site
	Store    *catalog.Store
	Path     func(name string) string  // resolves a file name relative to the script
	Confirm  func(warning string) bool // asks the person at a terminal; nil for a script
	Now      func() time.Time          // the clock, which ends periods
	Patience time.Duration             // how long to wait for another session's REFRESH
	Unknown  Unknown                   // nil except in a rehearsal

	Paid      string // set where there is someone to tell: what a release cost, its margins, and what is left
	Functions schemas.Functions

	part *part // nil except while a part of a template is built
}

// Unknown supplies the facts that a rehearsal cannot know.
type Unknown interface {
	// Unread reports whether the rows of a public table are missing.
	Unread(table string) bool
	// Payload returns the bytes of a release, or nil if the script creates it.
	Payload(ctx context.Context, r *catalog.Release) ([]byte, error)
	// Outside stands for a source's description of a table to be declared.
	Outside(in *catalog.Source, t catalog.Table) *Outside
}

// view reads the public catalog, bypassing the cache.
func (s *Statement) view(ctx context.Context) (*view.View, error) {
	return catalog.Get(ctx, s.Store, view.Read)
}

// maxListed bounds the values that a domain subquery may give.
const maxListed = 1 << 20

// CreateView makes a view that tables can be declared on.
func (s *Statement) CreateView(ctx context.Context, st *syntax.CreateView) (warnings []string, err error) {
	err = s.Store.Write(ctx, func(tx *catalog.Tx) error {
		kind, err := source.Kind(ctx, tx.SQL(), st.Name.Text)
		switch {
		case err != nil:
			return err
		case kind == "view" && st.IfNotExists:
			var was string
			err := tx.SQL().QueryRowContext(ctx, `SELECT sql FROM sqlite_schema WHERE type = 'view' AND lower(name) = lower(?)`, st.Name.Text).Scan(&was)
			if spaced := func(s string) string { return strings.Join(strings.Fields(s), " ") }; err == nil && !strings.HasSuffix(spaced(was), spaced(st.Definition)) {
				warnings = differences{"its SELECT is another one"}.warning(st.Name.Text)
			}
			return err
		case kind != "":
			return sqlerr.New(sqlerr.Exists, "there is a %s %s", kind, st.Name.Text).At(st.Name.Position)
		}
		return sqlerr.Locate(source.CreateView(ctx, tx.SQL(), st.Name.Text, st.Definition), st.Name.Position)
	})
	return warnings, err
}

// CreatePublic declares an SQLite table public: domains may read it.
func (s *Statement) CreatePublic(ctx context.Context, st *syntax.CreatePublic) error {
	return s.Store.Write(ctx, func(tx *catalog.Tx) error { return addPublic(ctx, tx, st) })
}

func addPublic(ctx context.Context, tx *catalog.Tx, st *syntax.CreatePublic) error {
	public, err := tx.IsPublic(st.Name.Text)
	if err != nil || public && st.IfNotExists {
		return err
	}
	if t, err := tx.Table(st.Name.Text); err != nil || t != nil {
		return cmp.Or[error](err, sqlerr.New(sqlerr.Exists, "%s is a private table", st.Name.Text).At(st.Name.Position))
	}
	if err := schemas.ReadsNoPrivateRows(ctx, tx, st.Name.Text, nil); err != nil {
		return sqlerr.Locate(err, st.Name.Position)
	}
	var columns []catalog.PublicColumn
	if !public { // otherwise AddPublic returns the error
		if columns, err = schemas.PublicColumns(ctx, tx, st); err != nil {
			return err
		}
	}
	return sqlerr.Locate(tx.AddPublic(st.Name.Text, columns...), st.Name.Position)
}

// Published is a column of a result that becomes a public table. Type is INTEGER, REAL or
// TEXT.
type Published struct{ Name, Type string }

// CanPublish refuses a name that a table of the file has, or that none may have. done reports
// that the public table exists and IF NOT EXISTS was given.
func (s *Statement) CanPublish(ctx context.Context, st *syntax.CreatePublic) (done bool, err error) {
	return catalog.Get(ctx, s.Store, func(tx *catalog.Tx) (bool, error) { return canPublish(ctx, tx, st) })
}

func canPublish(ctx context.Context, tx *catalog.Tx, st *syntax.CreatePublic) (done bool, err error) {
	if public, err := tx.IsPublic(st.Name.Text); err != nil || public && st.IfNotExists {
		return public, err
	}
	fold := query.FoldName(st.Name.Text)
	if strings.HasPrefix(fold, "dpsql_") || strings.HasPrefix(fold, "sqlite_") {
		return false, sqlerr.New(sqlerr.Forbidden, "names beginning with dpsql_ or sqlite_ are reserved").At(st.Name.Position)
	}
	if t, err := tx.Table(st.Name.Text); err != nil || t != nil {
		return false, cmp.Or[error](err, sqlerr.New(sqlerr.Exists, "%s is a private table", st.Name.Text).At(st.Name.Position))
	}
	var n int
	if err := tx.SQL().QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema WHERE lower(name) = lower(?)`, st.Name.Text).Scan(&n); err != nil {
		return false, err
	}
	if n > 0 {
		return false, sqlerr.New(sqlerr.Exists, "the file has a table, view or index %s already", st.Name.Text).At(st.Name.Position).
			WithHint("choose another name; DROP PUBLIC TABLE leaves the rows of a table where they are")
	}
	return false, nil
}

// Publish makes a table of a result and declares it public, in one transaction.
func (s *Statement) Publish(ctx context.Context, st *syntax.CreatePublic, columns []Published, rows [][]any) error {
	return s.publish(ctx, st, columns, rows, func(*catalog.Tx) error { return nil })
}

// publish does something else after, in the same transaction.
func (s *Statement) publish(ctx context.Context, st *syntax.CreatePublic, columns []Published, rows [][]any, after func(*catalog.Tx) error) error {
	return s.Store.Write(ctx, func(tx *catalog.Tx) error {
		if done, err := canPublish(ctx, tx, st); err != nil || done {
			return err
		}
		declared, holes := make([]string, len(columns)), make([]string, len(columns))
		for i, c := range columns {
			declared[i], holes[i] = query.Quoted(c.Name)+" "+c.Type, "?"
		}
		if _, err := tx.SQL().ExecContext(ctx, "CREATE TABLE "+query.Quoted(st.Name.Text)+" ("+strings.Join(declared, ", ")+")"); err != nil {
			return err
		}
		for _, row := range rows {
			if _, err := tx.SQL().ExecContext(ctx, "INSERT INTO "+query.Quoted(st.Name.Text)+" VALUES ("+strings.Join(holes, ", ")+")", row...); err != nil {
				return err
			}
		}
		if err := addPublic(ctx, tx, st); err != nil {
			return err
		}
		return after(tx)
	})
}

// budget is the part of CREATE PRIVATE TABLE about the table's budget.
type budget struct {
	epsilon     accounting.Epsilon
	delta       accounting.Delta
	interactive *big.Rat
	caps        accounting.Caps
	limits      limitOptions
}

// readBudget reads the budget options. Without the option interactive, half goes to the
// interactive account if there is a delta, and nothing if there is none.
func readBudget(o *kind.Options) (budget, error) {
	b := budget{epsilon: o.Epsilon()}
	b.delta, _ = o.Delta()
	half := big.NewRat(1, 2)
	if b.delta == 0 {
		half = new(big.Rat)
	}
	b.interactive = o.Share("interactive", half)
	b.limits = readLimits(o)
	if err := o.Done(); err != nil {
		return budget{}, err
	}
	var err error
	b.caps, err = accounting.Divide(b.epsilon, b.delta, b.interactive)
	return b, err
}

// limitOptions are the options that limit what SELECTs may spend.
type limitOptions struct {
	charge *accounting.Rho // nil if not given; 0 for no limit
	buyOff *bool           // nil if not given
}

// limitNames are the names of these options.
var limitNames = []string{"max_charge", "buy"}

func readLimits(o *kind.Options) (l limitOptions) {
	if option := o.Find("max_charge"); option != nil {
		var rho accounting.Rho
		if option.Kind == syntax.String || option.Kind == syntax.Word && option.Value != "none" {
			o.Fail(sqlerr.New(sqlerr.Invalid, "max_charge must be a number, or none"), option.Position)
		} else if option.Kind == syntax.Number {
			var err error
			rho, err = accounting.ParseRho("max_charge", option.Value)
			o.Fail(err, option.Position)
		}
		l.charge = &rho
	}
	if o.Has("buy") {
		off := o.Word("buy", "on", "off") == "off"
		l.buyOff = &off
	}
	return l
}

// override returns the limits, changed by the options that were given.
func (l limitOptions) override(limits catalog.Limits) catalog.Limits {
	if l.charge != nil {
		limits.MaxCharge = *l.charge
	}
	if l.buyOff != nil {
		limits.BuyOff = *l.buyOff
	}
	return limits
}

// unit is the difference between neighbours: a row, or at most rows rows that share one
// value of a column.
type unit struct {
	column string
	rows   int64
	key    []byte // secret: it decides which rows of a unit are kept
	fixed  bool   // no row moves between servers
}

// readUnit reads the options unit, max_rows and placement. The rows are in the source,
// or in the file if the source has no name.
func readUnit(o *kind.Options, in syntax.Name) (unit, error) {
	u := unit{column: o.Name("unit"), rows: o.Integer("max_rows", 1, 1, 1e6), fixed: o.Word("placement", "free", "fixed") == "fixed"}
	switch {
	case in.Text == "":
		o.Refuse("for rows of the file", "placement")
	case u.column != "":
		o.Refuse("with a unit, of which max_rows rows count wherever they are", "placement")
	}
	switch {
	case u.column == "":
		o.Refuse("without unit", "max_rows")
	case !o.Has("max_rows"):
		o.Fail(sqlerr.New(sqlerr.Invalid, "unit needs max_rows, the rows kept of each unit").
			WithHint("WITH (…, unit = %s, max_rows = 4)", u.column), o.Find("unit").Name.Position)
	}
	return u, o.Done()
}

// keyed gives the unit a key, if it is a column.
func (u unit) keyed(s *kind.Site) (unit, error) {
	if u.column == "" {
		return u, nil
	}
	u.key = make([]byte, 32)
	return u, s.Secret(u.key)
}

// tableOptions are the options of CREATE PRIVATE TABLE.
var tableOptions = []string{"epsilon", "delta", "interactive", "unit", "max_rows", "placement", "max_charge", "buy", "answer_time", "period", "time_zone"}

// alterOptions are the options of ALTER PRIVATE TABLE.
var alterOptions = append(slices.Clip(limitNames), "answer_time")

// CreatePrivate declares a private table: its columns and domains, the place of its
// rows, and the budget of the base tables behind them.
func (s *Statement) CreatePrivate(ctx context.Context, st *syntax.CreatePrivate) (warnings []string, err error) {
	o := kind.NewOptions(st.Options, tableOptions...)
	answerTime := o.AnswerTime()
	b, err := readBudget(o)
	if err != nil && !o.Has("epsilon") {
		return nil, cmp.Or(s.hasBudget(ctx, st), err)
	}
	if err != nil {
		return nil, err
	}
	asked, err := readPeriods(o)
	if err != nil {
		return nil, err
	}
	unit, err := readUnit(o, st.In)
	if err == nil {
		unit, err = unit.keyed(s.site())
	}
	if err != nil {
		return nil, err
	}
	out, err := s.lookOutside(ctx, st, unit, asked)
	if err != nil {
		return nil, err
	}
	if out != nil {
		warnings = append([]string{notShared}, together(out.Schema.Notes)...)
		if strings.HasSuffix(out.Schema.Text, source.Apart) {
			warnings = append(warnings, schemas.Moving)
		}
	}
	err = s.Store.Write(ctx, func(tx *catalog.Tx) error {
		existing, err := tx.Table(st.Name.Text)
		if err == nil && existing != nil && st.IfNotExists {
			warnings = s.ofTable(ctx, tx, st, existing, unit, asked).warning(st.Name.Text)
			return nil
		}
		if err != nil {
			return err
		}
		if public, err := tx.IsPublic(st.Name.Text); err != nil || public {
			return cmp.Or[error](err, sqlerr.New(sqlerr.Exists, "%s is a public table", st.Name.Text).At(st.Name.Position))
		}
		var in *catalog.Source
		if st.In.Text != "" {
			if in, err = sourceOfName(tx, st.In); err != nil {
				return err
			}
			if out == nil || out.Source.ID != in.ID {
				return sqlerr.New(sqlerr.Busy, "%s was declared anew meanwhile", st.In.Text).WithHint("try again").At(st.In.Position)
			}
		}
		t, err := declared(ctx, tx, st, in, s.Unknown)
		if err != nil {
			return err
		}
		t.Unit, t.MaxRows, t.Key, t.AnswerTime = unit.column, unit.rows, unit.key, answerTime
		partition, err := asked.partition(t)
		if err != nil {
			return err
		}
		another, err := addPrivate(ctx, tx, t, b, partition, out)
		if err != nil {
			return sqlerr.Locate(err, st.Name.Position)
		}
		if in == nil {
			misfits, err := misfits(ctx, tx.SQL(), view.SourceTable(t))
			if err != nil {
				return sqlerr.Locate(err, st.Name.Position)
			}
			warnings = append(warnings, misfits...)
		}
		if another != "" {
			warnings = append(warnings, another)
		}
		return nil
	})
	return warnings, err
}

// Undeclared returns the table that a declaration about the file's own rows would make. Nothing is declared.
func Undeclared(ctx context.Context, tx *catalog.Tx, st *syntax.CreatePrivate) (catalog.Table, error) {
	t, err := declared(ctx, tx, st, nil, nil)
	if err != nil {
		return t, err
	}
	o := kind.NewOptions(st.Options, tableOptions...)
	asked, err := readPeriods(o)
	if err != nil {
		return t, err
	}
	unit, err := readUnit(o, st.In)
	t.Unit, t.MaxRows, t.Period = unit.column, unit.rows, asked.column
	return t, err
}

// declared resolves the domains of the declaration. It reads only tables that are
// declared public. The private rows are in a source outside the file, or in the file if
// in is nil.
func declared(ctx context.Context, tx *catalog.Tx, st *syntax.CreatePrivate, in *catalog.Source, u Unknown) (catalog.Table, error) {
	t := catalog.Table{Name: st.Name.Text, Source: st.Source.Text}
	var bases []string
	if in != nil {
		t.SourceID = in.ID // no table of the file can read these rows
	} else {
		all, err := source.Bases(ctx, tx.SQL(), t.Source)
		if err != nil {
			return t, sqlerr.Locate(err, st.Source.Position)
		}
		if bases, err = schemas.PrivateBases(tx, all); err != nil {
			return t, err
		}
	}
	for i, def := range st.Columns {
		d := def.Domain
		if def.Source != nil {
			var err error
			if d, err = domainFrom(ctx, tx, def, bases, u); err != nil {
				return t, err
			}
		}
		t.Columns = append(t.Columns, query.Column{Name: def.Name.Text, Domain: d, Form: def.Form, Place: i})
	}
	t.Columns = amountsLast(t.Columns)
	return t, nil
}

// fewValues is the largest number of values of a number whose place does not matter.
const fewValues = 1000

// amountsLast returns columns in the order in which they are compiled: the numbers of over a thousand values stand behind
// the other columns, those of most values last. Each group of a sum copies what stands before the columns of its key, so that in
// another order a statement may be too large.
func amountsLast(columns []query.Column) []query.Column {
	values := func(c query.Column) uint64 {
		if c.Form.IsTime() || c.Domain.Type() != query.TypeInteger || c.Domain.Size() <= fewValues {
			return 0
		}
		return c.Domain.Size()
	}
	return slices.SortedStableFunc(slices.Values(columns), func(a, b query.Column) int {
		if order := cmp.Compare(values(a), values(b)); order != 0 || values(a) == 0 {
			return order
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// domainFrom reads a domain from a public table. bases are the base tables of the table
// being declared, which are about to become private.
func domainFrom(ctx context.Context, tx *catalog.Tx, def syntax.ColumnDef, bases []string, u Unknown) (query.Domain, error) {
	from := def.Source
	public, err := tx.IsPublic(from.Table.Text)
	if err != nil {
		return query.Domain{}, err
	}
	reads := schemas.ReadsNoPrivateRows(ctx, tx, from.Table.Text, bases)
	if !public {
		hint := "CREATE PUBLIC TABLE " + from.Table.Text + "; says that its contents are no secret"
		if sqlerr.CodeOf(reads) == sqlerr.Invalid {
			hint = "its rows are private: list the values as a code book has them"
		}
		return query.Domain{}, sqlerr.New(sqlerr.Forbidden, "a domain cannot read %s: it is not declared public", from.Table.Text).
			WithHint("%s", hint).At(from.Table.Position)
	}
	if reads != nil {
		return query.Domain{}, sqlerr.Locate(reads, from.Table.Position)
	}
	if u != nil && u.Unread(from.Table.Text) {
		return singleton(def)
	}
	values, err := source.Values(ctx, tx.SQL(), from.Table.Text, from.Column.Text, def.Type, maxListed)
	if err != nil {
		return query.Domain{}, sqlerr.Locate(err, from.Column.Position)
	}
	if from.OrNull {
		values = append(values, query.Null())
	}
	if other := query.Text(query.Other); def.Form.HasOther() && !slices.Contains(values, other) {
		values = append(values, other)
	}
	d, err := query.NewList(def.Type, values)
	if err == nil && !def.Form.Fits(d) {
		err = sqlerr.New(sqlerr.Invalid, "two texts of %s differ in case alone", from.Table.Text).
			WithHint("leave COLLATE NOCASE out, or one of the texts")
	}
	return d, sqlerr.Locate(err, from.Column.Position)
}

// singleton returns a domain of one value. In a rehearsal it stands for an unknown one.
func singleton(def syntax.ColumnDef) (query.Domain, error) {
	v := query.Int(0)
	switch {
	case def.Form.HasOther():
		v = query.Text(query.Other)
	case def.Type == query.TypeText:
		v = query.Text("")
	}
	return query.NewList(def.Type, []query.Value{v})
}

// protected returns the schema of a declared table, and the base tables whose rows it reads. For rows outside the file, out has what the source said before; out is nil
// for the file.
func protected(ctx context.Context, tx *catalog.Tx, t catalog.Table, p *period.Partition, out *Outside) (schema source.Schema, bases []string, err error) {
	if out != nil {
		return out.Schema, schemas.Distinct(out.Schema.Bases), nil
	}
	rows := lieIn(t, p)
	if rows.Public, err = tx.Publics(); err != nil {
		return schema, nil, err
	}
	if schema, err = source.Schemas(tx.SQL()).Check(ctx, rows); err != nil {
		return schema, nil, err
	}
	if bases, err = schemas.PrivateBases(tx, schema.Bases); err != nil {
		return schema, nil, err
	}
	return schema, bases, schemas.NoPublicViewReads(ctx, tx, bases)
}

// hasBudget says of a declaration without epsilon that its rows in the file have a budget, if they do. It is nil for any
// other, and for one that is refused for another reason.
func (s *Statement) hasBudget(ctx context.Context, st *syntax.CreatePrivate) (refusal error) {
	if st.In.Text != "" {
		return nil
	}
	s.Store.Read(ctx, func(tx *catalog.Tx) error {
		bases, err := source.Bases(ctx, tx.SQL(), st.Source.Text)
		if err == nil {
			bases, err = schemas.PrivateBases(tx, bases)
		}
		if err != nil || len(bases) == 0 {
			return err
		}
		if a, err := tx.AccountFor(bases); err == nil && a != nil {
			refusal = sqlerr.Locate(alreadyHas(tx, st.Source.Text, *a), st.Name.Position)
		}
		return nil
	})
	return refusal
}

// alreadyHas refuses a second budget for rows, and says which tables they have theirs by and how it is continued.
func alreadyHas(tx *catalog.Tx, rows string, a catalog.Account) error {
	tables, err := tx.Tables()
	var names []string
	options := fmt.Sprintf("epsilon = %s, delta = %s, interactive = %s", a.Epsilon, a.Delta, a.Interactive)
	write := options
	for _, t := range tables {
		if t.Account != a.ID {
			continue
		}
		if len(names) == 0 && t.Unit != "" {
			write += fmt.Sprintf(", unit = %s, max_rows = %d", syntax.WriteName(t.Unit), t.MaxRows)
		}
		names = append(names, t.Name)
	}
	text := "the rows of " + rows + " already have the budget " + options
	if len(names) > 0 {
		text += ", by " + firstFew(names)
	}
	return cmp.Or[error](err, sqlerr.New(sqlerr.Invalid, "%s", text).
		WithHint("a budget belongs to the rows and cannot be declared anew: give the same one to continue it, WITH (%s)", write))
}

// continues refuses a declaration that would give rows a second budget or change their
// limits.
func (b budget) continues(tx *catalog.Tx, rows string, a catalog.Account) error {
	if a.Caps != b.caps {
		return alreadyHas(tx, rows, a)
	}
	if b.limits.override(a.Limits) != a.Limits {
		return sqlerr.New(sqlerr.Invalid, "the rows of %s already have %s", rows, cmp.Or(a.Limits.String(), "no limits")).
			WithHint("limits belong to the rows: ALTER PRIVATE TABLE … SET (…) changes them for all tables over these")
	}
	return nil
}

// addPrivate stores a declaration under the budget of its base tables. The first
// declaration over them opens the budget, and later ones continue it. It returns a warning if it opens
// one beside others, or continues one that may be that of other rows.
func addPrivate(ctx context.Context, tx *catalog.Tx, t catalog.Table, b budget, p *period.Partition, out *Outside) (warning string, err error) {
	schema, bases, err := protected(ctx, tx, t, p, out)
	if err != nil {
		return "", err
	}
	t.SourceSchema = schema.Text
	if len(bases) == 0 {
		return "", sqlerr.New(sqlerr.Invalid, "%s reads public tables only", t.Source).WithHint("there is nothing in it to protect")
	}
	var others, also []string
	if out != nil {
		others, also = out.Schema.Others(), out.Schema.Also
	}
	a, err := tx.AccountFor(bases, others...)
	switch {
	case err != nil:
		return "", err
	case a == nil:
		if warning, err = besideOthers(tx, bases); err != nil {
			return "", err
		}
		a = &catalog.Account{Epsilon: b.epsilon.String(), Delta: b.delta.String(),
			Interactive: query.Decimal(b.interactive), Caps: b.caps, Bases: schemas.Distinct(append(bases, also...))}
		if err := tx.CreateAccount(a); err != nil {
			return "", err
		}
		if err := tx.SetLimits(a.ID, t.Name, b.limits.override(a.Limits)); err != nil {
			return "", err
		}
	default:
		if err := b.continues(tx, t.Source, *a); err != nil {
			return "", err
		}
		if warning, err = goesOn(tx, *a, t); err != nil {
			return "", err
		}
	}
	other, err := tx.AccountUnit(a.ID)
	if err != nil {
		return "", err
	}
	if other != nil && !query.SameName(*other, t.Unit) {
		return "", sqlerr.New(sqlerr.Invalid, "the budget of %s protects %s", t.Source, released.UnitText(*other, 0)).
			WithHint("every table over these rows must be declared with the same unit")
	}
	if err := setPeriods(tx, a, &t, p, schema.Period, bases); err != nil {
		return "", err
	}
	t.Account = a.ID
	return warning, tx.AddTable(&t)
}

// goesOn warns of a spent budget that is continued over a source that no table is declared on as it is
// now. Tables and columns are known by name: one that was renamed since takes what is its name's.
func goesOn(tx *catalog.Tx, a catalog.Account, t catalog.Table) (string, error) {
	spent, err := tx.Spent(a.ID)
	if err != nil || spent.Most(period.Ranges{period.All}) == (accounting.Amount{}) {
		return "", err
	}
	tables, err := tx.Tables()
	same, others := false, false
	for _, o := range tables {
		same = same || o.Account == a.ID && o.SourceSchema == t.SourceSchema
		others = others || o.Account == a.ID && o.Source != t.Source
	}
	if err != nil || same || others {
		return "", err
	}
	return fmt.Sprintf("the budget of %s goes on with what is spent of it: if a table or column was renamed since, this is the budget of what had its name", firstFew(a.Bases)), nil
}

// besideOthers warns of a budget that is opened while other rows have one, because
// dpsql does not see whether the new table was made from them. It returns "" for the
// first budget.
func besideOthers(tx *catalog.Tx, bases []string) (string, error) {
	accounts, err := tx.Accounts()
	if err != nil || len(accounts) == 0 {
		return "", err
	}
	var others []string
	for _, a := range accounts {
		others = append(others, a.Bases...)
	}
	return fmt.Sprintf("%s gets a budget of its own and must not be made from rows that have one (%s): derive from those in a view, where the budget stays",
		firstFew(bases), firstFew(others)), nil
}

// firstFew lists the first names.
func firstFew(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// AlterPrivate changes the answer time of a table, and the limits on what SELECTs may take from
// the budget of its rows. They hold from the next purchase on, in all processes.
func (s *Statement) AlterPrivate(ctx context.Context, st *syntax.AlterPrivate) error {
	o := kind.NewOptions(st.Options, alterOptions...)
	limits, answerTime := readLimits(o), o.AnswerTime()
	if err := o.Done(); err != nil {
		return err
	}
	return s.Store.Write(ctx, func(tx *catalog.Tx) error {
		v, err := view.Read(tx)
		if err != nil {
			return err
		}
		t, err := altered(v, st)
		if err != nil {
			return err
		}
		if answerTime > 0 {
			if err := tx.SetAnswerTime(t.ID, answerTime); err != nil {
				return err
			}
		}
		return tx.SetLimits(t.Account, t.Name, limits.override(v.Limits(t)))
	})
}

// altered returns the table that an ALTER names.
func altered(v *view.View, st *syntax.AlterPrivate) (*view.Table, error) {
	t, err := v.Table(st.Name.Text, st.Name.Position)
	if err == nil && t.Source == "" {
		err = sqlerr.New(sqlerr.Invalid, "%s has no budget: it was exported with a release", t.Name).At(st.Name.Position)
	}
	return t, err
}

// Drop removes a declaration. Spent budget stays spent. The runs of a mechanism that
// never started are given back.
func (s *Statement) Drop(ctx context.Context, st *syntax.Drop) error {
	if err := s.askDrop(ctx, st); err != nil {
		return err
	}
	if st.Kind == syntax.SourceObject {
		return sqlerr.Locate(forgiven(st, s.dropSource(ctx, st.Name.Text)), st.Name.Position)
	}
	err := s.Store.Write(ctx, func(tx *catalog.Tx) error {
		switch st.Kind {
		case syntax.Release:
			return dropRelease(tx, st)
		case syntax.Mechanism:
			return dropMechanism(tx, st.Name.Text)
		case syntax.PrivateTable:
			return tx.DropTable(st.Name.Text)
		case syntax.View:
			return dropView(ctx, tx, st.Name.Text)
		case syntax.User:
			return dropUser(tx, st.Name.Text)
		}
		return tx.DropPublic(st.Name.Text)
	})
	if err == nil {
		s.Store.Erase(ctx) // τ of a mechanism; where somebody reads, an idle mechanism or the last close does it later
	}
	return sqlerr.Locate(forgiven(st, err), st.Name.Position)
}

// askDrop says what was paid for what is dropped, and is lost.
func (s *Statement) askDrop(ctx context.Context, st *syntax.Drop) error {
	if s.Confirm == nil {
		return nil
	}
	v, err := s.view(ctx)
	if err != nil {
		return err
	}
	if lost := lost(v, st); lost != "" {
		return s.ask(lost)
	}
	return nil
}

// lost says what was paid for a release with its parts, a mechanism or a table; "" for nothing.
func lost(v *view.View, st *syntax.Drop) string {
	name := st.Name.Text
	switch st.Kind {
	case syntax.Release:
		m, epsilon := v.Template(name), 0.0
		for _, r := range v.Releases {
			if query.SameName(r.Name, name) || m != nil && r.Template == m.ID {
				epsilon += r.Epsilon.Float()
			}
		}
		if epsilon > 0 {
			return fmt.Sprintf("ε %s was paid for %s: its answers are lost, and nothing is paid back", released.Rounded(epsilon), name)
		}
	case syntax.Mechanism:
		if m := v.Mechanism(name); m != nil && m.RunsStarted > 0 {
			return fmt.Sprintf("%d of %d runs of %s were paid for: what they learnt is lost, and not paid back", m.RunsStarted, m.Updates, name)
		}
	case syntax.PrivateTable:
		t := v.Private(name)
		if t == nil {
			return ""
		}
		if spent := v.Accounts[t.Account].Spent; spent.Epsilon > 0 || spent.Rho > 0 {
			return fmt.Sprintf("ε %s and ρ %s were spent on %s: they stay spent, and answers that were bought are lost",
				released.Rounded(spent.Epsilon.Float()), released.Rounded(spent.Rho.Float()), name)
		}
	}
	return ""
}

// forgiven drops the error that a thing does not exist, if the statement has IF EXISTS.
func forgiven(st *syntax.Drop, err error) error {
	if st.IfExists && sqlerr.CodeOf(err) == sqlerr.Unknown {
		return nil
	}
	return err
}

// dropView removes a view, unless a declared table reads it.
func dropView(ctx context.Context, tx *catalog.Tx, name string) error {
	v, err := view.Read(tx)
	if err != nil {
		return err
	}
	before := readable(ctx, tx, v)
	if err := source.DropView(ctx, tx.SQL(), name); err != nil {
		return err
	}
	after := readable(ctx, tx, v)
	for _, table := range before {
		if !slices.Contains(after, table) {
			return sqlerr.New(sqlerr.Invalid, "table %s reads the view %s", table, name).
				WithHint("drop that declaration first; what it spent stays spent")
		}
	}
	return ctx.Err()
}

// readable returns the names of the declared tables in the file that SQLite can read.
func readable(ctx context.Context, tx *catalog.Tx, v *view.View) (names []string) {
	note := func(name, from string) {
		if _, err := source.Bases(ctx, tx.SQL(), from); err == nil {
			names = append(names, name)
		}
	}
	for _, t := range v.Tables {
		if t.Outside == nil && t.Source != "" {
			note(t.Name, t.Source)
		}
	}
	for _, public := range v.Publics {
		note(public, public)
	}
	return names
}

func dropMechanism(tx *catalog.Tx, name string) error {
	m, err := tx.Mechanism(name)
	if err != nil {
		return err
	}
	if m == nil {
		return sqlerr.New(sqlerr.Unknown, "there is no mechanism %s", name)
	}
	t, err := tx.Table(m.Table)
	if err != nil {
		return err
	}
	if t == nil || t.ID != m.TableID {
		return sqlerr.New(sqlerr.Corrupt, "the private table of mechanism %s is missing", m.Name)
	}
	amount := accounting.Amount{Rho: m.RunRho * accounting.Rho(m.Updates-m.RunsStarted)}
	if err := tx.Return(t.Account, period.Ranges{m.Span}, catalog.KindInteractive, "return unused runs", m.Name, amount); err != nil { // 0 too: the line is marked
		return err
	}
	return tx.DropMechanism(name)
}

// Exports returns the picture from which a statement exports.
func (s *Statement) Exports(ctx context.Context) (*view.View, error) { return s.view(ctx) }

// Exported returns a release that a statement exports, and its table.
func Exported(v *view.View, name syntax.Name) (*catalog.Release, *view.Table, error) {
	r := v.Release(name.Text)
	if m := v.Template(name.Text); m != nil {
		return nil, nil, sqlerr.New(sqlerr.Invalid, "%s has a part for each period, and one part is exported", m.Name).
			WithHint("%s", v.HintPart(m, "EXPORT RELEASE %s TO …")).At(name.Position)
	}
	if r == nil {
		return nil, nil, sqlerr.New(sqlerr.Unknown, "there is no release %s", name.Text).At(name.Position)
	}
	t := v.TableByID(r.TableID)
	if t == nil {
		return nil, nil, sqlerr.New(sqlerr.Corrupt, "the private table of release %s is missing", r.Name)
	}
	if r.Unfinished() {
		finish := "the same CREATE RELEASE"
		if i := slices.IndexFunc(v.Templates, func(m catalog.Template) bool { return m.ID == r.Template }); i >= 0 {
			finish = view.RefreshPart(&v.Templates[i], t.Partition, r.Span.First)
		}
		return nil, nil, sqlerr.New(sqlerr.Invalid, "the build of release %s was interrupted", r.Name).
			WithHint("%s goes on with it, and costs nothing", finish).At(name.Position)
	}
	return r, t, nil
}

// ForPage returns the releases that a page has of a name, and their table: of a release of each period all parts that
// are built.
func ForPage(v *view.View, name syntax.Name) (all []*catalog.Release, t *view.Table, err error) {
	m := v.Template(name.Text)
	if m == nil {
		r, t, err := Exported(v, name)
		return []*catalog.Release{r}, t, err
	}
	parts := v.Parts(m.ID)
	for _, n := range slices.Sorted(maps.Keys(parts)) {
		if !parts[n].Unfinished() {
			all = append(all, parts[n])
		}
	}
	if all == nil {
		return nil, nil, sqlerr.New(sqlerr.Invalid, "%s has no part yet", m.Name).WithHint("REFRESH RELEASE %s builds what is due", syntax.WriteName(m.Name)).At(name.Position)
	}
	return all, v.TableByID(m.TableID), nil
}

// Export writes a release into a new file. The file answers the release's queries
// anywhere and holds nothing else of the database.
func (s *Statement) Export(ctx context.Context, st *syntax.Export) error {
	err := s.Store.ExportRelease(ctx, st.Releases[0].Text, s.Path(st.Path))
	return sqlerr.Locate(err, st.PathPosition)
}
