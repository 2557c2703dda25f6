package main

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dpsql/engine"
)

// printedLine is a line of output.
type printedLine struct {
	text  string
	cells []allowance // of a row of a private answer, one a column; else nil
}

// allowance is how far a number may be from the one that a page shows.
type allowance struct {
	absolute float64
	relative float64
}

// nearly is the allowance of numbers that depend on the noisy number of rows, such
// as the margins of a release whose size was chosen by it.
var nearly = allowance{relative: 0.25}

// unbound is the allowance of a number that is not compared.
var unbound = allowance{absolute: math.Inf(1)}

func (a allowance) admits(want, got float64) bool {
	return math.Abs(want-got) <= a.absolute+a.relative*math.Abs(want)+1e-9
}

// noisy is the allowance of a number with a margin. Where the noise is discrete
// Laplace of scale b, a margin at confidence c is at least b·ln(1/(1−c)), and
// two draws differ by more than t with probability (1 + t/2b)·exp(−t/b): below
// 5e-10 at t = 24b. Sums of such noise and Gaussian noise have lighter tails for
// the same margin. At 95 % it is 8 margins.
func noisy(margin, confidence float64) allowance {
	return allowance{absolute: 1 + 24*margin/math.Log(1/(1-confidence))}
}

// printed returns lines whose numbers have no allowances.
func printed(lines []string) []printedLine {
	out := make([]printedLine, len(lines))
	for i, l := range lines {
		out[i].text = l
	}
	return out
}

func texts(lines []printedLine) string {
	all := make([]string, len(lines))
	for i, l := range lines {
		all[i] = l.text
	}
	return strings.Join(all, "\n")
}

// tableHead is how many lines a table has above its rows.
const tableHead = 3

// annotated adds to the rows of a private answer, printed as a table, how far each
// number may be from that of another answer. Numbers from a sketch may be
// anything: one that shares a bucket with a large count is off by that count. This
// is as rare as margins allow, which is far more often than a test may fail.
func annotated(lines []string, r *engine.Result, sketched bool) []printedLine {
	out := printed(lines)
	if r == nil || len(lines) < tableHead+len(r.Rows) || !strings.HasPrefix(lines[0], "┌") {
		return out
	}
	for i := range r.Rows {
		cells := make([]allowance, len(r.Columns))
		for j := range cells {
			if m, ok := r.Answer.Margins[i][j].(float64); ok && sketched {
				cells[j] = unbound
			} else if ok {
				cells[j] = noisy(m, r.Answer.Confidence)
			} else if r.Columns[j].Type == "REAL" { // a MARGIN
				cells[j] = nearly
			}
		}
		out[tableHead+i].cells = cells
	}
	return out
}

// compare returns what is wrong with the lines that a page shows.
func compare(shown []string, got []printedLine, about bool) error {
	if len(shown) != len(got) {
		return fmt.Errorf("the page shows %d lines, and there are %d", len(shown), len(got))
	}
	var header string // of a table in CSV that tells margins
	sized := -1       // the column of a listing that has sizes in bytes, which follow from noise
	for i, l := range got {
		if slices.Contains(strings.Split(l.text, ","), "margin") {
			header = l.text
		}
		if cells := cellsOf(l.text); strings.HasPrefix(l.text, "┌") {
			sized = -1
		} else if slices.Contains(cells, "bytes") {
			sized = slices.Index(cells, "bytes")
		} else if sized >= 0 && len(cells) > sized && l.cells == nil {
			l.cells = make([]allowance, len(cells))
			for j := range l.cells {
				if about {
					l.cells[j] = nearly
				}
			}
			l.cells[sized] = unbound
		}
		if !same(shown[i], l, header, about) {
			return fmt.Errorf("the page shows\n%s\nfor\n%s", shown[i], l.text)
		}
	}
	return nil
}

// same reports whether a page may show a line for one that was printed.
func same(shown string, got printedLine, header string, about bool) bool {
	a, b := steady(shown), steady(got.text)
	switch {
	case a == b:
		return true
	case got.cells != nil:
		return sameFields(cellsOf(a), cellsOf(b), func(i int) allowance { return got.cells[i] })
	case strings.HasPrefix(b, `{"columns":`):
		return sameJSON(a, b)
	case strings.Contains(b, " · cost "):
		return sameFooter(a, b)
	case strings.Contains(b, "±"):
		return sameTokens(strings.Fields(a), strings.Fields(b))
	case header != "" && strings.Count(header, ",") == strings.Count(b, ","):
		return sameCSV(strings.Split(header, ","), strings.Split(a, ","), strings.Split(b, ","))
	case about:
		return sameFields(strings.FieldsFunc(a, punctuation), strings.FieldsFunc(b, punctuation), func(int) allowance { return nearly })
	}
	return false
}

func punctuation(r rune) bool { return strings.ContainsRune(" │,%():", r) }

// These differ from run to run: times, digests, and the width of tables.
var (
	moments = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	digests = regexp.MustCompile(`(^|[ ,])[0-9a-f]{16}($|[ ,])`)
	took    = regexp.MustCompile(`(^|· |^time )(< )?[0-9.]+ (ms|s)$`)
	runs    = regexp.MustCompile(` +|─+`)
	drawing = regexp.MustCompile(`[█▒├┤─]+`)
)

// steady removes from a line what differs from run to run.
func steady(l string) string {
	l = moments.ReplaceAllString(l, "TIME")
	l = digests.ReplaceAllString(l, "${1}DIGEST$2")
	l = took.ReplaceAllString(l, "${1}TIME")
	if !strings.Contains(l, " · cost ") && strings.Contains(l, "±") {
		l = drawing.ReplaceAllString(l, " ")
	}
	return strings.TrimRight(runs.ReplaceAllStringFunc(l, func(s string) string { return s[:len(string([]rune(s)[:1]))] }), " ")
}

// cellsOf cuts a row of a table.
func cellsOf(row string) []string {
	cells := strings.Split(strings.Trim(row, "│ "), "│")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// sameFields compares texts exactly, and numbers within their allowances.
func sameFields(a, b []string, allowed func(int) allowance) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		x, err := strconv.ParseFloat(a[i], 64)
		y, err2 := strconv.ParseFloat(b[i], 64)
		if err != nil || err2 != nil || !allowed(i).admits(x, y) {
			return false
		}
	}
	return true
}

// sameFooter compares the lines below answers. Margins may differ a little.
func sameFooter(a, b string) bool {
	x, y := strings.Split(a, " · "), strings.Split(b, " · ")
	return len(x) == len(y) && slices.Equal(x[1:], y[1:]) &&
		sameFields(strings.Fields(x[0]), strings.Fields(y[0]), func(int) allowance { return nearly })
}

// sameTokens compares a line of a chart, where a number stands before its ± and
// margin.
func sameTokens(a, b []string) bool {
	return sameFields(a, b, func(i int) allowance {
		switch {
		case i > 0 && b[i-1] == "±":
			return nearly
		case i+2 < len(b) && b[i+1] == "±":
			if m, err := strconv.ParseFloat(b[i+2], 64); err == nil {
				return noisy(m, 0.95)
			}
		}
		return allowance{}
	})
}

// sameCSV compares a row of CSV. A column called margin is about the column before
// it.
func sameCSV(header, a, b []string) bool {
	if len(header) != len(b) {
		return false
	}
	return sameFields(a, b, func(i int) allowance {
		switch {
		case header[i] == "margin":
			return nearly
		case i+1 < len(b) && header[i+1] == "margin":
			if m, err := strconv.ParseFloat(b[i+1], 64); err == nil {
				return noisy(m, 0.95)
			}
		}
		return allowance{}
	})
}

// sameJSON compares answers as programs read them.
func sameJSON(a, b string) bool {
	var x, y map[string]any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	confidence, _ := y["confidence"].(float64)
	margins, _ := y["margins"].([]any)
	near := func(p, q any, i, j int) bool {
		m, ok := margins[i].([]any)[j].(float64)
		v, isNumber := p.(float64)
		w, both := q.(float64)
		return p == q || ok && isNumber && both && noisy(m, confidence).admits(v, w)
	}
	rows, ok := x["rows"].([]any)
	others, ok2 := y["rows"].([]any)
	if !ok || !ok2 || len(rows) != len(others) || len(margins) != len(rows) {
		return false
	}
	for i := range rows {
		p, q := rows[i].([]any), others[i].([]any)
		for j := range q {
			if len(p) != len(q) || !near(p[j], q[j], i, j) {
				return false
			}
		}
	}
	for _, name := range []string{"rows", "margins"} {
		delete(x, name)
		delete(y, name)
	}
	return reflect.DeepEqual(x, y)
}
