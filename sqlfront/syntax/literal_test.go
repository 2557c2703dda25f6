package syntax

import (
	"testing"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Arguments are written as literals, of the other type where a statement refuses their own. Places in the text with
// literals are those of the text without, whatever their lengths.
func TestLiteral(t *testing.T) {
	for _, test := range []struct {
		text string
		args []query.Value
		want string
		code sqlerr.Code
		at   int
	}{
		{"SET accuracy = ?", []query.Value{query.Text("0.5")}, "SET accuracy =  0.5 ", "", 0},
		{"CREATE VIEW v AS SELECT 1-:n AS é, :s AS b WHERE 1 = :n", []query.Value{query.Int(-3), query.Text("7'")}, "CREATE VIEW v AS SELECT 1- -3  AS é,  '7'''  AS b WHERE 1 =  -3 ", "", 0},
		{"CREATE VIEW v AS SELECT c FROM t WHERE z = :z", []query.Value{query.Text("7")}, "CREATE VIEW v AS SELECT c FROM t WHERE z =  '7' ", "", 0},
		{`SELECT :"c", :c FROM :"t" WHERE :"c" = :n`, []query.Value{query.Text(`a "b"`), query.Text("x"), query.Int(2024), query.Int(7)},
			`SELECT "a ""b""",  'x'  FROM "2024" WHERE "a ""b""" =  7 `, "", 0},
		{`SELECT "c:", a::"char", ':"x"' FROM :"t" WHERE`, []query.Value{query.Text("long name")}, "", sqlerr.Malformed, 46},
		{"CREATE USER ann PASSWORD ?", []query.Value{query.Int(7)}, "CREATE USER ann PASSWORD  '7' ", "", 0},
		{"RETIRE PERIOD ? OF t", []query.Value{query.Int(2026)}, "RETIRE PERIOD  '2026'  OF t", "", 0},
		{"CREATE PRIVATE TABLE t (a TEXT IN (?, ?)) FROM r WITH (epsilon = ?)", []query.Value{query.Int(1), query.Text("2"), query.Text("1")},
			"CREATE PRIVATE TABLE t (a TEXT IN ( '1' ,  '2' )) FROM r WITH (epsilon =  1 )", "", 0},
		{"CREATE PRIVATE TABLE t (a REAL BETWEEN ? AND 1 STEP ?) FROM r", []query.Value{query.Text("-0.5"), query.Text("0.1")},
			"CREATE PRIVATE TABLE t (a REAL BETWEEN  -0.5  AND 1 STEP  0.1 ) FROM r", "", 0},
		{"CREATE PRIVATE TABLE t (a INTEGER BETWEEN ? AND ?) FROM r", []query.Value{query.Int(1000000), query.Text("x")}, "", sqlerr.Invalid, 49},
		{"DROP RELEASE ?", []query.Value{query.Text("r")}, "", sqlerr.Malformed, 14},
		{"EXPORT RELEASE r TO ? nonsense", []query.Value{query.Text("a long file name")}, "", sqlerr.Malformed, 23},
		{"EXPORT RELEASE r TO ?", nil, "", sqlerr.Invalid, 0},
		{"EXPORT RELEASE r TO ?", []query.Value{query.Text("a\x00b")}, "", sqlerr.Malformed, 21},
	} {
		r, err := Read(test.text)
		if err != nil {
			t.Fatal(err)
		}
		out, err := r.Literal(test.args)
		if sqlerr.CodeOf(err) != test.code {
			t.Errorf("%s: %v", test.text, err)
		} else if e, ok := err.(*sqlerr.Error); ok && e.Position != test.at {
			t.Errorf("%s: %v at %d, want %d", test.text, err, e.Position, test.at)
		} else if err == nil && out.Text != test.want {
			t.Errorf("%s: got\n%q, want\n%q", test.text, out.Text, test.want)
		}
	}
	for _, text := range []string{"SHOW TABLES ?", "INSERT INTO t VALUES (?)"} {
		if _, err := Read(text); sqlerr.CodeOf(err) != sqlerr.Unsupported {
			t.Errorf("%s: %v", text, err)
		}
	}
}
