package importer_test

import (
	"slices"
	"strings"
	"testing"

	"dpsql/internal/importer"
	"dpsql/sqlerr"
)

func TestExistingTable(t *testing.T) {
	path := write(t, "x.csv", "B,a\n007,1\n,2\n")
	tests := []struct {
		name, table string
		o           importer.Options
		rows        []string
		code        sqlerr.Code
	}{
		{"refused", "CREATE TABLE t (a, b)", importer.Options{}, nil, sqlerr.Exists},
		{"skipped", "CREATE TABLE t (other)", importer.Options{IfMissing: true}, nil, ""},
		{"skipped before appended", "CREATE TABLE t (a, b)", importer.Options{IfMissing: true, Append: true}, nil, ""},
		{"appended by name", "CREATE TABLE t (a INTEGER, b TEXT)", importer.Options{Append: true}, []string{"1 '007'", "2 ''"}, ""},
		{"appended as detected", "CREATE TABLE t (a, b)", importer.Options{Append: true}, []string{"1 '007'", "2 ''"}, ""},
		{"appended as text", "CREATE TABLE t (a text, b text)", importer.Options{Append: true}, []string{"'1' '007'", "'2' ''"}, ""},
		{"appended as real", "CREATE TABLE t (a real, b text)", importer.Options{Append: true}, []string{"1.0 '007'", "2.0 ''"}, ""},
		{"generated column", "CREATE TABLE t (a, b, c AS (a))", importer.Options{Append: true}, []string{"1 '007'", "2 ''"}, ""},
		{"another type", "CREATE TABLE t (a INTEGER, b INTEGER)", importer.Options{Append: true}, nil, sqlerr.Invalid},
		{"a column less", "CREATE TABLE t (a INTEGER)", importer.Options{Append: true}, nil, sqlerr.Invalid},
		{"a column more", "CREATE TABLE t (a, b, c)", importer.Options{Append: true}, nil, sqlerr.Invalid},
		{"constraint", "CREATE TABLE t (a, b CHECK (b = 'x'))", importer.Options{Append: true}, nil, sqlerr.Invalid},
		{"created", "CREATE TABLE u (x)", importer.Options{Append: true}, []string{"1 '007'", "2 ''"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db := memory(t, test.table)
			test.o.Path, test.o.Table = path, "T"
			r, err := imported(t, db, test.o)
			if sqlerr.CodeOf(err) != test.code {
				t.Fatalf("got %v, want %q", err, test.code)
			}
			if err != nil {
				return
			}
			if r.Skipped != test.o.IfMissing || r.Rows != int64(len(test.rows)) {
				t.Errorf("skipped %v, %d rows", r.Skipped, r.Rows)
			}
			if r.Skipped {
				return
			}
			if got := contents(t, db, "t", []importer.Column{{Name: "a"}, {Name: "b"}}); !slices.Equal(got, test.rows) {
				t.Errorf("rows %q, want %q", got, test.rows)
			}
		})
	}
	_, err := imported(t, memory(t, "CREATE TABLE t (a)"), importer.Options{Path: path, Table: "t"})
	if e, ok := err.(*sqlerr.Error); !ok || !strings.Contains(e.Hint, "--append") || !strings.Contains(e.Hint, "--if-missing") {
		t.Errorf("the hint of %v does not say how to go on", err)
	}
}

// TestAppendBlank appends a column without values, which fits every type.
func TestAppendBlank(t *testing.T) {
	db := memory(t, "CREATE TABLE t (a INTEGER, b REAL, c TEXT)")
	if _, err := imported(t, db, importer.Options{Path: write(t, "x.csv", "a,b,c\n,,\n"), Table: "t", Append: true}); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, db, "t", []importer.Column{{Name: "a"}, {Name: "b"}, {Name: "c"}}); !slices.Equal(got, []string{"NULL NULL ''"}) {
		t.Error(got)
	}
}

// TestSkipNeedsNoFile runs a set-up script again after its data files are gone.
func TestSkipNeedsNoFile(t *testing.T) {
	r, err := imported(t, memory(t, "CREATE TABLE t (a INTEGER)"), importer.Options{Path: "nosuch.csv", Table: "t", IfMissing: true})
	if err != nil || !r.Skipped || describe(r.Columns) != "a INTEGER" {
		t.Errorf("%+v, %v", r, err)
	}
}
