package engine_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestRenamedRowsContinueABudget renames a table, and a column that is the unit, behind a spent budget.
// dpsql knows both by name, so whatever has the name now continues the budget, with a warning.
func TestRenamedRowsContinueABudget(t *testing.T) {
	const declared = `CREATE PRIVATE TABLE people (age INTEGER BETWEEN 0 AND 9) FROM raw WITH (epsilon = 2, delta = 1e-6, unit = who, max_rows = 2)`
	for _, c := range []struct {
		name    string
		spends  bool
		changes []string
		warns   bool
	}{
		{"nothing is spent", false, []string{`ALTER TABLE raw RENAME COLUMN who TO was`, `ALTER TABLE raw RENAME COLUMN other TO who`}, false},
		{"the unit is another", true, []string{`ALTER TABLE raw RENAME COLUMN who TO was`, `ALTER TABLE raw RENAME COLUMN other TO who`}, true},
		{"the table is another", true, []string{`ALTER TABLE raw RENAME TO old`, `CREATE TABLE raw (age INTEGER, who INTEGER)`}, true},
		{"declared anew", true, nil, true},
	} {
		s := clinic(t)
		fill(t, s, `CREATE TABLE raw (age INTEGER, who INTEGER, other INTEGER)`, `INSERT INTO raw VALUES (1, 1, 1), (2, 2, 1)`)
		must(t, s, declared)
		if c.spends {
			must(t, s, `CREATE RELEASE r ON people USING PROJECTION WITH (epsilon = 0.5)`)
			must(t, s, `DROP RELEASE r`)
		}
		if r := must(t, s, strings.Replace(declared, "TABLE people", "TABLE beside", 1)); len(r.Warnings) > 0 {
			t.Errorf("%s: beside a table of the same rows: %q", c.name, r.Warnings)
		}
		must(t, s, `DROP PRIVATE TABLE people`)
		must(t, s, `DROP PRIVATE TABLE beside`)
		fill(t, s, c.changes...)
		r := must(t, s, declared)
		if warns := strings.Contains(fmt.Sprint(r.Warnings), "the budget of raw goes on with what is spent of it"); warns != c.warns {
			t.Errorf("%s: %q", c.name, r.Warnings)
		}
	}
}
