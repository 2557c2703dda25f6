package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"dpsql/sqlerr"
)

// record is a row as it is read: a *sql.Row or *sql.Rows.
type record interface{ Scan(dest ...any) error }

// each visits the rows of a query on the catalog; without a catalog there are
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

// list reads all rows of a query on the catalog.
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

// find reads the row of a query on the catalog, nil when there is none.
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

// encodeColumns stores column indexes as JSON, null for none.
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

// encodeJSON stores parameters, an empty object when there are none.
func encodeJSON(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		return "{}", nil
	}
	if !json.Valid(raw) {
		return "", sqlerr.New(sqlerr.Internal, "parameters to be stored are not JSON")
	}
	return string(raw), nil
}

// unreadable reports a record that has not the form it was written in, or a
// table of the catalog that has not.
func unreadable(err error) error {
	var known *sqlerr.Error
	code, engine := engineCode(err)
	if err == nil || errors.As(err, &known) || engine && code != 1 || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return corrupt("a record of the catalog cannot be read")
}
