package sqlfront_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"dpsql/internal/scratch"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

var long = flag.Bool("long", false, "run the campaigns at full size")

// TestMain lets properties be tried 50 times in place of 100, unless -rapid.checks says otherwise.
func TestMain(m *testing.M) {
	flag.Set("rapid.checks", "50")
	scratch.CollectSeldom()
	os.Exit(m.Run())
}

const prefix = "SELECT COUNT(*) FROM people WHERE "

func TestAbsurdSizes(t *testing.T) {
	cases := []struct{ name, text string }{
		{"five million NOTs", prefix + strings.Repeat("NOT ", 5_000_000) + "age = 1"},
		{"60 thousand NOTs", prefix + strings.Repeat("NOT ", 60_000) + "age = 1"},
		{"signs", prefix + "age = " + strings.Repeat("- ", 100_000) + "1"},
		{"mixed prefixes", prefix + strings.Repeat("NOT - + ~ ", 20_000) + "age = 1"},
		{"parentheses", prefix + strings.Repeat("(", 100_000) + "age = 1" + strings.Repeat(")", 100_000)},
		{"parentheses with NOT", prefix + strings.Repeat("NOT (", 151) + "age = 1" + strings.Repeat(")", 151)},
		{"sub-selects", prefix + strings.Repeat("age IN (SELECT a FROM b WHERE ", 160) + "age = 1" + strings.Repeat(")", 160)},
		{"CASE", prefix + strings.Repeat("CASE WHEN ", 20_000) + "age = 1 " + strings.Repeat("THEN 1 END ", 8_000)},
		{"options", "SET a = " + strings.Repeat("-", 100_000) + "1"},
	}
	for _, c := range cases {
		_, err := bind(t, c.text)
		if code := sqlerr.CodeOf(err); code != sqlerr.Unsupported && code != sqlerr.Malformed {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestNestingWithinLimits(t *testing.T) {
	text := prefix + strings.Repeat("NOT (", 100) + "age = 1" + strings.Repeat(")", 100)
	if got := mustBind(t, text).Queries[0].String(); got != "age{1: 1}" {
		t.Errorf("100 NOTs: %s", got)
	}
	text = prefix + strings.Repeat("(", 150) + "age = 1" + strings.Repeat(")", 150)
	if got := mustBind(t, text).Queries[0].String(); got != "age{1: 1}" {
		t.Errorf("150 parentheses: %s", got)
	}
}

func TestLongStatements(t *testing.T) {
	var or, text strings.Builder
	n := 5_000
	if *long {
		n = 20_000
	}
	for i := range n {
		or.WriteString(" OR age=" + strconv.Itoa(i%41))
	}
	for i := range 10_000 {
		text.WriteString(" OR zip='" + strconv.Itoa(i) + "'")
	}
	cases := []struct{ name, where, want string }{
		{"many ORs", "age=0" + or.String(), "age{0..40: 1}"},
		{"many ANDs", "age>=0" + strings.Repeat(" AND age<41", n), "age{0..40: 1}"},
		{"mixed", "age=0" + strings.Repeat(" AND age<41 OR age<2", n/2), "age{0..1: 1}"},
		{"a chain of IS NULL", "age" + strings.Repeat(" IS NULL", n), "0"},
		{"a chain of IS TRUE", "age = 1" + strings.Repeat(" IS TRUE", n), "age{1: 1}"},
		{"a chain of IS NOT TRUE", "age = 1" + strings.Repeat(" IS NOT TRUE", 10_001) + " IS TRUE", "age{NULL, 0, 2..120: 1}"},
		{"nested IS NULL", strings.Repeat("(married = 1 AND ", 140) + "age = 1" + strings.Repeat(" IS NULL)", 140), "0"},
	}
	for _, c := range cases {
		if got := mustBind(t, prefix+c.where).Queries[0].String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if n, _ := mustBind(t, prefix+"zip='0'"+text.String()).Queries[0].SizeWithin(1 << 60); n != 0 {
		// 10 000 zips times the other columns: 122 · 3 · 2 · 2.
		if want := uint64(10_000 * 122 * 3 * 2 * 2); n != want {
			t.Errorf("10 thousand zips: support %d, want %d", n, want)
		}
	} else {
		t.Error("10 thousand zips: no support")
	}
}

// listOf returns an IN list of n parameters and arguments for it.
func listOf(n int) (string, []query.Value) {
	args := make([]query.Value, n)
	for i := range args {
		args[i] = query.Text(strconv.Itoa(i * 7919 % 1_000_003))
	}
	return "zip IN (?" + strings.Repeat(",?", n-1) + ")", args
}

func TestLongList(t *testing.T) {
	n := 20_000
	if *long {
		n = 100_000
	}
	list, args := listOf(n)
	for _, where := range []string{list, "NOT (zip NOT " + list[len("zip "):] + ")", list + " AND age = 40 AND sex = 'F'"} {
		b := mustBind(t, prefix+where, args...)
		size, ok := b.Queries[0].SizeWithin(1 << 60)
		want := uint64(n) * 122 * 3 * 2 * 2
		if strings.HasSuffix(where, "'F'") {
			want = uint64(n) * 2 * 2
		}
		if !ok || size != want {
			t.Errorf("a list of %d: support %d, want %d", n, size, want)
		}
	}
	_, err := bind(t, prefix+"age IN (1"+strings.Repeat(",1", 150_000)+")")
	if sqlerr.CodeOf(err) != sqlerr.Unsupported || !strings.Contains(err.Error(), "256 KiB") || !strings.Contains(err.(*sqlerr.Error).Hint, "JOIN") {
		t.Errorf("a list beyond the limit: %v", err)
	}
}

func BenchmarkBind(b *testing.B) {
	table := newPeople(b)
	b.ReportAllocs()
	for b.Loop() {
		s, err := syntax.Parse("SELECT COUNT(*) FROM people p WHERE p.sex = 'F' AND age BETWEEN 30 AND 34 AND zip IN ('15213', '15217') AND NOT married = 1")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := sqlfront.Bind(s.(*syntax.Select), table, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLongList(b *testing.B) {
	table := newPeople(b)
	list, args := listOf(100_000)
	b.ReportAllocs()
	for b.Loop() {
		s, err := syntax.Parse(prefix + list)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := sqlfront.Bind(s.(*syntax.Select), table, args); err != nil {
			b.Fatal(err)
		}
	}
}

// undecided is the sample with joinable tables, and columns without a known domain.
type undecided struct {
	joinable
	columns map[string]bool
}

func (u undecided) Undecided(column int) bool {
	return u.columns[u.Universe().Columns()[column].Name]
}

// Bind says which column without a known domain a statement names first,
// wherever it does, and says it of no other statement.
func TestUndecidedColumnsAreReported(t *testing.T) {
	j := newJoinable(t)
	name := func(column string) string { return `"` + column + `"` }
	columns := j.Universe().Columns()
	for i, c := range columns {
		table, others := undecided{j, map[string]bool{c.Name: true}}, columns[(i+1)%len(columns)].Name
		for text, named := range map[string]bool{
			`SELECT COUNT(*) FROM ` + j.Name():                                                                                 false,
			`SELECT COUNT(*) AS ` + name(c.Name) + ` FROM ` + j.Name():                                                         false,
			`SELECT COUNT(*) FROM ` + j.Name() + ` WHERE ` + name(others) + ` IS NULL`:                                         false,
			`SELECT COUNT(*) FROM ` + j.Name() + ` WHERE ` + name(c.Name) + ` IS NULL`:                                         true,
			`SELECT COUNT(*) FROM ` + j.Name() + ` WHERE ` + name(c.Name) + ` = 1`:                                             true,
			`SELECT ` + name(c.Name) + `, COUNT(*) FROM ` + j.Name() + ` WHERE ` + name(c.Name) + ` IN ('1') GROUP BY 1`:       true,
			`SELECT COUNT(*) FROM (SELECT ` + name(c.Name) + ` AS other FROM ` + j.Name() + `)`:                                true,
			`SELECT COUNT(*) FROM (SELECT * FROM ` + j.Name() + `) WHERE ` + name(c.Name) + ` IS NULL`:                         true,
			`SELECT COUNT(*) FROM ` + j.Name() + ` JOIN codes ON ` + j.Name() + `.` + name(c.Name) + ` = codes.code`:           true,
			`SELECT kind, COUNT(*) FROM ` + j.Name() + ` AS p JOIN codes ON codes.code = p.` + name(c.Name) + ` GROUP BY kind`: true,
			`SELECT COUNT(*) FROM ` + j.Name() + ` WHERE CASE WHEN ` + name(c.Name) + ` IS NULL THEN 1 ELSE 0 END = 1`:         true,
			`SELECT COUNT(*) FROM ` + j.Name() + ` WHERE ` + name(others) + ` IS NULL OR NOT ` + name(c.Name) + ` IS NOT NULL`: true,
		} {
			statement, err := syntax.Parse(text)
			if err != nil {
				t.Fatalf("%s\n%v", text, err)
			}
			_, err = sqlfront.Bind(statement.(*syntax.Select), table, nil)
			var e *sqlfront.UndecidedError
			if got := errors.As(err, &e); got != named || named && (e.Column != i || !query.SameName(e.Name, c.Name)) {
				t.Errorf("%s undecided: %s\n%v", c.Name, text, err)
			}
		}
	}
}

// TestMySQLReadings checks that nothing of MySQL's reading of a statement
// reaches its meaning.
func TestMySQLReadings(t *testing.T) {
	cases := []struct{ name, where, want string }{
		{"double quotes are names", `"age" = 40`, "age{40: 1}"},
		{"doubled double quotes", `"age" = 40 AND zip = '"'`, `age{40: zip{'"': 1}}`},
		{"backslash n is two characters", `zip = '\n'`, `zip{'\n': 1}`},
		{"a backslash ends no string early", `zip = '\' OR zip = '\\'`, `zip{'\', '\\': 1}`},
		{"version comments are comments", "age = 40 /*!OR 1 = 1*/", "age{40: 1}"},
		{"an empty version comment", "/*!*/ age = 40", "age{40: 1}"},
		{"hash is no comment in a string", "zip = '#' AND age = 40", "age{40: zip{'#': 1}}"},
		{"dashes without a blank are a comment", "age = 40 --OR 1 = 1", "age{40: 1}"},
		{"two minus signs", "age = - - 40", "age{40: 1}"},
		{"double equals", "age == 40", "age{40: 1}"},
		{"LIKE's percent in a string", "zip = '%'", "zip{'%': 1}"},
		{"placeholders in strings and names", `zip = ':v1' OR zip = 'i3' OR zip = '?'`, "zip{':v1', '?', 'i3': 1}"},
		{"adjacent strings are one with a quote", "zip = 'a''b'", "zip{'a''b': 1}"},
		{"TRUE is 1", "married = true", "married{1: 1}"},
		{"integers beyond 64 bits", "age < " + strings.Repeat("9", 1000), "age{0..120: 1}"},
		{"integers beyond 64 bits, negative", "age > -" + strings.Repeat("9", 1000), "age{0..120: 1}"},
	}
	for _, c := range cases {
		if got := mustBind(t, "SELECT COUNT(*) FROM people WHERE "+c.where).Queries[0].String(); got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.name, c.where, got, c.want)
		}
	}
}

// TestDoubleQuotedNamesAreNoStrings is the worst of MySQL's readings (and of
// SQLite's own): a misspelt quoted name that becomes a string compares as a
// constant and silently gives a wrong answer.
func TestDoubleQuotedNamesAreNoStrings(t *testing.T) {
	for _, where := range []string{`"heigth" = 'x'`, `'x' = "heigth"`, `"sexx" IN ('sexx')`, `sex = "F"`, `"a" IS NOT NULL`, `"" = ''`, `sex IN ("F", "M")`, "`b` = 1", "[c] = 1"} {
		if _, err := bind(t, "SELECT COUNT(*) FROM people WHERE "+where); sqlerr.CodeOf(err) != sqlerr.Unknown {
			t.Errorf("%s: %v, want an unknown column", where, err)
		}
	}
}

// TestKeywordNames checks names that are keywords to one side only.
func TestKeywordNames(t *testing.T) {
	plain := []string{"key", "status", "year", "date", "text", "mod", "div", "rank", "release", "interval"}
	for i, name := range append(plain, "values", "order", "group", "index", "select", "desc", "left") {
		d, err := query.NewRange(0, 9, false)
		if err != nil {
			t.Fatal(err)
		}
		u, err := query.NewUniverse([]query.Column{{Name: name, Domain: d}})
		if err != nil {
			t.Fatal(err)
		}
		spellings := []string{`"` + name + `"`, "`" + name + "`", "[" + name + "]", "t." + name, `t."` + name + `"`}
		if i < len(plain) {
			spellings = append(spellings, name)
		}
		for _, spelling := range spellings {
			b, err := compile(declared{"t", u}, "SELECT COUNT("+spelling+") FROM t WHERE "+spelling+" = 1")
			if err != nil {
				t.Errorf("%s: %v", spelling, err)
			} else if got, want := b.Queries[0].String(), name+"{1: 1}"; got != want {
				t.Errorf("%s: got %s, want %s", spelling, got, want)
			}
		}
	}
}

// TestTrueIsAColumnFirst: an unquoted TRUE is the column of that name where
// there is one, as in SQLite.
func TestTrueIsAColumnFirst(t *testing.T) {
	d, err := query.NewRange(0, 9, false)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "true", Domain: d}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := compile(declared{"t", u}, "SELECT COUNT(*) FROM t WHERE TRUE = 5")
	if err != nil || b.Queries[0].String() != "true{5: 1}" {
		t.Errorf("got %v, %v", b, err)
	}
}

// TestQuotesInNames checks names that contain the signs that quote names.
func TestQuotesInNames(t *testing.T) {
	d, err := query.NewRange(0, 9, false)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "a`b", Domain: d}, {Name: `c"d`, Domain: d}, {Name: "e f'", Domain: d}})
	if err != nil {
		t.Fatal(err)
	}
	want, err := compile(declared{"t", u}, `SELECT COUNT(*) FROM t WHERE "a`+"`"+`b" = 1 AND "c""d" = 2 AND "e f'" = 3`)
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"`a``b` = 1 AND `c\"d` = 2 AND [e f'] = 3", "[a`b] = 1 AND [c\"d] = 2 AND t.`e f'` = 3"} {
		got, err := compile(declared{"t", u}, "SELECT COUNT(*) FROM t WHERE "+where)
		if err != nil || !got.Queries[0].Equal(want.Queries[0]) {
			t.Errorf("%s: %v, %v; want %v", where, got, err, want.Queries[0])
		}
	}
	if got := want.Queries[0].Columns(); len(got) != 3 {
		t.Errorf("the condition is on columns %v", got)
	}
	for name, hint := range map[string]string{"e": `a name of several words is quoted: "e f'"`, "E": `quoted: "e f'"`, `"c""e"`: `did you mean "c""d"?`} {
		_, err := compile(declared{"t", u}, "SELECT COUNT(*) FROM t WHERE "+name+" = 1")
		var e *sqlerr.Error
		if !errors.As(err, &e) || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %v, want the hint %s", name, err, hint)
		}
	}
}

// TestWrittenNames: wherever a statement has a name as WriteName writes it, the name is
// read again, be it a word of SQL, a word in another script, or no word at all.
func TestWrittenNames(t *testing.T) {
	d, err := query.NewRange(2, 4, false)
	if err != nil {
		t.Fatal(err)
	}
	// SQLite's keywords, the dialect's words, and others.
	names := strings.Fields(`abort action add after all alter always analyze and as asc attach autoincrement before begin between by cascade
		case cast check collate column commit conflict constraint create cross current current_date current_time current_timestamp
		database default deferrable deferred delete desc detach distinct do drop each else end escape except exclude exclusive exists
		explain fail filter first following for foreign from full generated glob group groups having if ignore immediate in index
		indexed initially inner insert instead intersect into is isnull join key last left like limit match materialized natural no
		not nothing notnull null nulls of offset on or order others outer over partition plan pragma preceding primary query raise
		range recursive references regexp reindex release rename replace restrict returning right rollback row rows savepoint select
		set table temp temporary then ties to transaction trigger unbounded union unique update using vacuum values view virtual when
		where window with without
		true false interval date timestamp time text integer numeric boolean count sum avg total min max median iif coalesce abs cube
		rollup grouping sets low high margin within unit any some cast tables mechanism public private div mod binary regexp rlike
		größe année_2 年 x1 _ a$ 1a a-b a"b a` + "`" + `b ` + "\u00a0" + ` e’s x'`)
	names = append(names, "a b", "\xff", "a\xff")
	for _, name := range names {
		u, err := query.NewUniverse([]query.Column{{Name: name, Domain: d}})
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		for _, text := range []string{
			"SELECT #, COUNT(*), SUM(#) AS # FROM # WHERE #.# < 4 AND NOT # BETWEEN 3 AND 5 GROUP BY # ORDER BY #, COUNT(*) LIMIT 5",
			"SELECT AVG(CASE WHEN # = 1 THEN 1 ELSE # END) FILTER (WHERE # > 1) FROM # # WHERE (#) <> 3 AND ABS(#) > 2 OR 1 + # IN (5, 6) OR # IS NULL",
		} {
			written := strings.ReplaceAll(text, "#", syntax.WriteName(name))
			want, err := compile(declared{name, u}, strings.ReplaceAll(text, "#", query.Quoted(name)))
			if err != nil {
				if utf8.ValidString(name) {
					t.Errorf("%s in quotes: %v", written, err)
				}
				continue
			}
			got, err := compile(declared{name, u}, written)
			if err != nil {
				t.Errorf("%s: %v", written, err)
			} else if !slices.EqualFunc(got.Queries, want.Queries, query.Query.Equal) {
				t.Errorf("%s: %v, want %v", written, got.Queries, want.Queries)
			}
		}
	}
}

// worked is a table that ends compiling at the n-th call.
type worked struct {
	million
	calls *int
	most  int
}

func (w worked) Working() error {
	if *w.calls++; *w.calls >= w.most {
		return context.Canceled
	}
	return nil
}

// Whatever takes long to compile looks again and again whether anybody still wants it: conditions, their
// combinations, sums, and groups. What takes a moment does not.
func TestCompilingLooksUp(t *testing.T) {
	var columns []query.Column
	for i, hi := range []int64{99999, 999, 99999, 1} {
		d, err := query.NewRange(0, hi, false)
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, query.Column{Name: string(rune('a' + i)), Domain: d})
	}
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text  string
		calls int // at least, or none
	}{
		{`SELECT COUNT(*) FROM wide WHERE a < 7 AND b = 3`, 0},
		{`SELECT b, COUNT(*) FROM wide WHERE b < 100 GROUP BY b`, 0},
		{`SELECT COUNT(*) FROM wide WHERE (a * 7919) % 9973 < 500`, 10},
		{`SELECT COUNT(*) FROM wide WHERE (a % 9973 < 500 OR b % 2 = 0) AND (a % 997 < 50 OR c % 3 = 1)`, 10},
		{`SELECT SUM(a), SUM(b), SUM(a % 1000) FROM wide`, 5},
		{`SELECT SUM(a) FROM wide`, 7},
		{`SELECT STDDEV_POP(a) FROM wide`, 20},
		{`SELECT a, COUNT(*), SUM(b) FROM wide WHERE a < 40000 GROUP BY a`, 5},
	} {
		sel, err := syntax.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		if c.calls == 0 {
			if _, err := sqlfront.Bind(sel.(*syntax.Select), worked{million{u}, &calls, 1 << 30}, nil); err != nil || calls > 0 {
				t.Errorf("%s looks up %d times (%v)", c.text, calls, err)
			}
		} else if _, err := sqlfront.Bind(sel.(*syntax.Select), worked{million{u}, &calls, c.calls}, nil); !errors.Is(err, context.Canceled) || calls != c.calls {
			t.Errorf("%s looks up %d times, and stops at the %dth (%v)", c.text, calls, c.calls, err)
		}
	}
}

// TestOrderOfColumns: statements are answered or refused alike, and with the same support, in whatever order the columns
// were declared. What is refused because a sum in many groups takes too much there is answered as the hint says.
func TestOrderOfColumns(t *testing.T) {
	universe := func(order []int, sizes [3]int64) declared {
		columns := make([]query.Column, 3)
		for i, k := range order {
			d, err := query.NewRange(0, sizes[k]-1, true)
			if err != nil {
				t.Fatal(err)
			}
			columns[i] = query.Column{Name: string(rune('x' + k)), Domain: d}
		}
		u, err := query.NewUniverse(columns)
		if err != nil {
			t.Fatal(err)
		}
		return declared{"wide", u}
	}
	outcome := func(table declared, text string) string {
		b, err := compile(table, text)
		if err != nil {
			return err.Error()
		}
		var found strings.Builder
		for i, q := range b.Queries {
			size, _ := q.SizeWithin(1 << 60)
			fmt.Fprintf(&found, "%v %d %d\n", b.Groups[i/b.Width()], size, q.MaxWeight())
		}
		return found.String()
	}
	orders := [][]int{{0, 1, 2}, {1, 2, 0}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}, {2, 0, 1}}
	if !*long {
		orders = orders[:3]
	}
	for _, text := range []string{
		"SELECT SUM(x) FROM wide", "SELECT y, SUM(x) FROM wide GROUP BY y", "SELECT y, z, AVG(x) FROM wide WHERE x > 7 GROUP BY 1, 2", "SELECT SUM(x * z) FROM wide WHERE y < 3",
		"SELECT SUM(CASE WHEN y = 1 THEN x ELSE z END) FROM wide", "SELECT COUNT(*) FROM wide WHERE x = y OR (x + z) % 3 = 1", "SELECT (x + y) % 4, VARIANCE(z) FROM wide GROUP BY 1",
		"SELECT y, z, COUNT(*) FROM wide GROUP BY ROLLUP (y, z)", "SELECT SUM(x) FROM wide WHERE y > 'a'", "SELECT x, SUM(y) FROM wide WHERE z IN (1, 3) GROUP BY x",
	} {
		want := outcome(universe(orders[0], [3]int64{40, 6, 5}), text)
		for _, order := range orders[1:] {
			if got := outcome(universe(order, [3]int64{40, 6, 5}), text); got != want {
				t.Errorf("%s, declared %v: %s, want %s", text, order, got, want)
			}
		}
	}
	_, err := compile(universe(orders[0], [3]int64{40_000, 40, 5}), "SELECT y, SUM(x) FROM wide GROUP BY y")
	var e *sqlerr.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "fewer values at a time") || !strings.Contains(e.Hint, "x / 10 * 10") {
		t.Fatalf("a sum in many groups: %v", err)
	}
	for _, text := range []string{"SELECT y, SUM(x) FROM wide WHERE y IN (0, 1, 2) GROUP BY y", "SELECT y, SUM(x / 10 * 10) FROM wide GROUP BY y"} {
		if want, got := outcome(universe([]int{1, 0, 2}, [3]int64{40_000, 40, 5}), text), outcome(universe(orders[0], [3]int64{40_000, 40, 5}), text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
