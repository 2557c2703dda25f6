package catalog

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"dpsql/accounting"
	"dpsql/catalog/internal/ledger"
	"dpsql/period"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Table is a private table as declared.
type Table struct {
	ID           int64
	Name         string
	Source       string // the raw table or view; "" in an exported file, which has no rows
	SourceID     int64  // the source that has it; 0 for the file itself
	Columns      []query.Column
	Account      int64                 // 0 in an exported file
	Unit         string                // the unit column of the source; "" when a unit is a row
	MaxRows      int64                 // rows kept of each unit
	SourceSchema string                // SQL text of the source and what it reads, at declaration
	Key          []byte                // secret key that chooses the rows kept of a unit
	NHat         *NHat                 // of all its rows; nil until bought
	Period       string                // the column, as declared, that says in which period a row lies; "" for none
	RowCounts    map[period.Range]NHat // of the rows of some periods, as far as bought
	AnswerTime   time.Duration         // how long a slot is in which its rows are read for a user, in milliseconds
	CreatedAt    time.Time

	domains []string // of the columns, as stored
}

// DefaultAnswerTime is the answer time of a table that is declared without one.
const DefaultAnswerTime = 250 * time.Millisecond

// NHat is the noisy number of rows of a table, which is bought once.
type NHat struct {
	Value   int64
	Epsilon accounting.Epsilon // spent in the releases account
	Rho     accounting.Rho     // or spent in the interactive account
	Law     string             // the noise, in the noise package's text
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

// selectTable begins a query for tables. A catalog from before there were answer times has the
// default for all.
func (tx *Tx) selectTable() string {
	answerTime := tx.since(usersVersion, "answer_time", strconv.FormatInt(DefaultAnswerTime.Milliseconds(), 10))
	return `SELECT id, name, source, COALESCE(source_id, 0), COALESCE(account, 0), unit, max_rows, source_schema, key,
	nhat, nhat_epsilon, nhat_rho, nhat_law, ` + answerTime + `, ` + tx.since(periodsVersion, "period", "''") + `, created_at, digest FROM dpsql_tables NOT INDEXED `
}

// scanTable reads a table. The columns are those of all tables.
func scanTable(row record, columns map[int64][]storedColumn) (t Table, err error) {
	var value *int64
	var epsilon *accounting.Epsilon
	var rho *accounting.Rho
	var law *string
	var answerTime int64
	var at string
	var digest []byte
	err = row.Scan(&t.ID, &t.Name, &t.Source, &t.SourceID, &t.Account, &t.Unit, &t.MaxRows, &t.SourceSchema, &t.Key,
		&value, &epsilon, &rho, &law, &answerTime, &t.Period, &at, &digest)
	if err != nil {
		return t, err
	}
	t.AnswerTime = time.Duration(answerTime) * time.Millisecond
	if value != nil && epsilon != nil && rho != nil && law != nil {
		t.NHat = &NHat{Value: *value, Epsilon: *epsilon, Rho: *rho, Law: *law}
	}
	if t.CreatedAt, err = parseTime(at); err != nil {
		return t, err
	}
	for _, c := range columns[t.ID] {
		t.Columns = append(t.Columns, c.Column)
		t.domains = append(t.domains, c.domain)
	}
	return t, checkDigest("private table "+t.Name, t.encoding(), digest)
}

func (t *Table) encoding() ledger.Encoding {
	e := ledger.Encode("private table").Numbers(t.ID).Texts(t.Name, t.Source).Numbers(t.Account).Texts(t.Unit).Numbers(t.MaxRows).
		Texts(t.SourceSchema, string(t.Key), formatTime(t.CreatedAt)).Flag(t.NHat != nil)
	if n := t.NHat; n != nil {
		e = e.Numbers(n.Value, int64(n.Epsilon), int64(n.Rho)).Texts(n.Law)
	}
	e = e.Numbers(int64(len(t.Columns)))
	for i, c := range t.Columns {
		e = e.Texts(c.Name, c.TypeName(), t.domains[i])
	}
	if t.SourceID != 0 { // appended only if set: records from before there were sources lack it
		e = e.Numbers(t.SourceID)
	}
	if t.AnswerTime != DefaultAnswerTime { // likewise
		e = e.Texts("answer time").Numbers(t.AnswerTime.Milliseconds())
	}
	if t.Period != "" { // likewise
		e = e.Texts("period", t.Period)
	}
	return e
}

// Tables lists the declared private tables by name.
func (tx *Tx) Tables() ([]Table, error) {
	return tx.tables(rollTables, `WHERE dropped_at IS NULL`, `ORDER BY CAST(name AS TEXT)`)
}

// tables lists the tables of a set with their columns.
func (tx *Tx) tables(set, where, order string) ([]Table, error) {
	columns := map[int64][]storedColumn{}
	err := each(tx, func(row record) error {
		var table int64
		c, err := scanColumn(row, &table)
		columns[table] = append(columns[table], c)
		return err
	}, `SELECT table_id, name, type, domain FROM dpsql_columns WHERE table_id IN (SELECT id FROM dpsql_tables `+where+`)
		ORDER BY table_id, position`)
	if err != nil {
		return nil, err
	}
	tables, err := list(tx, func(row record) (Table, error) { return scanTable(row, columns) }, tx.selectTable()+where+` `+order)
	if err != nil {
		return nil, err
	}
	if err := checkComplete(tx, set, tables, func(t *Table) string { return key(t.ID) }); err != nil {
		return nil, err
	}
	return tables, tx.readRowCounts(tables)
}

// rowCount is N̂ of the rows of some periods.
type rowCount struct {
	id, table int64
	over      period.Range
	n         NHat
}

func (c *rowCount) encoding() ledger.Encoding {
	return ledger.Encode("row count").Numbers(c.id, c.table, c.over.First, c.over.Last, c.n.Value, int64(c.n.Epsilon), int64(c.n.Rho)).Texts(c.n.Law)
}

// readRowCounts fills in the row counts of tables.
func (tx *Tx) readRowCounts(tables []Table) error {
	if tx.version < periodsVersion {
		return nil
	}
	all, err := list(tx, func(row record) (c rowCount, err error) {
		var digest []byte
		if err := row.Scan(&c.id, &c.table, &c.over.First, &c.over.Last, &c.n.Value, &c.n.Epsilon, &c.n.Rho, &c.n.Law, &digest); err != nil {
			return c, err
		}
		return c, checkDigest("a row count", c.encoding(), digest)
	}, `SELECT id, table_id, period_first, period_last, nhat, epsilon, rho, law, digest FROM dpsql_row_counts NOT INDEXED`)
	if err != nil {
		return err
	}
	for _, c := range all {
		if t := pick(tables, func(t *Table) bool { return t.ID == c.table }); t != nil {
			if t.RowCounts == nil {
				t.RowCounts = make(map[period.Range]NHat)
			}
			t.RowCounts[c.over] = c.n
		}
	}
	return checkComplete(tx, rollRowCounts, all, func(c *rowCount) string { return key(c.id) })
}

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

// Table returns the private table of that name, nil when there is none.
func (tx *Tx) Table(name string) (*Table, error) {
	all, err := tx.Tables()
	return pick(all, func(t *Table) bool { return query.SameName(t.Name, name) }), err
}

// storedColumn is a column with the text of its domain.
type storedColumn struct {
	query.Column
	domain string
}

func scanColumn(row record, table *int64) (c storedColumn, err error) {
	var typeName string
	if err := row.Scan(table, &c.Name, &typeName, &c.domain); err != nil {
		return c, err
	}
	c.Domain, c.Form, err = decodeDomain(typeName, c.domain)
	return c, err
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
		return sqlerr.New(sqlerr.Invalid, "the private table %s exists", existing.Name)
	}
	if _, err := t.Universe(); err != nil {
		return err
	}
	created := tx.stamp()
	t.AnswerTime = cmp.Or(t.AnswerTime, DefaultAnswerTime)
	id, err := tx.insert(`INSERT INTO dpsql_tables (name, source, source_id, account, unit, max_rows, source_schema, key, answer_time, period, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		t.Name, t.Source, idOrNull(t.SourceID), idOrNull(t.Account), t.Unit, t.MaxRows, t.SourceSchema, nonNil(t.Key), t.AnswerTime.Milliseconds(), t.Period, formatTime(created))
	if err != nil {
		return err
	}
	nhat := t.NHat
	t.ID, t.CreatedAt, t.NHat = id, created, nil
	if err := tx.addColumns(t); err != nil {
		return err
	}
	if err := tx.seal("dpsql_tables", id, t.encoding()); err != nil {
		return err
	}
	if err := tx.addToRoll(rollTables, key(id)); err != nil {
		return err
	}
	if err := tx.addToRoll(rollDeclared, key(id)); err != nil || nhat == nil {
		return err
	}
	t.NHat = nhat
	return tx.SetNHat(id, period.All, *nhat)
}

// idOrNull returns the id of a record as it is stored, NULL for 0.
func idOrNull(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

func (tx *Tx) addColumns(t *Table) error {
	t.domains = make([]string, len(t.Columns))
	for i, c := range t.Columns {
		domain, err := encodeDomain(c)
		if err != nil {
			return err
		}
		t.domains[i] = domain
		_, err = tx.exec(`INSERT INTO dpsql_columns (table_id, position, name, type, domain) VALUES (?, ?, ?, ?, ?)`,
			t.ID, i, c.Name, c.TypeName(), domain)
		if err != nil {
			return err
		}
	}
	return nil
}

// AccountUnit returns the unit column of the tables that charge an account, dropped
// tables included. It is nil when none was declared yet. One budget protects one kind
// of unit.
func (tx *Tx) AccountUnit(account int64) (*string, error) {
	all, err := tx.tables(rollDeclared, ``, `ORDER BY id`)
	if t := pick(all, func(t *Table) bool { return t.Account == account }); t != nil {
		return &t.Unit, err
	}
	return nil, err
}

// SetNHat stores the table's noisy number of rows in some periods. Errors: Internal when it was
// bought before, since a second draw would have to be paid for.
func (tx *Tx) SetNHat(table int64, over period.Range, n NHat) error {
	all, err := tx.Tables()
	if err != nil {
		return err
	}
	t := pick(all, func(t *Table) bool { return t.ID == table })
	if t == nil || t.RowCount(over) != nil {
		return sqlerr.New(sqlerr.Internal, "the row count of the table was bought before")
	}
	if over != period.All {
		return tx.addRowCount(rowCount{table: table, over: over, n: n})
	}
	_, err = tx.exec(`UPDATE dpsql_tables SET nhat = ?, nhat_epsilon = ?, nhat_rho = ?, nhat_law = ? WHERE id = ?`,
		n.Value, n.Epsilon, n.Rho, n.Law, table)
	if err != nil {
		return err
	}
	t.NHat = &n
	return tx.seal("dpsql_tables", table, t.encoding())
}

func (tx *Tx) addRowCount(c rowCount) (err error) {
	c.id, err = tx.insert(`INSERT INTO dpsql_row_counts (table_id, period_first, period_last, nhat, epsilon, rho, law) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		c.table, c.over.First, c.over.Last, c.n.Value, c.n.Epsilon, c.n.Rho, c.n.Law)
	if err != nil {
		return err
	}
	if err := tx.seal("dpsql_row_counts", c.id, c.encoding()); err != nil {
		return err
	}
	return tx.addToRoll(rollRowCounts, key(c.id))
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
	all, err := tx.Tables()
	if err != nil {
		return err
	}
	t := pick(all, func(t *Table) bool { return t.ID == table })
	if t == nil || change(t.AnswerTime) == t.AnswerTime {
		return nil
	}
	t.AnswerTime = change(t.AnswerTime)
	if _, err := tx.exec(`UPDATE dpsql_tables SET answer_time = ? WHERE id = ?`, t.AnswerTime.Milliseconds(), table); err != nil {
		return err
	}
	return tx.seal("dpsql_tables", table, t.encoding())
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
	if _, err = tx.exec(`UPDATE dpsql_tables SET dropped_at = ? WHERE id = ?`, formatTime(tx.stamp()), t.ID); err != nil {
		return err
	}
	return tx.removeFromRoll(rollTables, key(t.ID))
}

func (tx *Tx) checkUnused(t *Table) error {
	templates, err := tx.Templates(t.ID)
	if err != nil {
		return err
	}
	if len(templates) > 0 {
		return sqlerr.New(sqlerr.Invalid, "%s still has the release %s", t.Name, templates[0].Name).
			WithHint("DROP RELEASE %s first", templates[0].Name)
	}
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

// nonNil returns an empty slice for nil, which the driver would store as NULL.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// storedDomain is the JSON form of a column's domain: a range, a list in full,
// or neither for text without a domain. The values are canonical.
type storedDomain struct {
	Stored   string            `json:"stored,omitempty"` // of a DATE and a TIMESTAMP: how rows hold it
	Step     int64             `json:"step,omitempty"`   // of a TIMESTAMP, in seconds
	Range    []int64           `json:"range,omitempty"`  // lo, hi
	OrNull   bool              `json:"or_null,omitempty"`
	Clamp    bool              `json:"clamp,omitempty"`
	Boolean  bool              `json:"boolean,omitempty"`
	Other    bool              `json:"other,omitempty"`
	NoCase   bool              `json:"nocase,omitempty"`
	Fraction *storedStep       `json:"fraction,omitempty"` // of a REAL or NUMERIC, whose range is in steps
	Values   []json.RawMessage `json:"values,omitempty"`
}

// storedStep is the step of a REAL or NUMERIC column.
type storedStep struct {
	Of      [2]int64 `json:"of"` // numerator, denominator
	Rounded bool     `json:"rounded,omitempty"`
	Numeric [2]int   `json:"numeric"` // precision, scale; 0, 0 for REAL
}

func encodeDomain(c query.Column) (string, error) {
	d := c.Domain
	stored := storedDomain{Clamp: c.Form.IsClamped(), Boolean: c.Form.IsBoolean(), Other: c.Form.HasOther(), NoCase: c.Form.IsNoCase()}
	if c.Form.IsTime() {
		stored.Stored = c.Form.Stored().String()
		if !c.Form.IsDate() {
			stored.Step = c.Form.Step()
		}
	}
	if c.Form.IsStepped() {
		stored.Fraction = &storedStep{Rounded: c.Form.IsRounded()}
		stored.Fraction.Of[0], stored.Fraction.Of[1] = c.Form.Fraction()
		stored.Fraction.Numeric[0], stored.Fraction.Numeric[1] = c.Form.Numeric()
	}
	switch {
	case !d.Finite():
	case d.IsRange():
		stored.OrNull = d.HasNull()
		lo, hi := d.Bounds()
		stored.Range = []int64{lo, hi}
	default:
		stored.Values = make([]json.RawMessage, d.Size())
		for i := range stored.Values {
			value, err := encodeValue(d.Value(uint64(i)))
			if err != nil {
				return "", err
			}
			stored.Values[i] = value
		}
	}
	text, err := json.Marshal(stored)
	return string(text), err
}

// encodeValue writes NULL as null, an integer as a number, a text as a string,
// and a text that is not UTF-8, which JSON cannot hold, as {"bytes": base64}.
func encodeValue(v query.Value) (json.RawMessage, error) {
	switch {
	case v.IsNull():
		return json.RawMessage("null"), nil
	case v.IsInt():
		return json.RawMessage(strconv.FormatInt(v.Int64(), 10)), nil
	case utf8.ValidString(v.Str()):
		return json.Marshal(v.Str())
	}
	return json.Marshal(rawBytes{Bytes: []byte(v.Str())})
}

type rawBytes struct {
	Bytes []byte `json:"bytes"`
}

func decodeDomain(typeName, text string) (d query.Domain, f query.Form, err error) {
	bad := corrupt("a column's domain in the catalog cannot be read")
	var stored storedDomain
	if json.Unmarshal([]byte(text), &stored) != nil {
		return d, f, bad
	}
	if stored.Stored != "" {
		as, ok := query.StoredNamed(stored.Stored)
		if !ok {
			return d, f, bad
		}
		f = query.DateForm(as)
		if stored.Step != 0 {
			if f, err = query.TimestampForm(as, stored.Step); err != nil {
				return d, f, bad
			}
		}
	}
	if s := stored.Fraction; s != nil {
		var ok bool
		if f, ok = query.StepForm(s.Of[0], s.Of[1], s.Rounded, s.Numeric[0], s.Numeric[1]); !ok || stored.Stored != "" {
			return d, f, bad
		}
	}
	if stored.Boolean {
		f = query.BooleanForm()
	}
	if stored.Other {
		f = f.Other()
	}
	if stored.NoCase {
		f = f.NoCase()
	}
	if stored.Clamp {
		f = f.Clamped()
	}
	switch {
	case len(stored.Range) == 2:
		d, err = query.NewRange(stored.Range[0], stored.Range[1], stored.OrNull)
	case stored.Values != nil:
		d, err = decodeList(typeName, stored.Values)
	default:
		d = query.Unbounded()
	}
	if err != nil || (query.Column{Domain: d, Form: f}).TypeName() != typeName || !f.Fits(d) {
		return d, f, bad
	}
	return d, f, nil
}

func decodeList(typeName string, stored []json.RawMessage) (query.Domain, error) {
	values := make([]query.Value, len(stored))
	for i, raw := range stored {
		v, err := decodeValue(raw)
		if err != nil {
			return query.Domain{}, err
		}
		values[i] = v
	}
	t := query.TypeText
	if typeName == query.TypeInteger.String() {
		t = query.TypeInteger
	}
	return query.NewList(t, values)
}

func decodeValue(raw json.RawMessage) (query.Value, error) {
	switch raw[0] { // json.Unmarshal leaves no empty element and no leading space
	case 'n':
		return query.Null(), nil
	case '"':
		var text string
		err := json.Unmarshal(raw, &text)
		return query.Text(text), err
	case '{':
		var b rawBytes
		err := json.Unmarshal(raw, &b)
		return query.Text(string(b.Bytes)), err
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return query.Int(n), err
}
