package main

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/bench/report"
	"dpsql/bench/workload"
)

// TestMain also serves as the main function of child processes, which measure
// themselves.
func TestMain(m *testing.M) {
	if child, code := isChild(); child {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// TestQuick runs the whole command, small. Every experiment must have its section,
// every plot must exist, and no figure may be missing.
func TestQuick(t *testing.T) {
	dir := t.TempDir()
	if err := run([]string{"-quick", "-testdata", "../testdata", "-o", dir}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range experiments {
		if !bytes.Contains(text, []byte("## "+e.title+"\n")) || !bytes.Contains(text, []byte("-only "+e.name)) {
			t.Errorf("no section %q", e.title)
		}
	}
	for _, wrong := range []string{"NaN", "%!", "!("} {
		if strings.Contains(string(text), wrong) {
			t.Errorf("the text has a %s", wrong)
		}
	}
	plots, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil || len(plots) != strings.Count(string(text), ".svg)") || len(plots) < 8 {
		t.Errorf("%d plots: %v", len(plots), err)
	}
	size := 0
	for _, p := range plots {
		svg, err := os.ReadFile(p)
		if err != nil || !bytes.Contains(text, []byte("("+filepath.Base(p)+")")) {
			t.Errorf("%s is not shown: %v", p, err)
		}
		size += len(svg)
	}
	if size > 300_000 {
		t.Errorf("the plots have %d bytes", size)
	}
}

// TestOnly prints one experiment to standard output, and refuses an unknown one.
func TestOnly(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"-quick", "-only", "build", "-testdata", "../testdata"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "## Time to build against n") || strings.Contains(out.String(), "## W2") {
		t.Errorf("got %s", out.String())
	}
	if err := run([]string{"-only", "speed"}, &out, io.Discard); err == nil {
		t.Error("an experiment that does not exist was run")
	}
}

// TestLargestProduct compares the largest error found without listing the products with
// the largest of the 34,425 listed ones.
func TestLargestProduct(t *testing.T) {
	w, err := workload.Covid()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		off := make([]float64, w.Table.Size())
		for i := range off {
			off[i] = float64(random.IntN(200) - 100 - 10*(i%2))
		}
		want := 0.0
		for _, q := range w.Queries {
			sum := 0.0
			for r := range q.Runs() {
				for _, v := range off[r.Start : r.Start+r.Len] {
					sum += v
				}
			}
			want = max(want, math.Abs(sum))
		}
		if got := largestProduct(off); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

func TestErrorsOf(t *testing.T) {
	queries := make([]workload.Query, 20)
	answers := make([]float64, 20)
	for i := range answers {
		answers[i] = float64(i + 1)
	}
	answers[3] = -4
	e := errorsOf(answers, queries)
	if e.max != 20 || e.p95 != 19 || math.Abs(e.rms-math.Sqrt(2870.0/20)) > 1e-9 {
		t.Errorf("%+v", e)
	}
}

func TestVerdict(t *testing.T) {
	of := func(name string, r role, rms float64) result {
		return result{mechanism{name: name, role: r}, outcome{rms: report.Estimate{Mean: rms, Half: 1}}}
	}
	for _, c := range []struct {
		results []result
		want    string
	}{
		{[]result{of("a", ours, 10), of("b", rival, 20)}, "a has the least RMS error; the best baseline, b, has 2.0 times that"},
		{[]result{of("a", paper, 30), of("b", rival, 20)}, "**A baseline wins here:** b; the best of dpsql, a, has 1.50 times"},
		{[]result{of("a", ours, 10), of("b", rival, 11)}, "cannot be told apart"},
		{[]result{of("a", ours, 10), of("c", ours, 9)}, "c has the least RMS error."},
		{[]result{of("a", ours, 10), of("0", idle, 11)}, "a has the least RMS error; **no mechanism of dpsql is better than answering 0"},
		{[]result{of("a", ours, 10), of("0", idle, 13)}, "a has the least RMS error."},
	} {
		if got := verdict(c.results); !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestReplace runs one experiment with a folder, which replaces its section there and
// nothing else.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "benchmarks.md")
	before := "# Benchmarks\n\n## Where dpsql is not the best\n\n- [Time to build against n](#x): old\n- [W2](#w2): kept\n\n" +
		"## W2\n\nkept\n\n## Time to build against n\n\nold\n\n## Last\n\nkept\n"
	if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	quick := func(name string) error {
		return run([]string{"-quick", "-only", name, "-testdata", "../testdata", "-o", dir}, io.Discard, io.Discard)
	}
	if err := quick("build"); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(after)
	if strings.Contains(text, "old") || strings.Count(text, "kept") != 3 || strings.Count(text, "## Time to build against n\n") != 1 ||
		!strings.Contains(text, "\n\n## Last\n") || !strings.Contains(text, "(time-build.svg)") {
		t.Errorf("the report is now\n%s", text)
	}
	if err := quick("covid"); err == nil {
		t.Error("a section that is not there was replaced")
	}
}

// TestStatementsDiffer checks that no timed statement repeats the query of another,
// which would be answered from store. Values in a list may come in any order.
func TestStatementsDiffer(t *testing.T) {
	for _, a := range asked {
		seen := make(map[string]bool)
		for turn := range min(a.different, 6_000) {
			where := condition(a.where, turn%2 == 0, turn)
			first, rest, _ := strings.Cut(strings.NewReplacer("'", "", "k", "", "a ", "").Replace(where), "(")
			list, rest, _ := strings.Cut(rest, ")")
			values := strings.Split(list, ", ")
			slices.Sort(values)
			if key := first + strings.Join(values, ",") + rest; seen[key] {
				t.Fatalf("m = %d, turn %d: %s was asked before", a.m, turn, where)
			} else {
				seen[key] = true
			}
		}
	}
}

// TestChoosingQuotes checks that docs/choosing.md has the figures of
// docs/benchmarks.md.
func TestChoosingQuotes(t *testing.T) {
	page, err := os.ReadFile("../docs/choosing.md")
	if err != nil {
		t.Fatal(err)
	}
	report, err := os.ReadFile("../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	if want, err := quoted(string(page), string(report)); err != nil {
		t.Error(err)
	} else if want != string(page) {
		t.Error("docs/choosing.md has other figures than docs/benchmarks.md: go run ./bench -only adult -o docs writes both")
	}
}

// TestPlotsAreDrawnFromTheirPoints checks that the plots of docs are those of the
// stored points, and that the pages use their titles.
func TestPlotsAreDrawnFromTheirPoints(t *testing.T) {
	const docs = "../docs"
	dir := t.TempDir()
	points, err := os.ReadFile(filepath.Join(docs, pointsFile))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, pointsFile), points, 0o600)
	}
	if err == nil {
		err = redraw(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	var pages []byte
	for _, kind := range []kind{benchmarks, scaleReport} {
		text, err := os.ReadFile(filepath.Join(docs, kind.file))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, text...)
	}
	for _, c := range charts {
		want, err := os.ReadFile(filepath.Join(dir, c.Name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(docs, c.Name+".svg"))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s.svg is not what go run ./bench -redraw draws: %v", c.Name, err)
		}
		if !bytes.Contains(pages, []byte("!["+c.Title+"]("+c.Name+".svg)")) {
			t.Errorf("no page shows %q", c.Title)
		}
	}
}
