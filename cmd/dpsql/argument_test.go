package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
)

func TestArgumentValue(t *testing.T) {
	tests := map[string]query.Value{
		"12": query.Int(12), "-3": query.Int(-3), "007": query.Int(7), "1.5": query.Text("1.5"), "": query.Text(""), "null": query.Null(),
		"'12'": query.Text("12"), "'it''s'": query.Text("it's"), "a' OR 1": query.Text("a' OR 1"), "99999999999999999999": query.Text("99999999999999999999"),
	}
	for text, want := range tests {
		if got := argumentValue(text); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

func TestArgumentsOfStatements(t *testing.T) {
	tests := []struct {
		statement string
		want      []query.Value
		code      sqlerr.Code
	}{
		{"SELECT COUNT(*) FROM t WHERE a = :a AND b = @b AND c = $a", []query.Value{query.Int(1), query.Text("x"), query.Int(1)}, ""},
		{"SELECT COUNT(*) FROM t WHERE a = 1", nil, ""},
		{"SELECT COUNT(*) FROM t WHERE a = :c", nil, sqlerr.Invalid},
		{"SELECT COUNT(*) FROM t WHERE a = ?", nil, sqlerr.Invalid},
	}
	for _, test := range tests {
		got, err := arguments{"a": query.Int(1), "b": query.Text("x")}.forStatement(test.statement)
		if sqlerr.CodeOf(err) != test.code || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, %v", test.statement, got, err)
		}
	}
}

func TestParameterCommand(t *testing.T) {
	r, _, out, _ := testRunner(render.CSV)
	for line, code := range map[string]sqlerr.Code{
		".parameter set :zip 15213": "", ".parameter set 1 2": sqlerr.Invalid, ".parameter frobnicate": sqlerr.Invalid,
		".parameter set city 'New York'": "", ".parameter unset nothing": "",
	} {
		if err := r.command(context.Background(), line); sqlerr.CodeOf(err) != code {
			t.Errorf("%s: %v", line, err)
		}
	}
	if err := r.command(context.Background(), ".parameter list"); err != nil || out.String() != ":city = 'New York'\n:zip = 15213\n" {
		t.Errorf("listed %q, %v", out, err)
	}
	if err := r.command(context.Background(), ".parameter clear"); err != nil || len(r.args) != 0 {
		t.Errorf("%v left, %v", r.args, err)
	}
}

// Results go where they are sent, and back.
func TestRedirection(t *testing.T) {
	r, session, out, _ := testRunner(render.CSV)
	r.dir = t.TempDir()
	session.results = map[string]*engine.Result{"SELECT 1": ints("one", int64(1)), "SELECT 2": ints("two", int64(2))}
	script := ".once a.csv\nSELECT 1;\nSELECT 2;\n.output b.csv\nSELECT 1;\nSELECT 2;\n.output\nSELECT 1;\n"
	if err := r.script(context.Background(), "", strings.NewReader(script)); err != nil {
		t.Fatal(err)
	}
	if want := "two\n2\none\n1\n"; out.String() != want {
		t.Errorf("on the screen %q, want %q", out, want)
	}
	for name, want := range map[string]string{"a.csv": "one\n1\n", "b.csv": "one\n1\ntwo\n2\n"} {
		if got, err := os.ReadFile(filepath.Join(r.dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
		}
	}
}

// Nothing that could be charged for is run under .explain on.
func TestExplaining(t *testing.T) {
	r, session, _, _ := testRunner(render.CSV)
	script := ".explain SELECT 0;\n.explain on\nSELECT 1; WITH a AS (b) SELECT 2; SET x = 1; SHOW TABLES; DESCRIBE t; CREATE RELEASE r; DROP RELEASE r; select(3);\n.explain off\nSELECT 4;"
	if err := r.script(context.Background(), "", strings.NewReader(script)); err != nil {
		t.Fatal(err)
	}
	want := []string{"EXPLAIN SELECT 0", "EXPLAIN SELECT 1", "EXPLAIN WITH a AS (b) SELECT 2", "SET x = 1", "SHOW TABLES", "DESCRIBE t", "EXPLAIN select(3)", "SELECT 4"}
	if !slices.Equal(session.seen, want) {
		t.Errorf("ran %q, want %q", session.seen, want)
	}
}
