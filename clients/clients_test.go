package clients

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the files of testdata/dpsql that differ")

// TestClients runs the script of every client that is installed against dpsql serve, over
// TLS, and compares what it prints with testdata/dpsql. Beside it, testdata/postgres has
// what the script prints over PostgreSQL: diff -r shows where dpsql is another.
func TestClients(t *testing.T) {
	served := serve(t)
	for _, c := range All {
		t.Run(c.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			if err := c.Missing(ctx); err != nil {
				t.Skip(err)
			}
			out, err := c.Run(ctx, served.Server, t.TempDir())
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got := Transcript(out, served.Answers)
			name := filepath.Join("testdata/dpsql", strings.ReplaceAll(c.Name, "/", "-")+".txt")
			want, err := os.ReadFile(name)
			if *update {
				err = os.WriteFile(name, []byte(got), 0o666)
				want = []byte(got)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs:\n%s", name, difference(string(want), got))
			}
		})
	}
}

// difference lists the lines that one text has and the other has not.
func difference(want, got string) string {
	var out strings.Builder
	lines := func(mark, a, b string) {
		have := map[string]bool{}
		for line := range strings.Lines(b) {
			have[line] = true
		}
		for line := range strings.Lines(a) {
			if !have[line] {
				out.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
			}
		}
	}
	lines("- ", want, got)
	lines("+ ", got, want)
	if out.Len() == 0 {
		return "the order of lines:\n" + got
	}
	return out.String()
}

// serve serves the clients' database over TLS until the test ends.
func serve(t *testing.T) *Service {
	t.Helper()
	dir := t.TempDir()
	s, err := Serve(t.Context(), dir, Rows, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "serve.log"))
			t.Logf("the server's log ends with:\n%s", log[max(0, len(log)-4000):])
		}
	})
	return s
}
