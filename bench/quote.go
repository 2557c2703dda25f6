package main

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// passage is what docs/choosing.md says of the figures, a template: each figure in it is
// read off docs/benchmarks.md.
//
//go:embed passage.md
var passage string

// The passage stands in docs/choosing.md between these lines.
const (
	quoteBegin = "<!-- Written by go run ./bench from bench/passage.md and docs/benchmarks.md: do not edit. -->\n"
	quoteEnd   = "<!-- The end of what go run ./bench writes. -->\n"
)

// quote puts the figures of the report in a folder into the folder's choosing.md,
// if there is one.
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

// cell returns what a table of an experiment's section has in a row and column; of
// rows, which begin with the mechanism, the first counts, and the number that a
// mechanism was given may follow its name.
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
			if r[0] == row || strings.HasPrefix(r[0], row+", B = ") || strings.HasPrefix(r[0], row+", T = ") {
				return r[i], nil
			}
		}
	}
	return "", fmt.Errorf("docs/benchmarks.md, %s: table %d has no %q of %q", experiment, table, column, row)
}

// table returns a table of a section, its head first.
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

// mean is the number that a cell begins with.
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
