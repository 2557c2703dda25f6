package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
)

// TestOrderOfColumns: whatever order columns are declared in, the same statements are answered, and a release by columns of
// either place is declared again without a warning.
func TestOrderOfColumns(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "order.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw AS WITH RECURSIVE i (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 999)
		SELECT i * 7919 % 10000 / 100.0 AS fee, i % 5000 AS part, i % 40 AS ward, date('2020-01-01', i || ' days') AS day FROM i`)
	columns := []string{"fee NUMERIC(10, 2) BETWEEN 0 AND 99.99", "part INTEGER BETWEEN 0 AND 4999", "ward INTEGER BETWEEN 0 AND 39",
		"day DATE BETWEEN '2020-01-01' AND '2023-12-31'"}
	for i, order := range [][]int{{0, 1, 2, 3}, {1, 3, 0, 2}} {
		table, list := fmt.Sprintf("t%d", i), make([]string, len(order))
		for at, c := range order {
			list[at] = columns[c]
		}
		declare := fmt.Sprintf(`CREATE PRIVATE TABLE IF NOT EXISTS %s (%s) FROM raw WITH (epsilon = 100, delta = 1e-6)`, table, strings.Join(list, ", "))
		must(t, s, declare)
		if again := must(t, s, declare); len(again.Warnings) > 0 {
			t.Errorf("%s declared again: %q", table, again.Warnings)
		}
		for _, ask := range []string{`SELECT ward, SUM(fee) FROM %s GROUP BY ward`, `SELECT ward, AVG(fee), SUM(part) FROM %s GROUP BY ward`,
			`SELECT EXTRACT(YEAR FROM day) AS y, ward, SUM(part) FROM %s GROUP BY 1, 2`, `SELECT part / 1000 AS p, SUM(fee) FROM %s GROUP BY 1`} {
			if rows := must(t, s, fmt.Sprintf(ask, table)+" WITH ACCURACY 1000000").Rows; len(rows) < 5 {
				t.Errorf("%s: %d groups: %s", list, len(rows), ask)
			}
		}
		must(t, s, fmt.Sprintf(`CREATE RELEASE r%d ON %s (ward, day) WITH (epsilon = 1)`, i, table))
	}
	if _, err := s.Exec(context.Background(), `CREATE RELEASE none ON t0 (nowhere) WITH (epsilon = 1)`, nil); err == nil {
		t.Error("a release by a column that is not there")
	}
}

// TestEveryOrder: in each of the 24 orders of four columns, of which one is compiled last, a table answers alike, and is shown as it
// was declared.
func TestEveryOrder(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "order.db"), engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE raw AS SELECT 7 AS dose, 8 AS ward, 2 AS shift, 'f' AS sex UNION ALL SELECT 400, 1, 2, 'm'`)
	columns := []string{"dose INTEGER BETWEEN 0 AND 1499", "ward INTEGER BETWEEN 0 AND 8", "shift INTEGER BETWEEN 0 AND 2", "sex TEXT IN ('f', 'm')"}
	names, first := []string{"dose", "ward", "shift", "sex"}, ""
	for n := range 24 {
		order, left := []int(nil), []int{0, 1, 2, 3}
		for k, by := n, 4; by > 0; k, by = k/by, by-1 {
			order = append(order, left[k%by])
			left = slices.Delete(left, k%by, k%by+1)
		}
		var list, alias, shown []string
		for _, c := range order {
			list, alias = append(list, columns[c]), append(alias, "my_"+names[c])
		}
		must(t, s, fmt.Sprintf(`CREATE PRIVATE TABLE t (%s) FROM raw WITH (epsilon = 2, delta = 1e-6)`, strings.Join(list, ", ")))
		for _, row := range must(t, s, `DESCRIBE t`).Rows {
			shown = append(shown, "my_"+fmt.Sprint(row[0]))
		}
		if !slices.Equal(shown, alias) {
			t.Errorf("declared as %s, described as %s", alias, shown)
		}
		var got strings.Builder
		for _, ask := range []string{`SELECT shift, ward, SUM(dose) FROM t GROUP BY 1, 2`, fmt.Sprintf(`WITH q (%s) AS (SELECT * FROM t) SELECT my_ward, AVG(my_dose) FROM q WHERE my_sex = 'f' GROUP BY 1`, strings.Join(alias, ", "))} {
			r := must(t, s, "EXPLAIN "+ask+" WITH ACCURACY 1000000")
			fmt.Fprintln(&got, r.Rows)
		}
		if first = cmp.Or(first, got.String()); got.String() != first {
			t.Errorf("declared as %s: %s, want %s", alias, got.String(), first)
		}
		must(t, s, `DROP PRIVATE TABLE t`)
	}
}
