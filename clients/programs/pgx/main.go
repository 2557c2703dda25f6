// Command pgx asks a server as Go programs do over pgx: each way to send a statement,
// batches, copies and transactions. The environment says where the server is.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

func die(err error) {
	fmt.Println("died:", err)
	os.Exit(1)
}

func show(name string, value any) { fmt.Printf("%s: %v\n", name, value) }

func code(err error) string {
	var e *pgconn.PgError
	switch {
	case errors.As(err, &e):
		return e.Code
	case err != nil:
		return err.Error()
	}
	return "no error"
}

func main() {
	ctx := context.Background()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		show("mode", mode)
		if err := ask(ctx, mode); err != nil {
			die(err)
		}
	}
}

func ask(ctx context.Context, mode pgx.QueryExecMode) error {
	config, err := pgxpool.ParseConfig("")
	if err != nil {
		return err
	}
	config.ConnConfig.DefaultQueryExecMode = mode
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()

	rows, _ := pool.Query(ctx, "SELECT table_name::text FROM information_schema.tables WHERE table_schema = $1 ORDER BY table_name", "public")
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	show("tables", strings.Join(tables, " "))
	rows, _ = pool.Query(ctx, "SELECT column_name::text || ' ' || data_type FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position", "visits")
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	show("columns", strings.Join(columns, ", "))

	var women, old, spring int64
	if err := pool.QueryRow(ctx, "SELECT COUNT(*) AS n FROM visits WHERE sex = $1 AND smoker = $2", "F", true).Scan(&women); err != nil {
		return err
	}
	show("released women", women)
	var listed, autumn int64
	if err := pool.QueryRow(ctx, "SELECT COUNT(*) FROM visits WHERE ward = ANY($1)", []string{"cardiology", "surgery"}).Scan(&listed); err != nil {
		return err
	}
	show("released listed", listed)
	if err := pool.QueryRow(ctx, "SELECT COUNT(*) FROM visits WHERE date_trunc($1, admitted) >= $2::timestamp - $3::interval",
		"month", time.Date(2024, 10, 31, 0, 0, 0, 0, time.UTC), 30*24*time.Hour).Scan(&autumn); err != nil {
		return err
	}
	show("released autumn", autumn)
	batch := &pgx.Batch{}
	batch.Queue("SELECT COUNT(*) FROM visits WHERE age >= $1", 65)
	batch.Queue("SELECT COUNT(*) FROM visits WHERE admitted < $1", time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC))
	results := pool.SendBatch(ctx, batch)
	if err := errors.Join(results.QueryRow().Scan(&old), results.QueryRow().Scan(&spring), results.Close()); err != nil {
		return err
	}
	show("released old", old)
	show("released spring", spring)

	rows, _ = pool.Query(ctx, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY ward")
	groups, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		var ward string
		var n int64
		err := r.Scan(&ward, &n)
		return fmt.Sprint(ward, " ", n), err
	})
	if err != nil {
		return err
	}
	show("released groups", strings.Join(groups, ", "))
	rows, _ = pool.Query(ctx, "SELECT * FROM wards ORDER BY floor")
	wards, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]any, error) { return r.Values() })
	if err != nil {
		return err
	}
	show("wards", wards)

	_, err = pool.Exec(ctx, "SELEC 1")
	show("syntax", code(err))
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly, IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return err
	}
	inner, err := tx.Begin(ctx) // a savepoint
	if err != nil {
		return err
	}
	_, err = inner.Exec(ctx, "SELECT COUNT(*) FROM nowhere")
	show("unknown", code(err))
	_, err = inner.Exec(ctx, "SELECT 1")
	show("failed", code(err))
	if err := errors.Join(inner.Rollback(ctx), tx.Rollback(ctx)); err != nil {
		return err
	}
	c, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	var copied bytes.Buffer
	if _, err := c.Conn().PgConn().CopyTo(ctx, &copied, "COPY (SELECT ward FROM wards ORDER BY floor) TO STDOUT"); err != nil {
		return err
	}
	show("copy", strings.Fields(copied.String()))
	c.Release()
	return pool.Ping(ctx)
}
