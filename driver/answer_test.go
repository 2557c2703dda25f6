package driver_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"dpsql/driver"
	"dpsql/engine"
)

// What is known of an answer besides its rows is reached through sql.Conn.Raw.
func TestLastAnswer(t *testing.T) {
	ctx := context.Background()
	c, err := open(t, clinic(t)).Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	last := func() (a *engine.Answer) {
		if err := c.Raw(func(raw any) error { a = raw.(driver.Answerer).LastAnswer(); return nil }); err != nil {
			t.Fatal(err)
		}
		return a
	}
	var n int64
	var margin, low, high float64
	text := `SELECT COUNT(*) AS n, MARGIN(n), LOW(n), HIGH(n) FROM visits WHERE sex = 'F' AND age = 40`
	if err := c.QueryRowContext(ctx, text).Scan(&n, &margin, &low, &high); err != nil {
		t.Fatal(err)
	}
	if low != float64(n)-margin || high != float64(n)+margin || last().Intervals[0][0] != (engine.Interval{Low: low, High: high}) {
		t.Errorf("%d ± %v from %v to %v, in %v", n, margin, low, high, last().Intervals)
	}
	if a := last(); a == nil || a.Via != "cells" || a.Mechanism != "projection" || a.Support != "1" || !a.Verified ||
		a.Cost != (engine.Cost{}) || a.Margins[0][0] != margin || a.Confidence != 0.95 {
		t.Errorf("the answer %+v", a)
	}
	if _, err := c.ExecContext(ctx, `SET accuracy = 20`); err != nil {
		t.Fatal(err)
	}
	if a := last(); a != nil {
		t.Errorf("after SET there is an answer %+v", a)
	}
	if err := c.QueryRowContext(ctx, `SELECT COUNT(*) FROM visits WHERE sex = 'F' OR age > 3`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if a := last(); a == nil {
		t.Error("there is no answer")
	}
	if c.QueryRowContext(ctx, `SELECT COUNT(*) FROM nothing`).Scan(&n) == nil || last() != nil {
		t.Error("after an error there is an answer")
	}
}

// What the shell prints as a warning is in the answer: of one SELECT, of several, and of a prepared one.
func TestAnswerWarnings(t *testing.T) {
	ctx := context.Background()
	c, err := open(t, clinic(t)+"?accuracy=500").Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, test := range []struct {
		text string
		args []any
		want string
	}{
		{`SELECT COUNT(*) FROM visits WHERE sex = 'f'`, nil, "is outside the declared domain"},
		{`SELECT COUNT(*) FROM visits WHERE sex = ?`, []any{"f"}, "is outside the declared domain"},
		{`SELECT a.n + b.n FROM (SELECT COUNT(*) AS n FROM visits WHERE sex = 'f') a, (SELECT COUNT(*) AS n FROM visits WHERE sex = 'F') b`,
			nil, "is outside the declared domain"},
		{`SELECT COUNT(*) FROM visits WHERE sex = 'F'`, nil, ""},
	} {
		var n int64
		if err := c.QueryRowContext(ctx, test.text, test.args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		var got []string
		c.Raw(func(raw any) error { got = raw.(driver.Answerer).LastAnswer().Warnings; return nil })
		if all := strings.Join(got, "\n"); !strings.Contains(all, test.want) || test.want == "" && all != "" {
			t.Errorf("%s: the warnings %q, want %q", test.text, got, test.want)
		}
	}
}

// A library on top of database/sql works unchanged.
func TestUnderSqlx(t *testing.T) {
	db, err := sqlx.Open("dpsql", clinic(t)+"?role=analyst")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	type count struct {
		N      int64           `db:"n"`
		Margin sql.NullFloat64 `db:"margin"`
	}
	const text = `SELECT COUNT(*) AS n, MARGIN(n) AS margin FROM visits WHERE sex = 'F' AND age `
	var one, same, some count
	if err := db.Get(&one, text+`= ?`, 40); err != nil {
		t.Fatal(err)
	}
	named, err := db.PrepareNamed(text + `= :age`)
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	if err := named.Get(&same, map[string]any{"age": 40}); err != nil || same != one {
		t.Errorf("by name %+v, %v; by position %+v", same, err, one)
	}
	in, args, err := sqlx.In(text+`IN (?)`, []int{40, 41, 42})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Get(&some, db.Rebind(in), args...); err != nil || some.Margin.Float64 <= one.Margin.Float64 {
		t.Errorf("three ages %+v, %v; one %+v", some, err, one)
	}
	var all []count
	if err := db.Select(&all, text+`BETWEEN 40 AND 42`); err != nil || len(all) != 1 || all[0] != some {
		t.Errorf("as a range %+v, %v; as a list %+v", all, err, some)
	}
}

// TestNoPrivateTable runs what names no private table through database/sql: with arguments,
// and with the types of the columns, rows or none.
func TestNoPrivateTable(t *testing.T) {
	t.Parallel()
	db := open(t, clinic(t))
	var code string
	var n int64
	if err := db.QueryRow(`WITH v (code) AS (VALUES ('E10'), ('E11'), ('I10')) SELECT MAX(code), COUNT(*) FROM v WHERE code LIKE ?`, "E%").Scan(&code, &n); err != nil || code != "E11" || n != 2 {
		t.Errorf("%q, %d, %v", code, n, err)
	}
	rows, err := db.Query(`SELECT code, length(code) AS n, 1.5 FROM (SELECT 'E10' AS code) WHERE 0`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	holdTypes(t, rows, "code TEXT true", "n INT8 true", "1.5 FLOAT8 true")
}

// TestSurroundedStatement prepares a statement with aggregates inside. Its ? are numbered
// through cores and surroundings alike, and its answer has intervals.
func TestSurroundedStatement(t *testing.T) {
	ctx := context.Background()
	c, err := open(t, clinic(t)+"?role=analyst").Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	st, err := c.PrepareContext(ctx, `SELECT ? AS who, n * 100.0 / (SELECT COUNT(*) FROM visits WHERE age < ?) AS share
		FROM (SELECT sex, COUNT(*) AS n FROM visits WHERE age < ? GROUP BY sex) WHERE sex = ?`)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, sex := range []string{"F", "M"} {
		var who string
		var share float64
		if err := st.QueryRowContext(ctx, "only "+sex, 40, 40, sex).Scan(&who, &share); err != nil {
			t.Fatal(err)
		}
		var a *engine.Answer
		if err := c.Raw(func(raw any) error { a = raw.(driver.Answerer).LastAnswer(); return nil }); err != nil {
			t.Fatal(err)
		}
		// 1,000 rows of 2,000; noise of 200 counts is far less likely than 1e-6, see TestQueryRow.
		if who != "only "+sex || share < 40 || share > 62 || a == nil || a.Via != "cells" {
			t.Fatalf("%s: %v, %+v", who, share, a)
		}
		if i, ok := a.Intervals[0][1].(engine.Interval); !ok || i.Low >= share || i.High <= share || a.Intervals[0][0] != nil {
			t.Errorf("%s: %v in %v", sex, share, a.Intervals)
		}
	}
}
