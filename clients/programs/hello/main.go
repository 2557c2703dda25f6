// Command hello asks a server as docs/clients.md shows it: with pgx, and with database/sql
// over lib/pq. The environment says where the server is.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
	_ "github.com/lib/pq"
)

func main() {
	if err := ask(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, "") // pgxpool.New takes the same
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var n int64
	var margin float64
	err = conn.QueryRow(ctx, "SELECT COUNT(*) AS n, MARGIN(COUNT(*)) FROM visits WHERE sex = $1", "F").Scan(&n, &margin)
	if err != nil {
		return err
	}
	fmt.Println(n, "±", margin)

	db, err := sql.Open("postgres", "")
	if err != nil {
		return err
	}
	defer db.Close()
	err = db.QueryRow("SELECT COUNT(*) FROM visits WHERE ward = $1", "surgery").Scan(&n)
	fmt.Println(n)
	return err
}
