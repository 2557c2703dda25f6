package driver_test

import (
	"database/sql"
	"testing"

	"dpsql/sqlerr"
)

// TestReadOnlyTransaction has free answers inside, and buys and declares nothing. After its end the connection may.
func TestReadOnlyTransaction(t *testing.T) {
	ctx, db := t.Context(), open(t, visits(t))
	db.SetMaxOpenConns(1)
	for _, end := range []func(*sql.Tx) error{(*sql.Tx).Commit, (*sql.Tx).Rollback} {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		var n int64
		if err := tx.QueryRow(`SELECT COUNT(*) FROM visits WHERE dept = ?`, "a").Scan(&n); err != nil || n != 280 {
			t.Errorf("a free answer inside: %d, %v", n, err)
		}
		if _, err := tx.Exec(`SET accuracy = 1`); err != nil {
			t.Errorf("SET inside: %v", err)
		}
		if err := tx.QueryRow(`SELECT COUNT(*) FROM visits WHERE dept = 'a' AND day < '2023-01-08'`).Scan(&n); sqlerr.CodeOf(err) != sqlerr.ReadOnly ||
			err.Error() != "readonly: nothing is bought in a read-only transaction" {
			t.Errorf("a purchase inside: %v", err)
		}
		if _, err := tx.Exec(`DROP RELEASE days`); sqlerr.CodeOf(err) != sqlerr.ReadOnly {
			t.Errorf("a declaration inside: %v", err)
		}
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SET accuracy = 1`); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRowContext(ctx, `SELECT COUNT(*) FROM visits WHERE dept = 'a' AND day < '2023-01-08'`).Scan(new(int64)); err != nil {
		t.Errorf("a purchase after the transactions: %v", err)
	}
	for _, o := range []*sql.TxOptions{nil, {}, {Isolation: sql.LevelSerializable, ReadOnly: true}} {
		if _, err := conn.BeginTx(ctx, o); sqlerr.CodeOf(err) != sqlerr.Unsupported {
			t.Errorf("%+v begins: %v", o, err)
		}
	}
}
