package server_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpsql/engine"
	"dpsql/internal/scratch"
	"dpsql/server"
)

// patience is how long a test waits for what comes soon, however busy the machine is: a test that fails waits for all
// of it.
const patience = 5 * time.Minute

// start starts a server on a file with a table and an identity release, and returns the
// address and how to stop it.
func start(t testing.TB, change func(*server.Config)) (url string, s *server.Server) {
	t.Helper()
	dir := filled.Copy(t, func(dir string) {
		db, err := engine.Open(filepath.Join(dir, "clinic.db"), engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		fill(t, db)
	})
	db, err := engine.Open(filepath.Join(dir, "clinic.db"), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	config := server.Config{Database: db, Name: "clinic", Limits: server.Limits{Login: patience}}
	if change != nil {
		change(&config)
	}
	s = server.New(config)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go s.Serve(ctx, l)
	t.Cleanup(func() {
		cancel()
		stopped, end := context.WithTimeout(context.Background(), 5*time.Second)
		defer end()
		s.Shutdown(stopped)
		db.Close()
	})
	return fmt.Sprintf("postgres://ana:s3cretive@%s/clinic", l.Addr()), s
}

var filled scratch.Template // has what fill makes

// fill makes a table of 200 visits and a release of all its cells.
func fill(t testing.TB, db *engine.DB) {
	t.Helper()
	session := db.NewSession()
	ctx := context.Background()
	dir := t.TempDir()
	rows := "sex,age\n"
	for i := range 200 {
		rows += fmt.Sprintf("%s,%d\n", []string{"F", "M"}[i%2], i%100)
	}
	writeFile(t, filepath.Join(dir, "visits.csv"), rows)
	if _, err := session.Import(ctx, engine.Import{Path: filepath.Join(dir, "visits.csv"), Table: "visits_raw"}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 99) FROM visits_raw WITH (epsilon = 2, delta = 1e-6, answer_time = 5)`,
		`CREATE RELEASE r ON visits (sex, age) USING PROJECTION WITH (epsilon = 1, transform = identity)`,
		`CREATE USER ana PASSWORD 's3cretive'`,
		`GRANT SELECT ON visits TO ana WITH (rho = 0.02)`,
	} {
		if _, err := session.Exec(ctx, text, nil); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func TestSelect(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	ctx := context.Background()
	var simple, extended, again int64
	if err := c.QueryRow(ctx, "SELECT COUNT(*) FROM visits", pgx.QueryExecModeSimpleProtocol).Scan(&simple); err != nil {
		t.Fatal(err)
	}
	if err := c.QueryRow(ctx, "SELECT COUNT(*) FROM visits").Scan(&extended); err != nil {
		t.Fatal(err)
	}
	if err := c.QueryRow(ctx, "SELECT COUNT(*) FROM visits").Scan(&again); err != nil {
		t.Fatal(err)
	}
	if simple != extended || simple != again || simple < 100 || simple > 300 {
		t.Errorf("200 rows are counted as %d, %d and %d", simple, extended, again)
	}
	rows, err := c.Query(ctx, "SELECT sex, COUNT(*) AS n, AVG(age), NULL FROM visits GROUP BY sex ORDER BY sex")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range rows.FieldDescriptions() {
		names = append(names, f.Name)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"sex", "n", "avg", "NULL"}; len(all) != 2 || all[0][0] != "F" || all[1][0] != "M" || all[0][3] != nil || !reflect.DeepEqual(names, want) {
		t.Errorf("%v %v", names, all)
	}
}

// A SELECT without FROM has PostgreSQL's types and names where the server has what it calls, and else
// those of public tables.
func TestSelectWithoutFrom(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	ctx := context.Background()
	var one int32
	var now, text time.Time
	if err := c.QueryRow(ctx, "SELECT 1, now(), now()").Scan(&one, &now, &text); err != nil || one != 1 || time.Since(now).Abs() > time.Hour || !text.Equal(now) {
		t.Errorf("%d %v: %v", one, now, err)
	}
	if got, err := time.Parse("2006-01-02 15:04:05.999999-07", show(t, c, "SELECT now()")); err != nil || time.Since(got).Abs() > time.Hour {
		t.Errorf("%v: %v", got, err)
	}
	for sql, want := range map[string]string{"SELECT strftime('%Y', '2024-02-03')": "2024", "SELECT 'a' GLOB 'a*'": "t", "SELECT ((1))": "1"} {
		if got := show(t, c, sql); got != want {
			t.Errorf("%s is %s, want %s", sql, got, want)
		}
	}
	for sql, want := range map[string]string{"SELECT nothing()": "0A000", "SELECT 1 +": "42601", "SELECT sqlite_version()": "0A000"} {
		if _, state := run(t, c, sql); state != want {
			t.Errorf("%s: state %s, want %s", sql, state, want)
		}
	}
}

func TestErrors(t *testing.T) {
	url, _ := start(t, nil)
	c := connect(t, url)
	ctx := context.Background()
	for _, e := range []struct {
		text, state string
		position    int32
	}{
		{"SELECT COUNT(*) FROM nothing", "42P01", 22},
		{"SELECT COUNT(*) FROM visits WHERE agee = 1", "42703", 35},
		{"SELEC 1", "42601", 1},
		{"SELECT 1;\n SELECT COUNT(*) FROM nothing", "42P01", 33},
		{"INSERT INTO visits VALUES (1)", "0A000", 1},
		{".tables", "42601", 1},
		{"SET nothing = 1", "42704", 0},
		{"SET confidence = 2", "22023", 0},
		{"FETCH 1 FROM c", "34000", 0},
		{"SELECT COUNT(*) FROM visits WHERE age = $1", "42P02", 0},
		{"PREPARE p AS SELECT COUNT(*) FROM visits WHERE", "42601", 46},
		{"COMMIT AND", "42601", 11},
		{"BEGIN; COPY visits TO STDOUT; ROLLBACK", "0A000", 0},
	} {
		_, err := c.Exec(ctx, e.text, pgx.QueryExecModeSimpleProtocol)
		var got *pgconn.PgError
		if !errors.As(err, &got) || got.Code != e.state || e.position != 0 && got.Position != e.position {
			t.Errorf("%s: %v (position %d), want %s at %d", e.text, err, got.Position, e.state, e.position)
		}
		if strings.HasPrefix(e.text, "BEGIN") {
			if _, err := c.Exec(ctx, "ROLLBACK", pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Error(err)
			}
		}
	}
	var n int
	if err := c.QueryRow(ctx, "SELECT COUNT(*) FROM visits").Scan(&n); err != nil {
		t.Errorf("after errors: %v", err)
	}
}

func TestLogin(t *testing.T) {
	url, _ := start(t, nil)
	for _, e := range []struct{ from, to, state string }{
		{"s3cretive", "wrong", "28P01"},
		{"ana", "nobody", "28P01"},
		{"/clinic", "/other", "3D000"},
		{"/clinic", "/clinic?client_encoding=LATIN1", "22023"},
		{"/clinic", "/clinic?nothing=1", "42704"},
	} {
		_, err := pgx.Connect(context.Background(), strings.Replace(url, e.from, e.to, 1))
		var got *pgconn.PgError
		if !errors.As(err, &got) || got.Code != e.state {
			t.Errorf("%s for %s: %v, want %s", e.to, e.from, err, e.state)
		}
	}
}

// The log's hash of a statement is the same whatever its password is.
func TestFingerprint(t *testing.T) {
	for _, text := range []string{"CREATE USER a PASSWORD '%s'", "alter role a WITH PASSWORD '%s", "/* */ ALTER USER a '%s'", "EXPLAIN CREATE USER a PASSWORD '%s'",
		"PREPARE p AS CREATE  USER a '%s'", "SELECT 1; CREATE USER a PASSWORD '%s'", "CREATE/**/USER a '%s'"} {
		if engine.Fingerprint(fmt.Sprintf(text, "one")) != engine.Fingerprint(fmt.Sprintf(text, "two")) {
			t.Errorf("%s: the hash depends on the password", text)
		}
	}
	if engine.Fingerprint("SELECT 1") == engine.Fingerprint("SELECT 2") {
		t.Error("two statements have one hash")
	}
}
