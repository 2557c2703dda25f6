package catalog_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

func TestAnswers(t *testing.T) {
	s := open(t, dbPath(t))
	_, table := declare(t, s, "raws")
	m := &catalog.Mechanism{Name: "live", TableID: table}
	text := strings.Repeat("long query ", 10_000)
	write(t, s, func(tx *catalog.Tx) error { return tx.AddMechanism(m, nil) })
	want := []catalog.Answer{
		{TableID: table, Query: catalog.SumOf(text), Kind: catalog.AnswerDirect, Via: "direct", Estimate: math.MinInt64, Law: json.RawMessage(`{"law":"dgauss(17/3)"}`)},
		{TableID: table, Query: catalog.SumOf(text), Kind: catalog.AnswerFired, Via: "live", MechanismID: m.ID, Estimate: 57},
		{TableID: table, Query: catalog.SumOf(text), Kind: catalog.AnswerVerified, Via: "live", MechanismID: m.ID, Estimate: 0, Law: json.RawMessage(`[1]`)},
	}
	write(t, s, func(tx *catalog.Tx) error {
		for i := range want {
			if err := tx.PutAnswer(&want[i]); err != nil {
				return err
			}
		}
		return nil
	})
	want[1].Law = json.RawMessage("{}")
	read(t, s, func(tx *catalog.Tx) error {
		got, err := tx.Answers(table, text)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		for _, other := range []string{"", text[1:], strings.ToUpper(text)} {
			if got, err := tx.Answers(table, other); len(got) != 0 || err != nil {
				t.Errorf("%d answers to another query, %v", len(got), err)
			}
		}
		return err
	})
	for _, bad := range []catalog.Answer{{TableID: table, Kind: "guess"}, {TableID: table, Kind: catalog.AnswerDirect, Law: json.RawMessage("{")}} {
		wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.PutAnswer(&bad) }), sqlerr.Internal)
	}
}

// oneConnection returns an empty database in memory, which one connection holds.
func oneConnection(t *testing.T) *sql.DB {
	t.Helper()
	c, err := catalog.NewConnector("file::memory:")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	return db
}

// TestKeptStatements runs texts again and again on one connection: while rows
// of the same text are open, after an error, after the schema changed, and more
// texts than are kept.
func TestKeptStatements(t *testing.T) {
	db := oneConnection(t)
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := context.Background()
	exec := func(text string, args ...any) error {
		_, err := conn.ExecContext(ctx, text, args...)
		return err
	}
	if err := exec(`CREATE TABLE t (a INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3)`); err != nil {
		t.Fatal(err)
	}
	one := func(text string, args ...any) (n int) {
		t.Helper()
		if err := conn.QueryRowContext(ctx, text, args...).Scan(&n); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return n
	}
	const text = `SELECT a FROM t WHERE a >= ? ORDER BY a`
	rows, err := conn.QueryContext(ctx, text, 1)
	if err != nil {
		t.Fatal(err)
	}
	for want := 1; rows.Next(); want++ {
		var a int
		if err := rows.Scan(&a); err != nil || a != want || one(text, 2) != 2 {
			t.Fatalf("%d, %v: want %d, with the same text asked meanwhile", a, err, want)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := exec(`INSERT INTO t VALUES (?)`, 3); err == nil {
			t.Fatal("a key was inserted twice")
		}
		if err := exec(`INSERT INTO t VALUES (?)`, 10+i); err != nil {
			t.Fatal(err)
		}
	}
	if n := one(`SELECT COUNT(*) FROM t`); n != 6 {
		t.Errorf("%d rows, want 6", n)
	}
	if err := exec(`ALTER TABLE t RENAME COLUMN a TO b`); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.QueryContext(ctx, text, 1); err == nil {
		t.Error("a column that is no longer there was read")
	}
	for i := range 2 * catalog.MaxIdle {
		if n := one(fmt.Sprintf(`SELECT COUNT(*) + %d FROM t`, i)); n != 6+i {
			t.Fatalf("%d, want %d", n, 6+i)
		}
	}
	err = conn.Raw(func(c any) error {
		if n := catalog.Idle(c); n == 0 || n > catalog.MaxIdle {
			t.Errorf("%d statements are kept", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestExplainIsNotKept asks what a view reads before and after it changed.
func TestExplainIsNotKept(t *testing.T) {
	db := oneConnection(t)
	steps := func() (n int) {
		rows, err := db.Query(`EXPLAIN SELECT * FROM v`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			n++
		}
		return n
	}
	if _, err := db.Exec(`CREATE TABLE t (a); CREATE VIEW v AS SELECT 1`); err != nil {
		t.Fatal(err)
	}
	before := steps()
	if _, err := db.Exec(`DROP VIEW v; CREATE VIEW v AS SELECT a FROM t ORDER BY a`); err != nil {
		t.Fatal(err)
	}
	if after := steps(); after <= before {
		t.Errorf("the plan has %d steps, and had %d when the view read nothing", after, before)
	}
}

// BenchmarkRead times a short transaction.
func BenchmarkRead(b *testing.B) {
	s := open(b, b.TempDir()+"/read.db")
	if err := s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddPublic("codes") }); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		err := s.Read(context.Background(), func(tx *catalog.Tx) error {
			_, err := tx.Tables()
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
