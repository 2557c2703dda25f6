package catalog

import (
	"time"

	"dpsql/accounting"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Table is a private table as declared.
type Table struct {
	ID           int64
	Name         string
	Source       string // the raw table or view; "" in an exported file, which has no rows
	Columns      []query.Column
	Account      int64  // 0 in an exported file
	Unit         string // the unit column of the source; "" when a unit is a row
	MaxRows      int64  // rows kept of each unit
	SourceSchema string // SQL text of the source and what it reads, at declaration
	Key          []byte // secret key of the choice of the rows kept of a unit
	NHat         *NHat  // nil until bought
	CreatedAt    time.Time
}

// NHat is the noisy number of rows, bought once a table.
type NHat struct {
	Value   int64
	Epsilon accounting.Epsilon // spent in the releases account
	Rho     accounting.Rho     // or spent in the interactive account
	Law     string             // the noise, in the noise package's text
}

// Universe returns the product of the declared domains.
func (t *Table) Universe() (*query.Universe, error) { return query.NewUniverse(t.Columns) }

const selectTable = `SELECT id, name, source, COALESCE(account, 0), unit, max_rows, source_schema, key,
	nhat, nhat_epsilon, nhat_rho, nhat_law, created_at FROM dpsql_tables WHERE dropped_at IS NULL `

func scanTable(row scanner) (t Table, err error) {
	var value *int64
	var epsilon *accounting.Epsilon
	var rho *accounting.Rho
	var law *string
	var at string
	err = row.Scan(&t.ID, &t.Name, &t.Source, &t.Account, &t.Unit, &t.MaxRows, &t.SourceSchema, &t.Key,
		&value, &epsilon, &rho, &law, &at)
	if err != nil {
		return t, err
	}
	if value != nil && epsilon != nil && rho != nil && law != nil {
		t.NHat = &NHat{Value: *value, Epsilon: *epsilon, Rho: *rho, Law: *law}
	}
	t.CreatedAt, err = parseTime(at)
	return t, err
}

// Tables lists the declared private tables by name.
func (tx *Tx) Tables() ([]Table, error) {
	tables, err := list(tx, scanTable, selectTable+`ORDER BY name`)
	for i := range tables {
		if err == nil {
			tables[i].Columns, err = tx.columns(tables[i].ID)
		}
	}
	return tables, err
}

// Table returns the private table of that name, nil when there is none.
func (tx *Tx) Table(name string) (*Table, error) {
	t, err := find(tx, scanTable, selectTable+`AND name = ?`, name)
	if err != nil || t == nil {
		return nil, err
	}
	t.Columns, err = tx.columns(t.ID)
	return t, err
}

func (tx *Tx) columns(table int64) ([]query.Column, error) {
	return list(tx, scanColumn, `SELECT name, type, domain FROM dpsql_columns WHERE table_id = ? ORDER BY position`, table)
}

func scanColumn(row scanner) (c query.Column, err error) {
	var typeName, domain string
	if err := row.Scan(&c.Name, &typeName, &domain); err != nil {
		return c, err
	}
	c.Domain, err = decodeDomain(typeName, domain)
	return c, err
}

// AddTable stores a declaration and sets t.ID and t.CreatedAt. Errors: Invalid
// when the name is taken or the columns make no universe.
func (tx *Tx) AddTable(t *Table) error {
	existing, err := tx.Table(t.Name)
	switch {
	case err != nil:
		return err
	case existing != nil:
		return sqlerr.New(sqlerr.Invalid, "the private table %s exists", existing.Name)
	}
	if _, err := t.Universe(); err != nil {
		return err
	}
	var account any
	if t.Account != 0 {
		account = t.Account
	}
	created := tx.stamp()
	id, err := tx.insert(`INSERT INTO dpsql_tables (name, source, account, unit, max_rows, source_schema, key, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		t.Name, t.Source, account, t.Unit, t.MaxRows, t.SourceSchema, nonNil(t.Key), formatTime(created))
	if err != nil {
		return err
	}
	t.ID, t.CreatedAt = id, created
	if err := tx.addColumns(t); err != nil {
		return err
	}
	if t.NHat != nil {
		return tx.SetNHat(id, *t.NHat)
	}
	return nil
}

func (tx *Tx) addColumns(t *Table) error {
	for i, c := range t.Columns {
		domain, err := encodeDomain(c.Domain)
		if err != nil {
			return err
		}
		_, err = tx.exec(`INSERT INTO dpsql_columns (table_id, position, name, type, domain) VALUES (?, ?, ?, ?, ?)`,
			t.ID, i, c.Name, c.Domain.Type().String(), domain)
		if err != nil {
			return err
		}
	}
	return nil
}

// AccountUnit returns the unit column of the tables that charge an account,
// dropped ones included; nil when none was declared yet. One budget protects
// one kind of unit.
func (tx *Tx) AccountUnit(account int64) (*string, error) {
	return find(tx, scanText, `SELECT unit FROM dpsql_tables WHERE account = ? ORDER BY id LIMIT 1`, account)
}

// SetNHat stores the table's noisy row count. Errors: Internal when it was
// bought before, since a second draw would be paid for and could be averaged.
func (tx *Tx) SetNHat(table int64, n NHat) error {
	twice := sqlerr.New(sqlerr.Internal, "the row count of the table was bought before")
	return tx.change(twice, `UPDATE dpsql_tables SET nhat = ?, nhat_epsilon = ?, nhat_rho = ?, nhat_law = ?
		WHERE id = ? AND nhat IS NULL AND dropped_at IS NULL`, n.Value, n.Epsilon, n.Rho, n.Law, table)
}

// DropTable removes the declaration. Its answers go out of reach with it; its
// account, ledger and id stay. Errors: Unknown; Invalid while releases or
// mechanisms of it exist.
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
	_, err = tx.exec(`UPDATE dpsql_tables SET dropped_at = ? WHERE id = ?`, formatTime(tx.stamp()), t.ID)
	return err
}

func (tx *Tx) checkUnused(t *Table) error {
	releases, err := tx.Releases(t.ID)
	if err != nil {
		return err
	}
	if len(releases) > 0 {
		return sqlerr.New(sqlerr.Invalid, "%s still has the release %s", t.Name, releases[0].Name).
			WithHint("DROP RELEASE %s first", releases[0].Name)
	}
	mechanisms, err := tx.Mechanisms(t.ID)
	if err != nil {
		return err
	}
	if len(mechanisms) > 0 {
		return sqlerr.New(sqlerr.Invalid, "%s still has the mechanism %s", t.Name, mechanisms[0].Name).
			WithHint("DROP MECHANISM %s first", mechanisms[0].Name)
	}
	return nil
}

// nonNil gives an empty slice for nil, which the driver would store as NULL.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
