package engine_test

import (
	"strings"
	"testing"
)

// TestIfNotExistsSaysWhatDiffers declares things again. Declared as they are they stay without a word; of another definition the
// warning has what differs, and nothing is changed or charged.
func TestIfNotExistsSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	const (
		table     = `CREATE PRIVATE TABLE IF NOT EXISTS t (sex TEXT IN ('F', 'M') OR NULL, age INTEGER BETWEEN 0 AND 120 CLAMP, zip TEXT) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6, unit = patient, max_rows = 3)`
		release   = `CREATE RELEASE IF NOT EXISTS r ON t (sex, age) USING PROJECTION WITH (epsilon = 0.50, transform = identity)`
		mechanism = `CREATE MECHANISM IF NOT EXISTS m ON t (sex, age) USING SMW WITH (epsilon = 1, max_updates = 4)`
		view      = "CREATE VIEW IF NOT EXISTS v AS SELECT age, sex FROM raw_admissions WHERE age > 3"
	)
	s := declared(t, clinicRows, table, release, mechanism, view)
	for _, c := range []struct{ text, old, new, want string }{
		{table, "", "", ""},
		{table, "4, delta = 1e-6", "4.0, delta = 0.000001", ""},
		{table, "120", "99", "age INTEGER BETWEEN 0 AND 120 CLAMP, not INTEGER BETWEEN 0 AND 99 CLAMP"},
		{table, "'M'", "'m'", "sex TEXT IN ('F', 'M', NULL), not TEXT IN ('F', 'm', NULL)"},
		{table, " OR NULL", "", "sex TEXT IN ('F', 'M', NULL), not TEXT IN ('F', 'M')"},
		{table, ", zip TEXT", "", "columns sex, age, zip, not sex, age"},
		{table, "FROM raw_admissions", "FROM v", "FROM raw_admissions, not v"},
		{table, ", unit = patient, max_rows = 3", "", "unit patient, not none"},
		{table, "max_rows = 3", "max_rows = 4", "max_rows 3, not 4"},
		{table, "epsilon = 4", "epsilon = 5", "epsilon 4, not 5"},
		{table, "1e-6", "1e-7", "delta 1e-6, not 1e-7"},
		{release, "", "", ""},
		{release, "0.50", "0.6", "epsilon 0.5, not 0.6"},
		{release, "(sex, age)", "(age, zip)", "columns sex, age, not age, zip"},
		{release, " (sex, age)", "", "columns sex, age, not sex, age, zip"},
		{release, "PROJECTION", "MARGINALS", "USING projection, not marginals"},
		{release, "ON t", "ON elsewhere", "it is on another table"},
		{release, "USING PROJECTION ", "", ""},
		{mechanism, "", "", ""},
		{mechanism, "epsilon = 1", "epsilon = 1.5", "epsilon 1, not 1.5"},
		{mechanism, "max_updates = 4", "max_updates = 5", "max_updates 4, not 5"},
		{mechanism, "(sex, age)", "(age)", "columns sex, age, not age"},
		{view, "", "", ""},
		{view, "age, sex", "age,\n  sex", ""},
		{view, "> 3", "> 4", "its SELECT is another one"},
	} {
		before := ledger(t, s)
		text := strings.Replace(c.text, c.old, c.new, 1)
		got := strings.Join(must(t, s, text).Warnings, "\n")
		if c.want == "" && strings.Contains(got, "stays as it is") || !strings.Contains(got, c.want) {
			t.Errorf("%s\nwarns %q, want %q", text, got, c.want)
		}
		if ledger(t, s) != before {
			t.Errorf("%s: it was charged", text)
		}
	}
}
