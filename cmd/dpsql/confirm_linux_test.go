package main

import (
	"os/exec"
	"strings"
	"testing"

	"dpsql/cmd/dpsql/internal/terminal"
)

// commandIn returns a function that runs the command in a folder, and returns what it prints.
func commandIn(t *testing.T, dir string) func(args ...string) string {
	return func(args ...string) string {
		t.Helper()
		cmd := exec.Command("dpsql", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
}

// On a terminal a direct answer that takes more than a tenth of what is left is
// bought only after a yes; in a script it is bought with a warning.
func TestDearStatementOnTerminal(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	dpsql := commandIn(t, dir)
	dpsql("poor.db", `
.import people.csv raw
CREATE PRIVATE TABLE p (sex TEXT IN ('F', 'M')) FROM raw WITH (epsilon = 1, delta = 1e-6, interactive = 0.5)`)
	charges := func() int { return strings.Count(dpsql("-csv", "poor.db", "SHOW LEDGER"), "direct answer") }

	tm := openTerminal(t, dir, "poor.db")
	tm.expect(terminal.Prompt)
	tm.settle()
	tm.typeIn("SET accuracy = 20;\r")
	tm.settle()
	const ask = "SELECT COUNT(*) FROM p WHERE sex = 'F';\r"
	for _, no := range []string{"\r", "\x03", "SELECT 1;\r"} {
		tm.typeIn(ask)
		tm.expect("warning: this takes ")
		tm.expect("[y/N] ")
		tm.settle()
		tm.typeIn(no)
		tm.expect("error cancelled: the statement was not carried out; nothing was charged")
		tm.settle()
	}
	if n := charges(); n != 0 {
		t.Errorf("%d charges without a yes", n)
	}
	tm.typeIn(ask)
	tm.expect("[y/N] ")
	tm.settle()
	tm.typeIn("y\r")
	tm.expect("direct · cost ρ ")
	tm.settle()
	tm.typeIn(ask) // it is stored now
	tm.expect("direct · cost 0 · ")
	tm.settle()
	tm.typeIn("\x04")
	tm.leaves(exitOK)
	if n := charges(); n != 1 {
		t.Errorf("%d charges", n)
	}
	if out := dpsql("-json", "poor.db", "SET accuracy = 60; SELECT COUNT(*) FROM p"); !strings.Contains(out, `"warnings":["this takes `) || charges() != 2 {
		t.Errorf("in a script: %s", out)
	}
}
