package source_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// affinities are the declared types under which a raw value may be stored. Each
// converts values in its own way.
var affinities = []string{"", "INTEGER", "TEXT", "REAL", "NUMERIC", "BLOB", "DATE", "TEXT COLLATE NOCASE", "BOOLEAN"}

// awkward are raw values whose conversion is easy to get wrong.
var awkward = []any{
	nil, int64(0), int64(40), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), int64(1)<<53 + 1,
	0.0, math.Copysign(0, -1), 40.0, 40.5, 1e2, 1e18, 1e19, -1e18, 9.2233720368547758e18, -9.2233720368547758e18,
	9007199254740993.0, 2251799813685248.0, 4503599627370497.5, math.Inf(1), math.Inf(-1), 1e-320, 0.1, 123456789012345680.0,
	"", " ", "40", "+40", "-40", " 40 ", "\t40\n", "\v40", "\f40\r", "\u00a040", "040", "-0", "+0", "0x10", "1e2", "1E+2", "1e-2", "100e-2",
	"40.0", "40.", ".0", ".", "-.0", "4.5", "4 0", "40abc", "abc", "40\x00", "9010000000000001\x00", "-9223372036854775808\x00", "9223372036854775807\x00", "9223372036854775806 \x00", "40\x00abc", "\x0040", "4\x000", "inf", "Infinity", "nan", "1e999",
	"-1e999", "1_000", "1,000", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"9223372036854775807.0", "-9223372036854775808.0", "-9.223372036854775808e18", "9007199254740993", "9007199254740993.0",
	"1.0000000000000000000001", "00000000000000000000000000000007", "1e", "1e+", "e5", "--5", "+-5", "é", "\xff", "4\xff", "\xef\xbb\xbf40",
	"١", "true", "40 x", "x'40'", strings.Repeat("9", 400), strings.Repeat("0", 400) + "1",
	[]byte("40"), []byte{}, []byte{0}, []byte{0xff},
}

// twin stores values in columns of the five affinities, and copies them from there to
// columns of INTEGER and TEXT affinity. The copies are SQLite's own answer.
type twin struct{ db *sql.DB }

func newTwin(t testing.TB) twin {
	columns := make([]string, len(affinities))
	for i, a := range affinities {
		columns[i] = fmt.Sprintf("c%d %s", i, a)
	}
	return twin{memory(t, "CREATE TABLE raw ("+strings.Join(columns, ", ")+")",
		"CREATE TABLE want (i INTEGER, t TEXT)", "CREATE VIEW v AS SELECT * FROM raw")}
}

// check compares, for one column, canonical with what SQLite stores.
func (w twin) check(t rapid.TB, from string, column int, raw any) {
	c := fmt.Sprintf("c%d", column)
	w.exec(t, "DELETE FROM raw")
	w.exec(t, "DELETE FROM want")
	w.exec(t, "INSERT INTO raw ("+c+") VALUES (?)", raw)
	w.exec(t, "INSERT INTO want SELECT "+c+", "+c+" FROM "+from)
	w.compare(t, from, c, query.TypeInteger, "CASE WHEN typeof(i) IN ('integer', 'null') THEN i ELSE x'00' END", raw)
	w.compare(t, from, c, query.TypeText, "CASE WHEN typeof(t) IN ('text', 'null') THEN t ELSE x'00' END", raw)
}

func (w twin) exec(t rapid.TB, statement string, args ...any) {
	if _, err := w.db.Exec(statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func (w twin) compare(t rapid.TB, from, column string, ty query.Type, want string, raw any) {
	var g, e source.Cell
	if err := w.db.QueryRow(source.Canonical(from, column, ty)).Scan(&g); err != nil {
		t.Fatal(err)
	}
	if err := w.db.QueryRow("SELECT " + want + " FROM want").Scan(&e); err != nil {
		t.Fatal(err)
	}
	if g != e {
		t.Errorf("%T %#v in column %s of %s as %v: canonical %v (%v), stored %v (%v)", raw, raw, column, from, ty, g.Value, g.OK, e.Value, e.OK)
	}
}

func TestCanonicalIsWhatSQLiteStores(t *testing.T) {
	w := newTwin(t)
	for _, raw := range awkward {
		for column := range affinities {
			w.check(t, "raw", column, raw)
			w.check(t, "v", column, raw)
		}
	}
}

// TestCanonicalExamples pins the meaning itself, so that the twin above cannot
// agree with a mistake.
func TestCanonicalExamples(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (c)")
	tests := []struct {
		raw  any
		ty   query.Type
		want source.Cell
	}{
		{"40", query.TypeInteger, source.Cell{query.Int(40), true}},
		{40.0, query.TypeInteger, source.Cell{query.Int(40), true}},
		{"1e2", query.TypeInteger, source.Cell{query.Int(100), true}},
		{" 40 ", query.TypeInteger, source.Cell{query.Int(40), true}},
		{"+5", query.TypeInteger, source.Cell{query.Int(5), true}},
		{"007", query.TypeInteger, source.Cell{query.Int(7), true}},
		{math.Copysign(0, -1), query.TypeInteger, source.Cell{query.Int(0), true}},
		{1e18, query.TypeInteger, source.Cell{query.Int(1e18), true}},
		{"9223372036854775807", query.TypeInteger, source.Cell{query.Int(math.MaxInt64), true}},
		{"9223372036854775808", query.TypeInteger, source.Cell{}},
		{"40abc", query.TypeInteger, source.Cell{}},
		{"0x10", query.TypeInteger, source.Cell{}},
		{"", query.TypeInteger, source.Cell{}},
		{40.5, query.TypeInteger, source.Cell{}},
		{[]byte("40"), query.TypeInteger, source.Cell{}},
		{nil, query.TypeInteger, source.Cell{query.Null(), true}},
		{"007", query.TypeText, source.Cell{query.Text("007"), true}},
		{int64(7), query.TypeText, source.Cell{query.Text("7"), true}},
		{40.0, query.TypeText, source.Cell{query.Text("40.0"), true}},
		{"a\x00b", query.TypeText, source.Cell{query.Text("a\x00b"), true}},
		{"\xff", query.TypeText, source.Cell{query.Text("\xff"), true}},
		{"", query.TypeText, source.Cell{query.Text(""), true}},
		{[]byte("a"), query.TypeText, source.Cell{}},
		{[]byte{}, query.TypeText, source.Cell{}},
		{nil, query.TypeText, source.Cell{query.Null(), true}},
	}
	for _, test := range tests {
		run(t, db, "DELETE FROM raw")
		run(t, db, "INSERT INTO raw VALUES (?)", test.raw)
		var got source.Cell
		if err := db.QueryRow(source.Canonical("raw", "c", test.ty)).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != test.want {
			t.Errorf("%#v as %v: got %v (%v), want %v (%v)", test.raw, test.ty, got.Value, got.OK, test.want.Value, test.want.OK)
		}
	}
}

// rawValue draws values that are numbers, nearly numbers, or anything.
func rawValue() *rapid.Generator[any] {
	number := rapid.StringMatching(`[ \t\n]{0,1}[+-]?[0-9]{0,21}(\.[0-9]{0,20})?([eE][+-]?[0-9]{0,3})?[ x\x00]{0,1}`)
	near := rapid.Custom(func(t *rapid.T) float64 {
		return float64(rapid.Int64().Draw(t, "n")) + float64(rapid.IntRange(-1, 1).Draw(t, "half"))/2
	})
	return rapid.OneOf(
		rapid.SampledFrom(awkward),
		number.AsAny(), near.AsAny(), rapid.Float64().AsAny(), rapid.Int64().AsAny(),
		rapid.String().AsAny(), rapid.SliceOfN(rapid.Byte(), 0, 4).AsAny(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }).AsAny(),
	)
}

func TestCanonicalRandom(t *testing.T) {
	w := newTwin(t)
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SampledFrom([]string{"raw", "v"}).Draw(t, "source")
		column := rapid.IntRange(0, len(affinities)-1).Draw(t, "column")
		for range 20 {
			w.check(t, from, column, rawValue().Draw(t, "raw"))
		}
	})
}

func TestValues(t *testing.T) {
	db := memory(t, "CREATE TABLE codes (c COLLATE NOCASE)", "INSERT INTO codes VALUES ('b'), ('B'), ('a'), ('b'), (7), ('7'), (NULL)",
		"CREATE TABLE numbers (n)", "INSERT INTO numbers VALUES ('10'), (10.0), (9), (' 9 ')", "CREATE VIEW v AS SELECT c AS d FROM codes WHERE c = 'a'",
		"CREATE TABLE bad (n)", "INSERT INTO bad VALUES (1), ('secret')", "CREATE TABLE blobs (c)", "INSERT INTO blobs VALUES (x'61')",
		"CREATE TABLE dpsql_x (c)", "CREATE TABLE empty (c)")
	txt, num := query.Text, query.Int
	tests := []struct {
		table, column string
		ty            query.Type
		limit         int
		want          []query.Value
		code          sqlerr.Code
	}{
		{"codes", "c", query.TypeText, 5, []query.Value{query.Null(), txt("7"), txt("B"), txt("a"), txt("b")}, ""},
		{"Codes", "C", query.TypeText, 4, nil, sqlerr.Invalid},
		{"numbers", "n", query.TypeInteger, 2, []query.Value{num(9), num(10)}, ""},
		{"numbers", "n", query.TypeText, 9, []query.Value{txt(" 9 "), txt("10"), txt("10.0"), txt("9")}, ""},
		{"v", "d", query.TypeText, 1, []query.Value{txt("a")}, ""},
		{"empty", "c", query.TypeText, 1, []query.Value{}, ""},
		{"bad", "n", query.TypeInteger, 9, nil, sqlerr.Invalid},
		{"blobs", "c", query.TypeText, 9, nil, sqlerr.Invalid},
		{"codes", "nosuch", query.TypeText, 9, nil, sqlerr.Unknown},
		{"nosuch", "c", query.TypeText, 9, nil, sqlerr.Unknown},
		{"dpsql_x", "c", query.TypeText, 9, nil, sqlerr.Forbidden},
	}
	for _, test := range tests {
		got, err := source.Values(context.Background(), db, test.table, test.column, test.ty, test.limit)
		if sqlerr.CodeOf(err) != test.code || !slices.Equal(got, test.want) {
			t.Errorf("%s.%s as %v: %v, %v, want %v %s", test.table, test.column, test.ty, got, err, test.want, test.code)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v quotes a value", err)
		}
	}
}
