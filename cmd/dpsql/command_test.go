package main

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
	"dpsql/sqlerr"
)

func TestSplitWords(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{".help", []string{".help"}},
		{"  .read\t a.sql \r", []string{".read", "a.sql"}},
		{`.read "a b.sql"`, []string{".read", "a b.sql"}},
		{`.read 'it''s' "" x`, []string{".read", "it's", "", "x"}},
		{`.read it's`, []string{".read", "it's"}},
	}
	for _, test := range tests {
		got, err := splitWords(test.line)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, %v, want %q", test.line, got, err, test.want)
		}
	}
	if _, err := splitWords(`.read "a`); sqlerr.CodeOf(err) != sqlerr.Malformed {
		t.Errorf("an open quote: %v", err)
	}
}

func TestCommands(t *testing.T) {
	tests := []struct {
		line string
		code sqlerr.Code // "" for success
		seen []string    // statements
	}{
		{".tables", "", []string{"SHOW TABLES"}},
		{".ta", "", []string{"SHOW TABLES"}},
		{`.schema a"b`, "", []string{`DESCRIBE "a""b"`}},
		{".t", sqlerr.Unknown, nil},
		{".", sqlerr.Unknown, nil},
		{".nonsense", sqlerr.Unknown, nil},
		{".tables x", sqlerr.Invalid, nil},
		{".schema a b", sqlerr.Invalid, nil},
		{".headers", sqlerr.Invalid, nil},
		{".headers maybe", sqlerr.Invalid, nil},
		{".echo 1", sqlerr.Invalid, nil},
		{".mode xml", sqlerr.Invalid, nil},
		{".mode json", "", nil},
		{".timer on", "", nil},
		{".timer OFF", "", nil},
		{".timer 3", sqlerr.Invalid, nil},
		{".read", sqlerr.Invalid, nil},
		{".read no-such-file.sql", sqlerr.IO, nil},
		{".read .", sqlerr.IO, nil},
		{".import a.csv", sqlerr.Invalid, nil},
		{".import --append a.csv", sqlerr.Invalid, nil},
		{".import --no a.csv t", sqlerr.Invalid, nil},
		{".import a b c", sqlerr.Invalid, nil},
		{".help", "", nil},
	}
	for _, test := range tests {
		r, session, _, _ := testRunner(render.CSV)
		err := r.command(context.Background(), test.line)
		if sqlerr.CodeOf(err) != test.code || !slices.Equal(session.seen, test.seen) {
			t.Errorf("%s: %v, statements %q", test.line, err, session.seen)
		}
	}
}

func TestQuit(t *testing.T) {
	for _, line := range []string{".quit", ".exit", ".q"} {
		r, _, _, _ := testRunner(render.CSV)
		if err := r.command(context.Background(), line); !errors.Is(err, errQuit) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestImportSwitches(t *testing.T) {
	tests := []struct {
		line, report string
		want         engine.Import
	}{
		{".import a.csv t", "imported 1 row into t (a INTEGER, b TEXT)\n", engine.Import{Path: "a.csv", Table: "t"}},
		{".import -csv --append 'a b.csv' t", "imported 1 row into t (a INTEGER, b TEXT)\n", engine.Import{Path: "a b.csv", Table: "t", Append: true, Dialect: engine.ImportDialect{Comma: ','}}},
		{".import --replace a.csv t", "imported 1 row into t (a INTEGER, b TEXT)\n", engine.Import{Path: "a.csv", Table: "t", Replace: true}},
		{".import a.tsv t --if-missing --tsv", "t exists: nothing imported\n", engine.Import{Path: "a.tsv", Table: "t", IfMissing: true, Dialect: engine.ImportDialect{Comma: '\t'}}},
		{`.import --separator ';' --quote "'" --decimal , a.csv t`, "imported 1 row into t (a INTEGER, b TEXT)\n",
			engine.Import{Path: "a.csv", Table: "t", Dialect: engine.ImportDialect{Comma: ';', Quote: '\'', Decimal: ','}}},
		{`.import --null '' a.csv t`, "imported 1 row into t (a INTEGER, b TEXT)\n", engine.Import{Path: "a.csv", Table: "t", Dialect: engine.ImportDialect{Nulls: []string{""}}}},
		{`.import a.csv --null NA t`, "imported 1 row into t (a INTEGER, b TEXT)\n", engine.Import{Path: "a.csv", Table: "t", Dialect: engine.ImportDialect{Nulls: []string{"NA"}}}},
		{`.import --null NA --null - a.csv t --quote ''`, "imported 1 row into t (a INTEGER, b TEXT)\n",
			engine.Import{Path: "a.csv", Table: "t", Dialect: engine.ImportDialect{Nulls: []string{"NA", "-"}, NoQuote: true}}},
		{`.import --skip-last 3 a.csv t`, "imported 1 row into t (a INTEGER, b TEXT)\n", engine.Import{Path: "a.csv", Table: "t", Dialect: engine.ImportDialect{SkipLast: 3}}},
		{`.import --skip 2 --encoding windows-1252 a.csv t`, "imported 1 row into t (a INTEGER, b TEXT)\n",
			engine.Import{Path: "a.csv", Table: "t", Dialect: engine.ImportDialect{Skip: 2, HasSkip: true, Encoding: "windows-1252"}}},
		{`.import --date d.m.Y --date 'm/d/Y H:M' --columns a,b a.csv t`, "imported 1 row into t (a INTEGER, b TEXT)\n",
			engine.Import{Path: "a.csv", Table: "t", Dialect: engine.ImportDialect{Dates: []string{"d.m.Y", "m/d/Y H:M"}, Columns: []string{"a", "b"}}}},
		{`.import --separator \t a.csv t`, "imported 1 row into t (a INTEGER, b TEXT)\n", engine.Import{Path: "a.csv", Table: "t", Dialect: engine.ImportDialect{Comma: '\t'}}},
	}
	for _, test := range tests {
		r, session, out, _ := testRunner(render.Table)
		if err := r.command(context.Background(), test.line); err != nil {
			t.Errorf("%s: %v", test.line, err)
		}
		if len(session.imports) != 1 || !reflect.DeepEqual(session.imports[0], test.want) || out.String() != test.report {
			t.Errorf("%s: %+v, report %q", test.line, session.imports, out)
		}
	}
}

// TestImportAsks: a person says how dates are to be read that have two forms, and a script
// is refused.
func TestImportAsks(t *testing.T) {
	for _, test := range []struct {
		yes   string
		dates []string
		asked int
	}{{"d/m/Y", []string{"d/m/Y"}, 1}, {"m/d/Y", []string{"m/d/Y"}, 2}, {"neither", nil, 2}, {"", nil, 0}} {
		r, session, _, _ := testRunner(render.Table)
		asked := 0
		if test.yes != "" {
			r.ask = func(question string) bool {
				asked++
				return strings.Contains(question, test.yes)
			}
		}
		err := r.command(context.Background(), ".import two.csv t")
		if last := session.imports[len(session.imports)-1]; !slices.Equal(last.Dialect.Dates, test.dates) || asked != test.asked || (err == nil) != (test.dates != nil) {
			t.Errorf("%q: %+v after %d questions, %v", test.yes, last, asked, err)
		}
	}
}

// The table is the help: every command stands in it, in order.
func TestHelpListsCommands(t *testing.T) {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
		if !strings.Contains(commandHelp(), "  "+c.name) || c.help == "" {
			t.Errorf("%s is not in .help", c.name)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("not in order: %q", names)
	}
}

// Every command that takes the name of a file is refused to an analyst, before
// its arguments are looked at, and under each of its abbreviations.
func TestAnalystHasNoCommandForFiles(t *testing.T) {
	files := 0
	for _, c := range commands() {
		if !strings.Contains(c.args, "FILE") {
			continue
		}
		files++
		for _, line := range []string{c.name, c.name + " x", c.name + " x.db y", c.name[:len(c.name)-1] + " /etc/passwd t", "  " + c.name + "\tx y z"} {
			r, session, out, _ := testRunner(render.CSV)
			r.role = engine.Analyst
			err := r.command(context.Background(), line)
			if code := sqlerr.CodeOf(err); code != sqlerr.Forbidden && code != sqlerr.Unknown || len(session.imports) > 0 || out.Len() > 0 {
				t.Errorf("%q: %v", line, err)
			}
		}
	}
	if files < 5 {
		t.Errorf("only %d commands take files", files)
	}
}

func TestHelpFits(t *testing.T) {
	for line := range strings.Lines(commandHelp()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth || strings.HasSuffix(line, " \n") {
			t.Errorf("%d characters, or blanks at the end: %q", n, line)
		}
	}
	for _, c := range commands() {
		if !strings.Contains(commandHelp(), "\n  "+c.name) && !strings.HasPrefix(commandHelp(), "  "+c.name) {
			t.Errorf(".help does not list %s", c.name)
		}
	}
}
