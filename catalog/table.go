package catalog

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"dpsql/accounting"
	"dpsql/internal/period"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Table is a private table as declared.
type Table struct {
	ID           int64                 `json:"-"`
	Name         string                `json:"-"`
	Source       string                `json:"source"`              // the raw table or view; "" in an exported file, which has no rows
	SourceID     int64                 `json:"source_id,omitempty"` // the source that has it; 0 for the file itself
	Columns      []query.Column        `json:"-"`
	Account      int64                 `json:"-"`                // 0 in an exported file
	Unit         string                `json:"unit"`             // the unit column of the source; "" when a unit is a row
	MaxRows      int64                 `json:"max_rows"`         // rows kept of each unit
	SourceSchema string                `json:"-"`                // SQL text of the source and what it reads, at declaration
	Key          []byte                `json:"key,omitempty"`    // secret key that chooses the rows kept of a unit
	NHat         *NHat                 `json:"nhat,omitempty"`   // of all its rows; nil until bought
	Period       string                `json:"period,omitempty"` // the column, as declared, that says in which period a row lies; "" for none
	RowCounts    map[period.Range]NHat `json:"-"`                // of the rows of some periods, as far as bought
	AnswerTime   time.Duration         `json:"-"`                // how long a slot is in which its rows are read for a user, in milliseconds
	CreatedAt    time.Time             `json:"created_at"`
}

// storedTable is the body of a private table, whose parent is its account.
type storedTable struct {
	Table
	AnswerTime   int64       `json:"answer_time"` // in milliseconds
	SourceSchema query.Exact `json:"source_schema"`
}

// DefaultAnswerTime is the answer time of a table that is declared without one.
const DefaultAnswerTime = 250 * time.Millisecond

// NHat is the noisy number of rows of a table, which is bought once.
type NHat struct {
	Value   int64              `json:"value"`
	Epsilon accounting.Epsilon `json:"epsilon"` // spent in the releases account
	Rho     accounting.Rho     `json:"rho"`     // or spent in the interactive account
	Law     string             `json:"law"`     // the noise, in the noise package's text
}

// Universe returns the product of the declared domains.
func (t *Table) Universe() (*query.Universe, error) { return query.NewUniverse(t.Columns) }

// ColumnsIn returns the columns with only those values of the table's period column that lie in a
// range of periods of a partition, which is that of its account. The domain of a column without
// such values stays.
func (t *Table) ColumnsIn(p *period.Partition, over period.Range) []query.Column {
	columns := slices.Clone(t.Columns)
	for i, c := range columns {
		if !query.SameName(c.Name, t.Period) {
			continue
		}
		if d, some := p.Restrict(c.Domain, over); some {
			columns[i].Domain = d
		}
	}
	return columns
}

func (t *Table) stored() *storedTable {
	return &storedTable{Table: *t, AnswerTime: t.AnswerTime.Milliseconds(), SourceSchema: query.Exact(t.SourceSchema)}
}

// tableFrom returns a table without its columns and row counts.
func tableFrom(o *object, s *storedTable) (Table, error) {
	t := s.Table
	t.ID, t.Name, t.Account = o.id, o.name, o.parent
	t.AnswerTime, t.SourceSchema = time.Duration(s.AnswerTime)*time.Millisecond, string(s.SourceSchema)
	return t, nil
}

// columnsFrom returns the columns of a table, whose id is the object's parent.
func columnsFrom(_ *object, stored *[]query.StoredColumn) (columns []query.Column, err error) {
	if len(*stored) == 0 {
		return nil, corrupt("a private table has no columns")
	}
	columns = make([]query.Column, len(*stored))
	for i, c := range *stored {
		var ok bool
		if columns[i], ok = c.Column(); !ok {
			return nil, corrupt("a column's domain in the catalog cannot be read")
		}
	}
	return columns, nil
}

// Tables lists the declared private tables by name.
func (tx *Tx) Tables() ([]Table, error) {
	tables, err := all(tx, kindTable, tableFrom)
	if err != nil {
		return nil, err
	}
	for i := range tables {
		if err := tx.fillIn(&tables[i]); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

// Table returns the private table of that name, nil when there is none.
func (tx *Tx) Table(name string) (*Table, error) {
	t, err := one(tx, kindTable, named(name), tableFrom)
	if err != nil || t == nil {
		return nil, err
	}
	return t, tx.fillIn(t)
}

// fillIn reads the columns and the row counts of a table.
func (tx *Tx) fillIn(t *Table) error {
	columns, err := one(tx, kindColumns, childOf(t.ID), columnsFrom)
	if err != nil {
		return err
	}
	if columns == nil {
		return corrupt("the columns of the private table %s are missing", t.Name)
	}
	t.Columns = *columns
	objects, err := tx.living(kindRowCount)
	for i := range objects {
		if objects[i].parent != t.ID {
			continue
		}
		c, err := decode(&objects[i], rowCountFrom)
		if err != nil {
			return err
		}
		if t.RowCounts == nil {
			t.RowCounts = make(map[period.Range]NHat)
		}
		t.RowCounts[c.Over] = c.NHat
	}
	return err
}

// rowCount is N̂ of the rows of some periods. Its parent is the table.
type rowCount struct {
	Over period.Range `json:"periods"`
	NHat
}

func rowCountFrom(_ *object, c *rowCount) (rowCount, error) { return *c, nil }

// RowCount returns N̂ of the rows of some periods, nil until it is bought.
func (t *Table) RowCount(over period.Range) *NHat {
	if over == period.All {
		return t.NHat
	}
	if n, bought := t.RowCounts[over]; bought {
		return &n
	}
	return nil
}

// AddTable stores a declaration and sets t.ID and t.CreatedAt. Without an answer time the table
// has the default. Errors: Invalid
// when the name is taken or the columns make no universe.
func (tx *Tx) AddTable(t *Table) error {
	existing, err := tx.Table(t.Name)
	switch {
	case err != nil:
		return err
	case existing != nil:
		return sqlerr.New(sqlerr.Exists, "the private table %s exists", existing.Name)
	}
	if _, err := t.Universe(); err != nil {
		return err
	}
	nhat := t.NHat
	t.AnswerTime, t.CreatedAt, t.NHat = cmp.Or(t.AnswerTime, DefaultAnswerTime), tx.stamp(), nil
	columns := make([]query.StoredColumn, len(t.Columns))
	for i, c := range t.Columns {
		if columns[i], err = c.Stored(); err != nil {
			return err
		}
	}
	if t.ID, err = tx.create(kindTable, t.Name, t.Account, t.stored()); err != nil {
		return err
	}
	if _, err := tx.create(kindColumns, "", t.ID, &columns); err != nil {
		return err
	}
	if err := tx.noteUnit(t); err != nil || nhat == nil {
		return err
	}
	t.NHat = nhat
	return tx.SetNHat(t.ID, period.All, *nhat)
}

// noteUnit stores the unit of the first table that charges an account. One budget protects one kind
// of unit.
func (tx *Tx) noteUnit(t *Table) error {
	if t.Account == 0 {
		return nil
	}
	a, err := tx.Account(t.Account)
	if err != nil || a.Unit != nil {
		return err
	}
	a.Unit = &t.Unit
	return tx.storeAccount(a)
}

// AccountUnit returns the unit column of the tables that charge an account, dropped
// tables included. It is nil when none was declared yet.
func (tx *Tx) AccountUnit(account int64) (*string, error) {
	a, err := one(tx, kindAccount, withID(account), accountFrom)
	if err != nil || a == nil {
		return nil, err
	}
	return a.Unit, nil
}

// SetNHat stores the table's noisy number of rows in some periods. Errors: Internal when it was
// bought before, since a second draw would have to be paid for.
func (tx *Tx) SetNHat(table int64, over period.Range, n NHat) error {
	t, err := one(tx, kindTable, withID(table), tableFrom)
	if err == nil && t != nil {
		err = tx.fillIn(t)
	}
	if err != nil {
		return err
	}
	if t == nil || t.RowCount(over) != nil {
		return sqlerr.New(sqlerr.Internal, "the row count of the table was bought before")
	}
	if over != period.All {
		_, err := tx.create(kindRowCount, "", table, &rowCount{Over: over, NHat: n})
		return err
	}
	t.NHat = &n
	return tx.replace(kindTable, t.ID, t.stored())
}

// SetAnswerTime changes the answer time of a table.
func (tx *Tx) SetAnswerTime(table int64, to time.Duration) error {
	return tx.changeAnswerTime(table, func(time.Duration) time.Duration { return to })
}

// RaiseAnswerTime makes the answer time of a table at least as long. A table that is dropped
// has none.
func (tx *Tx) RaiseAnswerTime(table int64, least time.Duration) error {
	return tx.changeAnswerTime(table, func(now time.Duration) time.Duration { return max(now, least) })
}

func (tx *Tx) changeAnswerTime(table int64, change func(time.Duration) time.Duration) error {
	t, err := one(tx, kindTable, withID(table), tableFrom)
	if err != nil || t == nil || change(t.AnswerTime) == t.AnswerTime {
		return err
	}
	t.AnswerTime = change(t.AnswerTime)
	return tx.replace(kindTable, t.ID, t.stored())
}

// DropTable removes a declaration, and with it the way to its answers. It revokes what was
// granted on the table. Its account, ledger and id stay. Errors: Unknown; Invalid while the table has releases or
// mechanisms.
func (tx *Tx) DropTable(name string) error {
	t, err := tx.Table(name)
	switch {
	case err != nil:
		return err
	case t == nil:
		return sqlerr.New(sqlerr.Unknown, "there is no private table %s", name)
	}
	if err := tx.checkUnused(t); err != nil {
		return err
	}
	if err := tx.revokeAll(func(g *Grant) bool { return g.TableID == t.ID }); err != nil {
		return err
	}
	columns, err := tx.living(kindColumns)
	if err != nil {
		return err
	}
	if o := pick(columns, childOf(t.ID)); o != nil {
		if err := tx.drop(kindColumns, o.id); err != nil {
			return err
		}
	}
	return tx.drop(kindTable, t.ID)
}

func (tx *Tx) checkUnused(t *Table) error {
	for _, user := range []struct {
		kind  kind
		calls string
	}{{kindTemplate, "release"}, {kindRelease, "release"}, {kindMechanism, "mechanism"}} {
		objects, err := tx.living(user.kind)
		if err != nil {
			return err
		}
		if o := pick(objects, childOf(t.ID)); o != nil {
			return sqlerr.New(sqlerr.Invalid, "%s still has the %s %s", t.Name, user.calls, o.name).
				WithHint("DROP %s %s first", strings.ToUpper(user.calls), o.name)
		}
	}
	return nil
}
