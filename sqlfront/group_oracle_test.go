package sqlfront_test

import (
	"database/sql"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/post"
)

// sample is a table of some rows, with repeats, that SQLite holds too.
type sample struct {
	u      *query.Universe
	tuples [][]query.Value
	db     *sql.DB
}

func (sample) Name() string                { return "sample" }
func (s sample) Universe() *query.Universe { return s.u }

func newSample(t *testing.T) sample {
	t.Helper()
	list := func(typ query.Type, values ...query.Value) query.Domain {
		d, err := query.NewList(typ, values)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	n, err := query.NewRange(-3, 4, true)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{
		{Name: "n", Domain: n},
		{Name: "m", Domain: list(query.TypeInteger, query.Int(0), query.Int(10), query.Int(15), query.Null())},
		{Name: "s", Domain: list(query.TypeText, query.Text("a"), query.Text("B"), query.Text("é"), query.Null())},
		{Name: "z", Domain: query.Unbounded()},
	})
	if err != nil {
		t.Fatal(err)
	}
	out := sample{u: u}
	var rows []string
	state := uint32(1) // any fixed rows do
	pick := func(values []query.Value) query.Value {
		state = state*1664525 + 1013904223
		return values[int(state>>16)%len(values)]
	}
	domain := func(i int) (values []query.Value) {
		for v := range u.Columns()[i].Domain.All().Each() {
			values = append(values, v)
		}
		return values
	}
	for range 90 {
		z := pick([]query.Value{query.Text("x"), query.Text("y"), query.Text("y"), query.Null()})
		tuple := []query.Value{pick(domain(0)), pick(domain(1)), pick(domain(2)), z}
		out.tuples = append(out.tuples, tuple)
		rows = append(rows, fmt.Sprintf("(%v, %v, %v, %v)", tuple[0], tuple[1], tuple[2], tuple[3]))
	}
	if out.db, err = sql.Open("sqlite", ":memory:"); err != nil {
		t.Fatal(err)
	}
	out.db.SetMaxOpenConns(1)
	t.Cleanup(func() { out.db.Close() })
	if _, err := out.db.Exec("CREATE TABLE sample (n INTEGER, m INTEGER, s TEXT, z TEXT); INSERT INTO sample VALUES " + strings.Join(rows, ", ")); err != nil {
		t.Fatal(err)
	}
	return out
}

// answer computes a statement's rows with exact answers in place of private
// ones.
func (s sample) answer(b *sqlfront.Bound) post.Table {
	groups := make([]post.Group, len(b.Groups))
	for g, keys := range b.Groups {
		groups[g].Keys = keys
		for k := range b.Width() {
			total := int64(0)
			for _, tuple := range s.tuples {
				total += b.Queries[g*b.Width()+k].Weight(tuple)
			}
			groups[g].Answers = append(groups[g].Answers, post.Answer{Value: total, Error: func(float64) (post.Interval, bool) { return post.Interval{}, true }})
		}
	}
	return b.Output.Run(groups, 0.95)
}

// selected returns the rows that SQLite computes.
func (s sample) selected(text string) ([][]any, error) {
	rows, err := s.db.Query(text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	out := [][]any{}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		out = append(out, values)
	}
	return out, rows.Err()
}

// both is a text for dpsql and what SQLite has to be asked for the same: SUM of
// no rows is NULL to SQL and 0 here.
type both struct{ ours, theirs string }

func joinBoth(format string, parts ...both) both {
	var ours, theirs []any
	for _, p := range parts {
		ours, theirs = append(ours, p.ours), append(theirs, p.theirs)
	}
	return both{fmt.Sprintf(format, ours...), fmt.Sprintf(format, theirs...)}
}

func drawOf(t *rapid.T, label string, values ...string) string {
	return rapid.SampledFrom(values).Draw(t, label)
}

// drawInteger draws an integer expression over the columns of a row.
func drawInteger(t *rapid.T, depth int) string {
	if depth == 0 || rapid.Bool().Draw(t, "leaf") {
		return drawOf(t, "operand", "n", "m", "n", "m", "3", "-2", "NULL", "sample.n", "0")
	}
	a, b := drawInteger(t, depth-1), drawInteger(t, depth-1)
	switch rapid.IntRange(0, 5).Draw(t, "form") {
	case 0:
		return "CASE WHEN " + drawRowCondition(t) + " THEN " + a + " ELSE " + b + " END"
	case 1:
		return "CASE m WHEN 10 THEN " + a + " WHEN 15 THEN " + b + " END"
	case 2:
		return "-(" + a + ")"
	case 3:
		return "(" + drawRowCondition(t) + ")"
	}
	return "(" + a + drawOf(t, "op", " + ", " - ", " * ", " / ", " % ") + b + ")"
}

func drawRowCondition(t *rapid.T) string {
	return drawOf(t, "where", "n > 0", "n IS NULL", "m = 10", "s = 'a'", "s IN ('B', 'é')", "n BETWEEN -1 AND 2",
		"NOT (n = 1 OR m = 15)", "s IS NOT NULL AND n < 3", "z = 'x'", "n IN (1, 2, NULL)", "m <> 0 OR s = 'B'")
}

// drawValue draws an expression over aggregates and keys.
func drawValue(t *rapid.T, depth int, keys []string) both {
	if depth == 0 || rapid.IntRange(0, 2).Draw(t, "leaf") == 0 {
		if len(keys) > 0 && rapid.IntRange(0, 4).Draw(t, "key") == 0 {
			if k := drawOf(t, "which", keys...); k != "s" && k != "z" && !strings.Contains(k, "'") {
				return both{k, k}
			}
		}
		x := drawInteger(t, 2)
		filter := ""
		if rapid.IntRange(0, 2).Draw(t, "filter") == 0 {
			filter = " FILTER (WHERE " + drawRowCondition(t) + ")"
		}
		of := func(aggregate string) both {
			if aggregate != "SUM" { // which is an INTEGER or a REAL by its argument, and an INTEGER if nothing is added up
				x = drawOf(t, "scale", "", "", "", "0.5 * ", "1.0 * ", "-2.5 + ") + x + drawOf(t, "over", "", "", "", " / 4.0", " * 1.25")
			}
			text := aggregate + "(" + x + ")" + filter
			return both{text, text}
		}
		switch rapid.IntRange(0, 6).Draw(t, "aggregate") {
		case 0:
			return both{"COUNT(*)" + filter, "COUNT(*)" + filter}
		case 1:
			return of("COUNT")
		case 2:
			return of("AVG")
		case 3:
			return of("total")
		case 4:
			c := drawOf(t, "literal", "7", "2.5", "-1", "0", "NULL", "1000.0")
			return both{c, c}
		}
		sum := of("SUM").ours
		return both{sum, "COALESCE(" + sum + ", 0)"}
	}
	a, b := drawValue(t, depth-1, keys), drawValue(t, depth-1, keys)
	switch rapid.IntRange(0, 7).Draw(t, "form") {
	case 0:
		return joinBoth("ABS(%s)", a)
	case 1:
		return joinBoth("COALESCE(%s, %s)", a, b)
	case 2:
		return joinBoth("ROUND(%s)", a)
	case 3:
		return joinBoth("CASE WHEN %s THEN %s ELSE %s END", drawHaving(t, 0, keys), a, b)
	case 4:
		return joinBoth("-(%s)", a)
	}
	op := drawOf(t, "op", "+", "-", "*", "/", "%")
	return joinBoth("(%s "+strings.ReplaceAll(op, "%", "%%")+" %s)", a, b)
}

// drawHaving draws a condition over aggregates.
func drawHaving(t *rapid.T, depth int, keys []string) both {
	if depth == 0 {
		a, b := drawValue(t, 0, keys), drawValue(t, 0, keys)
		switch rapid.IntRange(0, 3).Draw(t, "form") {
		case 0:
			return joinBoth("%s BETWEEN -2 AND %s", a, b)
		case 1:
			return joinBoth("%s "+drawOf(t, "in", "IN", "NOT IN")+" (0, 3, %s)", a, b)
		case 2:
			return joinBoth("%s "+drawOf(t, "is", "IS NULL", "IS NOT NULL"), a)
		}
		return joinBoth("%s "+drawOf(t, "relation", "=", "<>", "<", "<=", ">", ">=")+" %s", a, b)
	}
	a, b := drawHaving(t, depth-1, keys), drawHaving(t, depth-1, keys)
	switch rapid.IntRange(0, 3).Draw(t, "logic") {
	case 0:
		return joinBoth("NOT (%s)", a)
	case 1:
		return joinBoth("(%s) "+drawOf(t, "is", "IS TRUE", "IS NOT TRUE", "IS FALSE"), a)
	}
	return joinBoth("(%s) "+drawOf(t, "and", "AND", "OR")+" (%s)", a, b)
}

// drawStatement draws a statement whose rows have one order, or are compared
// without order where it has DISTINCT.
func drawStatement(t *rapid.T) (text both, unordered bool) {
	pool := []string{"n", "m", "s", "z", "n % 2", "n / 2", "n + m", "(n > 0)",
		"CASE WHEN n > 0 THEN 'more' WHEN n < 0 THEN 'less' END", "CASE WHEN s = 'a' THEN 1 ELSE 0 END", "-m"}
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom(pool), 0, 3, rapid.ID[string]).Draw(t, "keys")
	unordered = len(keys) > 0 && rapid.IntRange(0, 3).Draw(t, "distinct") == 0
	var list []both
	if len(keys) == 0 {
		list = append(list, both{"COUNT(*)", "COUNT(*)"})
	}
	for _, k := range keys {
		if unordered && rapid.Bool().Draw(t, "hidden") {
			continue
		}
		list = append(list, both{k, k})
	}
	for range rapid.IntRange(1, 3).Draw(t, "values") {
		list = append(list, drawValue(t, 2, keys))
	}
	text = list[0]
	for _, v := range list[1:] {
		text = joinBoth("%s, %s", text, v)
	}
	distinct := ""
	if unordered {
		distinct = "DISTINCT "
	}
	where := "z IN ('x', 'y')"
	if rapid.Bool().Draw(t, "filtered") {
		where += " AND (" + drawRowCondition(t) + ")"
	}
	text = joinBoth("SELECT "+distinct+"%s FROM sample WHERE "+strings.ReplaceAll(where, "%", "%%"), text)
	having := both{"COUNT(*) > 0", "COUNT(*) > 0"}
	if len(keys) > 0 {
		text = joinBoth("%s GROUP BY %s", text, both{strings.Join(keys, ", "), strings.Join(keys, ", ")})
	} else {
		having = both{"1", "1"}
	}
	if rapid.Bool().Draw(t, "having") {
		having = joinBoth("%s AND (%s)", having, drawHaving(t, 1, keys))
	}
	text = joinBoth("%s HAVING %s", text, having)
	if unordered || len(keys) == 0 {
		return text, unordered
	}
	text = joinBoth("%s ORDER BY %s", text, joinBoth("0 + %s "+drawOf(t, "direction", "", "ASC", "DESC"), drawValue(t, 1, keys)))
	for i := range keys {
		text = joinBoth(fmt.Sprintf("%%s, %d %s", i+1, drawOf(t, "direction", "", "DESC")), text)
	}
	if rapid.Bool().Draw(t, "limited") {
		text = joinBoth("%s LIMIT "+drawOf(t, "limit", "3", "-1", "0", "5 OFFSET 2", "1, 4"), text)
	}
	return text, unordered
}

// TestGroupsAgainstSQLite compares rows with those that SQLite itself computes
// from the same rows: values, types, groups of NULL, HAVING, order and limits.
func TestGroupsAgainstSQLite(t *testing.T) {
	s := newSample(t)
	drawn, compared := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text, unordered := drawStatement(t)
		drawn++
		b, err := compile(s, text.ours)
		if sqlerr.CodeOf(err) == sqlerr.Unsupported {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", text.ours, err)
		}
		want, err := s.selected(text.theirs)
		if err != nil {
			if strings.Contains(err.Error(), "integer overflow") {
				return
			}
			t.Fatalf("sqlite refuses %s: %v", text.theirs, err)
		}
		compared++
		got := s.answer(b).Rows
		if !sameRows(got, want, unordered) {
			t.Fatalf("%s:\n got %v\nwant %v", text.ours, got, want)
		}
	})
	t.Logf("compared %d of %d statements", compared, drawn)
	if compared*10 < drawn*7 {
		t.Errorf("only %d of %d statements were compared", compared, drawn)
	}
}

func sameRows(got, want [][]any, unordered bool) bool {
	if len(got) != len(want) {
		return false
	}
	taken := make([]bool, len(want))
	for i, row := range got {
		found := !unordered && sameRow(row, want[i])
		for j := 0; unordered && j < len(want) && !found; j++ {
			if !taken[j] && sameRow(row, want[j]) {
				taken[j], found = true, true
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// sameRow wants values of the same type; reals may differ by rounding.
func sameRow(got, want []any) bool {
	for i, v := range got {
		x, ok := v.(float64)
		y, both := want[i].(float64)
		switch {
		case ok && both:
			if math.Abs(x-y) > 1e-9*(1+math.Abs(x)) {
				return false
			}
		case v != want[i]:
			return false
		}
	}
	return len(got) == len(want)
}

// drawSets draws ROLLUP, CUBE or GROUPING SETS over keys, and the sets that it means.
func drawSets(t *rapid.T, keys []string) (clause string, sets [][]string) {
	part := func(label string) (text string, part []string) {
		part = rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 1, 2, rapid.ID[string]).Draw(t, label)
		if len(part) == 1 && rapid.Bool().Draw(t, "bare") {
			return part[0], part
		}
		return "(" + strings.Join(part, ", ") + ")", part
	}
	a, setA := part("a")
	b, setB := part("b")
	both := append(append([]string{}, setA...), setB...)
	switch rapid.IntRange(0, 4).Draw(t, "sets") {
	case 0:
		return "ROLLUP (" + a + ", " + b + ")", [][]string{both, setA, nil}
	case 1:
		return "CUBE (" + a + ", " + b + ")", [][]string{both, setA, setB, nil}
	case 2:
		return "GROUPING SETS (" + a + ", (), " + b + ", ROLLUP(" + a + "))", [][]string{setA, nil, setB, setA, nil}
	case 3:
		return keys[0] + ", CUBE (" + b + ")", [][]string{append([]string{keys[0]}, setB...), {keys[0]}}
	}
	return "GROUPING SETS ((), " + a + "), ROLLUP (" + b + ")", [][]string{setB, nil, both, setA}
}

// TestGroupingSetsAgainstSQLite compares the rows of ROLLUP, CUBE and GROUPING SETS with
// those of a SELECT for each grouping set, joined by UNION ALL. That is what they mean.
func TestGroupingSetsAgainstSQLite(t *testing.T) {
	s := newSample(t)
	rapid.Check(t, func(t *rapid.T) {
		pool := []string{"n", "m", "s", "z", "n % 2", "CASE WHEN s = 'a' THEN 'yes' WHEN s = 'B' THEN 'no' END"}
		keys := rapid.SliceOfNDistinct(rapid.SampledFrom(pool), 1, 3, rapid.ID[string]).Draw(t, "keys")
		clause, sets := drawSets(t, keys)
		values := []both{{"COUNT(*)", "COUNT(*)"}, drawValue(t, 1, nil)}
		where := "z IN ('x', 'y') AND " + drawOf(t, "where", "n > -2", "m IS NOT NULL", "s = 'a'")
		used := map[string]bool{}
		for _, set := range sets {
			for _, k := range set {
				used[k] = true
			}
		}
		ours := []string{}
		for _, k := range keys {
			if used[k] {
				ours = append(ours, k, "GROUPING("+k+")", "COALESCE("+k+", 'all')")
			}
		}
		ours = append(ours, values[0].ours, values[1].ours)
		var theirs []string
		for _, set := range sets {
			var list, by []string
			for _, k := range keys {
				in := false
				for _, other := range set {
					in = in || other == k
				}
				switch {
				case !used[k]:
				case in:
					by, list = append(by, k), append(list, k, "0", "COALESCE("+k+", 'all')")
				default:
					list = append(list, "NULL", "1", "'all'")
				}
			}
			list = append(list, values[0].theirs, values[1].theirs)
			text := "SELECT " + strings.Join(list, ", ") + " FROM sample WHERE " + where
			if len(by) > 0 {
				text += " GROUP BY " + strings.Join(by, ", ")
			}
			theirs = append(theirs, text+" HAVING COUNT(*) > 0")
		}
		text := "SELECT " + strings.Join(ours, ", ") + " FROM sample WHERE " + where + " GROUP BY " + clause + " HAVING COUNT(*) > 0"
		b, err := compile(s, text)
		if sqlerr.CodeOf(err) == sqlerr.Unsupported {
			t.Skip(err) // a drawn value is not an integer
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		want, err := s.selected(strings.Join(theirs, " UNION ALL "))
		if err != nil {
			t.Fatalf("sqlite refuses %s: %v", strings.Join(theirs, " UNION ALL "), err)
		}
		if len(b.Sets) != len(sets) {
			t.Fatalf("%s: %d grouping sets, want %d", text, len(b.Sets), len(sets))
		}
		if got := s.answer(b).Rows; !sameRows(got, want, true) {
			t.Fatalf("%s:\n got %v\nwant %v", text, got, want)
		}
		disjoint(t, s, b)
	})
}

// disjoint fails if a record has a weight in two queries of one slot: each slot is paid
// for once.
func disjoint(t *rapid.T, s sample, b *sqlfront.Bound) {
	for _, tuple := range s.tuples {
		seen := make(map[int]bool)
		for i, q := range b.Queries {
			if q.Weight(tuple) == 0 {
				continue
			}
			if slot := b.SlotOf(i); seen[slot] {
				t.Fatalf("the record %v has a weight twice in slot %d", tuple, slot)
			} else {
				seen[slot] = true
			}
		}
	}
}
