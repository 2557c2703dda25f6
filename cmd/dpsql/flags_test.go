package main

import (
	"reflect"
	"strings"
	"testing"

	"dpsql/cmd/dpsql/internal/render"
	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
)

func TestParseFlags(t *testing.T) {
	tests := []struct {
		args string // blank-separated; SQL stands for a statement with blanks
		want options
	}{
		{"x.db", options{database: "x.db"}},
		{"x.db SQL", options{database: "x.db", sql: "SQL", hasSQL: true}},
		{"-json x.db SQL", options{database: "x.db", sql: "SQL", hasSQL: true, format: render.JSON}},
		{"x.db --json SQL", options{database: "x.db", sql: "SQL", hasSQL: true, format: render.JSON}},
		{"x.db SQL -csv", options{database: "x.db", sql: "SQL", hasSQL: true, format: render.CSV}},
		{"x.db -markdown", options{database: "x.db", format: render.Markdown}},
		{"-format=table x.db", options{database: "x.db", format: render.Table}},
		{"-json -format csv x.db", options{database: "x.db", format: render.CSV}},
		{"-csv -json=false x.db", options{database: "x.db", format: render.CSV}},
		{"x.db -f s.sql", options{database: "x.db", script: "s.sql"}},
		{"-f - x.db", options{database: "x.db", script: "-"}},
		{"-role analyst x.db", options{database: "x.db", role: engine.Analyst}},
		{"-explain x.db", options{database: "x.db", explain: true}},
		{"-v zip=15213 x.db -v :city='New=York'", options{database: "x.db", args: arguments{"zip": query.Int(15213), "city": query.Text("New=York")}}},
		{"-readonly x.db", options{database: "x.db", readonly: true}},
		{"-json -- -odd.db -SQL", options{database: "-odd.db", sql: "-SQL", hasSQL: true, format: render.JSON}},
		{"./help", options{database: "./help"}},
		{"-help", options{help: true}},
		{"-h", options{help: true}},
		{"x.db --help", options{help: true}},
		{"--version", options{version: true}},
	}
	for _, test := range tests {
		if test.want.role == "" {
			test.want.role = engine.Curator
		}
		got, err := parseFlags(strings.Fields(test.args))
		if test.want.args == nil {
			test.want.args = arguments{}
		}
		got.assigned = nil
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, %v, want %+v", test.args, got, err, test.want)
		}
	}
}

func TestParseFlagsRefuses(t *testing.T) {
	tests := []struct{ args, message string }{
		{"", "no database is named"},
		{"-json", "no database is named"},
		{"x.db a b", "2 arguments follow the database, where one statement may stand"},
		{"x.db -f s.sql SQL", "both -f and a statement are given"},
		{"-jsn x.db", "there is no flag -jsn"},
		{"x.db -f", "the flag -f needs a value"},
		{"-format xml x.db", `there is no format "xml"`},
		{"-role root x.db", `there is no role "root"`},
		{"-v zip x.db", `-v takes name=value, not "zip"`},
		{"-v 1=2 x.db", `"1" is not a name for a parameter`},
		{"-json=maybe x.db", `invalid boolean value "maybe" for -json`},
	}
	for _, test := range tests {
		_, err := parseFlags(strings.Fields(test.args))
		e, ok := err.(*sqlerr.Error)
		if !ok || e.Code != sqlerr.Invalid || e.Message != test.message || e.Hint == "" {
			t.Errorf("%s: got %#v, want %q with a hint", test.args, err, test.message)
		}
	}
}

// A wrong usage must be reported in the format that was asked for, even when
// the flag stands behind what is wrong with it.
func TestParseFlagsKeepsFormatOnError(t *testing.T) {
	for _, args := range []string{"-json -role root x.db", "x.db a b -json", "-json -nonsense"} {
		if o, err := parseFlags(strings.Fields(args)); err == nil || o.format != render.JSON {
			t.Errorf("%s: format %q, error %v", args, o.format, err)
		}
	}
}
