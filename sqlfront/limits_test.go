package sqlfront_test

import (
	"flag"
	"strconv"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

var long = flag.Bool("long", false, "run the campaigns at full size")

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
	for i := range 20_000 {
		or.WriteString(" OR age=" + strconv.Itoa(i%41))
	}
	for i := range 10_000 {
		text.WriteString(" OR zip='" + strconv.Itoa(i) + "'")
	}
	cases := []struct{ name, where, want string }{
		{"20 thousand ORs", "age=0" + or.String(), "age{0..40: 1}"},
		{"20 thousand ANDs", "age>=0" + strings.Repeat(" AND age<41", 20_000), "age{0..40: 1}"},
		{"mixed", "age=0" + strings.Repeat(" AND age<41 OR age<2", 10_000), "age{0..1: 1}"},
		{"a chain of IS NULL", "age" + strings.Repeat(" IS NULL", 20_000), "0"},
		{"a chain of IS TRUE", "age = 1" + strings.Repeat(" IS TRUE", 20_000), "age{1: 1}"},
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
