package driver_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"dpsql/driver"
	"dpsql/engine"
	"dpsql/sqlerr"
)

// TestSetThroughAPool refuses SET wherever it would be lost, and nowhere else.
func TestSetThroughAPool(t *testing.T) {
	ctx, db := t.Context(), open(t, clinic(t))
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	prepare := func(p interface {
		PrepareContext(context.Context, string) (*sql.Stmt, error)
	}, text string) error {
		st, err := p.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		defer st.Close()
		_, err = st.ExecContext(ctx)
		return err
	}
	const text = `SET accuracy = 50`
	ways := map[string]struct {
		run  func() error
		lost bool
	}{
		"DB.Exec":          {func() error { _, err := db.Exec(text); return err }, true},
		"DB.ExecContext":   {func() error { _, err := db.ExecContext(ctx, text); return err }, true},
		"DB.Query":         {func() error { rows, err := db.Query(text); _ = err == nil && rows.Close() == nil; return err }, true},
		"DB.QueryRow":      {func() error { return db.QueryRow(text).Scan() }, true},
		"DB.Prepare":       {func() error { return prepare(db, text) }, true},
		"Conn.ExecContext": {func() error { _, err := conn.ExecContext(ctx, text); return err }, false},
		"Conn.QueryContext": {func() error {
			rows, err := conn.QueryContext(ctx, text)
			_ = err == nil && rows.Close() == nil
			return err
		}, false},
		"Conn.PrepareContext": {func() error { return prepare(conn, text) }, false},
	}
	for name, way := range ways {
		err := way.run()
		var e *sqlerr.Error
		if !way.lost {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.As(err, &e) || e.Code != sqlerr.Unsupported || e.Hint != "use sql.Conn, `?accuracy=50` or dpsql.With" {
			t.Errorf("%s: %v, %+v", name, err, e)
		}
	}
	_, err = db.Exec(`SET Confidence = 0.99`)
	var e *sqlerr.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "`?confidence=0.99`") {
		t.Errorf("SET confidence: %+v", e)
	}
}

// TestWith asks with settings for one call: through a pool, on a connection that has others, and prepared.
func TestWith(t *testing.T) {
	ctx, path := t.Context(), clinic(t)
	db := open(t, path+"?role=analyst&confidence=0.9&mechanism=projection")
	db.SetMaxOpenConns(1)
	type asker interface {
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}
	const query = `SELECT COUNT(*) AS n, MARGIN(n) FROM visits WHERE age < 40`
	margin := func(ctx context.Context, by asker) (m float64) {
		t.Helper()
		if err := by.QueryRowContext(ctx, query).Scan(new(int64), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	before := margin(ctx, db)
	surer := driver.With(ctx, driver.Settings{Confidence: 0.999})
	wide := margin(surer, db)
	if wide <= before {
		t.Errorf("the margin is %v with 0.999 and %v with 0.9", wide, before)
	}
	if m := margin(driver.With(surer, driver.Settings{Confidence: 0.9}), db); m != before {
		t.Errorf("the last of two settings gives %v, want %v", m, before)
	}
	if m := margin(driver.With(surer, driver.Settings{Mechanism: "projection"}), db); m != wide {
		t.Errorf("another setting takes the first away: %v, want %v", m, wide)
	}
	if m := margin(ctx, db); m != before {
		t.Errorf("after With the margin is %v, want %v", m, before)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(surer, `SET confidence = 0.8`); err != nil { // it is not for a call
		t.Fatal(err)
	}
	narrow := margin(ctx, conn)
	if m := margin(surer, conn); narrow >= before || m != wide || margin(ctx, conn) != narrow {
		t.Errorf("on a connection %v, with settings %v, then %v", narrow, m, margin(ctx, conn))
	}
	conn.Close()
	stmt, err := db.Prepare(query)
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	var m float64
	if err := stmt.QueryRowContext(surer).Scan(new(int64), &m); err != nil || m != wide {
		t.Errorf("prepared: %v, %v", m, err)
	}
	for _, s := range []driver.Settings{{Accuracy: -1}, {Confidence: 2}, {Clamp: "perhaps"}, {Margins: "thin"}} {
		if err := db.QueryRowContext(driver.With(ctx, s), query).Scan(new(int64), &m); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%+v: %v", s, err)
		}
		if m := margin(ctx, db); m != before {
			t.Errorf("after %+v the margin is %v, want %v", s, m, before)
		}
	}
	bought := driver.With(ctx, driver.Settings{Accuracy: 30, Mechanism: "direct"})
	if err := open(t, path).QueryRowContext(bought, `SELECT COUNT(*) FROM visits WHERE age % 7 = 1 AND sex = 'F'`).Scan(new(int64)); err != nil {
		t.Errorf("a direct answer: %v", err)
	}
}

// TestHintsForGo adds to hints about SET what does the same in a program.
func TestHintsForGo(t *testing.T) {
	err := open(t, clinic(t)+"?mechanism=direct").QueryRow(`SELECT COUNT(*) FROM visits`).Scan(new(int64))
	var e *sqlerr.Error
	if !errors.As(err, &e) || !strings.HasSuffix(e.Hint, "(in Go: `?accuracy=50` or dpsql.With)") {
		t.Errorf("the hint is %q", e.Hint)
	}
}

// TestConnector opens a database by options, which do what those of a data source name do.
func TestConnector(t *testing.T) {
	path := visits(t)
	var log bytes.Buffer
	c, err := driver.NewConnector(path, driver.Options{Role: engine.Analyst, ReadOnly: true, BusyTimeout: time.Second, TextTimes: true,
		Settings: driver.Settings{Confidence: 0.99, Unverified: "off"}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	defer db.Close()
	var settings []string
	rows, err := db.Query(`SHOW SETTINGS`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			t.Fatal(err)
		}
		settings = append(settings, name+"="+value)
	}
	if got := strings.Join(settings, " "); got != "mechanism=auto accuracy=default confidence=0.99 clamp=off unverified=off margins=proven" {
		t.Errorf("the settings are %s", got)
	}
	var day string
	if err := db.QueryRow(`SELECT MAX(day) FROM visits`).Scan(&day); err != nil || day != "2023-03-11" {
		t.Errorf("a date is %q, %v", day, err)
	}
	if _, err := db.Exec(`DROP RELEASE days`); sqlerr.CodeOf(err) != sqlerr.Forbidden {
		t.Errorf("an analyst drops: %v", err)
	}
	if log.Len() > 0 {
		t.Errorf("logged without a warning: %s", &log)
	}
	var n int64
	if err := db.QueryRow(`SELECT COUNT(*) FROM visits WHERE dept = 'x'`).Scan(&n); err != nil || n != 0 {
		t.Errorf("a value outside the domain: %d, %v", n, err)
	}
	if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "dept") {
		t.Errorf("logged %q", text)
	}
	if _, err := driver.NewConnector(path, driver.Options{Settings: driver.Settings{Confidence: 95}}); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("a confidence of 95: %v", err)
	}
}
