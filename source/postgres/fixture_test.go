package postgres

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite"
	"pgregory.net/rapid"

	"dpsql/internal/pgtest"
	"dpsql/internal/scratch"
	"dpsql/query"
	"dpsql/source"
)

// TestMain lets properties be tried 40 times in place of 100: most of that is the servers' time. -rapid.checks says
// another number.
func TestMain(m *testing.M) {
	flag.Set("rapid.checks", "40")
	scratch.InMemory()
	scratch.CollectSeldom()
	os.Exit(m.Run())
}

// opened returns a pool on a new database of the shared cluster, and its
// connection string.
func opened(t testing.TB) (*Pool, string) {
	t.Helper()
	c := pgtest.Shared(t)
	name := strings.ToLower(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, t.Name()))
	dsn, err := c.Database(name, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.Exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	pool, err := Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool, dsn
}

// dialled returns a connection that runs any statement.
func dialled(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	must(t, err)
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(context.Background(), config)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// execute runs statements one after another.
func execute(t rapid.TB, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := conn.Exec(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// memory returns an empty SQLite database on one connection.
func memory(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	must(t, err)
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	return db
}

// pair is one value in both databases: what PostgreSQL reads and what SQLite
// stores.
type pair struct{ server, file any }

// same are values that are written alike.
func same(values ...any) []pair {
	out := []pair{{nil, nil}}
	for _, v := range values {
		out = append(out, pair{fmt.Sprint(v), v})
	}
	return out
}

var integers = same(int64(0), int64(1), int64(2), int64(7), int64(-1), int64(300))

var nasty = same("", "a", "A", "a ", " a", "b", "é", "e\u0301", "É", "ß", "SS", "0", "1", " 1", "01", "1.0", "2e0", "+7", "1x", "\t7\n", "7e-0", ".7e1", "0x1", "-0",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775808.0", "1e400", "1e", "٣", "%", `\`, `{"`, "NULL", "inf", "nan",
	"9007199254740993.0", "1.0000000000000000000001", "\u00a01", "1 2", "--1", "2024-01-31")

// long has texts as long as any that stand for a value, and longer ones.
var long = same(strings.Repeat("0", source.MaxBytes-1)+"1", strings.Repeat("0", source.MaxBytes)+"1", strings.Repeat("é", source.MaxBytes/2), strings.Repeat("é", source.MaxBytes/2)+"a")

// types are the types of the server with values, and the types they can be
// declared as.
var types = []struct {
	name     string
	values   []pair
	declared []query.Type
}{
	{"smallint", integers, both},
	{"integer", slices.Concat(integers, same(int64(math.MaxInt32), int64(math.MinInt32))), both},
	{"bigint", slices.Concat(integers, same(int64(math.MaxInt64), int64(math.MinInt64), int64(1)<<53+1)), both},
	{"whole", integers, both},
	{"numeric", slices.Concat(integers, same(1.5, 0.25, int64(math.MaxInt64), int64(math.MinInt64), int64(10000), int64(100000000)),
		[]pair{{"0.5", 0.5}, {"-2.5", -2.5}, {"1000", 1000.0}, {"1999.75", 1999.75}, {"1.0", 1.0}, {"7.00000", 7.0}, {"NaN", "NaN"}, {"9223372036854775808", 9223372036854775808.0}, {"-Infinity", math.Inf(-1)}, {"1e200", 1e200}}), numbers},
	{"numeric(12,2)", slices.Concat(integers, []pair{{"1.50", 1.5}, {"2.00", 2.0}}), numbers},
	{"double precision", slices.Concat(integers, []pair{{"1.5", 1.5}, {"0.1", 0.1}, {"5e-324", 5e-324}, {"-1e-300", -1e-300}, {"7.499999999999999", 7.499999999999999}, {"-2.5", -2.5}, {"1e308", 1e308}, {"1999.75", 1999.75}, {"-0", math.Copysign(0, -1)}, {"NaN", "NaN"}, {"Infinity", math.Inf(1)}, {"9223372036854775808", 9223372036854775808.0},
		{"-9223372036854775808", -9223372036854775808.0}, {"-9223372036854774784", -9223372036854774784.0}, {"9223372036854774784", 9223372036854774784.0}}), numbers},
	{"real", slices.Concat(integers, []pair{{"1.5", 1.5}, {"NaN", "NaN"}, {"9223372036854775808", 9223372036854775808.0}, {"-9223372036854775808", -9223372036854775808.0}}), numbers},
	{"text", slices.Concat(nasty, long), both},
	{"varchar(40)", nasty, both},
	{"word", nasty, both},
	{`text COLLATE "C"`, nasty, both},
	{"text COLLATE careless", slices.Concat(nasty, long), both},
	{"citext", slices.Concat(nasty, long), words},
	{"char(4)", []pair{{nil, nil}, {"a", "a"}, {"a   ", "a"}, {"A", "A"}, {" a", " a"}, {"", ""}, {"1", "1"}, {"é", "é"}}, words},
	{"char(4) COLLATE careless", []pair{{nil, nil}, {"a", "a"}, {"a   ", "a"}, {"A", "A"}, {" a", " a"}, {"", ""}}, words},
	{"boolean", []pair{{nil, nil}, {"true", int64(1)}, {"false", int64(0)}}, numbers},
	{"uuid", []pair{{nil, nil}, {"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}, {"00000000000000000000000000000000", "00000000-0000-0000-0000-000000000000"}}, words},
	{"date", []pair{{nil, nil}, {"2024-01-31", "2024-01-31"}, {"1999-12-31", "1999-12-31"}, {"0044-03-15 BC", "0044-03-15 BC"}, {"0001-01-01 BC", "0001-01-01 BC"},
		{"infinity", "infinity"}, {"-infinity", "-infinity"}, {"10000-02-29", "10000-02-29"}, {"5874897-12-31", "5874897-12-31"}, {"4713-11-24 BC", "4713-11-24 BC"}}, words},
	{"mood", []pair{{nil, nil}, {"a", "a"}, {"A", "A"}, {`q"u,o\te`, `q"u,o\te`}, {"1", "1"}}, words},
}

var (
	both    = []query.Type{query.TypeInteger, query.TypeText}
	numbers = []query.Type{query.TypeInteger}
	words   = []query.Type{query.TypeText}
)

// prepare makes the types that the tests use.
func prepare(t testing.TB, conn *pgx.Conn) {
	t.Helper()
	execute(t, conn, "CREATE EXTENSION citext", `CREATE TYPE mood AS ENUM ('a', 'A', 'q"u,o\te', '1')`,
		"CREATE DOMAIN part AS integer", "CREATE DOMAIN whole AS part CHECK (VALUE > -1000)", "CREATE DOMAIN word AS text",
		"CREATE COLLATION careless (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
}

// timeTypes are the types that DATEs, TIMESTAMPs and TIMEs can have, with values.
var timeTypes = []struct {
	name   string
	values []pair
	form   query.Form
}{
	{"date", dates, query.DateForm(query.StoredISO)},
	{"date", dates, stepped(query.StoredISO, 3600)},
	{"text", someMoments, query.DateForm(query.StoredISO)},
	{"varchar(40)", someMoments, stepped(query.StoredISO, 3600)},
	{"text", someMoments, stepped(query.StoredISO, 1)},
	{"timestamp", same("2024-02-29 12:30:00.5", "2024-02-29 23:59:59.999999", "2024-02-29 00:00:00", "2024-03-01 00:00:00", "1969-12-31 23:59:59.5", "infinity", "-infinity"), stepped(query.StoredISO, 3600)},
	{"timestamptz", []pair{{nil, nil}, {"2024-02-29 00:30:00+01", "2024-02-28 23:30:00"}, {"2024-02-29 12:00:00-08", "2024-02-29 20:00:00Z"}, {"infinity", "infinity"}}, stepped(query.StoredISO, 900)},
	{"bigint", seconds, query.DateForm(query.StoredUnix)},
	{"bigint", seconds, stepped(query.StoredUnix, 3600)},
	{"double precision", slices.Concat(seconds, same(1709164800.5, 1709164799.75, -0.25), []pair{{"NaN", "NaN"}, {"Infinity", math.Inf(1)}}), stepped(query.StoredUnix, 60)},
	{"double precision", julianDays, query.DateForm(query.StoredJulian)},
	{"double precision", julianDays, stepped(query.StoredJulian, 3600)},
	{"integer", same(int64(2460369), int64(2460370), int64(0), int64(-1), int64(math.MaxInt32)), query.DateForm(query.StoredJulian)},
	{"time", clocks, stepped(query.StoredClock, 900)},
	{"time", clocks, stepped(query.StoredClock, 1)},
	{"text", slices.Concat(clocks, someClocks), stepped(query.StoredClock, 900)},
	{"varchar(40)", slices.Concat(clocks, someClocks), stepped(query.StoredClock, 1)},
}

var (
	clocks     = append(same("00:00:00", "11:59:59", "12:00:00", "12:00:01", "12:14:59.999999", "12:15:00", "12:30:00.5", "23:59:59", "24:00:00"), pair{nil, nil})
	someClocks = same("12:00", "9:27", "12:60", "12:00:60", "25:10", "12:00Z", "12:00:01Z", "12:00:01.", "12:00:01.5x", " 12:00", "12:00 ", "12:00pm", "noon", "", "é2:00", "2024-02-29 12:00")
	dates      = []pair{{nil, nil}, {"2024-02-29", "2024-02-29"}, {"2024-02-28", "2024-02-28"}, {"2024-03-01", "2024-03-01"}, {"0001-01-01", "0001-01-01"}, {"9999-12-31", "9999-12-31"},
		{"0001-12-31 BC", "0001-12-31 BC"}, {"infinity", "infinity"}, {"-infinity", "-infinity"}, {"10000-01-01", "10000-01-01"}}
	someMoments = same("2024-02-29", "2024-02-30", "2024-02-29 12:00", "2024-02-29T12:00:30", "2024-02-29 12:00:30.999Z", "2024-02-29 12:00Z", "2024-02-29 24:00", "2024-02-28 23:59:60",
		"2024-02-29 12:00:30.", "2024-02-29 12:00:30.1x", "2024-02-29 12:00:30.1Z5", "now", "", "2024-02-29 ", " 2024-02-29", "2024-02-29x12:00", "0000-12-31 23:30", "0000-12-31", "2024-03-01 1:00", "2024-02-29 12:00+01:00", "é024-02-29")
	seconds    = same(int64(1709164799), int64(1709164800), int64(1709208000), int64(1709251199), int64(1709251200), int64(0), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), int64(-62135596801))
	julianDays = same(2460369.5, 2460370.0, 2460370.4999999, 2460369.4999999995, 2460369.541666667, 2460369.5833333335, 2460370.5, 0.0, -2460369.5, 5373484.5)
)

func stepped(stored query.Stored, step int64) query.Form {
	f, err := query.TimestampForm(stored, step)
	if err != nil {
		panic(err)
	}
	return f
}

// someTimes returns a domain of some steps before and after the beginning of February 29th.
func someTimes(t *rapid.T, f query.Form) query.Domain {
	middle := f.Floor(time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC).Unix())
	if f.IsClock() {
		middle = f.Floor(12 * 3600)
	}
	lo := middle - rapid.Int64Range(0, 3).Draw(t, "before")
	d, err := query.NewRange(lo, middle+rapid.Int64Range(0, 30).Draw(t, "after"), rapid.Bool().Draw(t, "null"))
	must(t, err)
	return d
}

// unitTypes are the types that a unit can have.
var unitTypes = func() (out []int) {
	for i, ty := range types {
		if ty.name != "real" && ty.name != "double precision" && !strings.HasPrefix(ty.name, "numeric") {
			out = append(out, i)
		}
	}
	return out
}()

func someDomain(t *rapid.T, declared query.Type, values []pair) query.Domain {
	if declared == query.TypeText {
		if rapid.Bool().Draw(t, "unbounded") {
			return query.Unbounded()
		}
		d, err := query.NewList(declared, subset(t, someTexts(values)))
		must(t, err)
		return d
	}
	switch rapid.IntRange(0, 3).Draw(t, "domain") {
	case 0:
		d, err := query.NewList(declared, subset(t, []query.Value{query.Null(), query.Int(0), query.Int(1), query.Int(2), query.Int(7), query.Int(10000),
			query.Int(math.MinInt64), query.Int(math.MaxInt64), query.Int(1<<53 + 1), query.Int(math.MaxInt64 - 1023)}))
		must(t, err)
		return d
	case 1:
		d, err := query.NewRange(math.MaxInt64-2000, math.MaxInt64, false)
		must(t, err)
		return d
	case 2:
		d, err := query.NewRange(math.MinInt64, math.MinInt64+3000, true)
		must(t, err)
		return d
	}
	lo := rapid.Int64Range(-2, 2).Draw(t, "lo")
	d, err := query.NewRange(lo, lo+rapid.Int64Range(0, 10).Draw(t, "width"), rapid.Bool().Draw(t, "null"))
	must(t, err)
	return d
}

// someReal draws the domain and form of a REAL or NUMERIC column. Ends of its steps are
// exact in each type, so that all types agree on the step of a number.
func someReal(t *rapid.T) (query.Domain, query.Form) {
	bounds := rapid.SampledFrom([][4]int64{{0, 300, 1, 2}, {-1, 2, 1, 8}, {-2, 10000, 1000, 1}, {-3, 3, 5, 2}, {-1, 7, 1, 1}}).Draw(t, "steps")
	step := big.NewRat(bounds[2], bounds[3])
	lo, hi := new(big.Rat).Mul(step, big.NewRat(bounds[0], 1)), new(big.Rat).Mul(step, big.NewRat(bounds[1], 1))
	steps, err := query.NewSteps(lo, hi, step, rapid.Bool().Draw(t, "null"))
	must(t, err)
	d, f, err := steps.Column(rapid.Bool().Draw(t, "rounded"), 0, 0)
	must(t, err)
	return d, f
}

// someTexts are texts that rows have, and some that they cannot have.
func someTexts(values []pair) []query.Value {
	out := []query.Value{query.Null(), query.Text("a\x00"), query.Text("\xff"), query.Text("a  "), query.Text("2024-1-31"), query.Text("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11")}
	seen := map[query.Value]bool{query.Text("a  "): true}
	for _, v := range values {
		if v.file == nil {
			continue
		}
		if text := query.Text(fmt.Sprint(v.file)); !seen[text] {
			seen[text] = true
			out = append(out, text)
		}
	}
	return out
}

func subset(t *rapid.T, values []query.Value) []query.Value {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(values), 1, 8, func(v query.Value) query.Value { return v }).Draw(t, "values")
}

func someSet(t *rapid.T, d query.Domain, values []pair) query.Set {
	if !d.Finite() {
		s := d.SetOf(subset(t, someTexts(values))...)
		if rapid.Bool().Draw(t, "except") {
			return s.Complement()
		}
		return s
	}
	first := rapid.Uint64Range(0, d.Size()-1).Draw(t, "first")
	last := rapid.Uint64Range(first, d.Size()-1).Draw(t, "last")
	var in []query.Value
	for o := first; o <= last; o++ {
		in = append(in, d.Value(o))
	}
	return d.SetOf(in...)
}

// scenario is one random table in both databases.
type scenario struct {
	table  source.Table // of the server; SQLite has it as "raw"
	values [][]pair     // of each column's type
}

func (s scenario) inFile() source.Table {
	t := s.table
	t.Source = "raw"
	return t
}

func newScenario(t *rapid.T, db *sql.DB, conn *pgx.Conn, withUnit bool) scenario {
	s := scenario{table: source.Table{Source: "public.raw"}}
	var defs, names, holes, marks []string
	var unit []pair
	if withUnit {
		ty := types[rapid.SampledFrom(unitTypes).Draw(t, "unit's type")]
		unit = rapid.SliceOfN(rapid.SampledFrom(ty.values), 1, 4).Draw(t, "units")
		s.table.Unit, s.table.MaxRows = rapid.SampledFrom([]string{"unit", "Group", `u"n.it`}).Draw(t, "unit"), rapid.Int64Range(1, 4).Draw(t, "max_rows")
		s.table.Key = rapid.SliceOfN(rapid.Byte(), 1, 80).Draw(t, "key")
		defs, names, holes, marks = []string{query.Quoted(s.table.Unit) + " " + ty.name}, []string{query.Quoted(s.table.Unit)}, []string{"?"}, []string{"$1"}
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "columns") {
		name := []string{"a", "select", `q"T`}[i]
		ty := types[rapid.IntRange(0, len(types)-1).Draw(t, "type")]
		c := query.Column{Name: name}
		if rapid.Bool().Draw(t, "time") {
			of := timeTypes[rapid.IntRange(0, len(timeTypes)-1).Draw(t, "type")]
			ty.name, ty.values, c.Form = of.name, of.values, of.form
			c.Domain = someTimes(t, of.form)
		} else {
			c.Domain = someDomain(t, rapid.SampledFrom(ty.declared).Draw(t, "declared"), ty.values)
			if _, text := ty.values[len(ty.values)-1].file.(string); !text && ty.name != "boolean" && rapid.IntRange(0, 2).Draw(t, "stepped") == 0 {
				c.Domain, c.Form = someReal(t)
			}
		}
		if c.Domain.IsRange() && rapid.Bool().Draw(t, "clamp") {
			c.Form = c.Form.Clamped()
		}
		s.table.Columns = append(s.table.Columns, c)
		s.values = append(s.values, ty.values)
		defs, names = append(defs, query.Quoted(name)+" "+ty.name), append(names, query.Quoted(name))
		holes, marks = append(holes, "?"), append(marks, fmt.Sprintf("$%d", len(marks)+1))
	}
	execute(t, conn, "DROP TABLE IF EXISTS raw CASCADE", "CREATE TABLE raw ("+strings.Join(defs, ", ")+")")
	for _, statement := range []string{"DROP TABLE IF EXISTS raw", "CREATE TABLE raw (" + strings.Join(names, ", ") + ")"} {
		_, err := db.Exec(statement)
		must(t, err)
	}
	for range rapid.IntRange(0, 25).Draw(t, "rows") {
		server, file := make([]any, len(names)), make([]any, len(names))
		for i := range names {
			from := unit
			if c := i + len(s.values) - len(names); c >= 0 {
				from = s.values[c]
			}
			p := rapid.SampledFrom(from).Draw(t, "value")
			server[i], file[i] = p.server, p.file
		}
		columns := "(" + strings.Join(names, ", ") + ")"
		_, err := conn.PgConn().ExecParams(context.Background(), "INSERT INTO raw "+columns+" VALUES ("+strings.Join(marks, ", ")+")", arguments(server), nil, nil, nil).Close()
		must(t, err)
		_, err = db.Exec("INSERT INTO raw "+columns+" VALUES ("+strings.Join(holes, ", ")+")", file...)
		must(t, err)
	}
	if rapid.Bool().Draw(t, "analyzed") {
		execute(t, conn, "ANALYZE raw")
	}
	return s
}

func arguments(values []any) [][]byte {
	out := make([][]byte, len(values))
	for i, v := range values {
		if v != nil {
			out[i] = append([]byte{}, v.(string)...)
		}
	}
	return out
}

// query draws a conjunction, or a sum or disjunction of some.
func (s scenario) query(t *rapid.T, u *query.Universe) query.Query {
	conjunction := func() query.Query {
		q := query.All(u)
		for i, c := range u.Columns() {
			if rapid.Bool().Draw(t, "restrict") {
				var err error
				q, err = q.And(query.Where(u, i, someSet(t, c.Domain, s.values[i])))
				must(t, err)
			}
		}
		return q
	}
	q := conjunction()
	for range rapid.IntRange(0, 2).Draw(t, "terms") {
		combine := rapid.SampledFrom([]func(query.Query, query.Query) (query.Query, error){query.Query.Or, query.Query.Plus}).Draw(t, "operator")
		var err error
		q, err = combine(q, conjunction())
		must(t, err)
	}
	return q
}

// anyone admits every reading.
type anyone struct{}

func (anyone) Admits(source.Table) error { return nil }
