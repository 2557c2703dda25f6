package dpsql_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"strings"
	"testing"
	"time"

	"dpsql"
	"dpsql/sqlerr"
)

// TestAsk asks through a pool and a connection, with arguments and settings.
func TestAsk(t *testing.T) {
	path, remove := clinic()
	defer remove()
	db, err := sql.Open("dpsql", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := t.Context()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, by := range []dpsql.Querier{db, conn} {
		a, err := dpsql.Ask(ctx, by, `SELECT sex, COUNT(*) AS n, AVG(age) FROM visits WHERE age < ? GROUP BY sex`, 20)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(a.Columns, a.Rows); got != "[sex n avg] [[F 200 ± 0 9 ± 0] [M 200 ± 0 10 ± 0]]" {
			t.Errorf("the answer is %s", got)
		}
		n := a.Rows[0][1]
		if n.Value != int64(200) || *n.Margin != 0 || n.Low != 200.0 || n.High != 200.0 || a.Rows[0][0].Margin != nil {
			t.Errorf("the values are %+v", a.Rows[0])
		}
		if a.Via != "cells" || a.Mechanism != "projection" || !a.Verified || a.Confidence != 0.95 || a.Cost != (dpsql.Cost{}) || a.Warnings != nil {
			t.Errorf("it is %+v", a)
		}
	}
	bought := dpsql.With(ctx, dpsql.Settings{Mechanism: "direct", Accuracy: 1})
	a, err := dpsql.Ask(bought, db, `SELECT COUNT(*) FROM visits WHERE sex = 'F'`)
	if err != nil || a.Via != "direct" || a.Cost.Rho <= 0 || *a.Rows[0][0].Margin > 1 {
		t.Errorf("a direct answer: %+v, %v", a, err)
	}
	again, err := dpsql.Ask(bought, db, `SELECT COUNT(*) FROM visits WHERE sex = 'F'`)
	if err != nil || again.Cost != (dpsql.Cost{}) || again.Rows[0][0].Value != a.Rows[0][0].Value {
		t.Errorf("again: %+v, %v", again, err)
	}
	a, err = dpsql.Ask(ctx, db, `SELECT COUNT(*) FROM visits WHERE sex = 'X'`)
	if err != nil || len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], "sex") {
		t.Errorf("a value outside the domain: %+v, %v", a, err)
	}
	a, err = dpsql.Ask(ctx, db, `SHOW SETTINGS`)
	if err != nil || len(a.Rows) != 6 || a.Via != "" || a.Rows[0][1].Value != "auto" {
		t.Errorf("SHOW: %+v, %v", a, err)
	}
	if _, err := dpsql.Ask(ctx, db, `SELECT COUNT(*) FROM nothing`); sqlerr.CodeOf(err) != sqlerr.Unknown {
		t.Errorf("an unknown table: %v", err)
	}
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := dpsql.Ask(ctx, other, `SELECT 1`); sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("a database of another driver: %v", err)
	}
	a, err = dpsql.Ask(ctx, db, `SELECT sex, COUNT(*) AS n FROM visits WHERE age < 20 GROUP BY sex LIMIT 1`)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(a.Rows)
	if want := `[[{"Value":"F","Margin":null,"Low":null,"High":null},{"Value":200,"Margin":0,"Low":200,"High":200}]]`; err != nil || string(text) != want {
		t.Errorf("as JSON %s, %v", text, err)
	}
}

// TestAskForDates has times at the ends of an interval where the value is one, and texts where that is.
func TestAskForDates(t *testing.T) {
	path, remove := clinic()
	defer remove()
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec(`CREATE TABLE raw_days (day TEXT); INSERT INTO raw_days VALUES ('2024-01-03'), ('2024-01-05'), ('2024-01-05'), ('2024-01-31')`); err != nil {
		t.Fatal(err)
	}
	raw.Close()
	for query, layout := range map[string]string{"": "", "?times=text": time.DateOnly} {
		asked, err := sql.Open("dpsql", path+query)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{`CREATE PRIVATE TABLE IF NOT EXISTS days_of (day DATE BETWEEN '2024-01-01' AND '2024-01-31') FROM raw_days WITH (epsilon = 200)`,
			`CREATE RELEASE IF NOT EXISTS d ON days_of USING PROJECTION WITH (epsilon = 50)`} {
			if _, err := asked.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
		a, err := dpsql.Ask(t.Context(), asked, `SELECT MEDIAN(day) FROM days_of`)
		asked.Close()
		if err != nil {
			t.Fatal(err)
		}
		v, want := a.Rows[0][0], any(time.Date(2024, 1, 5, 0, 0, 0, 0, time.UTC))
		if layout != "" {
			want = "2024-01-05"
		}
		if v.Value != want || v.Low != want || v.High != want || v.String() != "2024-01-05 ± 0" {
			t.Errorf("%s: %+v, %s", query, v, v)
		}
	}
}

// An answer has margins beside its values, and says what it cost.
func ExampleAsk() {
	path, remove := clinic()
	defer remove()
	db, err := sql.Open("dpsql", path+"?role=analyst")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	a, err := dpsql.Ask(context.Background(), db, `SELECT sex, COUNT(*) FROM visits WHERE age < ? GROUP BY sex`, 20)
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range a.Rows {
		fmt.Println(row[0], row[1])
	}
	fmt.Println(a.Via, a.Cost.Rho, a.Warnings)
	// Output:
	// F 200 ± 0
	// M 200 ± 0
	// cells 0 []
}

// Settings for one call hold whichever connection of the pool runs it.
func ExampleWith() {
	path, remove := clinic()
	defer remove()
	db, err := sql.Open("dpsql", path)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx := dpsql.With(context.Background(), dpsql.Settings{Accuracy: 1, Mechanism: "direct"})
	a, err := dpsql.Ask(ctx, db, `SELECT COUNT(*) FROM visits WHERE sex = ?`, "F")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Via, a.Cost.Rho > 0, *a.Rows[0][0].Margin <= 1)
	// Output: direct true true
}
