package main

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // registers "sqlite" for sqlite3

	"dpsql/internal/pgtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMain lets more tests run at once than there are cores: most wait for
// processes or for a terminal to settle.
func TestMain(m *testing.M) {
	flag.Set("test.parallel", "6")
	testscript.Main(m, map[string]func(){"dpsql": main, "sqlite3": sqlite3})
}

// sqlite3 stands in for the command of that name, which not every machine has.
// It runs the statements of its second argument on the file of its first, and
// prints the first column of a SELECT. It waits for
// an open shell that is releasing a mechanism.
func sqlite3() {
	db, err := sql.Open("sqlite", os.Args[1]+"?_pragma=busy_timeout(10000)")
	if err == nil {
		err = runStatements(db, os.Args[2])
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error", err)
		os.Exit(1)
	}
}

func runStatements(db *sql.DB, text string) error {
	if !strings.HasPrefix(text, "SELECT") {
		_, err := db.Exec(text)
		return err
	}
	rows, err := db.Query(text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			return err
		}
		fmt.Println(value)
	}
	return rows.Err()
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			return os.CopyFS(e.WorkDir, os.DirFS("testdata/fixture"))
		},
	})
}

// TestScriptsOnPostgres runs scripts on rows in PostgreSQL beside those of the
// file. It is skipped where PostgreSQL is missing.
func TestScriptsOnPostgres(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t)
	people, err := os.Open("testdata/fixture/people.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer people.Close()
	cluster.MustExec(t, `CREATE TABLE people (sex text, age integer, town text)`)
	if err := cluster.Copy("people", people); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/postgres",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("WAREHOUSE_DSN", cluster.DSN())
			return os.CopyFS(e.WorkDir, os.DirFS("testdata/fixture"))
		},
	})
}

// golden compares a text with a file of testdata/golden. Under -update it replaces
// the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew)\n got:\n%s\nwant:\n%s", path, got, want)
	}
}
