package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
)

// Only what is longer than the screen goes through the pager, and all of it.
func TestPager(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	long := &engine.Result{Columns: []engine.Column{{Name: "n", Type: "INTEGER"}}}
	for i := range 30 {
		long.Rows = append(long.Rows, []any{int64(i)})
	}
	tests := []struct {
		command string
		height  int
		paged   bool
	}{
		{"cat >'" + seen + "'", 24, true},
		{"cat >'" + seen + "'", 40, false},
		{"cat >'" + seen + "'", 0, false},
		{"exit 1", 24, false},
	}
	for _, test := range tests {
		os.Remove(seen)
		r, _, out, _ := testRunner(formatTable)
		r.console.pager = &pager{command: test.command, height: func() int { return test.height }}
		if err := r.console.result("SHOW LEDGER", long); err != nil {
			t.Fatal(err)
		}
		got, _ := os.ReadFile(seen)
		on, off := string(got), out.String()
		if !test.paged {
			on, off = off, on
		}
		if strings.Count(on, "\n") != 34 || off != "" {
			t.Errorf("%s at %d: paged %q, printed %q", test.command, test.height, got, out)
		}
	}
}
