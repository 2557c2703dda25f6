package importer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dpsql/internal/importer"
	"dpsql/query"
	"dpsql/sqlerr"

	_ "modernc.org/sqlite"
)

func memory(t testing.TB, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return db
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// imported runs Import in a transaction, which it commits unless there is an error.
func imported(t testing.TB, db *sql.DB, o importer.Options) (importer.Report, error) {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	r, err := importer.Import(context.Background(), tx, o)
	if err != nil {
		return r, err
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return r, nil
}

// contents returns the rows of a table as SQL literals.
func contents(t testing.TB, db *sql.DB, table string, columns []importer.Column) []string {
	t.Helper()
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = "quote(" + query.Quoted(c.Name) + ")"
	}
	found, err := db.Query("SELECT " + strings.Join(parts, "||' '||") + " FROM " + query.Quoted(table) + " ORDER BY rowid")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	var out []string
	for found.Next() {
		var s string
		if err := found.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func describe(columns []importer.Column) string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, c.Name+" "+c.Type)
	}
	return strings.Join(parts, ", ")
}

func TestImport(t *testing.T) {
	tests := []struct {
		name, file, text, columns string
		rows                      []string
	}{
		{"types", "x.csv", "i,r,t\n1,1.5,a\n-2,2,\n,,7\n", "i INTEGER, r REAL, t TEXT", []string{"1 1.5 'a'", "-2 2.0 ''", "NULL NULL '7'"}},
		{"no newline at the end", "x.csv", "i\n1", "i INTEGER", []string{"1"}},
		{"header only", "x.csv", "a,b\n", "a TEXT, b TEXT", nil},
		{"empty column", "x.csv", "a,b\n,1\n", "a TEXT, b INTEGER", []string{"'' 1"}},
		{"crlf, quotes", "x.csv", "a,b\r\n\"x, \"\"y\"\"\",1\r\n\"two\nlines\",2\r\n", "a TEXT, b INTEGER", []string{"'x, \"y\"' 1", "'two\nlines' 2"}},
		{"byte order mark", "x.csv", "\ufeffa\n1\n", "a INTEGER", []string{"1"}},
		{"tabs", "x.tsv", "a\tb\n1,5\t2\n", "a TEXT, b INTEGER", []string{"'1,5' 2"}},
		{"tabs, upper case", "X.TAB", "a\tb\n1\t2\n", "a INTEGER, b INTEGER", []string{"1 2"}},
		{"names", "x.csv", " a ,\"b\"\"c\",select,d-e>\n1,2,3,4\n", "a INTEGER, b\"c INTEGER, select INTEGER, d-e> INTEGER", []string{"1 2 3 4"}},
		{"blanks of texts are kept", "x.csv", "a,b\n x, 1\ny ,\n", "a TEXT, b INTEGER", []string{"' x' 1", "'y ' NULL"}},
		{"not UTF-8 only by looks", "x.csv", "a\né\n\ufffd\n", "a TEXT", []string{"'é'", "'\ufffd'"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db := memory(t)
			r, err := imported(t, db, importer.Options{Path: write(t, test.file, test.text), Table: `t"1`})
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(r.Columns); got != test.columns {
				t.Errorf("columns %s, want %s", got, test.columns)
			}
			if got := contents(t, db, `t"1`, r.Columns); !slices.Equal(got, test.rows) || r.Rows != int64(len(test.rows)) {
				t.Errorf("%d rows %q, want %q", r.Rows, got, test.rows)
			}
		})
	}
}

// TestDialects imports texts as offices write them, and says how they are written.
func TestDialects(t *testing.T) {
	for _, c := range []struct {
		name, text, want, types string
		dialect                 importer.Dialect
	}{
		{"semicolons.csv", "ort;kosten\nBonn;1234,5\nUlm;7\n", "Bonn|1234.5|Ulm|7.0", "TEXT REAL", importer.Dialect{Comma: ';', Quote: '"', Decimal: ','}},
		{"points.csv", "a;b;c\n1,5;2.5;x\n2,5;3.5;y\n", "1,5|2.5|x|2,5|3.5|y", "TEXT REAL TEXT", importer.Dialect{Comma: ';', Quote: '"', Decimal: '.'}},
		{"mixed.csv", "a;b\n1,5;2\n2.5;3\n", "1,5|2|2.5|3", "TEXT INTEGER", importer.Dialect{Comma: ';', Quote: '"', Decimal: '.'}},
		{"commas.csv", "a,b;c\n\"1,5\",2\n", "1,5|2", "TEXT INTEGER", importer.Dialect{Comma: ',', Quote: '"', Decimal: '.'}},
		{"quoted.csv", "'a;x';'b'\n'it''s \"so\"';2\n", "it's \"so\"|2", "TEXT INTEGER", importer.Dialect{Comma: ';', Quote: '\'', Decimal: '.'}},
		{"inside.csv", "\"a,b,c\";d\n1;2\n", "1|2", "INTEGER INTEGER", importer.Dialect{Comma: ';', Quote: '"', Decimal: '.'}},
		{"bars.txt", "a|b\n1|-,5\n", "1|-,5", "INTEGER TEXT", importer.Dialect{Comma: '|', Quote: '"', Decimal: '.'}},
		{"one.csv", "\ufeffa\n1,5\n", "", "", importer.Dialect{}},
		{"tabs.tsv", "a;b\tc\n1\t2\n", "1|2", "INTEGER INTEGER", importer.Dialect{Comma: '\t', Quote: '"', Decimal: '.'}},
	} {
		db := memory(t)
		r, err := imported(t, db, importer.Options{Path: write(t, c.name, c.text), Table: "t"})
		if c.want == "" {
			if sqlerr.CodeOf(err) != sqlerr.Invalid {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var types []string
		for _, column := range r.Columns {
			types = append(types, column.Type)
		}
		if got := strings.Join(types, " "); !reflect.DeepEqual(r.Dialect, c.dialect) || got != c.types {
			t.Errorf("%s: %+v and %s, want %+v and %s", c.name, r.Dialect, got, c.dialect, c.types)
		}
		if got := strings.Join(values(t, db, "t"), "|"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestDialectsThatAreGiven: what is given is not found out, and what makes no sense is
// refused.
func TestDialectsThatAreGiven(t *testing.T) {
	path := write(t, "a.csv", "a;b,c\n1;2\n")
	db := memory(t)
	if r, err := imported(t, db, importer.Options{Path: path, Table: "t", Dialect: importer.Dialect{Decimal: ','}}); err != nil || r.Dialect.Comma != ';' || len(r.Columns) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, d := range []importer.Dialect{{Skip: -1}, {Encoding: "nosuch"}, {Comma: ';', Quote: ';'}, {Quote: 0x80}, {Quote: '\n'}, {Decimal: 'x'}, {Comma: '\'', Quote: '\''}} {
		if _, err := imported(t, memory(t), importer.Options{Path: path, Table: "u", Dialect: d}); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%+v: %v", d, err)
		}
	}
}

// values returns all fields of a table, row by row, as texts.
func values(t *testing.T, db *sql.DB, table string) (all []string) {
	t.Helper()
	rows, err := db.Query("SELECT * FROM " + table + " ORDER BY rowid")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for _, v := range row {
			if x, ok := v.(float64); ok && x == math.Trunc(x) {
				v = fmt.Sprintf("%.1f", x)
			}
			all = append(all, fmt.Sprint(v))
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNull says what is NULL in a file. Empty fields then are texts, unless they are meant.
func TestNull(t *testing.T) {
	path := write(t, "n.csv", "a,b,c\n1,,2.5\nNA,x,NA\n3,NA,\n")
	for _, c := range []struct {
		dialect       importer.Dialect
		columns, want string
	}{
		{importer.Dialect{}, "a TEXT, b TEXT, c TEXT", "[1  2.5 NA x NA 3 NA ]"},
		{importer.Dialect{Nulls: []string{""}}, "a TEXT, b TEXT, c TEXT", "[1 <nil> 2.5 NA x NA 3 NA <nil>]"},
		{importer.Dialect{Nulls: []string{"NA"}}, "a INTEGER, b TEXT, c REAL", "[1  2.5 <nil> x <nil> 3 <nil> <nil>]"},
	} {
		db := memory(t)
		r, err := imported(t, db, importer.Options{Path: path, Table: "t", Dialect: c.dialect})
		if err != nil || describe(r.Columns) != c.columns || fmt.Sprint(values(t, db, "t")) != c.want {
			t.Errorf("%+v: %s, %v, %v", c.dialect, describe(r.Columns), values(t, db, "t"), err)
		}
	}
}

func TestComma(t *testing.T) {
	db := memory(t)
	path := write(t, "x.csv", "a;b\n1;2,5\n")
	r, err := imported(t, db, importer.Options{Path: path, Table: "t", Dialect: importer.Dialect{Comma: ';'}})
	if err != nil || describe(r.Columns) != "a INTEGER, b REAL" {
		t.Errorf("%s, %v", describe(r.Columns), err)
	}
	for _, comma := range []rune{'"', '\n', '\r', 0xfffd, -1} {
		if _, err := imported(t, db, importer.Options{Path: path, Table: "u", Dialect: importer.Dialect{Comma: comma}}); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("separator %q: %v, want invalid", comma, err)
		}
	}
}

func TestGzip(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	fmt.Fprint(w, "a\tb\n1\tx\n")
	w.Close()
	db := memory(t)
	r, err := imported(t, db, importer.Options{Path: write(t, "x.tsv.gz", z.String()), Table: "t"})
	if err != nil || describe(r.Columns) != "a INTEGER, b TEXT" || r.Rows != 1 {
		t.Errorf("%s, %d rows, %v", describe(r.Columns), r.Rows, err)
	}
	whole := z.String()
	for most, code := range map[int64]sqlerr.Code{8: "", 7: sqlerr.Invalid} {
		if _, err := imported(t, db, importer.Options{Path: write(t, "x.csv.gz", whole), Table: fmt.Sprint("most", most), Most: most}); sqlerr.CodeOf(err) != code {
			t.Errorf("at most %d bytes: %v, want %q", most, err, code)
		}
	}
	for name, text := range map[string]string{"plain": "a\n1\n", "cut": whole[:len(whole)-6], "cut early": whole[:12], "empty": ""} {
		if _, err := imported(t, db, importer.Options{Path: write(t, "x.tsv.gz", text), Table: "u"}); sqlerr.CodeOf(err) != sqlerr.IO {
			t.Errorf("%s: %v, want io", name, err)
		}
	}
}

// TestRefusals checks that errors name the line and do not quote its content.
func TestRefusals(t *testing.T) {
	wide := strings.TrimSuffix(strings.Repeat("c,", 2001), ",")
	tests := []struct{ name, text, want string }{
		{"no lines", "", "is empty"},
		{"blank lines", "\n\n", "is empty"},
		{"too many", wide + "\n", "2001 columns"},
		{"short row", "a,b\n1,2\nsecret\n", "line 3 "},
		{"long row", "a,b\n1,2\n\"x\ny\",2\n1,2,secret\n", "line 5 "},
		{"bare quote", "a,b\n1,se\"cret\n", "line 2 "},
		{"open quote", "a,b\n1,2\n\"secret,2\n3,4\n", "line 3 "},
		{"late quote", "a,b\n\"secret\"x,2\n", "line 2 "},
		{"not UTF-8", "a,b\n1,2\nsecret,\xff\n", "line 3 "},
		{"not UTF-8 in the header", "a,\xff\n", "line 1 "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db := memory(t)
			_, err := imported(t, db, importer.Options{Path: write(t, "x.csv", test.text), Table: "t"})
			if sqlerr.CodeOf(err) != sqlerr.Invalid || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want invalid and %q", err, test.want)
			}
			var n int
			if db.QueryRow("SELECT COUNT(*) FROM sqlite_schema").Scan(&n); n != 0 {
				t.Error("a table was left behind")
			}
		})
	}
}

func TestFiles(t *testing.T) {
	db := memory(t)
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "nosuch.csv"), dir, ""} {
		_, err := imported(t, db, importer.Options{Path: path, Table: "t"})
		if sqlerr.CodeOf(err) != sqlerr.IO || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want io with the path", path, err)
		}
	}
}

func TestTableNames(t *testing.T) {
	db := memory(t, "CREATE TABLE a (x)", "CREATE VIEW v AS SELECT * FROM a")
	path := write(t, "x.csv", "x\n1\n")
	tests := map[string]sqlerr.Code{"dpsql_t": sqlerr.Forbidden, "DPSQL_ledger": sqlerr.Forbidden, "sqlite_x": sqlerr.Forbidden,
		"": sqlerr.Invalid, "a\x00": sqlerr.Invalid, "a": sqlerr.Exists, "A": sqlerr.Exists, "v": sqlerr.Invalid}
	for name, want := range tests {
		_, err := imported(t, db, importer.Options{Path: path, Table: name})
		if sqlerr.CodeOf(err) != want {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
	_, err := imported(t, db, importer.Options{Path: path, Table: "v", Append: true})
	if sqlerr.CodeOf(err) != sqlerr.Invalid {
		t.Errorf("appended to a view: %v", err)
	}
}

func TestCancelled(t *testing.T) {
	db := memory(t)
	ctx, cancel := context.WithCancel(context.Background())
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	cancel()
	_, err = importer.Import(ctx, tx, importer.Options{Path: write(t, "x.csv", "a\n1\n"), Table: "t"})
	if sqlerr.CodeOf(err) != sqlerr.Cancelled {
		t.Errorf("got %v, want cancelled", err)
	}
}
