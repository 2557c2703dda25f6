package driver_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestNumbersOfLists scans the numbers of SHOW and EXPLAIN as numbers.
func TestNumbersOfLists(t *testing.T) {
	db := open(t, clinic(t))
	for _, test := range []struct{ query, want string }{
		{`SHOW BUDGET`, "table TEXT string, account TEXT string, unit TEXT string, total FLOAT8 float64, spent FLOAT8 float64, left FLOAT8 float64, in words TEXT string"},
		{`SHOW BUDGET FOR visits`, "epsilon left FLOAT8 float64"},
		{`SHOW RELEASES`, "epsilon FLOAT8 float64, delta FLOAT8 float64, max_support INT8 int64"},
		{`SHOW MECHANISMS`, "epsilon FLOAT8 float64"},
		{`SHOW LEDGER`, "epsilon FLOAT8 float64, delta FLOAT8 float64, rho FLOAT8 float64"},
		{`SHOW GRANTS`, "rho FLOAT8 float64, charge FLOAT8 float64, spent FLOAT8 float64, left FLOAT8 float64"},
		{`SHOW TABLES`, "universe INT8 int64"},
		{`EXPLAIN SELECT COUNT(*) FROM visits WHERE sex = 'F'`, "m INT8 int64, margin FLOAT8 float64, cost TEXT string"},
		{`EXPLAIN SELECT sex, COUNT(*) FROM visits WHERE age < 3 OR sex = 'F' GROUP BY sex`, "m TEXT string, margin TEXT string"},
		{`EXPLAIN SELECT n + 1 FROM (SELECT COUNT(*) AS n FROM visits)`, "m INT8 int64, margin FLOAT8 float64"},
	} {
		rows, err := db.Query(test.query)
		if err != nil {
			t.Fatal(test.query, err)
		}
		types, err := rows.ColumnTypes()
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, c := range types {
			all = append(all, fmt.Sprint(c.Name(), " ", c.DatabaseTypeName(), " ", c.ScanType()))
		}
		if got := strings.Join(all, ", "); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %s", test.query, got, test.want)
		}
		for rows.Next() {
			values, into := make([]any, len(types)), make([]any, len(types))
			for i := range into {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			for i, v := range values {
				if v != nil && fmt.Sprintf("%T", v) != types[i].ScanType().String() {
					t.Errorf("%s: %s is a %T, and its type %s", test.query, types[i].Name(), v, types[i].ScanType())
				}
			}
		}
		rows.Close()
	}
}
