package main

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"time"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
)

// example is one result to render.
type example struct {
	statement string
	result    *engine.Result
}

func ints(name string, values ...any) *engine.Result {
	r := &engine.Result{Columns: []engine.Column{{Name: name, Type: "INTEGER"}}, Elapsed: 100 * time.Microsecond}
	for _, v := range values {
		r.Rows = append(r.Rows, []any{v})
	}
	return r
}

func answered(r *engine.Result, a engine.Answer) *engine.Result {
	a.Confidence = 0.95
	r.Answer = &a
	return centred(r)
}

// centred gives the values of a result intervals of their margins, whose middle they are.
func centred(r *engine.Result) *engine.Result {
	for i, row := range r.Answer.Margins {
		r.Answer.Intervals = append(r.Answer.Intervals, make([]any, len(row)))
		for j, m := range row {
			if m, ok := m.(float64); ok {
				value := float64(r.Rows[i][j].(int64))
				r.Answer.Intervals[i][j] = engine.Interval{Low: value - m, High: value + m}
			}
		}
	}
	return r
}

// examples are the shapes a result can have.
func examples() []example {
	wide := &engine.Result{
		Columns: []engine.Column{{Name: "candidate", Type: "TEXT"}, {Name: "margin", Type: "REAL"}, {Name: "note|naïve_x", Type: "TEXT"}},
		Rows: [][]any{
			{"adm_zip", 8.0, "chosen"},
			{"日本語", nil, "a|b\nnext\tline \x1b[31m <b>&amp; *x* \\"},
			{"", 1e-7, "say \"hi\", twice"},
		},
	}
	grouped := answered(ints("count", int64(12), int64(-3)), engine.Answer{
		Margins: [][]any{{5.0}, {12.5}}, Via: "cells", Mechanism: "projection", Support: "4096", Verified: true})
	return []example{
		{"SELECT projection", answered(ints("count", int64(57)), engine.Answer{
			Margins: [][]any{{8.0}}, Via: "adm_zip", Mechanism: "projection", Support: "2", Verified: true})},
		{"SELECT smw", answered(ints("count", int64(1234567)), engine.Answer{
			Margins: [][]any{{194.0}}, Via: "adm_live", Mechanism: "smw", Support: "25200", Verified: true})},
		{"SELECT unverified", func() *engine.Result {
			r := answered(ints("count", int64(5)), engine.Answer{
				Margins: [][]any{{nil}}, Via: "adm_live", Mechanism: "smw", Support: "3"})
			r.Warnings = []string{"adm_live has no runs left"}
			return r
		}()},
		{"SELECT direct", answered(ints("count", int64(48900)), engine.Answer{
			Margins: [][]any{{50.0}}, Via: "direct", Mechanism: "direct", Support: "infinite", Verified: true,
			Cost: engine.Cost{Rho: 0.000768}})},
		{"SELECT constant", answered(ints("count", int64(0)), engine.Answer{
			Margins: [][]any{{0.0}}, Via: "constant", Mechanism: "constant", Support: "0", Verified: true})},
		{"SELECT grouped", grouped},
		{"SELECT uneven", func() *engine.Result {
			r := answered(ints("count", int64(5880)), engine.Answer{Margins: [][]any{{134.0}}, Via: "low", Mechanism: "marginals", Support: "7",
				Verified: true, Simulated: true})
			r.Answer.Intervals[0][0] = engine.Interval{Low: 5798, High: 6014}
			return r
		}()},
		{"EXPLAIN", wide},
		{"SHOW nothing", &engine.Result{Columns: wide.Columns}},
		{"SELECT NULL", ints("only", nil, int64(1))},
		{"CREATE RELEASE r ON t USING PROJECTION;", &engine.Result{
			Elapsed: 1200 * time.Millisecond, Warnings: []string{"δ·n is above 0.1"}}},
	}
}

// onConsole renders the examples one after the other and returns both streams.
func onConsole(f render.Format, terminal bool, width int) (out, errs string) {
	var o, e bytes.Buffer
	c := testConsole(&o, &e, f)
	c.outTTY, c.width = terminal, func() int { return width }
	for _, x := range examples() {
		if err := c.result(x.statement, x.result); err != nil {
			return "", err.Error()
		}
	}
	return o.String(), e.String()
}

func testConsole(out, errs *bytes.Buffer, f render.Format) *console {
	return &console{out: bufio.NewWriter(out), err: errs, format: f, width: func() int { return 0 }, errWidth: func() int { return 0 }}
}

func TestRendering(t *testing.T) {
	tests := []struct {
		name     string
		format   render.Format
		terminal bool
		width    int
	}{
		{"table", render.Table, false, 0},
		{"terminal", render.Table, true, 60},
		{"narrow", render.Table, true, 40},
		{"records", render.Table, true, 30},
		{"csv", render.CSV, false, 0},
		{"json", render.JSON, false, 0},
		{"markdown", render.Markdown, false, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, errs := onConsole(test.format, test.terminal, test.width)
			golden(t, test.name+".txt", "--- standard output\n"+out+"--- standard error\n"+errs)
		})
	}
}

func TestTag(t *testing.T) {
	tests := map[string]string{
		"create private table if not exists t": "CREATE PRIVATE TABLE",
		"CREATE\n  RELEASE r ON t":             "CREATE RELEASE",
		"DROP MECHANISM m;":                    "DROP MECHANISM",
		"create source w using postgres":       "CREATE SOURCE",
		"DROP SOURCE w":                        "DROP SOURCE",
		"SET accuracy = 5;":                    "SET",
		"SET mechanism = auto;":                "SET",
		";":                                    "",
	}
	for statement, want := range tests {
		if got := tag(statement); got != want {
			t.Errorf("tag(%q) = %q, want %q", statement, got, want)
		}
	}
}

// fakePager takes every text, or none.
type fakePager struct {
	takes bool
	seen  []byte
}

func (p *fakePager) Show(text []byte) bool { p.seen = text; return p.takes }

// What the pager does not show is printed.
func TestPagedResult(t *testing.T) {
	for _, takes := range []bool{true, false} {
		r, _, out, _ := testRunner(render.Table)
		p := &fakePager{takes: takes}
		r.console.pager = p
		if err := r.console.result("SHOW LEDGER", ints("n", int64(1), int64(2))); err != nil {
			t.Fatal(err)
		}
		if want := string(p.seen); strings.Count(want, "\n") != 6 || takes && out.Len() > 0 || !takes && out.String() != want {
			t.Errorf("taken %v: the pager saw %q, printed %q", takes, p.seen, out)
		}
	}
}
