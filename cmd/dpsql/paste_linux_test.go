package main

import (
	"strings"
	"testing"

	"dpsql/cmd/dpsql/internal/terminal"
)

// A pasted tab is a character of the text, whether or not the terminal brackets what is pasted.
func TestPastedTabsOnTerminal(t *testing.T) {
	t.Parallel()
	dir := fixture(t)
	tm := openTerminal(t, dir, "people.db")
	tm.expect(terminal.Prompt)
	tm.settle()
	const text = "SELECT\tCOUNT(*)\tFROM people\r\tWHERE sex\t= 'F' AND 'a\tb' = 'a\tb';"
	for _, pasted := range []string{text, "\x1b[200~" + text + "\x1b[201~"} {
		tm.typeIn(pasted)
		tm.settle()
		tm.typeIn("\r")
		tm.expect("│ 3 ± 0 │")
		tm.settle()
	}
	tm.typeIn("\x04")
	tm.leaves(exitOK)

	if history := historyIn(t, dir); !strings.Contains(history, `SELECT\tCOUNT(*)\tFROM people`) || !strings.Contains(history, `'a\tb' = 'a\tb'`) {
		t.Errorf("the history is %q", history)
	}
}
