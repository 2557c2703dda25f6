package server_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/engine"
	"dpsql/server"
)

// An answer for which rows are read comes at the end of its slot, and not before. Once the slot
// has begun it comes although the client cancels it or its time is up, and is stored although the
// client has left. No slow machine fails this.
func TestAnswersComeAtTheEndOfASlot(t *testing.T) {
	t.Parallel()
	const slot = 400 * time.Millisecond
	url, _ := start(t, func(c *server.Config) {
		if _, err := c.Database.NewSession().Exec(t.Context(), `ALTER PRIVATE TABLE visits SET (answer_time = 400)`, nil); err != nil {
			t.Fatal(err)
		}
	})
	ctx := t.Context()
	ask := func(n int) string {
		return fmt.Sprintf(`/*+ accuracy(50) mechanism(direct) */ SELECT COUNT(*) FROM visits WHERE age < %d`, n)
	}
	for n, disturb := range []func(*pgx.Conn){
		func(*pgx.Conn) {},
		func(c *pgx.Conn) {
			time.AfterFunc(slot/4, func() { c.PgConn().CancelRequest(context.Background()) })
		},
		func(c *pgx.Conn) {
			if _, err := c.Exec(ctx, `SET statement_timeout = 100`); err != nil {
				t.Error(err)
			}
		},
	} {
		c := connect(t, url)
	again:
		disturb(c)
		begun := time.Now()
		var count int64
		err := c.QueryRow(ctx, ask(n+1), pgx.QueryExecModeSimpleProtocol).Scan(&count)
		if err != nil && strings.Contains(err.Error(), "nothing was charged") && t.Context().Err() == nil {
			goto again // so slow a machine that the slot had not begun
		}
		if took := time.Since(begun); err != nil || took < slot {
			t.Errorf("statement %d took %v, less than the slot of %v, or failed: %v", n, took, slot, err)
		}
	}
	leaving := connect(t, url).PgConn()
	leaving.Frontend().SendQuery(&pgproto3.Query{String: ask(50)})
	if err := leaving.Frontend().Flush(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(slot / 4)
	leaving.Conn().Close()
	for c, stop := connect(t, url), time.Now().Add(time.Minute); ; time.Sleep(slot / 4) {
		rows, err := c.Query(ctx, "EXPLAIN "+strings.TrimSpace(ask(50)))
		if err != nil {
			t.Fatal(err)
		}
		all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(fmt.Sprint(all), "stored") {
			break
		}
		if time.Now().After(stop) {
			t.Fatal("the answer to a client that left is not stored")
		}
	}
}

// TestDescribingEnds: what parsing and describing compile ends with the statement_timeout.
func TestDescribingEnds(t *testing.T) {
	t.Parallel()
	url, _ := start(t, func(c *server.Config) {
		s := c.Database.NewSession()
		path := filepath.Join(t.TempDir(), "wide.csv")
		writeFile(t, path, "n,m\n1,2\n")
		if _, err := s.Import(t.Context(), engine.Import{Path: path, Table: "wide_raw"}); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{`CREATE PRIVATE TABLE wide (n INTEGER BETWEEN 0 AND 29999, m INTEGER BETWEEN 0 AND 9999) FROM wide_raw WITH (epsilon = 1, delta = 1e-6)`, `GRANT SELECT ON wide TO ana WITH (rho = 0.1)`} {
			if _, err := s.Exec(t.Context(), text, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
	const long = `SELECT COUNT(*) FROM wide WHERE (n * 7919 + m * 104729 + n * m) % 10007 < `
	for _, text := range []string{long + "5000", long + "5000 AND m <> $1"} {
		c := connect(t, url)
		if _, err := c.Exec(t.Context(), `SET statement_timeout = 20`); err != nil {
			t.Fatal(err)
		}
		_, err := c.Prepare(t.Context(), "s", text)
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != "57014" {
			t.Errorf("%s: %v", text, err)
		}
		var one int
		err = c.QueryRow(t.Context(), "SELECT 1").Scan(&one)
		for errors.As(err, &e) && e.Code == "57014" { // a busy machine takes as long for it
			err = c.QueryRow(t.Context(), "SELECT 1").Scan(&one)
		}
		if err != nil || one != 1 {
			t.Errorf("behind it: %d, %v", one, err)
		}
	}
}
