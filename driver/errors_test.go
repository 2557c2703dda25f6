package driver_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpsql/sqlerr"
)

// broke is an argument that has no value.
type broke struct{}

var errBroke = errors.New("the vault is shut")

func (broke) Value() (driver.Value, error) { return nil, errBroke }

// TestErrorsAreTargets has errors that errors.Is finds: codes, the ends of contexts, and what an argument says.
func TestErrorsAreTargets(t *testing.T) {
	path := clinic(t)
	db := open(t, path+"?accuracy=100")
	late, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	gone, leave := context.WithCancel(context.Background())
	leave()
	for _, test := range []struct {
		ctx  context.Context
		text string
		args []any
		want []error
	}{
		{late, `SELECT COUNT(*) FROM visits WHERE age = 1`, nil, []error{context.DeadlineExceeded}},
		{gone, `SELECT COUNT(*) FROM visits WHERE age = 1`, nil, []error{context.Canceled}},
		{context.Background(), `SELECT /*+ accuracy(0.001), mechanism(direct) */ COUNT(*) FROM visits WHERE age = 1`, nil, []error{sqlerr.Budget}},
		{context.Background(), `SELECT COUNT(*) FROM visits WHERE aeg = 1`, nil, []error{sqlerr.Unknown}},
		{context.Background(), `SELECT COUNT(*) FROM visits WHERE age = ?`, []any{broke{}}, []error{errBroke, sqlerr.Invalid}},
		{context.Background(), `SELECT COUNT(*) FROM visits WHERE age IN (?)`, []any{[]broke{{}}}, []error{errBroke, sqlerr.Invalid}},
		{context.Background(), `SELECT COUNT(*) FROM visits WHERE sex = ?`, []any{"F", "M"}, []error{sqlerr.Invalid}},
		{context.Background(), `SELECT COUNT(*) FROM visits WHERE sex = :a`, []any{sql.Named("a", "F"), sql.Named("b", "M")}, []error{sqlerr.Invalid}},
		{context.Background(), `SELECT COUNT(*) FROM visits`, []any{"F"}, []error{sqlerr.Invalid}},
	} {
		_, err := db.ExecContext(test.ctx, test.text, test.args...)
		for _, want := range test.want {
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", test.text, err, want)
			}
		}
		if errors.Is(err, sqlerr.Internal) {
			t.Errorf("%s: %v", test.text, err)
		}
	}
}

// TestErrorsAreLoggedWhole has the hint where a program writes one line of an error.
func TestErrorsAreLoggedWhole(t *testing.T) {
	_, err := open(t, clinic(t)).Exec(`SELECT COUNT(*) FROM visits WHERE aeg = 1`)
	if text := fmt.Sprintf("%v|%+v|%s|%q", err, err, err, err); text != `unknown: no column aeg in table visits|unknown: no column aeg in table visits (did you mean age?)|`+
		`unknown: no column aeg in table visits|"unknown: no column aeg in table visits"` {
		t.Error(text)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Error("asked", "err", err)
	if !strings.Contains(log.String(), `err.code=unknown err.message="no column aeg in table visits" err.hint="did you mean age?" err.position=35`) {
		t.Error(log.String())
	}
}

// TestNoSuchDatabase opens what other drivers take, and files that are not there.
func TestNoSuchDatabase(t *testing.T) {
	path := clinic(t)
	missing := filepath.Join(t.TempDir(), "nothing.db")
	for name, hint := range map[string]string{
		missing: "dpsql " + missing, missing + "?role=analyst": "name a database that exists", ":memory:": "name a file", ":memory:?role=analyst": "name a file",
		"file:x.db": "write x.db", "file:" + path: "write " + path, path + "?mode=ro": "readonly=true", path + "?role=admin": "curator and analyst",
		path + "?busy_timeout=5": "busy_timeout=5s", path + "?readonly=perhaps": "readonly=true",
	} {
		db, err := sql.Open("dpsql", name)
		if err == nil {
			err = db.Ping()
			db.Close()
		}
		var e *sqlerr.Error
		if !errors.As(err, &e) || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %+v, want the hint %q", name, err, hint)
		}
	}
	if files, _ := filepath.Glob(filepath.Dir(missing) + "/*"); files != nil {
		t.Errorf("there is %q", files)
	}
}
