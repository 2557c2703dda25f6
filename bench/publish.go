package main

import (
	"bufio"
	"bytes"
	_ "embed"
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
	"time"

	"dpsql/bench/report"
)

// kind is one of the two reports.
type kind struct {
	file, command string
	of            []experiment
	head          func(*bench, io.Writer, kind, []*report.Section)
}

var (
	benchmarks  = kind{"benchmarks.md", "go run ./bench", experiments, (*bench).head}
	scaleReport = kind{"scale.md", "go run ./bench -scale", scaleExperiments, (*bench).scaleHead}
)

// publish writes the sections and their charts into a folder. Without a folder it
// writes the text alone to out.
func (b *bench) publish(kind kind, sections []*report.Section, dir string, out io.Writer) error {
	var text bytes.Buffer
	kind.head(b, &text, kind, sections)
	for _, s := range sections {
		if err := b.write(&text, s, dir); err != nil {
			return err
		}
	}
	if dir == "" {
		_, err := out.Write(text.Bytes())
		return err
	}
	file := filepath.Join(dir, kind.file)
	b.note("%s", file)
	return os.WriteFile(file, text.Bytes(), 0o644)
}

// write writes one section, and its charts into the folder.
func (b *bench) write(w io.Writer, s *report.Section, dir string) error {
	return s.Markdown(w, func(c *report.Chart) (string, error) { return c.Name + ".svg", b.draw(c, dir) })
}

// charts are the texts of the charts of both reports. Their points are in pointsFile,
// in the folder of the pages.
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

// pointsFile holds the points of all charts, so that they can be drawn again without
// measuring.
const pointsFile = "charts.csv"

// draw renders a chart. If there is a folder, draw stores the chart there, and replaces
// the chart's points in the folder's file.
func (b *bench) draw(c *report.Chart, dir string) error {
	if dir == "" {
		return c.SVG(io.Discard)
	}
	stored, err := readPoints(dir)
	if err != nil {
		return err
	}
	stored = append(slices.DeleteFunc(stored, func(old *report.Chart) bool { return old.Name == c.Name }), c)
	slices.SortFunc(stored, func(a, b *report.Chart) int { return strings.Compare(a.Name, b.Name) })
	var points bytes.Buffer
	if err := report.WritePoints(&points, stored); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, pointsFile), points.Bytes(), 0o644); err != nil {
		return err
	}
	return store(c, dir)
}

// readPoints reads the stored points of a folder, if it has any.
func readPoints(dir string) ([]*report.Chart, error) {
	data, err := os.ReadFile(filepath.Join(dir, pointsFile))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return report.ReadPoints(bytes.NewReader(data))
}

// redraw draws all charts of a folder from their stored points.
func redraw(dir string) error {
	stored, err := readPoints(dir)
	if err != nil {
		return err
	}
	for _, s := range stored {
		c := newChart(s.Name)
		c.Series = s.Series
		if err := store(c, dir); err != nil {
			return err
		}
	}
	return nil
}

// store writes a chart into a folder.
func store(c *report.Chart, dir string) error {
	var svg bytes.Buffer
	if err := c.SVG(&svg); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, c.Name+".svg"), svg.Bytes(), 0o644)
}

// head says what was run and on what machine.
func (b *bench) head(w io.Writer, kind kind, sections []*report.Section) {
	fmt.Fprintf(w, `# Benchmarks

Written by %s: do not edit. Each section ends with the command that makes it again, the time it took, the seed of its data, its repetitions and the machine.

- Data are drawn with the seed (W2 and W3 have seeds of their own). Noise comes from the system's generator and has no seed.
- Measurements of error are repeated with fresh noise; "a ± b" is the mean and the half-width of its 95 %% confidence interval
  (Student's t). RMS is the root of the mean square over repetitions and queries. Errors are absolute, in counts. Neighbours differ by one row.
- A query that is asked again gets its first answer, free, as in the product.
- Times of answers and builds are the least of several, in %s.
- The whole run took %.0f minutes.

`, "`"+b.command(kind)+"`", aboutClock, time.Since(b.start).Minutes())
	for _, s := range sections {
		fmt.Fprintf(w, "- [%s](#%s)\n", s.Title, anchor(s.Title))
	}
	fmt.Fprint(w, "\n## Where dpsql is not the best\n\nThe figures below say so, experiment by experiment:\n\n")
	for _, s := range sections {
		fmt.Fprint(w, losses(s))
	}
	fmt.Fprintln(w)
}

// losses returns the lines that say where a section found something better.
func losses(s *report.Section) string {
	var b strings.Builder
	for _, text := range s.Saying(lost) {
		fmt.Fprintf(&b, "- [%s](#%s): %s\n", s.Title, anchor(s.Title), text)
	}
	return b.String()
}

func (b *bench) command(kind kind) string {
	if b.quick {
		return kind.command + " -quick"
	}
	return kind.command
}

// anchor returns the anchor that a renderer of Markdown gives to a heading.
func anchor(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case strings.ContainsRune(":,|=.'", r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// load says how busy the machine was recently, if the system reports it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return ""
	}
	return ", load average " + fields[2]
}

// cpu returns the processor's model, if the system reports it.
func cpu() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "an unnamed processor"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "model name"); ok {
			return strings.Trim(name, "\t :")
		}
	}
	return "an unnamed processor"
}

// wholeRun matches the line about the whole run, in the head of a report made in one
// go.
var wholeRun = regexp.MustCompile(`(?m)^- The whole run took .*\n`)

// replace replaces sections and their charts in the folder's report, and leaves the
// others as they are.
func (b *bench) replace(kind kind, sections []*report.Section, dir string) error {
	file := filepath.Join(dir, kind.file)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := string(data)
	for _, s := range sections {
		var section bytes.Buffer
		if err := b.write(&section, s, dir); err != nil {
			return err
		}
		if text, err = replaced(text, "## "+s.Title+"\n", section.String()); err != nil {
			return err
		}
		text = relisted(text, s)
	}
	text = wholeRun.ReplaceAllString(text, "- Sections were made one by one. Each says how long it took.\n")
	b.note("%s", file)
	return os.WriteFile(file, []byte(text), 0o644)
}

// replaced returns the text with another section of the same heading.
func replaced(text, heading, section string) (string, error) {
	before, rest, found := strings.Cut(text, "\n"+heading)
	if !found {
		return "", fmt.Errorf("the report has no section %q: make it anew without -only", strings.TrimSpace(heading))
	}
	after := ""
	if i := strings.Index(rest, "\n## "); i >= 0 {
		after = rest[i+1:]
	}
	return before + "\n" + section + after, nil
}

// relisted returns the text with the section's lines in the list of what others do
// better.
func relisted(text string, s *report.Section) string {
	const heading = "\n## Where dpsql is not the best\n"
	i := strings.Index(text, heading)
	if i < 0 {
		return text
	}
	head, list := text[:i+len(heading)], text[i+len(heading):]
	end := strings.Index(list, "\n## ")
	if end < 0 {
		return text
	}
	own := "- [" + s.Title + "]("
	var kept strings.Builder
	for line := range strings.Lines(strings.TrimRight(list[:end], "\n") + "\n") {
		if !strings.HasPrefix(line, own) {
			kept.WriteString(line)
		}
	}
	return head + kept.String() + losses(s) + list[end:]
}

// passage is the template of the passage about the figures in docs/choosing.md. Each
// figure in it is read from docs/benchmarks.md.
//
//go:embed passage.md
var passage string

// The passage in docs/choosing.md is between these lines.
const (
	quoteBegin = "<!-- Written by go run ./bench from bench/passage.md and docs/benchmarks.md: do not edit. -->\n"
	quoteEnd   = "<!-- The end of what go run ./bench writes. -->\n"
)

// quote updates the figures in the folder's choosing.md, if there is one, from the
// folder's report.
func quote(dir string) error {
	file := filepath.Join(dir, "choosing.md")
	page, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	report, err := os.ReadFile(filepath.Join(dir, benchmarks.file))
	if err != nil {
		return err
	}
	text, err := quoted(string(page), string(report))
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// quoted returns the page with the figures of a report.
func quoted(page, report string) (string, error) {
	before, rest, found := strings.Cut(page, quoteBegin)
	_, after, ended := strings.Cut(rest, quoteEnd)
	if !found || !ended {
		return "", fmt.Errorf("choosing.md has no place for the figures")
	}
	f := figures(report)
	t, err := template.New("passage.md").Funcs(template.FuncMap{"figure": f.figure, "least": f.least, "most": f.most}).Parse(passage)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, nil); err != nil {
		return "", err
	}
	return before + quoteBegin + b.String() + quoteEnd + after, nil
}

// figures is the text of a report.
type figures string

// cell returns the text of a table's cell, in an experiment's section. Rows begin with
// the mechanism, whose name may be followed by its setting, or with more cells: "a | b".
// The first row that matches counts.
func (f figures) cell(experiment string, table int, row, column string) (string, error) {
	rows, err := f.table(experiment, table)
	if err != nil {
		return "", err
	}
	for i, name := range rows[0] {
		if name != column {
			continue
		}
		for _, r := range rows[1:] {
			if strings.HasPrefix(strings.Join(r, " | ")+" | ", row+" | ") || strings.HasPrefix(r[0], row+", B = ") || strings.HasPrefix(r[0], row+", share ") || strings.HasPrefix(r[0], row+", T = ") {
				return r[i], nil
			}
		}
	}
	return "", fmt.Errorf("docs/benchmarks.md, %s: table %d has no %q of %q", experiment, table, column, row)
}

// table returns a table of a section, with its header first.
func (f figures) table(experiment string, table int) (rows [][]string, err error) {
	_, text, _ := strings.Cut(string(f), "\n## "+titleOf(experiment)+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| ") {
			if rows != nil {
				if table--; table < 0 {
					return rows, nil
				}
			}
			rows = nil
			continue
		}
		if fields := strings.Split(strings.Trim(line, "| \n"), " | "); fields[0] != "---" {
			rows = append(rows, fields)
		}
	}
	return nil, fmt.Errorf("docs/benchmarks.md, %s: there are too few tables", experiment)
}

func titleOf(experiment string) string {
	for _, e := range experiments {
		if e.name == experiment {
			return e.title
		}
	}
	return ""
}

// mean matches the number that a cell begins with.
var mean = regexp.MustCompile(`^[0-9][0-9,.e+]*`)

// figure returns a mean.
func (f figures) figure(experiment string, table int, row, column string) (string, error) {
	text, err := f.cell(experiment, table, row, column)
	if m := mean.FindString(text); m != "" || err != nil {
		return m, err
	}
	return "", fmt.Errorf("docs/benchmarks.md, %s: %q of %q is %q, no number", experiment, column, row, text)
}

// least and most return the extremes of a mechanism's figures over the rows of the
// ratio experiment.
func (f figures) least(mechanism string) (string, error) { return f.extreme(mechanism, -1) }
func (f figures) most(mechanism string) (string, error)  { return f.extreme(mechanism, 1) }

func (f figures) extreme(mechanism string, sign float64) (found string, err error) {
	rows, err := f.table("ratio", 0)
	if err != nil {
		return "", err
	}
	top := math.Inf(-1)
	for _, r := range rows[1:] {
		if r[1] != mechanism {
			continue
		}
		for _, c := range r[3:] {
			x, err := strconv.ParseFloat(mean.FindString(c), 64)
			if err != nil {
				return "", err
			}
			if sign*x > top {
				top, found = sign*x, mean.FindString(c)
			}
		}
	}
	return found, nil
}
