package catalog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"dpsql/catalog/internal/ledger"
	"dpsql/period"
	"dpsql/sqlerr"
)

// record is a row as it is read: a *sql.Row or *sql.Rows.
type record interface{ Scan(dest ...any) error }

// each calls visit for the rows of a query on the catalog. Without a catalog there are
// none.
func each(tx *Tx, visit func(record) error, query string, args ...any) error {
	if tx.version == 0 {
		return nil
	}
	rows, err := tx.sql.QueryContext(tx.ctx, query, args...)
	if err != nil {
		return unreadable(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows); err != nil {
			return unreadable(err)
		}
	}
	return unreadable(rows.Err())
}

// list returns all rows of a query on the catalog.
func list[T any](tx *Tx, scan func(record) (T, error), query string, args ...any) ([]T, error) {
	var all []T
	err := each(tx, func(row record) error {
		one, err := scan(row)
		if err == nil {
			all = append(all, one)
		}
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// find returns the row of a query on the catalog, nil when there is none.
func find[T any](tx *Tx, scan func(record) (T, error), query string, args ...any) (*T, error) {
	if tx.version == 0 {
		return nil, nil
	}
	one, err := scan(tx.sql.QueryRowContext(tx.ctx, query, args...))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, unreadable(err)
	}
	return &one, nil
}

// pick returns the first record that is wanted, nil when there is none.
func pick[T any](all []T, wanted func(*T) bool) *T {
	for i := range all {
		if wanted(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

func scanText(row record) (text string, err error) {
	err = row.Scan(&text)
	return text, err
}

func scanNumber(row record) (n int64, err error) {
	err = row.Scan(&n)
	return n, err
}

// insert writes a row and returns its id.
func (tx *Tx) insert(query string, args ...any) (int64, error) {
	result, err := tx.exec(query, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, corrupt("a time in the catalog cannot be read")
	}
	return t.UTC(), nil
}

// encodeColumns returns column indexes as JSON, null for nil.
func encodeColumns(columns []int) (string, error) {
	text, err := json.Marshal(columns)
	return string(text), err
}

func decodeColumns(text string) (columns []int, err error) {
	if json.Unmarshal([]byte(text), &columns) != nil {
		return nil, corrupt("a list of columns in the catalog cannot be read")
	}
	return columns, nil
}

// encodeJSON returns parameters as text, an empty object when there are none.
func encodeJSON(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		return "{}", nil
	}
	if !json.Valid(raw) {
		return "", sqlerr.New(sqlerr.Internal, "parameters to be stored are not JSON")
	}
	return string(raw), nil
}

// unreadable returns the error of reading a record. It is Corrupt if the record or its
// table does not have the form in which it was written.
func unreadable(err error) error {
	var known *sqlerr.Error
	code, engine := engineCode(err)
	switch {
	case err == nil, errors.As(err, &known), engine && code != 1:
		return err
	case errors.Is(err, sql.ErrTxDone), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return corrupt("a record of the catalog cannot be read")
}

// checkDigest compares a record with the digest that was stored with it.
func checkDigest(what string, e ledger.Encoding, stored []byte) error {
	digest := e.Digest()
	if bytes.Equal(digest[:], stored) {
		return nil
	}
	return corrupt("the record of %s does not match its checksum", what)
}

// seal stores the digest of a record that was just written.
func (tx *Tx) seal(table string, id int64, e ledger.Encoding) error {
	digest := e.Digest()
	_, err := tx.exec(`UPDATE `+table+` SET digest = ? WHERE id = ?`, digest[:], id)
	return err
}

// The rolls of the catalog. The mechanism owns the roll of its history. The owner of all
// other rolls is 0.
const (
	rollPublics    = "public tables"
	rollSteps      = "columns of public tables"
	rollKeyLists   = "lists of keys"
	rollSources    = "sources"
	rollAccounts   = "accounts"
	rollDeclared   = "declared tables" // dropped ones included
	rollTables     = "private tables"
	rollReleases   = "releases"
	rollTemplates  = "releases of each period"
	rollRowCounts  = "row counts of periods"
	rollMechanisms = "mechanisms"
	rollUsers      = "users"  // dropped ones included
	rollGrants     = "grants" // revoked ones included
	rollLedger     = "ledger"
	rollHistory    = "history"
	rollCatalog    = "catalog" // of nothing; its sum is the catalog's random name
)

func key(id int64) string { return strconv.FormatInt(id, 10) }

// roll returns a stored roll. A roll that was never written is empty. A transaction
// reads the rolls of an owner once.
func (tx *Tx) roll(owner int64, name string) (ledger.Roll, error) {
	if tx.version == 0 {
		return ledger.Roll{}, nil // this transaction may still make the catalog
	}
	if all, read := tx.rolls[owner]; read {
		return all[name], nil
	}
	all := map[string]ledger.Roll{}
	err := each(tx, func(row record) error {
		var name string
		var r ledger.Roll
		var sum []byte
		err := row.Scan(&name, &r.Count, &sum)
		copy(r.Sum[:], sum)
		all[name] = r
		return err
	}, `SELECT name, count, sum FROM dpsql_rolls WHERE owner = ?`, owner)
	if err != nil {
		return ledger.Roll{}, err
	}
	if tx.rolls == nil {
		tx.rolls = map[int64]map[string]ledger.Roll{}
	}
	tx.rolls[owner] = all
	return all[name], nil
}

func (tx *Tx) setRoll(owner int64, name string, r ledger.Roll) error {
	_, err := tx.exec(`INSERT INTO dpsql_rolls (owner, name, count, sum) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET count = excluded.count, sum = excluded.sum`, owner, name, r.Count, r.Sum[:])
	if all, read := tx.rolls[owner]; read && err == nil {
		all[name] = r
	}
	return err
}

// addToRoll adds a key to a set of the catalog.
func (tx *Tx) addToRoll(set, key string) error {
	r, err := tx.roll(0, set)
	if err != nil {
		return err
	}
	return tx.setRoll(0, set, r.With(key))
}

// removeFromRoll takes a key out of a set of the catalog.
func (tx *Tx) removeFromRoll(set, key string) error {
	r, err := tx.roll(0, set)
	if err != nil {
		return err
	}
	return tx.setRoll(0, set, r.Without(key))
}

// checkComplete checks that all records of a set, and no others, were read. Errors:
// Corrupt.
func checkComplete[T any](tx *Tx, set string, all []T, key func(*T) string) error {
	stored, err := tx.roll(0, set)
	if err != nil {
		return err
	}
	if found := ledger.RollOf(all, key); found != stored {
		return corrupt("the catalog lists %d %s, which are not the %d that it has", stored.Count, set, found.Count)
	}
	return nil
}

// The owners of payloads.
const (
	ownerRelease   = "release"
	ownerMechanism = "mechanism"
)

// maxPart bounds each stored part of a payload, and SQLite's copy of it in memory. It is
// far below SQLite's limit of 10^9 bytes a value.
const maxPart = 16 << 20

func checksum(payload []byte) []byte {
	sum := sha256.Sum256(payload)
	return sum[:]
}

func (tx *Tx) writePayload(owner string, id int64, payload []byte) error {
	for part := 0; len(payload) > 0; part++ {
		n := min(tx.store.partSize, len(payload))
		_, err := tx.exec(`INSERT INTO dpsql_payloads (owner, owner_id, part, data) VALUES (?, ?, ?, ?)`,
			owner, id, part, payload[:n])
		if err != nil {
			return err
		}
		payload = payload[n:]
	}
	return nil
}

// readPayload returns the stored bytes. It returns nil when they do not have that size
// and checksum.
func (tx *Tx) readPayload(owner string, id, size int64, sum []byte) ([]byte, error) {
	parts, err := list(tx, scanBytes, `SELECT data FROM dpsql_payloads WHERE owner = ? AND owner_id = ? ORDER BY part`, owner, id)
	if err != nil {
		return nil, err
	}
	payload := bytes.Join(parts, nil)
	if len(parts) == 1 { // one part needs no copy
		payload = parts[0]
	}
	if int64(len(payload)) != size || !bytes.Equal(checksum(payload), sum) {
		return nil, nil
	}
	return nonNil(payload), nil
}

func (tx *Tx) deletePayload(owner string, id int64) error {
	_, err := tx.exec(`DELETE FROM dpsql_payloads WHERE owner = ? AND owner_id = ?`, owner, id)
	return err
}

func scanBytes(row record) (data []byte, err error) {
	err = row.Scan(&data)
	return data, err
}

// since returns a column that a version of the schema added, or, in a catalog of an earlier
// one, the expression that stands for it.
func (tx *Tx) since(version int, column, before string) string {
	if tx.version < version {
		return before
	}
	return column
}

// storedSpan is a range of periods as records have it: NULL for all.
type storedSpan struct{ first, last *int64 }

// selectSpan selects a storedSpan.
func (tx *Tx) selectSpan() string {
	return tx.since(periodsVersion, "period_first, period_last", "NULL, NULL")
}

func spanOf(r period.Range) storedSpan {
	if r == period.All {
		return storedSpan{}
	}
	return storedSpan{&r.First, &r.Last}
}

func (s storedSpan) value() period.Range {
	if s.first == nil || s.last == nil {
		return period.All
	}
	return period.Range{First: *s.first, Last: *s.last}
}

// encodeSpan appends a range to a record. Records from before there were periods have none.
func encodeSpan(e ledger.Encoding, r period.Range) ledger.Encoding {
	if r == period.All {
		return e
	}
	return e.Texts("periods").Numbers(r.First, r.Last)
}
