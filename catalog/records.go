package catalog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"dpsql/catalog/internal/ledger"
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

// compact returns parameters as they are stored, an empty object when there are none.
func compact(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("{}"), nil
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil, sqlerr.New(sqlerr.Internal, "parameters to be stored are not JSON")
	}
	return b.Bytes(), nil
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

// The rolls of the catalog, beside those of the kinds of objects. The mechanism owns the roll of
// its history. The owner of all other rolls is 0.
const (
	rollObjects = "objects" // dropped ones included: it has the last id
	rollLedger  = "ledger"
	rollHistory = "history"
	rollCatalog = "catalog" // of nothing; its sum is the catalog's random name
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

// maxPart bounds each stored part of a payload, and SQLite's copy of it in memory. It is
// far below SQLite's limit of 10^9 bytes a value.
const maxPart = 16 << 20

// checksum is the SHA-256 of a payload, in JSON as hexadecimal digits.
type checksum [sha256.Size]byte

// MarshalText implements encoding.TextMarshaler.
func (c checksum) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, c[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *checksum) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(c)) {
		return hex.ErrLength
	}
	_, err := hex.Decode(c[:], text)
	return err
}

// writePayload stores the bytes that belong to an object.
func (tx *Tx) writePayload(object int64, payload []byte) error {
	for part := 0; len(payload) > 0; part++ {
		n := min(tx.store.partSize, len(payload))
		if _, err := tx.exec(`INSERT INTO dpsql_payloads (object, part, data) VALUES (?, ?, ?)`, object, part, payload[:n]); err != nil {
			return err
		}
		payload = payload[n:]
	}
	return nil
}

// readPayload returns the stored bytes. It returns nil when they do not have that size
// and checksum.
func (tx *Tx) readPayload(object, size int64, sum checksum) ([]byte, error) {
	parts, err := list(tx, scanBytes, `SELECT data FROM dpsql_payloads WHERE object = ? ORDER BY part`, object)
	if err != nil {
		return nil, err
	}
	payload := bytes.Join(parts, nil)
	if len(parts) == 1 { // one part needs no copy
		payload = parts[0]
	}
	if int64(len(payload)) != size || checksum(sha256.Sum256(payload)) != sum {
		return nil, nil
	}
	if payload == nil {
		payload = []byte{}
	}
	return payload, nil
}

func (tx *Tx) deletePayload(object int64) error {
	_, err := tx.exec(`DELETE FROM dpsql_payloads WHERE object = ?`, object)
	return err
}

func scanBytes(row record) (data []byte, err error) {
	err = row.Scan(&data)
	return data, err
}
