package main

import (
	"strings"
	"testing"

	"dpsql/cmd/dpsql/internal/terminal"
)

// On a terminal a release is confirmed with its price and margins; one that cannot count all rows,
// or not to within them, is paid for only after a yes, and so is what was paid for dropped. A script is not asked.
func TestPaidOnTerminal(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	dpsql := commandIn(t, dir)
	const few = "CREATE RELEASE few ON p (a, b) WITH (epsilon = 0.1, transform = sparse, delta = 1e-8);"
	const wide = "CREATE RELEASE wide ON p (a, b) WITH (epsilon = 0.1);"
	dpsql("paid.db", `
.import people.csv raw
CREATE VIEW cells AS SELECT sex, age AS a, age AS b FROM raw;
CREATE PRIVATE TABLE p (sex TEXT IN ('F', 'M'), a INTEGER BETWEEN 0 AND 399, b INTEGER BETWEEN 0 AND 299)
	FROM cells WITH (epsilon = 2, delta = 1e-6)`)
	spent := func() string { return dpsql("-csv", "paid.db", "SHOW LEDGER") }

	tm := openTerminal(t, dir, "paid.db")
	say := func(text string, expect ...string) {
		tm.settle()
		tm.typeIn(text + "\r")
		for _, e := range expect {
			tm.expect(e)
		}
	}
	tm.expect(terminal.Prompt)
	say("CREATE RELEASE by_sex ON p (sex) WITH (epsilon = 0.5);", "CREATE RELEASE · cost ε 0.5, left ε 0.5", " · count of 1 cell ±", " · count of all ±")
	before := spent()
	say(few, "warning: release few cannot count all rows: m = 120000, above max_support = 65536", "[y/N] ")
	say("n", "nothing was charged")
	say(wide, "warning: release wide counts all rows within ±", "[y/N] ")
	say("n", "nothing was charged")
	if after := spent(); after != before {
		t.Errorf("charged without a yes: %s", after)
	}
	say("DROP RELEASE by_sex;", "warning: ε 0.5 was paid for by_sex: its answers are lost, and nothing is paid back", "[y/N] ")
	say("", "was not carried out")
	say("DROP RELEASE by_sex;", "[y/N] ")
	say("y", "DROP RELEASE")
	tm.settle()
	tm.typeIn("\x04")
	tm.leaves(exitOK)
	if out := dpsql("paid.db", wide+few+"DROP RELEASE few"); !strings.Contains(out, "warning: release few cannot count all rows") ||
		!strings.Contains(out, "only, and a table of fewer rows cannot be told from an empty one") || strings.Contains(out, "lost") {
		t.Errorf("in a script: %s", out)
	}
}
