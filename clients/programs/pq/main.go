// Command pq asks a server as Go programs do over database/sql and lib/pq. The
// environment says where the server is.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/lib/pq"
)

func die(err error) {
	fmt.Println("died:", err)
	os.Exit(1)
}

func show(name string, value any) { fmt.Printf("%s: %v\n", name, value) }

func code(err error) string {
	var e *pq.Error
	switch {
	case errors.As(err, &e):
		return string(e.Code)
	case err != nil:
		return err.Error()
	}
	return "no error"
}

func main() {
	for _, parameters := range []string{"no", "yes"} {
		show("binary parameters", parameters)
		if err := ask(context.Background(), "binary_parameters="+parameters); err != nil {
			die(err)
		}
	}
}

func ask(ctx context.Context, dsn string) error {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	var tables, columns, groups, wards string
	if err := lines(&tables, db, "SELECT table_name FROM information_schema.tables WHERE table_schema = $1 ORDER BY table_name", "public"); err != nil {
		return err
	}
	show("tables", tables)
	if err := lines(&columns, db, "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position", "visits"); err != nil {
		return err
	}
	show("columns", columns)

	women, err := db.PrepareContext(ctx, "SELECT COUNT(*) AS n FROM visits WHERE sex = $1 AND smoker = $2")
	if err != nil {
		return err
	}
	defer women.Close()
	var n int64
	for range 2 {
		if err := women.QueryRow("F", true).Scan(&n); err != nil {
			return err
		}
		show("released women", n)
	}
	if err := db.QueryRow("SELECT COUNT(*) FROM visits WHERE age >= $1", 65).Scan(&n); err != nil {
		return err
	}
	show("released old", n)
	if err := db.QueryRow("SELECT COUNT(*) FROM visits WHERE admitted < $1", time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)).Scan(&n); err != nil {
		return err
	}
	show("released spring", n)
	if err := lines(&groups, db, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward"); err != nil {
		return err
	}
	show("released groups", groups)
	if err := lines(&wards, db, "SELECT * FROM wards ORDER BY floor"); err != nil {
		return err
	}
	show("wards", wards)

	_, err = db.Exec("SELEC 1")
	show("syntax", code(err))
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return err
	}
	_, err = tx.Exec("SELECT COUNT(*) FROM nowhere")
	show("unknown", code(err))
	_, err = tx.Exec("SELECT 1")
	show("failed", code(err))
	if err := tx.Rollback(); err != nil {
		return err
	}
	return db.Ping()
}

// lines sets out to the rows of a statement, separated by commas, and says their types.
func lines(out *string, db *sql.DB, statement string, args ...any) error {
	rows, err := db.Query(statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	var names []string
	values, targets := make([]any, len(types)), make([]any, len(types))
	for i, t := range types {
		names = append(names, t.DatabaseTypeName())
		targets[i] = &values[i]
	}
	show("types", strings.Join(names, " "))
	var all []string
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		var row []string
		for _, v := range values {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			row = append(row, fmt.Sprint(v))
		}
		all = append(all, strings.Join(row, " "))
	}
	*out = strings.Join(all, ", ")
	return rows.Err()
}
