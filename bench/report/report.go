// Package report turns measurements into text and pictures: means with confidence
// intervals, Markdown tables, SVG plots. It does not know what was measured.
package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is a mean over independent repetitions.
type Estimate struct {
	Mean float64
	Half float64 // half-width of its 95 % confidence interval, by Student's t
	N    int     // repetitions
}

// Of returns the estimate that the samples give. The interval of a single sample is
// unknown, NaN.
func Of(samples []float64) Estimate {
	if len(samples) < 2 {
		return Estimate{stat.Mean(samples, nil), math.NaN(), len(samples)}
	}
	mean, deviation := stat.MeanStdDev(samples, nil)
	n := float64(len(samples))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	return Estimate{mean, t * deviation / math.Sqrt(n), len(samples)}
}

// RootMeanSquare returns the root of the mean square of the samples, each of which is
// the RMS of one repetition. Its interval follows from that of the mean square by the
// slope of the root.
func RootMeanSquare(samples []float64) Estimate {
	squares := make([]float64, len(samples))
	for i, x := range samples {
		squares[i] = x * x
	}
	e := Of(squares)
	e.Mean = math.Sqrt(e.Mean)
	if e.Half > 0 {
		e.Half /= 2 * e.Mean
	}
	return e
}

// UpperBound returns the exact 95 % upper confidence bound (Clopper and Pearson 1934)
// on the probability of an event seen in seen of draws draws.
func UpperBound(seen, draws int) float64 {
	if seen == draws {
		return 1
	}
	return distuv.Beta{Alpha: float64(seen + 1), Beta: float64(draws - seen)}.Quantile(0.95)
}

// LeastHits returns how often the one of several events that happens least happens in so
// many repetitions, if each happens with probability p by itself: the least number that
// one of the events or more can be expected to have, or fewer.
func LeastHits(events, repetitions int, p float64) (least int) {
	law := distuv.Binomial{N: float64(repetitions), P: p}
	for least < repetitions && float64(events)*law.CDF(float64(least)) < 1 {
		least++
	}
	return least
}

// Below reports whether e is below f by more than both half-widths.
func (e Estimate) Below(f Estimate) bool { return e.Mean+e.Half < f.Mean-f.Half }

// String returns "mean ± half".
func (e Estimate) String() string {
	if math.IsNaN(e.Half) {
		return Number(e.Mean)
	}
	return Number(e.Mean) + " ± " + Number(e.Half)
}

// Number returns three significant digits, with commas between thousands.
func Number(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return "–"
	case math.IsInf(x, 0):
		return "∞"
	case a >= 1e7 || a > 0 && a < 1e-3:
		return fmt.Sprintf("%.2g", x)
	case a >= 100 || a == math.Trunc(a):
		return commas(fmt.Sprintf("%.0f", x))
	case a >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// commas separates thousands.
func commas(digits string) string {
	sign, digits, _ := strings.Cut("|"+digits, "|")
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Table is a table of text.
type Table struct {
	Head []string
	Rows [][]string
}

// Add appends a row of the fields' default texts.
func (t *Table) Add(fields ...any) {
	var row []string
	for _, f := range fields {
		if x, ok := f.(float64); ok {
			f = Number(x)
		}
		row = append(row, fmt.Sprint(f))
	}
	t.Rows = append(t.Rows, row)
}

// Markdown writes the table; the first column is aligned left, the others right.
func (t *Table) Markdown(w io.Writer) error {
	var b strings.Builder
	line := func(fields []string) {
		for i, f := range fields {
			fields[i] = strings.ReplaceAll(f, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(fields, " | "))
	}
	line(append([]string(nil), t.Head...))
	b.WriteString("| --- |" + strings.Repeat(" ---: |", len(t.Head)-1) + "\n")
	for _, r := range t.Rows {
		line(append([]string(nil), r...))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
