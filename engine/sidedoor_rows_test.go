package engine_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/query"
	"dpsql/source"
)

// A stray is a value that can stand in any column of SQLite, with what it
// stands for under either type: the value that a column of INTEGER or TEXT
// affinity stores, and nothing where that is of another type.
type stray struct {
	stored  any
	integer *query.Value
	text    *query.Value
}

func pointer(v query.Value) *query.Value { return &v }

var null = pointer(query.Null())

// strays in columns: wrong types, NULLs, huge numbers, and what is no text.
var straysInColumns = []stray{
	{int64(40), pointer(query.Int(40)), pointer(query.Text("40"))},
	{40.0, pointer(query.Int(40)), pointer(query.Text("40.0"))},
	{"40", pointer(query.Int(40)), pointer(query.Text("40"))},
	{" 4e1\n", pointer(query.Int(40)), pointer(query.Text(" 4e1\n"))},
	{"+40.000", pointer(query.Int(40)), pointer(query.Text("+40.000"))},
	{40.5, nil, pointer(query.Text("40.5"))},
	{"40x", nil, pointer(query.Text("40x"))},
	{"0x28", nil, pointer(query.Text("0x28"))},
	{"", nil, pointer(query.Text(""))},
	{[]byte("40"), nil, nil},
	{[]byte{0}, nil, nil},
	{[]byte{}, nil, nil},
	{nil, null, null},
	{math.NaN(), null, null},
	{math.Inf(1), nil, pointer(query.Text("Inf"))},
	{1e300, nil, pointer(query.Text("1.0e+300"))},
	{int64(math.MaxInt64), pointer(query.Int(math.MaxInt64)), pointer(query.Text("9223372036854775807"))},
	{int64(math.MinInt64), pointer(query.Int(math.MinInt64)), pointer(query.Text("-9223372036854775808"))},
	{"9223372036854775807", pointer(query.Int(math.MaxInt64)), pointer(query.Text("9223372036854775807"))},
	{"9223372036854775808", nil, pointer(query.Text("9223372036854775808"))},
	{strings.Repeat("9", 400), nil, pointer(query.Text(strings.Repeat("9", 400)))},
	{"\xff", nil, pointer(query.Text("\xff"))},
	{"F\x00", nil, pointer(query.Text("F\x00"))},
	{"f", nil, pointer(query.Text("f"))},
	{"F ", nil, pointer(query.Text("F "))},
	{"F", nil, pointer(query.Text("F"))},
	{"\u0130É", nil, pointer(query.Text("\u0130É"))},
	{int64(-1), pointer(query.Int(-1)), pointer(query.Text("-1"))},
	{int64(121), pointer(query.Int(121)), pointer(query.Text("121"))},
}

// messyColumns are the declared columns: an INTEGER list with NULL and the
// ends of the range, an INTEGER range, a TEXT list, and any TEXT.
const messyColumns = `a INTEGER IN (40, -1, 9223372036854775807, -9223372036854775808, NULL), b INTEGER BETWEEN 0 AND 120,
	c TEXT IN ('F', '40', '40.0', 'Inf', ''), d TEXT`

// inside reports whether the values are in the declared domains.
func inside(row [4]*query.Value) bool {
	for _, v := range row {
		if v == nil {
			return false
		}
	}
	a, b, c := *row[0], *row[1], *row[2]
	inA := a.IsNull() || a == query.Int(40) || a == query.Int(-1) || a == query.Int(math.MaxInt64) || a == query.Int(math.MinInt64)
	inB := b.IsInt() && b.Int64() >= 0 && b.Int64() <= 120
	inC := c.IsText() && strings.Contains("|F|40|40.0|Inf||", "|"+c.Str()+"|")
	return inA && inB && inC
}

// messyRows puts each stray into each column of an ordinary row, twice.
func messyRows() (stored [][]any, meant [][4]*query.Value) {
	for _, s := range straysInColumns {
		for column := range 4 {
			row := []any{int64(40), int64(7), "F", "d"}
			mean := [4]*query.Value{pointer(query.Int(40)), pointer(query.Int(7)), pointer(query.Text("F")), pointer(query.Text("d"))}
			row[column], mean[column] = s.stored, s.integer
			if column > 1 {
				mean[column] = s.text
			}
			stored, meant = append(stored, row, row), append(meant, mean, mean)
		}
	}
	return stored, meant
}

// TestMessyRowsChangeCountsOnly compares true counts on such rows, in columns
// with and without affinity, with and without an index, and through a view,
// with a count in Go; and runs every kind of statement on them.
func TestMessyRowsChangeCountsOnly(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "messy.db"), engine.Options{}).NewSession()
	fixed(s.DB(), 1)
	fill(t, s, `CREATE TABLE bare (a, b, c, d)`, `CREATE TABLE none (a INTEGER, b TEXT, c, d REAL)`, `CREATE TABLE typed (a INTEGER, b NUMERIC, c TEXT, d VARCHAR COLLATE NOCASE)`,
		`CREATE INDEX ia ON typed (a)`, `CREATE INDEX ib ON typed (b, c)`, `CREATE INDEX id ON typed (d)`,
		`CREATE VIEW seen AS SELECT c COLLATE NOCASE AS c, d, b, a FROM bare UNION ALL SELECT c, d, b, a FROM none`)
	stored, meant := messyRows()
	raw := plain(t, s)
	for _, row := range stored {
		for _, table := range []string{"bare", "typed"} {
			if _, err := raw.Exec(`INSERT INTO `+table+` VALUES (?, ?, ?, ?)`, row...); err != nil {
				t.Fatal(err)
			}
		}
	}
	must(t, s, `CREATE PUBLIC TABLE none`)
	must(t, s, `CREATE PRIVATE TABLE p_bare (`+messyColumns+`) FROM bare WITH (epsilon = 20, delta = 1e-6)`)
	must(t, s, `CREATE PRIVATE TABLE p_seen (`+messyColumns+`) FROM seen WITH (epsilon = 20, delta = 1e-6)`)
	must(t, s, `CREATE PRIVATE TABLE p_typed (`+messyColumns+`) FROM typed WITH (epsilon = 20, delta = 1e-6)`)
	for _, name := range []string{"p_bare", "p_seen", "p_typed"} {
		countsAgree(t, s, name, meant)
		everyStatement(t, s, name)
	}
}

// countsAgree compares the reader's Count with a count in Go, for every value in
// every column, and for its negation beside another condition.
func countsAgree(t *testing.T, s *engine.Session, name string, meant [][4]*query.Value) {
	t.Helper()
	v, err := s.DB().View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	table, err := v.Table(name, 0)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, q query.Query, holds func([4]*query.Value) bool) {
		want := int64(0)
		for _, row := range meant {
			if inside(row) && holds(row) {
				want++
			}
		}
		err := s.DB().Store().Read(context.Background(), func(tx *catalog.Tx) error {
			got, err := source.SQLite(tx.SQL()).Count(context.Background(), anyone{}, table.Rows(), q)
			if err == nil && got != want {
				t.Errorf("%s, %s: counted %d, want %d", name, what, got, want)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s, %s: %v", name, what, err)
		}
	}
	u := table.Universe
	check("all", query.All(u), func([4]*query.Value) bool { return true })
	seven := query.Where(u, 1, u.Columns()[1].Domain.SetOf(query.Int(7)))
	for column, c := range u.Columns() {
		for _, st := range straysInColumns {
			value := st.text
			if c.Domain.Type() == query.TypeInteger {
				value = st.integer
			}
			if value == nil {
				continue
			}
			set := c.Domain.SetOf(*value)
			check(fmt.Sprintf("%s = %v", c.Name, *value), query.Where(u, column, set), func(r [4]*query.Value) bool { return *r[column] == *value })
			either, err := query.Where(u, column, set.Complement()).Or(seven) // streamed, not pushed down
			if err != nil {
				t.Fatal(err)
			}
			check(fmt.Sprintf("not %s = %v or b = 7", c.Name, *value), either,
				func(r [4]*query.Value) bool { return *r[column] != *value || *r[1] == query.Int(7) })
		}
	}
}

// everyStatement runs what reads private rows, in every way.
func everyStatement(t *testing.T, s *engine.Session, name string) {
	t.Helper()
	for _, text := range []string{
		`CREATE RELEASE %s_i ON %[1]s (a, c) USING PROJECTION WITH (epsilon = 0.5)`,
		`CREATE RELEASE %s_s ON %[1]s USING PROJECTION WITH (epsilon = 0.5, rows = 128)`,
		`CREATE RELEASE %s_d ON %[1]s (b, c) USING PROJECTION WITH (epsilon = 0.5, transform = dense, rows = 64)`,
		`CREATE RELEASE %s_c ON %[1]s (a, c) USING SMW WITH (epsilon = 0.5, free_columns = 1, max_updates = 2)`,
		`CREATE MECHANISM %s_m ON %[1]s (b, d) USING SMW WITH (epsilon = 1, max_updates = 3, max_support = 200, queries = 10, beta = 0.5)`,
		`SET mechanism = %s_m`,
		`SELECT COUNT(*) FROM %s WHERE d = 'd'`, `SELECT COUNT(*) FROM %s WHERE d IS NULL AND b < 100`, `SELECT COUNT(d) FROM %s WHERE d IN ('F', 'f') AND b = 7`,
		`SET mechanism = auto`, `SET accuracy = 60`,
		`SELECT COUNT(*) FROM %s`, `SELECT COUNT(*) FROM %s WHERE a IS NULL`, `SELECT COUNT(*) FROM %s WHERE a = 9223372036854775807 OR d <> 'd'`,
		`EXPLAIN SELECT COUNT(*) FROM %s WHERE a = -9223372036854775808`, `DESCRIBE %s`, `SET accuracy = default`,
	} {
		if strings.Contains(text, "%s") {
			text = fmt.Sprintf(text, name)
		}
		must(t, s, text)
	}
}
