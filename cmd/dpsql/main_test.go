package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
	"dpsql/internal/pgtest"
	"dpsql/internal/scratch"
	"dpsql/query"
	"dpsql/sqlerr"
)

var (
	update = flag.Bool("update", false, "write the golden files anew")
	long   = flag.Bool("long", false, "run the scripts that take long")
)

// TestMain lets more tests run at once than there are cores: most wait for
// processes or for a terminal to settle. A process of dpsql runs it too.
func TestMain(m *testing.M) {
	flag.Set("test.parallel", "10")
	scratch.InMemory()
	scratch.CollectSeldom()
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
		Condition:           func(name string) (bool, error) { return name == "long" && *long, nil },
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

func TestParseFlags(t *testing.T) {
	tests := []struct {
		args string // blank-separated; SQL stands for a statement with blanks
		want options
	}{
		{"x.db", options{database: "x.db"}},
		{"x.db SQL", options{database: "x.db", sql: "SQL", hasSQL: true}},
		{"-json x.db SQL", options{database: "x.db", sql: "SQL", hasSQL: true, format: render.JSON}},
		{"x.db --json SQL", options{database: "x.db", sql: "SQL", hasSQL: true, format: render.JSON}},
		{"x.db SQL -csv", options{database: "x.db", sql: "SQL", hasSQL: true, format: render.CSV}},
		{"x.db -markdown", options{database: "x.db", format: render.Markdown}},
		{"-format=table x.db", options{database: "x.db", format: render.Table}},
		{"-json -format csv x.db", options{database: "x.db", format: render.CSV}},
		{"-csv -json=false x.db", options{database: "x.db", format: render.CSV}},
		{"x.db -f s.sql", options{database: "x.db", scripts: []string{"s.sql"}}},
		{"-f a.sql x.db -f b.sql", options{database: "x.db", scripts: []string{"a.sql", "b.sql"}}},
		{"-q -o %n.csv x.db", options{database: "x.db", output: "%n.csv", quiet: true}},
		{"-f - x.db", options{database: "x.db", scripts: []string{"-"}}},
		{"-role analyst x.db", options{database: "x.db", role: engine.Analyst}},
		{"-explain x.db", options{database: "x.db", explain: true}},
		{"-v zip=15213 x.db -v :city='New=York'", options{database: "x.db", args: arguments{"zip": query.Int(15213), "city": query.Text("New=York")}}},
		{"-readonly x.db", options{database: "x.db", readonly: true}},
		{"-json -- -odd.db -SQL", options{database: "-odd.db", sql: "-SQL", hasSQL: true, format: render.JSON}},
		{"./help", options{database: "./help"}},
		{"-help", options{help: true}},
		{"-h", options{help: true}},
		{"x.db --help", options{help: true}},
		{"--version", options{version: true}},
	}
	for _, test := range tests {
		if test.want.role == "" {
			test.want.role = engine.Curator
		}
		got, err := parseFlags(strings.Fields(test.args))
		if test.want.args == nil {
			test.want.args = arguments{}
		}
		got.assigned = nil
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, %v, want %+v", test.args, got, err, test.want)
		}
	}
}

func TestParseFlagsRefuses(t *testing.T) {
	tests := []struct{ args, message string }{
		{"", "no database is named"},
		{"-json", "no database is named"},
		{"x.db a b", "2 arguments follow the database, where one statement may stand"},
		{"x.db -f s.sql SQL", "both -f and a statement are given"},
		{"-jsn x.db", "there is no flag -jsn"},
		{"x.db -f", "the flag -f needs a value"},
		{"-format xml x.db", `there is no format "xml"`},
		{"-role root x.db", `there is no role "root"`},
		{"-v zip x.db", `-v takes name=value, not "zip"`},
		{"-v 1=2 x.db", `"1" is not a name for a parameter`},
		{"-json=maybe x.db", `invalid boolean value "maybe" for -json`},
	}
	for _, test := range tests {
		_, err := parseFlags(strings.Fields(test.args))
		e, ok := err.(*sqlerr.Error)
		if !ok || e.Code != sqlerr.Invalid || e.Message != test.message || e.Hint == "" {
			t.Errorf("%s: got %#v, want %q with a hint", test.args, err, test.message)
		}
	}
}

// A wrong usage must be reported in the format that was asked for, even when
// the flag stands behind what is wrong with it.
func TestParseFlagsKeepsFormatOnError(t *testing.T) {
	for _, args := range []string{"-json -role root x.db", "x.db a b -json", "-json -nonsense"} {
		if o, err := parseFlags(strings.Fields(args)); err == nil || o.format != render.JSON {
			t.Errorf("%s: format %q, error %v", args, o.format, err)
		}
	}
}

// fakeSession answers from a table of statements.
type fakeSession struct {
	results map[string]*engine.Result
	seen    []string // statements, and folders as "in FOLDER"
	imports []engine.Import
	words   engine.Vocabulary
	confirm func(warning string) bool
	report  func(done, all int64)
	ran     func() // called when a statement that succeeds is over; may be nil
}

func (f *fakeSession) Exec(ctx context.Context, text string, _ []query.Value) (*engine.Result, error) {
	text = strings.TrimSuffix(strings.TrimSpace(text), ";")
	f.seen = append(f.seen, text)
	switch {
	case ctx.Err() != nil:
		return nil, sqlerr.New(sqlerr.Cancelled, "the statement was cancelled")
	case strings.Contains(text, "wait"):
		<-ctx.Done()
		return nil, sqlerr.New(sqlerr.Cancelled, "the statement was cancelled")
	case strings.Contains(text, "panic"):
		panic(fmt.Sprintf("the private value %d", 424242))
	case strings.Contains(text, "strange"):
		return nil, errors.New("an error with the private value 424242")
	case strings.Contains(text, "wrong"):
		at := len([]rune(text[:strings.Index(text, "wrong")])) + 1
		return nil, sqlerr.New(sqlerr.Unknown, "there is no column wrong").At(at).WithHint("did you mean right?")
	}
	if f.report != nil {
		f.report(1, 2)
	}
	if strings.Contains(text, "dear") && !f.confirm("this takes 20 %") {
		return nil, sqlerr.New(sqlerr.Cancelled, "nothing was charged")
	}
	if f.ran != nil {
		f.ran()
	}
	if r, ok := f.results[text]; ok {
		return r, nil
	}
	return &engine.Result{}, nil
}

func (f *fakeSession) SetProgress(report func(done, all int64)) { f.report = report }

func (f *fakeSession) SetConfirm(confirm func(warning string) bool) { f.confirm = confirm }

func (f *fakeSession) Import(_ context.Context, im engine.Import) (engine.ImportReport, error) {
	f.imports = append(f.imports, im)
	if strings.Contains(im.Path, "two") && im.Dialect.Dates == nil {
		return engine.ImportReport{Readings: []string{"d/m/Y", "m/d/Y"}}, sqlerr.New(sqlerr.Invalid, "dates may be d/m/Y or m/d/Y")
	}
	return engine.ImportReport{Table: im.Table, Rows: 1, Skipped: im.IfMissing, Columns: []engine.Column{{Name: "a", Type: "INTEGER"}, {Name: "b", Type: "TEXT"}}}, nil
}

func (*fakeSession) Check(context.Context, string, string) (string, error) { return "", nil }

func (f *fakeSession) Draft(_ context.Context, table string) (string, error) {
	return "-- " + table + "\n", nil
}

func (f *fakeSession) Vocabulary(context.Context) (engine.Vocabulary, error) { return f.words, nil }

func (f *fakeSession) SetDirectory(dir string) { f.seen = append(f.seen, "in "+dir) }

// testRunner returns a runner on a fake session, and what it writes.
func testRunner(f render.Format) (r *runner, session *fakeSession, out, errs *bytes.Buffer) {
	out, errs = new(bytes.Buffer), new(bytes.Buffer)
	session = new(fakeSession)
	return &runner{session: session, role: engine.Curator, console: testConsole(out, errs, f), args: make(arguments)}, session, out, errs
}

// TestNoDatabase: a file that is no database is told by what it is.
func TestNoDatabase(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a.csv": {"a,b\n", ".import "}, "utf16.txt": {"\xff\xfea\x00", ".import "}, "empty.csv": {"", ".import "},
		"binary.csv": {"\x7fELF\x01\x00\x02", "save its table as CSV"}, "x.parquet": {"PAR1\x00", ""}, "log.jsonl": {"{\"a\": 1}\n", "save the table as CSV"},
		"book.xlsx": {"PK\x03\x04", "save its sheet as CSV"}, "ward.db": {"{\"a\": 1}\n", ""}, "ward.dat": {"a b\n", ""},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var e *sqlerr.Error
		if err := noDatabase(path, sqlerr.New(sqlerr.Corrupt, "no database")); !errors.As(err, &e) || !strings.Contains(e.Hint, c.want) || c.want == "" && e.Hint != "" {
			t.Errorf("%s: %v, %q", name, err, e.Hint)
		}
	}
}
