package sqlfront_test

import (
	"fmt"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// newLarge returns a table whose columns have large domains: a million integers, a
// hundred thousand texts, 27 years of days, and a text without a list.
func newLarge(t testing.TB) declared {
	t.Helper()
	texts := make([]query.Value, 100_000)
	for i := range texts {
		texts[i] = query.Text(fmt.Sprintf("key %06d", i*7%100_000))
	}
	listed, err := query.NewList(query.TypeText, texts)
	if err != nil {
		t.Fatal(err)
	}
	d := declare(t, "CREATE PRIVATE TABLE v (n INTEGER BETWEEN 0 AND 999999 OR NULL,"+
		" d DATE BETWEEN '1998-01-01' AND '2024-12-31', m INTEGER BETWEEN 0 AND 9, zip TEXT) FROM raw")
	columns := append([]query.Column{{Name: "key", Domain: listed}}, d.u.Columns()...)
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	return declared{"v", u}
}

// BenchmarkCompare compiles comparisons over large domains: as a condition of WHERE, as a part
// of longer ones, and inside a CASE.
func BenchmarkCompare(b *testing.B) {
	table := newLarge(b)
	list := func(n int, format string) string {
		elements := make([]string, n)
		for i := range elements {
			elements[i] = fmt.Sprintf(format, i*37%100_000)
		}
		return strings.Join(elements, ", ")
	}
	or := func(n int, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i*37%100_000)
		}
		return strings.Join(parts, " OR ")
	}
	zips, args := listOf(100_000)
	for _, c := range []struct {
		name, where string
		args        []query.Value
	}{
		{name: "equal", where: "n = 5"},
		{name: "between", where: "n BETWEEN 1000 AND 900000"},
		{name: "not between and null", where: "NOT (n BETWEEN 1000 AND 900000) OR n IS NULL"},
		{name: "in 10000 integers", where: "n IN (" + list(10_000, "%d") + ")"},
		{name: "in 5000 texts", where: "key IN (" + list(5_000, "'key %06d'") + ")"},
		{name: "not in 5000 texts", where: "key NOT IN (" + list(5_000, "'key %06d'") + ")"},
		{name: "text order", where: "key < 'key 050000' AND key >= 'key 010000'"},
		{name: "like", where: "key LIKE 'key 01%'"},
		{name: "dates", where: "d >= '2010-05-05' AND d < '2020-01-01'"},
		{name: "year", where: "strftime('%Y', d) = '2012'"},
		{name: "conjunction", where: "n BETWEEN 1000 AND 900000 AND key < 'key 050000'" +
			" AND d > '2010-05-05' AND m IN (1, 2) AND zip IN ('1', '2')"},
		{name: "disjunction", where: "n > 1000 OR key < 'key 050000' OR d > '2010-05-05' OR m = 3"},
		{name: "10000 equalities", where: or(10_000, "n = %d")},
		{name: "3000 pairs", where: or(3_000, "n = %d AND m = 3")},
		{name: "list without a domain", where: zips, args: args},
		{name: "computed", where: "n + 1 BETWEEN 1000 AND 900000 AND n / 1000 = 5 AND n < 20000"},
		{name: "case between", where: "CASE WHEN n BETWEEN 1000 AND 900000 THEN 1 ELSE 0 END = 1"},
		{name: "case over integers", where: "CASE WHEN m BETWEEN 2 AND 8 THEN n / 100000 ELSE 5 END > 3"},
		{name: "case in 1000 texts", where: "CASE WHEN key IN (" + list(1_000, "'key %06d'") +
			") THEN m ELSE 5 END > 3"},
		{name: "case text order", where: "CASE WHEN key < 'key 050000' THEN m ELSE 5 END > 3"},
		{name: "case dates", where: "CASE WHEN d >= '2010-05-05' THEN 1 WHEN d > '2005-01-01' THEN m ELSE 3 END = 1"},
		{name: "case list of a thousand", where: "CASE WHEN zip IN (" + list(1_000, "'%d'") + ") THEN m ELSE 5 END > 3"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, err := syntax.Parse("SELECT COUNT(*) FROM v WHERE " + c.where)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := sqlfront.Bind(s.(*syntax.Select), table, c.args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestOneMeaning compares each kind of column with each kind of constant, as a condition of
// WHERE and inside a CASE: both mean the same, or are refused alike.
func TestOneMeaning(t *testing.T) {
	t.Parallel()
	v := declare(t, "CREATE PRIVATE TABLE v (age INTEGER BETWEEN 0 AND 20 OR NULL, sex TEXT IN ('F', 'M') OR NULL,"+
		" kind TEXT IN ('a', 'b') OR OTHER, folded TEXT IN ('A', 'b') COLLATE NOCASE, ok BOOLEAN,"+
		" d DATE BETWEEN '2024-01-01' AND '2024-12-31', at TIMESTAMP BETWEEN '2024-01-01' AND '2024-12-31' STEP '1 hour',"+
		" x REAL BETWEEN 0 AND 4 STEP 1, n NUMERIC(4,1) BETWEEN 0 AND 3, zip TEXT, name TEXT COLLATE NOCASE) FROM raw")
	constants := []string{"3", "'3'", "' 3 '", "3.5", "'x'", "'a'", "'A'", "'F'", "'2024-05-05'", "'2024-05-05 10:00:00'",
		"'2024-05-05 10:30:00'", "TRUE", "'t'", "NULL", "CURRENT_DATE", "9223372036854775808", "-1", "'1e3'"}
	said := func(where string) string {
		b, err := compile(v, "SELECT COUNT(*) FROM v WHERE "+where)
		if err != nil {
			return fmt.Sprintf("%v (%s)", err, err.(*sqlerr.Error).Hint)
		}
		return counted(b).String()
	}
	for _, c := range v.Universe().Columns() {
		for _, k := range constants {
			for _, form := range []string{"%s = %s", "%s <> %s", "%s < %s", "%[2]s <= %[1]s", "%s IN (%s)", "%s IN (%s, NULL)",
				"%s NOT IN (%s, '7')", "%s BETWEEN %s AND %[2]s", "%s IS %s", "%s IS NOT %s", "(%s > %s) IS NULL"} {
				if !c.Domain.Finite() && strings.ContainsAny(form, "<B>") && !strings.Contains(form, "<>") {
					continue // undecided, and by which value differs
				}
				where := fmt.Sprintf(form, c.Name, k)
				plain, inside := said(where), said("CASE WHEN "+where+" THEN 1 ELSE 0 END = 1")
				if plain != inside {
					t.Errorf("%s:\n%s\n%s inside a CASE", where, plain, inside)
				}
				if arm := said("CASE " + c.Name + " WHEN " + k + " THEN 1 ELSE 0 END = 1"); form == "%s = %s" && arm != plain {
					t.Errorf("%s:\n%s\n%s as an arm of a CASE", where, plain, arm)
				}
			}
		}
	}
}

// TestOtherIsNoText: what can be OTHER of a column is compared with the texts of its list and with
// 'OTHER' alone, whatever it comes through, since OTHER stands for texts that nobody knows here.
func TestOtherIsNoText(t *testing.T) {
	t.Parallel()
	v := declare(t, "CREATE PRIVATE TABLE v (age INTEGER BETWEEN 0 AND 3, sex TEXT IN ('a', 'F'), kind TEXT IN ('a', 'b') OR OTHER OR NULL,"+
		" folded TEXT COLLATE NOCASE IN ('Ash', 'elm') OR OTHER) FROM raw")
	through := []string{"coalesce(%s, '')", "ifnull(%s, 'q')", "CASE WHEN age < 2 THEN %s ELSE 'q' END", "iif(age < 2, %s, sex)", "nullif(%s, 'OTHER')"}
	compared := []string{"%s = %s", "%[2]s <> %[1]s", "%s IN (%s, 'OTHER')", "%s IS %s", "CASE %s WHEN %s THEN 1 END = 1", "nullif(%s, %s) IS NULL", "%s IN (%s, sex)"}
	for _, c := range []struct{ column, listed, other string }{{"kind", "'a'", "'x'"}, {"folded", "'Ash'", "'oak'"}} {
		for _, through := range append(through, "%s") {
			x := fmt.Sprintf(through, c.column)
			for i, form := range compared {
				want := []string{"", "unsupported"}
				if i == len(compared)-1 {
					want[0] = "unsupported" // sex has others
				}
				for j, k := range []string{c.listed, c.other} {
					if _, err := compile(v, "SELECT COUNT(*) FROM v WHERE "+fmt.Sprintf(form, x, k)); string(sqlerr.CodeOf(err)) != want[j] {
						t.Errorf(form+": %v, want %q", x, k, err, want[j])
					}
				}
			}
			for _, form := range []string{"%s = sex", "sex IS NOT %s", "%s < 'b'", "%s BETWEEN 'a' AND 'b'"} {
				if _, err := compile(v, "SELECT COUNT(*) FROM v WHERE "+fmt.Sprintf(form, x)); sqlerr.CodeOf(err) != sqlerr.Unsupported {
					t.Errorf(form+": %v", x, err)
				}
			}
		}
	}
	for _, where := range []string{"kind = kind", "CASE WHEN kind = 'a' THEN 'x' ELSE 'y' END = 'x'", "coalesce(kind, 'none') = 'OTHER'", "coalesce(kind, 'none') IS NULL"} {
		if _, err := compile(v, "SELECT COUNT(*) FROM v WHERE "+where); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
}
