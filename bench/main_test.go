package main

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
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

// TestQuick runs all experiments, small. Each must have its text and its tables, every chart
// must be drawn from its points, and no figure may be missing.
func TestQuick(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if err := run([]string{"-quick", "-testdata", "../testdata", "-o", dir}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	checkResults(t, dir, experiments)
	size := 0
	for _, c := range charts {
		if strings.HasPrefix(c.Name, "scale-") {
			continue
		}
		if err := drawStored(c, dir, dir); err != nil {
			t.Error(err)
		}
		svg, err := os.ReadFile(filepath.Join(dir, c.Name+".svg"))
		if err != nil {
			t.Error(err)
		}
		size += len(svg)
	}
	if size == 0 || size > 300_000 {
		t.Errorf("the charts have %d bytes", size)
	}
	for _, wrong := range []string{"NaN", "%!", "!("} {
		if strings.Contains(out.String(), wrong) {
			t.Errorf("what is printed has a %s", wrong)
		}
	}
}

// checkResults checks that a folder has the results of experiments, with the commit in each
// row.
func checkResults(t *testing.T, dir string, of []experiment) {
	t.Helper()
	for _, e := range of {
		text, err := os.ReadFile(filepath.Join(dir, e.name+".txt"))
		if err != nil || !strings.HasPrefix(string(text), "# "+e.title+"\n") || !strings.Contains(string(text), e.name+"` at commit ") {
			t.Errorf("%s: %v\n%s", e.name, err, text)
		}
		for _, name := range regexp.MustCompile(`(?m)^\S+\.csv$`).FindAllString(string(text), -1) {
			rows, commit, err := figures(dir).table(strings.TrimSuffix(name, ".csv"))
			if err != nil || len(rows) < 2 || len(rows[0]) < 2 || commit == "" || commit == report.Commit {
				t.Errorf("%s: %d rows at commit %q: %v", name, len(rows), commit, err)
			}
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !strings.HasPrefix(string(data), report.Commit+",") || strings.Contains(string(data), "NaN") {
				t.Errorf("%s: %v\n%s", name, err, data)
			}
		}
	}
	if _, err := figures(dir).experiments(len(of) == len(scaleExperiments)); err != nil {
		t.Error(err)
	}
}

// TestNamed runs one experiment and no other, and refuses an unknown one.
func TestNamed(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if err := run([]string{"-quick", "-testdata", "../testdata", "-o", dir, "build"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 3 || !strings.Contains(out.String(), "# Time to build against n") || strings.Contains(out.String(), "# W2") {
		t.Errorf("%v: %q, and it printed\n%s", err, files, out.String())
	}
	if err := run([]string{"speed"}, &out, io.Discard); err == nil {
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

// TestPagesAreWritten checks that the pages of docs, and the charts that they show, are those
// that stored results give, and that each chart that is drawn is shown.
func TestPagesAreWritten(t *testing.T) {
	const docs = "../docs"
	dir := t.TempDir()
	choosing, err := os.ReadFile(filepath.Join(docs, "choosing.md"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "choosing.md"), choosing, 0o600)
	}
	if err == nil {
		err = redraw("results", dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := filepath.Glob(filepath.Join(docs, "*.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		drawn = append(drawn, p.name)
	}
	for _, name := range drawn {
		got, err := os.ReadFile(filepath.Join(docs, filepath.Base(name)))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, filepath.Base(name)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not what go run ./bench -redraw writes: %v", filepath.Base(name), err)
		}
	}
}

// TestResultsAreComplete checks that each experiment has its results in the repository.
func TestResultsAreComplete(t *testing.T) {
	checkResults(t, "results", experiments)
	checkResults(t, "results", scaleExperiments)
}
