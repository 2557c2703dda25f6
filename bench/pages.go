package main

import (
	"embed"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"dpsql/bench/report"
)

// charts are the texts of the charts. Pages show those of them that they link.
var charts = []report.Chart{
	{Name: "error-support", Title: "RMS error against m: Zipf(1.05), 2²⁶ cells, n = 10⁶, ε = 1, k = 100", X: "m, cells of a query", Y: "RMS error, counts"},
	{Name: "error-queries", Title: "RMS error against k: correlated table, ε = 1", X: "k, queries", Y: "RMS error, counts"},
	{Name: "error-rows", Title: "RMS error against n: correlated table, k = 1,000, ε = 1", X: "n, rows", Y: "RMS error, counts"},
	{Name: "error-epsilon", Title: "RMS error against ε: 5,000 conjunctions on Adult", X: "ε, the budget of all queries", Y: "RMS error, counts"},
	{Name: "error-universe", Title: "RMS error against |X|, m = 1,000, ε = 1", X: "|X|, cells of the universe (unbounded text at 10³⁶)", Y: "RMS error, counts"},
	{Name: "time-universe", Title: "Time of one answer against |X|, m = 1,000", X: "|X|, cells of the universe (unbounded text at 10³⁶)", Y: "time, µs"},
	{Name: "time-support", Title: "Time of one answer against m", X: "m, cells of a query", Y: "time, µs"},
	{Name: "time-statement", Title: "Time of a statement, text to row, against m", X: "m, cells of a query", Y: "time, µs"},
	{Name: "time-build", Title: "Time to build a sparse release of 1,048,576 buckets against n", X: "n, rows", Y: "time, ms"},
	{Name: "scale-memory", Title: "Peak memory of a build against n", X: "n, rows", Y: "peak memory, MiB"},
	{Name: "scale-time", Title: "Time of a build against n", X: "n, rows", Y: "time, s"},
}

// newChart returns the chart of that name, without points.
func newChart(name string) *report.Chart {
	for _, c := range charts {
		if c.Name == name {
			return &c
		}
	}
	panic("no chart " + name)
}

// redraw writes the pages of a folder, and the charts that they show, from stored results.
func redraw(results, docs string) error {
	for _, p := range pages {
		text, err := p.from(results, docs)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(docs, p.name), []byte(text), 0o644); err != nil {
			return err
		}
		for _, c := range charts {
			if !strings.Contains(text, "]("+c.Name+".svg)") {
				continue
			}
			if err := drawStored(c, results, docs); err != nil {
				return err
			}
		}
	}
	return nil
}

// drawStored draws a chart from its stored points.
func drawStored(c report.Chart, results, docs string) error {
	points, err := os.Open(pointsOf(results, c.Name))
	if err != nil {
		return err
	}
	defer points.Close()
	if err := c.ReadPoints(points); err != nil {
		return fmt.Errorf("%s: %w", points.Name(), err)
	}
	return toFile(filepath.Join(docs, c.Name+".svg"), func(w io.Writer) error { return c.SVG(w) })
}

// templates are those of the pages. Each figure in them is read from a CSV file.
//
//go:embed pages/*.md
var templates embed.FS

// page is a page of docs that is written from a template: all of it, or the part between
// two lines.
type page struct {
	name string
	part bool
}

var pages = []page{{name: "benchmarks.md"}, {name: "scale.md"}, {name: "choosing.md", part: true}}

// What is written is between these lines, or behind the first.
const (
	writtenBegin = "<!-- Written by go run ./bench -redraw from bench/pages/%s and bench/results: do not edit. -->\n"
	writtenEnd   = "<!-- The end of what go run ./bench -redraw writes. -->\n"
)

// from returns the page's text. Of a page that is written in part, the rest is that of the
// folder.
func (p page) from(results, docs string) (string, error) {
	f := figures(results)
	t, err := template.New(p.name).Funcs(template.FuncMap{
		"figure": f.figure, "least": f.least, "most": f.most, "experiments": f.experiments,
	}).ParseFS(templates, "pages/"+p.name)
	if err != nil {
		return "", err
	}
	begin := fmt.Sprintf(writtenBegin, p.name)
	var b strings.Builder
	b.WriteString(begin)
	if err := t.Execute(&b, nil); err != nil || !p.part {
		return b.String(), err
	}
	old, err := os.ReadFile(filepath.Join(docs, p.name))
	if err != nil {
		return "", err
	}
	before, rest, found := strings.Cut(string(old), begin)
	_, after, ended := strings.Cut(rest, writtenEnd)
	if !found || !ended {
		return "", fmt.Errorf("%s has no place for the figures", p.name)
	}
	return before + b.String() + writtenEnd + after, nil
}

// figures is a folder of results.
type figures string

// table returns a table without its column of commits, the head first.
func (f figures) table(name string) (rows [][]string, commit string, err error) {
	file, err := os.Open(filepath.Join(string(f), name+".csv"))
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	return report.ReadCSV(file)
}

// settings are what may stand behind the name of a mechanism.
var settings = regexp.MustCompile(`^, (B =|T =|share) `)

// figure returns a number of a table. Rows begin with the mechanism, whose name may be
// followed by its setting, or with more cells: "a | b". The first row that matches counts.
func (f figures) figure(table, row, column string) (string, error) {
	rows, _, err := f.table(table)
	if err != nil {
		return "", err
	}
	i := slices.Index(rows[0], column)
	for _, r := range rows[1:] {
		rest, same := strings.CutPrefix(strings.Join(r, " | ")+" | ", row)
		if i < 0 || !same || !strings.HasPrefix(rest, " | ") && !settings.MatchString(rest) {
			continue
		}
		if x, err := strconv.ParseFloat(r[i], 64); err != nil || x < 1000 {
			return r[i], nil
		} else {
			return report.Number(x), nil
		}
	}
	return "", fmt.Errorf("%s.csv has no %q of %q", table, column, row)
}

// least and most return the extremes of a mechanism's figures in the table ratio.
func (f figures) least(mechanism string) (string, error) { return f.extreme(mechanism, -1) }
func (f figures) most(mechanism string) (string, error)  { return f.extreme(mechanism, 1) }

func (f figures) extreme(mechanism string, sign float64) (found string, err error) {
	rows, _, err := f.table("ratio")
	if err != nil {
		return "", err
	}
	top := math.Inf(-1)
	for _, r := range rows[1:] {
		for i, c := range r {
			if r[1] != mechanism || !strings.HasPrefix(rows[0][i], "m = ") || strings.HasSuffix(rows[0][i], " ±") {
				continue
			}
			x, err := strconv.ParseFloat(c, 64)
			if err != nil {
				return "", err
			}
			if sign*x > top {
				top, found = sign*x, c
			}
		}
	}
	return found, nil
}

// origin is what a page says about the files of an experiment.
type origin struct{ Name, Title, Commit string }

// experiments lists the experiments, of docs/scale.md or the others, with the commits of
// their figures.
func (f figures) experiments(scale bool) (list []origin, err error) {
	of := experiments
	if scale {
		of = scaleExperiments
	}
	for _, e := range of {
		one, _ := filepath.Glob(filepath.Join(string(f), e.name+".csv"))
		more, _ := filepath.Glob(filepath.Join(string(f), e.name+"-*.csv"))
		if len(one)+len(more) == 0 {
			return nil, fmt.Errorf("%s has no tables in %s", e.name, f)
		}
		var commits []string
		for _, t := range append(one, more...) {
			_, commit, err := f.table(strings.TrimSuffix(filepath.Base(t), ".csv"))
			if err != nil {
				return nil, err
			}
			commits = append(commits, commit)
		}
		slices.Sort(commits)
		list = append(list, origin{e.name, strings.ReplaceAll(e.title, "|", `\|`), strings.Join(slices.Compact(commits), ", ")})
	}
	return list, nil
}
