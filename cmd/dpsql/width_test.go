package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
)

// TestListsFitATerminal draws the lists of a catalog with long names, many columns and long
// domains: no line has more than 100 characters, in a file too. FULL and csv have everything.
func TestListsFitATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := engine.Open(filepath.Join(dir, "wide.db"), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, ctx := db.NewSession(), context.Background()
	s.SetDirectory(dir)
	long := func(name string) string { return name + strings.Repeat("_of_the_regional_hospital", 2) }
	var names, domains, values []string
	for i := range 14 {
		names = append(names, long(fmt.Sprintf("column_%d", i)))
		domains = append(domains, names[i]+" INTEGER IN (0, 1)")
	}
	for i := range 60 {
		values = append(values, fmt.Sprintf("'ward, %d of it''s own'", i))
	}
	domains[0] = names[0] + " TEXT IN (" + strings.Join(values, ", ") + ", NULL)"
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(strings.Join(names, ",")+"\nx"+strings.Repeat(",1", 13)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(ctx, engine.Import{Path: "rows.csv", Table: long("raw")}); err != nil {
		t.Fatal(err)
	}
	run := func(text string) *engine.Result {
		t.Helper()
		r, err := s.Exec(ctx, text, nil)
		if err != nil {
			t.Fatalf("%.80s: %v", text, err)
		}
		return r
	}
	visits := long("visits")
	run("CREATE PRIVATE TABLE " + visits + " (" + strings.Join(domains, ", ") + ") FROM " + long("raw") + " WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)")
	run("CREATE PRIVATE TABLE " + long("stays") + " (" + domains[1] + ") FROM " + long("raw") + " WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)")
	run("ALTER PRIVATE TABLE " + visits + " SET (max_charge = 0.01)")
	run("CREATE RELEASE " + long("cells") + " ON " + visits + " (" + strings.Join(names[1:9], ", ") + ") USING PROJECTION WITH (epsilon = 0.3333333333, transform = identity)")
	run("CREATE RELEASE " + long("pairs") + " ON " + visits + " (" + strings.Join(names[1:4], ", ") + ") USING MARGINALS WITH (epsilon = 0.5, delta = 1e-8, degree = 2)")
	run("CREATE MECHANISM " + long("live") + " ON " + visits + " (" + strings.Join(names[1:9], ", ") + ") USING SMW WITH (epsilon = 1, max_updates = 4)")
	select8 := "SELECT " + names[1] + ", COUNT(*) FROM " + visits + " WHERE " + strings.Join(names[2:9], " = 1 AND ") + " GROUP BY 1"
	for _, list := range []string{"SHOW RELEASES", "SHOW MECHANISMS", "SHOW BUDGET", "SHOW LEDGER", "DESCRIBE " + visits,
		"EXPLAIN " + select8, "EXPLAIN SELECT n * 2 AS " + long("twice") + " FROM (" + strings.Replace(select8, "COUNT(*)", "COUNT(*) AS n", 1) + ")"} {
		r := run(list)
		full := strings.Replace(list, "EXPLAIN", "EXPLAIN FULL", 1)
		if full == list {
			full += " FULL"
		}
		var brief, csv, all bytes.Buffer
		for _, width := range []int{0, 100} {
			brief.Reset()
			if err := render.Table.Rows(&brief, r, width, true); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(brief.String()) {
				if twwidth.Width(strings.TrimSuffix(line, "\n")) > 100 {
					t.Errorf("%.40s has a line of %d:\n%s", list, twwidth.Width(line), line)
				}
			}
		}
		if err := render.CSV.Rows(&csv, r, 0, true); err != nil {
			t.Fatal(err)
		}
		if err := render.CSV.Rows(&all, run(full), 0, true); err != nil || r.Brief == nil || csv.String() != all.String() {
			t.Errorf("%.40s FULL: %v", list, err)
		}
	}
	if shown := fmt.Sprint(run("DESCRIBE " + visits).Brief.Rows[0]); !strings.Contains(shown, "IN ('ward, 0 of it''s own', +60) 61") {
		t.Error(shown)
	}
}
