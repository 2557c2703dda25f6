package engine_test

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dpsql/engine"
	"dpsql/internal/pgtest"
	"dpsql/internal/seeds"
	"dpsql/query"
)

// A ternary is what a condition is of a row. AND is the least of two, OR the greatest, and NOT
// the distance from yes.
type ternary int

const no, unknown, yes ternary = 0, 1, 2

func truthOf(b bool) ternary {
	if b {
		return yes
	}
	return no
}

// standing is what a row has in a column, as the declaration reads it: NULL, or a number that
// orders the values. Of a REAL it is the number of the step.
type standing struct {
	n    int64
	null bool
}

// A typed is a column of the campaign.
type typed struct {
	name, declared string
	file, server   string // the types of the rows
	// draw returns a value in the file and as a literal of the server, and what it stands for. It is
	// false for a value that the declaration does not admit.
	draw func(r *rand.Rand) (file any, server string, value standing, ok bool)
	// literal returns a text, and where it stands among the values doubled: 2n for the value n,
	// and 2n+1 for one between n and n+1.
	literal   func(r *rand.Rand) (text string, doubled int64)
	relations []string // the relations of SQL that are asked; all if nil
	open      bool     // the column has no domain
	special   func(r *rand.Rand) (text string, holds func(standing) ternary)
}

// someRow draws where a value lies: mostly inside, at times missing or odd.
func someRow(r *rand.Rand) (null, odd bool) {
	n := r.IntN(40)
	return n == 0, n == 1
}

// stepsOf returns a column of float64s in steps of numerator/denominator from lo to hi steps.
func stepsOf(name string, lo, hi, numerator, denominator int64) typed {
	end := func(n int64) float64 { return float64(n*numerator) / float64(denominator) }
	decimal := func(n int64) string { return query.Decimal(big.NewRat(n*numerator, denominator)) }
	c := typed{name: name, declared: fmt.Sprintf("REAL BETWEEN %s AND %s STEP %s OR NULL", decimal(lo), decimal(hi), decimal(1)),
		file: "REAL", server: "double precision", relations: []string{"<", ">="}}
	c.draw = func(r *rand.Rand) (any, string, standing, bool) {
		null, odd := someRow(r)
		x := end(lo + r.Int64N(hi-lo+1))
		switch r.IntN(4) {
		case 0:
			x = math.Nextafter(x, math.Inf(1))
		case 1:
			x = math.Nextafter(x, math.Inf(-1))
		case 2:
			x = end(lo) + r.Float64()*(end(hi)-end(lo))
		}
		switch {
		case null:
			return nil, "NULL", standing{null: true}, true
		case odd:
			return "odd", "'NaN'", standing{}, false
		}
		n := lo
		for n < hi-1 && x >= end(n+1) {
			n++
		}
		return x, "'" + strconv.FormatFloat(x, 'g', -1, 64) + "'", standing{n: n}, x >= end(lo) && x <= end(hi)
	}
	c.literal = func(r *rand.Rand) (string, int64) {
		n := lo + r.Int64N(hi-lo)
		return decimal(n), 2 * n
	}
	c.special = func(r *rand.Rand) (string, func(standing) ternary) {
		n, times := lo+r.Int64N(hi-lo), 1+r.Int64N(9)
		bound := new(big.Rat).Mul(big.NewRat(n*numerator, denominator), big.NewRat(times, 1))
		text := fmt.Sprintf("%d * %s < %s", times, name, query.Decimal(bound))
		if r.IntN(2) == 0 { // the same from the other side
			text = fmt.Sprintf("100 - %s * %d > %s", name, times, query.Decimal(bound.Sub(big.NewRat(100, 1), bound)))
		}
		return text, func(v standing) ternary { return known(v, v.n < n) }
	}
	return c
}

// known is the truth of a comparison with a value.
func known(v standing, b bool) ternary {
	if v.null {
		return unknown
	}
	return truthOf(b)
}

// hundredths returns a NUMERIC column with a hundredth for a step. In the file it is a REAL.
// A row may have thousandths, which stand for no value.
func hundredths(name string, lo, hi int64, suffix string) typed {
	decimal := func(n, of int64) string { return query.Decimal(big.NewRat(n, of)) }
	clamped, orNull := strings.Contains(suffix, "CLAMP"), strings.Contains(suffix, "NULL")
	c := typed{name: name, declared: fmt.Sprintf("NUMERIC(6,2) BETWEEN %s AND %s%s", decimal(lo, 100), decimal(hi, 100), suffix), file: "REAL", server: "numeric(12,3)"}
	c.draw = func(r *rand.Rand) (any, string, standing, bool) {
		null, odd := someRow(r)
		thousandths := 10 * (lo - 2 + r.Int64N(hi-lo+5))
		switch {
		case null:
			return nil, "NULL", standing{null: true}, orNull
		case odd && r.IntN(2) == 0:
			return "odd", "'NaN'", standing{}, false
		case odd:
			thousandths += 1 + r.Int64N(9)
		}
		text := decimal(thousandths, 1000)
		x, _ := strconv.ParseFloat(text, 64)
		switch {
		case clamped && thousandths < 10*lo:
			return x, text, standing{n: lo}, true
		case clamped && thousandths > 10*hi:
			return x, text, standing{n: hi}, true
		}
		return x, text, standing{n: thousandths / 10}, thousandths%10 == 0 && thousandths >= 10*lo && thousandths <= 10*hi
	}
	c.literal = func(r *rand.Rand) (string, int64) {
		doubled := 2*lo - 4 + r.Int64N(2*(hi-lo)+9)
		return decimal(doubled, 200), doubled
	}
	c.special = func(r *rand.Rand) (string, func(standing) ternary) {
		n := lo + r.Int64N(hi-lo+1)
		bound := new(big.Rat).Mul(big.NewRat(n, 100), big.NewRat(119, 100))
		return name + " * 1.19 > " + query.Decimal(bound), func(v standing) ternary { return known(v, v.n > n) }
	}
	return c
}

// quoted writes a text as a literal.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// anyCase writes the letters of a text in any case.
func anyCase(r *rand.Rand, text string) string {
	return strings.Map(func(c rune) rune {
		switch low, up := c|32, c&^32; {
		case low < 'a' || low > 'z' || c > 'z':
			return c
		case r.IntN(2) == 0:
			return low
		default:
			return up
		}
	}, text)
}

// listedTexts returns a TEXT column with a list of texts, which with OR OTHER has the other ones
// too. With COLLATE NOCASE rows and literals have letters of any case.
func listedTexts(name string, orOther, noCase bool) typed {
	values, suffix := []string{"OTHER", "a", "b", `d'e\f`, "é"}, " OR OTHER OR NULL" // in the order of their bytes
	if noCase {
		values = []string{"[x", "^", "_x", "Ash", "b", `D'e\f`, "OTHER", "zA", "É", "é"} // in the order of their bytes in lower case
	}
	written := func(r *rand.Rand, text string) string {
		if noCase {
			return anyCase(r, text)
		}
		return text
	}
	if !orOther {
		values, suffix = slices.DeleteFunc(values, func(v string) bool { return v == "OTHER" }), " OR NULL"
	}
	var list []string
	for _, v := range values {
		if v != "OTHER" {
			list = append(list, quoted(v))
		}
	}
	if noCase {
		suffix += " COLLATE NOCASE"
	}
	c := typed{name: name, declared: "TEXT IN (" + strings.Join(list, ", ") + ")" + suffix, file: "TEXT", server: "varchar(20)"}
	if orOther {
		c.relations = []string{"=", "<>"}
	}
	c.draw = func(r *rand.Rand) (any, string, standing, bool) {
		null, _ := someRow(r)
		n := r.IntN(len(values))
		text := written(r, values[n])
		if orOther && r.IntN(4) == 0 || r.IntN(40) == 0 {
			n, text = -1, []string{"A", "a ", "", "e\u0301", "7", "other", "NULL", `d'e\\f`}[r.IntN(8)]
		}
		switch {
		case null:
			return nil, "NULL", standing{null: true}, true
		case n < 0 && orOther:
			n = slices.Index(values, "OTHER")
		}
		return text, quoted(text), standing{n: int64(n)}, n >= 0
	}
	c.literal = func(r *rand.Rand) (string, int64) {
		n := r.IntN(len(values))
		return quoted(written(r, values[n])), int64(2 * n)
	}
	c.special = func(r *rand.Rand) (string, func(standing) ternary) {
		n := r.IntN(len(values))
		is := func(v standing) ternary { return truthOf(!v.null && v.n == int64(n)) }
		if r.IntN(2) == 0 {
			return "CASE " + name + " WHEN " + quoted(written(r, values[n])) + " THEN 1 ELSE 0 END = 1", is
		}
		return "coalesce(" + name + ", 'none') = " + quoted(values[n]), is // a function sees the text of the list
	}
	return c
}

// anyTexts returns a TEXT column without a domain, with COLLATE NOCASE.
func anyTexts(name string) typed {
	values := []string{"", "ash", "o'ak", "É"} // in lower case, and in the order of their bytes
	c := typed{name: name, declared: "TEXT COLLATE NOCASE", file: "TEXT", server: "text", relations: []string{"=", "<>"}, open: true}
	c.draw = func(r *rand.Rand) (any, string, standing, bool) {
		if null, _ := someRow(r); null {
			return nil, "NULL", standing{null: true}, true
		}
		n := r.IntN(len(values))
		text := anyCase(r, values[n])
		return text, quoted(text), standing{n: int64(n)}, true
	}
	c.literal = func(r *rand.Rand) (string, int64) {
		if r.IntN(8) == 0 {
			return []string{"'é'", "'none'", "'ash '"}[r.IntN(3)], -1 // no row has it
		}
		n := r.IntN(len(values))
		return quoted(anyCase(r, values[n])), int64(2 * n)
	}
	c.special = func(r *rand.Rand) (string, func(standing) ternary) {
		a, k := c.literal(r)
		b, l := c.literal(r)
		return name + " IN (" + a + ", " + b + ")", func(v standing) ternary { return known(v, 2*v.n == k || 2*v.n == l) }
	}
	return c
}

// campaign returns a column of each type.
func campaign() []typed {
	first := time.Date(2023, 11, 1, 0, 0, 0, 0, time.UTC).Unix() / 86_400
	const days = 200
	moment := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	day := func(n int64) string { return "'" + moment(n*86_400).Format(time.DateOnly) + "'" }
	whole := func(lo, hi int64) func(r *rand.Rand) (string, int64) {
		return func(r *rand.Rand) (string, int64) {
			doubled := 2*lo - 4 + r.Int64N(2*(hi-lo)+9)
			return query.Decimal(big.NewRat(doubled, 2)), doubled
		}
	}
	flag := func(name, server string) typed {
		c := typed{name: name, declared: "BOOLEAN OR NULL", file: "BOOLEAN", server: server}
		c.draw = func(r *rand.Rand) (any, string, standing, bool) {
			null, odd := someRow(r)
			n := r.Int64N(2)
			switch {
			case null:
				return nil, "NULL", standing{null: true}, true
			case server == "boolean":
				return n, strconv.FormatBool(n == 1), standing{n: n}, true
			case odd:
				return "true", "2", standing{}, false
			}
			return n, fmt.Sprint(n), standing{n: n}, true
		}
		c.literal = func(r *rand.Rand) (string, int64) {
			n := r.Int64N(2)
			return []string{"FALSE", "TRUE", "0", "1"}[n+2*r.Int64N(2)], 2 * n
		}
		c.special = func(r *rand.Rand) (string, func(standing) ternary) {
			switch r.IntN(4) {
			case 0:
				return name, func(v standing) ternary { return known(v, v.n == 1) }
			case 1:
				return "NOT " + name, func(v standing) ternary { return known(v, v.n == 0) }
			case 2:
				return name + " IS NOT FALSE", func(v standing) ternary { return truthOf(v.null || v.n == 1) }
			}
			return name + " IS TRUE", func(v standing) ternary { return truthOf(!v.null && v.n == 1) }
		}
		return c
	}
	gain := stepsOf("gain", -4, 16, 1250, 1)
	gain.declared, gain.server = strings.Replace(gain.declared, "OR NULL", "CLAMP", 1), "numeric(14,3)"
	gain.draw = func(r *rand.Rand) (any, string, standing, bool) {
		null, odd := someRow(r)
		thousandths := r.Int64N(30_000_000) - 7_000_000
		if r.IntN(3) == 0 {
			thousandths = (r.Int64N(24)-6)*1_250_000 + r.Int64N(3) - 1
		}
		text := query.Decimal(big.NewRat(thousandths, 1000))
		x, _ := strconv.ParseFloat(text, 64)
		n := new(big.Int).Div(big.NewInt(thousandths), big.NewInt(1_250_000)).Int64() // downwards
		switch {
		case null:
			return nil, "NULL", standing{}, false
		case odd:
			return "odd", "'NaN'", standing{}, false
		}
		return x, text, standing{n: min(15, max(-4, n))}, true
	}
	return []typed{
		stepsOf("temp", -300, 300, 13, 100), gain,
		hundredths("fee", -75, 75, " OR NULL"), hundredths("due", 0, 100, " CLAMP"),
		flag("lit", "boolean"), flag("mark", "bigint"),
		listedTexts("ward", false, false), listedTexts("tree", true, false), listedTexts("clinic", false, true), listedTexts("town", true, true), anyTexts("place"),
		{name: "visits", declared: "INTEGER BETWEEN 0 AND 30 OR NULL CLAMP", file: "NUMERIC", server: "double precision",
			draw: func(r *rand.Rand) (any, string, standing, bool) {
				null, odd := someRow(r)
				n := r.Int64N(44) - 4
				switch {
				case null:
					return nil, "NULL", standing{null: true}, true
				case odd && n%2 == 0:
					return 1e300, "1e300", standing{n: 30}, true
				case odd && n > 0 && n < 30:
					return float64(n) + 0.5, fmt.Sprintf("%d.5", n), standing{}, false
				case odd:
					return "odd", "'NaN'", standing{}, false
				}
				return n, fmt.Sprint(n), standing{n: min(30, max(0, n))}, true
			},
			literal: whole(0, 30),
			special: func(r *rand.Rand) (string, func(standing) ternary) {
				m, k := 2+r.Int64N(6), r.Int64N(6)
				return fmt.Sprintf("visits %% %d >= %d", m, k), func(v standing) ternary { return known(v, v.n%m >= k) }
			}},
		{name: "came", declared: "DATE BETWEEN " + day(first) + " AND " + day(first+days) + " OR NULL CLAMP", file: "TEXT", server: "date",
			draw: func(r *rand.Rand) (any, string, standing, bool) {
				null, odd := someRow(r)
				n := first - 10 + r.Int64N(days+21)
				switch {
				case null:
					return nil, "NULL", standing{null: true}, true
				case odd:
					return "2024-02-30", "'infinity'", standing{}, false
				}
				return moment(n * 86_400).Format(time.DateOnly), day(n), standing{n: min(first+days, max(first, n))}, true
			},
			literal: func(r *rand.Rand) (string, int64) {
				n := first - 2 + r.Int64N(days+5)
				return day(n), 2 * n
			},
			special: func(r *rand.Rand) (string, func(standing) ternary) {
				n, m := first+r.Int64N(days), 1+r.Int64N(12)
				if r.IntN(2) == 0 {
					return fmt.Sprintf("EXTRACT(MONTH FROM came) = %d", m), func(v standing) ternary {
						return known(v, int64(moment(v.n*86_400).Month()) == m)
					}
				}
				return fmt.Sprintf("came + %d <= %s", m, day(n)), func(v standing) ternary { return known(v, v.n+m <= n) }
			}},
		{name: "hour", declared: "TIMESTAMP BETWEEN " + day(first) + " AND " + day(first+days) + " STEP '6 hours' CLAMP STORED AS unix", file: "INTEGER", server: "bigint",
			draw: func(r *rand.Rand) (any, string, standing, bool) {
				null, odd := someRow(r)
				seconds := (first-10)*86_400 + r.Int64N((days+21)*86_400)
				switch {
				case null:
					return nil, "NULL", standing{}, false
				case odd:
					return int64(math.MaxInt64), fmt.Sprint(math.MaxInt64), standing{}, false
				}
				return seconds, fmt.Sprint(seconds), standing{n: min((first+days)*4, max(first*4, seconds/21_600))}, true
			},
			literal: func(r *rand.Rand) (string, int64) {
				n := first*4 - 2 + r.Int64N(days*4+5)
				return "'" + moment(n*21_600).Format(time.DateTime) + "'", 2 * n
			},
			special: func(r *rand.Rand) (string, func(standing) ternary) {
				k := r.Int64N(24)
				return fmt.Sprintf("EXTRACT(HOUR FROM hour) >= %d", k), func(v standing) ternary { return known(v, v.n%4*6 >= k) }
			}},
	}
}

// requirement is a condition on a row of all columns.
type requirement struct {
	text  string
	holds func(row []standing) ternary
}

// condition draws a condition on one column.
func condition(r *rand.Rand, columns []typed) requirement {
	i := r.IntN(len(columns))
	c := columns[i]
	of := func(text string, holds func(standing) ternary) requirement {
		return requirement{text, func(row []standing) ternary { return holds(row[i]) }}
	}
	text, k := c.literal(r)
	other, l := c.literal(r)
	relations := c.relations
	if relations == nil {
		relations = []string{"<", ">=", "=", "<>", ">", "<="}
	}
	relation := relations[r.IntN(len(relations))]
	equal := slices.Contains(relations, "=")
	holds := func(n int64) bool {
		d := 2*n - k
		return map[string]bool{"<": d < 0, ">=": d >= 0, "=": d == 0, "<>": d != 0, ">": d > 0, "<=": d <= 0}[relation]
	}
	switch n := r.IntN(8); {
	case n == 0 && c.relations == nil:
		return of(c.name+" BETWEEN "+text+" AND "+other, func(v standing) ternary { return known(v, 2*v.n >= k && 2*v.n <= l) })
	case n == 1 && equal:
		return of(c.name+" NOT IN ("+text+", "+other+")", func(v standing) ternary { return known(v, 2*v.n != k && 2*v.n != l) })
	case n == 2 && equal && c.server != "boolean":
		return of(c.name+" IS NOT "+text, func(v standing) ternary { return truthOf(v.null || 2*v.n != k) })
	case n == 3:
		return of(c.name+" IS NULL", func(v standing) ternary { return truthOf(v.null) })
	case n >= 6:
		return of(c.special(r))
	}
	return of(c.name+" "+relation+" "+text, func(v standing) ternary { return known(v, holds(v.n)) })
}

// TestTypesMeanTheSame asks random conditions about random rows with a column of each type,
// in the file and in PostgreSQL. Many lie at the bounds of steps and domains, and some belong
// to no value. This test computes the answers once more. There is no noise here. At full size
// there are 10,000 rows and 10,000 conditions.
func TestTypesMeanTheSame(t *testing.T) {
	t.Parallel()
	server := pgtest.SharedDatabase(t)
	rows, statements := 300, 3
	if *long {
		rows, statements = 10_000, 500
	}
	const together = 20 // conditions of a statement
	seed := seeds.Of(t)
	r := rand.New(rand.NewPCG(seed, 0))
	columns := campaign()

	db := open(t, filepath.Join(t.TempDir(), "types.db"), engine.Options{})
	quieten(db)
	s := db.NewSession()
	var inFile, onServer, declared, holes []string
	for _, c := range columns {
		inFile, onServer = append(inFile, c.name+" "+c.file), append(onServer, c.name+" "+c.server)
		declared, holes = append(declared, c.name+" "+c.declared), append(holes, "?")
	}
	fill(t, s, "CREATE TABLE raw ("+strings.Join(inFile, ", ")+")")
	tx, err := plain(t, s).Begin()
	if err != nil {
		t.Fatal(err)
	}
	var counted [][]standing
	var lines []string
	for range rows {
		values, literals, row, all := make([]any, len(columns)), make([]string, len(columns)), make([]standing, len(columns)), true
		for i, c := range columns {
			var ok bool
			values[i], literals[i], row[i], ok = c.draw(r)
			all = all && ok
		}
		if _, err := tx.Exec("INSERT INTO raw VALUES ("+strings.Join(holes, ", ")+")", values...); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, "("+strings.Join(literals, ", ")+")")
		if all {
			counted = append(counted, row)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if len(counted) < rows/3 {
		t.Fatalf("%d of %d rows are counted", len(counted), rows)
	}
	server.MustExec(t, "CREATE TABLE raw ("+strings.Join(onServer, ", ")+"); INSERT INTO raw VALUES "+strings.Join(lines, ", "))
	must(t, s, warehouseOf(t, server))
	tables := map[string]string{"here": "raw", "there": "warehouse.public.raw"}
	for name, source := range tables {
		must(t, s, `CREATE PRIVATE TABLE `+name+` (`+strings.Join(declared, ", ")+`) FROM `+source+` WITH (epsilon = 1000, delta = 1e-6, interactive = 0.5)`)
	}
	must(t, s, `SET accuracy = 300`)

	for range statements {
		var texts []string
		var want []any
		for range together {
			c := condition(r, columns)
			if r.IntN(3) > 0 {
				a, b := c, condition(r, columns)
				c.text, c.holds = "("+a.text+") AND NOT ("+b.text+")", func(row []standing) ternary { return min(a.holds(row), yes-b.holds(row)) }
				if r.IntN(2) == 0 {
					c.text, c.holds = "("+a.text+") OR ("+b.text+")", func(row []standing) ternary { return max(a.holds(row), b.holds(row)) }
				}
			}
			n := int64(0)
			for _, row := range counted {
				if c.holds(row) == yes {
					n++
				}
			}
			texts, want = append(texts, "COUNT(*) FILTER (WHERE "+c.text+")"), append(want, n)
		}
		for name := range tables {
			got := must(t, s, "SELECT "+strings.Join(texts, ", ")+" FROM "+name).Rows[0]
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%s %s: %v rows, want %v", name, texts[i], got[i], want[i])
				}
			}
		}
	}

	// Releases read the cells of the rows, without -long those of every third column.
	for i, c := range columns {
		if !*long && i%3 != int(seed%3) {
			continue
		}
		groups := make(map[standing]int64)
		for _, row := range counted {
			groups[row[i]]++
		}
		keys := slices.Collect(maps.Keys(groups))
		slices.SortFunc(keys, func(a, b standing) int {
			if a.null != b.null {
				return int(truthOf(b.null) - truthOf(a.null))
			}
			return int(a.n - b.n)
		})
		var want []string
		for _, k := range keys {
			want = append(want, fmt.Sprint(groups[k]))
		}
		for name := range tables {
			with := `epsilon = 30, transform = identity`
			if c.open { // its texts are published, and its last group is empty
				with = `epsilon = 60, delta = 1e-9, heavy = named, memory = '4 KiB'`
			}
			must(t, s, `CREATE RELEASE r_`+name+c.name+` ON `+name+` (`+c.name+`) USING PROJECTION WITH (`+with+`)`)
			r := must(t, s, `SELECT COUNT(*) AS n FROM `+name+` GROUP BY `+c.name+` HAVING COUNT(*) > 0`)
			if got := strings.Trim(fmt.Sprint(r.Rows), "[]"); strings.ReplaceAll(got, "] [", " ") != strings.Join(want, " ") {
				t.Errorf("%s has the groups of %s %s, want %s", name, c.name, got, want)
			}
		}
	}
}
