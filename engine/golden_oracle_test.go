package engine_test

import (
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
)

// agree holds the answer of a way to that of the first one, which is exact: it
// is the same or refused, and where it may differ its margins say by how much.
func agree(t *testing.T, c *goldenCase, w way, exact, o outcome) {
	if exact.err != nil || o.err != nil || o.result == nil || o.result.Answer == nil || exact.result.Answer == nil ||
		strings.Contains(strings.ToUpper(c.statement), "MARGIN(") {
		return
	}
	if w.inexact == "" {
		if got, want := fmt.Sprint(o.result.Rows), fmt.Sprint(exact.result.Rows); got != want {
			t.Errorf("%s\n%s: got %s, want %s", c.statement, w.name, got, want)
		}
		return
	}
	public := columnsWithoutMargins(exact.result)
	for i, row := range o.result.Rows {
		n := slices.IndexFunc(exact.result.Rows, func(other []any) bool { return sameAt(public, row, other) })
		if n < 0 || len(public) == 0 && len(exact.result.Rows) > 1 {
			continue // another row passed HAVING or LIMIT
		}
		for j := range row {
			m, known := o.result.Answer.Margins[i][j].(float64)
			if x, y := asFloat(row[j]), asFloat(exact.result.Rows[n][j]); known && math.Abs(x-y) > m+1e-9 {
				t.Errorf("%s\n%s: %v ± %v, and the true value is %v", c.statement, w.name, x, m, y)
			}
		}
	}
}

// columnsWithoutMargins returns the columns without a margin in any row.
func columnsWithoutMargins(r *engine.Result) (public []int) {
	for j := range r.Columns {
		if !slices.ContainsFunc(r.Answer.Margins, func(row []any) bool { return row[j] != nil }) {
			public = append(public, j)
		}
	}
	return public
}

func sameAt(columns []int, a, b []any) bool {
	return !slices.ContainsFunc(columns, func(j int) bool { return a[j] != b[j] })
}

// asFloat returns a number as a float64, NaN for what is none.
func asFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return math.NaN()
}

// goldenSQLite has the rows that belong to a record under the private table's name.
func goldenSQLite(t *testing.T) *sql.DB {
	t.Helper()
	raw, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	raw.SetMaxOpenConns(1)
	for _, text := range append(slices.Clone(goldenTable), `CREATE VIEW visits AS SELECT * FROM raw_visits
		WHERE ifnull(sex, 'F') IN ('F', 'M') AND age <= 9 AND town IN (SELECT name FROM towns) AND score BETWEEN -3 AND 3`) {
		if _, err := raw.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	return raw
}

// sameAsSQLite looks for the rows that SQLite gives a statement in its answer,
// which has groups without rows besides.
func sameAsSQLite(t *testing.T, raw *sql.DB, c *goldenCase, o outcome) {
	upper := strings.ToUpper(c.statement)
	if o.result == nil || o.result.Answer == nil || strings.Contains(upper, "LIMIT") || strings.ContainsAny(upper, ":@?") {
		return
	}
	rows, err := raw.Query(c.statement)
	if err != nil {
		return // MARGIN
	}
	defer rows.Close()
	got := make(map[string]bool)
	for _, row := range o.result.Rows {
		got[rowText(row)] = true
	}
	for rows.Next() {
		row := make([]any, len(o.result.Columns))
		into := make([]any, len(row))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		if !got[rowText(row)] && !got[rowText(zeroSums(row))] {
			t.Errorf("%s\nSQLite has %v, and not %v", c.statement, row, o.result.Rows)
		}
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
}

// rowText writes a row; sums of REAL numbers may differ by their rounding.
func rowText(row []any) string {
	var texts []string
	for _, v := range row {
		texts = append(texts, literal(v))
	}
	return strings.Join(texts, " | ")
}

// zeroSums has 0 for NULL: a sum of no rows is 0 here, where whether there are
// rows is private.
func zeroSums(row []any) []any {
	out := slices.Clone(row)
	for i, v := range out {
		if v == nil {
			out[i] = int64(0)
		}
	}
	return out
}
