package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpsql/engine"
	"dpsql/server"
)

// TestCatalogOfUsers: a user's catalog has the public tables and what was granted to her, as it
// is now, also for a statement that was prepared before. The curator's has all.
func TestCatalogOfUsers(t *testing.T) {
	t.Parallel()
	var curator *engine.Session
	url, _ := start(t, func(c *server.Config) { curator = c.Database.NewSession() })
	ctx := context.Background()
	do := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			if _, err := curator.Exec(ctx, text, nil); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	}
	do("CREATE PUBLIC TABLE sexes AS SELECT 'F' AS sex, 1 AS code UNION ALL SELECT 'M', 2",
		"CREATE USER ben PASSWORD 's3cretive'")
	const tables = "SELECT relname::text FROM pg_catalog.pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = $1 ORDER BY 1"
	ask := func(c *pgx.Conn) []string {
		t.Helper()
		rows, _ := c.Query(ctx, tables, "r")
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	ana, ben := connect(t, url), connect(t, strings.Replace(url, "ana:", "ben:", 1))
	for _, step := range []struct {
		before   string
		ana, ben []string
	}{
		{"", []string{"sexes", "visits"}, []string{"sexes"}},
		{"GRANT SELECT ON visits TO ben", []string{"sexes", "visits"}, []string{"sexes", "visits"}},
		{"REVOKE SELECT ON visits FROM ana", []string{"sexes"}, []string{"sexes", "visits"}},
		{"DROP PUBLIC TABLE sexes", nil, []string{"visits"}},
	} {
		if step.before != "" {
			do(step.before)
		}
		if a, b := ask(ana), ask(ben); !slices.Equal(a, step.ana) || !slices.Equal(b, step.ben) {
			t.Errorf("after %q ana sees %v and ben %v, want %v and %v", step.before, a, b, step.ana, step.ben)
		}
	}
	var visible bool
	if err := ana.QueryRow(ctx, "SELECT to_regclass('visits') IS NOT NULL").Scan(&visible); err != nil || visible {
		t.Errorf("to_regclass of a table that is not granted: %v, %v", visible, err)
	}
}

// TestCatalogInTransactions: questions about the catalog are statements like others: they have
// cursors and copies, and wait for ROLLBACK after an error.
func TestCatalogInTransactions(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	ctx := context.Background()
	for _, step := range []struct{ text, state string }{
		{"BEGIN", ""},
		{"DECLARE c CURSOR FOR SELECT relname FROM pg_class ORDER BY 1", ""},
		{"FETCH 2 FROM c", ""},
		{"COPY (SELECT datname FROM pg_database) TO STDOUT", ""},
		{"SELECT nothing FROM pg_class", "42703"},
		{"SELECT 1 FROM pg_class", "25P02"},
		{"ROLLBACK", ""},
		{"PREPARE p (text) AS SELECT relname FROM pg_class WHERE relname = $1", ""},
		{"EXECUTE p ('it''s')", ""},
		{"SELECT pg_sleep(1) FROM pg_class", "42883"},
		{"SELECT relname = 1 FROM pg_class", "42883"},
		{"SELECT relname::nothing FROM pg_class", "42704"},
	} {
		_, err := c.PgConn().Exec(ctx, step.text).ReadAll()
		got := new(pgconn.PgError)
		if errors.As(err, &got); got.Code != step.state {
			t.Errorf("%s: %v, want state %q", step.text, err, step.state)
		}
	}
}

// TestEmpty asks for the columns of a private table, as tools do, and for its rows, which are
// refused.
func TestEmpty(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	for text, ok := range map[string]bool{
		"SELECT * FROM visits LIMIT 0": true, `select * from "visits" where 1 = 0;`: true, "SELECT * FROM public.visits v WHERE 1<>1 LIMIT 5": true,
		`SELECT * FROM "public"."visits" AS x WHERE FALSE`: true, "SELECT * FROM visits WHERE 0 != 0.0": true,
		"SELECT * FROM visits": false, "SELECT * FROM visits LIMIT 1": false, "SELECT * FROM visits WHERE 1 = 1": false, "SELECT * FROM visits WHERE 1 = 1.0": false,
		"SELECT * FROM visits WHERE 1 <> 2": false, "SELECT * FROM visits WHERE age = 0": false, "SELECT * FROM visits WHERE 1 = 0 OR age = 1": false,
		"SELECT * FROM hidden LIMIT 0": false, "SELECT * FROM visits LIMIT 0 OFFSET 1": false,
	} {
		rows, err := c.Query(context.Background(), text)
		if err == nil {
			var names []string
			for _, f := range rows.FieldDescriptions() {
				names = append(names, f.Name, fmt.Sprint(f.DataTypeOID))
			}
			for rows.Next() {
				t.Errorf("%s has a row", text)
			}
			if err = rows.Err(); err == nil && strings.Join(names, " ") != "sex 25 age 20" {
				t.Errorf("%s has the columns %v", text, names)
			}
		}
		if (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
