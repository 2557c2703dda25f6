package sqlfront_test

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// drawWeights draws a public table of keys and two columns of weights, in steps
// that differ, with the rows that SQLite is to have.
func drawWeights(t *rapid.T) (p *sqlfront.PublicRows, insert string) {
	var steps []*query.Steps
	for range 2 {
		step := drawOf(t, "step", "0.001", "0.25", "0.1", "0.3", "2.5", "1", "1e-5")
		s := new(big.Rat)
		s.SetString(step)
		lo := rapid.Int64Range(-20, 5).Draw(t, "lowest")
		hi := lo + rapid.Int64Range(0, 40).Draw(t, "range")
		of, err := query.NewSteps(times(s, lo), times(s, hi), s, rapid.Bool().Draw(t, "null"))
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, &of)
	}
	p = &sqlfront.PublicRows{Columns: []string{"k", "w", "v", "region"}, Steps: []*query.Steps{nil, steps[0], steps[1], nil}}
	var rows []string
	for _, k := range []string{"x", "y", "unused"} {
		if rapid.IntRange(0, 4).Draw(t, "missing") == 0 && (k != "unused" || len(rows) > 0) {
			continue
		}
		row, texts := []any{k}, []string{"'" + k + "'"}
		for _, s := range steps {
			lo, hi, step := s.Texts()
			n := rapid.Int64Range(inSteps(lo, step), inSteps(hi, step)).Draw(t, "weight")
			if s.HasNull() && rapid.IntRange(0, 3).Draw(t, "NULL") == 0 {
				row, texts = append(row, nil), append(texts, "NULL")
				continue
			}
			row, texts = append(row, n), append(texts, strconv.FormatFloat(s.Number(n), 'g', -1, 64))
		}
		region := drawOf(t, "region", "north", "south")
		p.Rows = append(p.Rows, append(row, region))
		rows = append(rows, "("+strings.Join(append(texts, "'"+region+"'"), ", ")+")")
	}
	return p, strings.Join(rows, ", ")
}

func times(r *big.Rat, n int64) *big.Rat { return new(big.Rat).Mul(r, new(big.Rat).SetInt64(n)) }

// inSteps is a bound in steps.
func inSteps(bound, step string) int64 {
	b, _ := new(big.Rat).SetString(bound)
	s, _ := new(big.Rat).SetString(step)
	return new(big.Rat).Quo(b, s).Num().Int64()
}

// TestRandomWeights draws public tables of weights, and aggregates of them with
// conditions and groups, and compares the answers with SQLite's own.
func TestRandomWeights(t *testing.T) {
	j := newJoinable(t)
	if _, err := j.db.Exec(`CREATE TABLE risk (k TEXT, w REAL, v REAL, region TEXT)`); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		p, rows := drawWeights(t)
		if len(p.Rows) == 0 {
			t.Skip("no rows")
		}
		j.publics["risk"] = p
		if _, err := j.db.Exec(`DELETE FROM risk; INSERT INTO risk VALUES ` + rows); err != nil {
			t.Fatal(err)
		}
		var columns []string
		for range rapid.IntRange(1, 3).Draw(t, "aggregates") {
			columns = append(columns, drawOf(t, "aggregate", "SUM(w)", "AVG(w)", "TOTAL(w)", "SUM(w * 2)", "SUM(w - v)", "SUM(-w + 1)", "SUM(w * m)", "AVG(v * n + w)",
				"SUM(w * v)", "COUNT(w)", "COUNT(*)", "SUM(w > 0.5)", "SUM(CASE WHEN s = 'a' THEN w WHEN n > 0 THEN v END)", "AVG(CASE WHEN m > 5 THEN w ELSE v * 3 END)",
				"SUM(w) / COUNT(*)", "TOTAL(w) + TOTAL(v)", "ROUND(AVG(w) + 0.0003141, 2)")) // no tie, which the last bit of an average decides
		}
		number := func() string {
			s := p.Steps[1]
			lo, hi, step := s.Texts()
			return strconv.FormatFloat(s.Number(rapid.Int64Range(inSteps(lo, step)-1, inSteps(hi, step)+1).Draw(t, "literal")), 'f', -1, 64)
		}
		condition := func() string {
			return drawOf(t, "condition", "w > "+number(), "w <= "+number(), "w = "+number(), "w IN ("+number()+", "+number()+", 7)", "w BETWEEN "+number()+" AND "+number(),
				"w IS NULL", "NOT v < 0.3", "w <> 0", "region = 'north'", "n > 0", "s IN ('a', 'B')", "1 = 1")
		}
		text := "SELECT " + strings.Join(columns, ", ") + " FROM sample JOIN risk ON sample.z = risk.k WHERE " + condition() + drawOf(t, "logic", " AND ", " OR ") + condition()
		if by := drawOf(t, "by", "", "region", "s, region", "w", "v, n", "w * 2"); by != "" {
			text = strings.Replace(text, "SELECT ", "SELECT "+by+", ", 1) + " GROUP BY " + by + " HAVING COUNT(*) > 0"
		}
		b, err := compile(j, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		// A sum of no rows is 0 here, as it is of TOTAL, and not NULL.
		want, err := j.selected(strings.ReplaceAll(text, "SUM(", "TOTAL("))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := j.answer(b).Rows
		for _, row := range append(got, want...) {
			for i, v := range row {
				switch v := v.(type) {
				case nil: // SQL's average of no rows
					row[i] = 0.0
				case int64: // a REAL that is none in SQLite, which looks at the values
					row[i] = float64(v)
				}
			}
		}
		if !sameRows(got, want, true) {
			t.Fatalf("%s\nwith %s:\n got %v\nwant %v", text, rows, got, want)
		}
	})
}

func TestRefusedWeights(t *testing.T) {
	j := newJoinable(t)
	half, err := query.NewSteps(new(big.Rat), big.NewRat(1, 1), big.NewRat(1, 2), false)
	if err != nil {
		t.Fatal(err)
	}
	j.publics["risk"] = &sqlfront.PublicRows{Columns: []string{"k", "w"}, Steps: []*query.Steps{nil, &half}, Rows: [][]any{{"x", int64(1)}, {"y", int64(2)}}}
	j.publics["twice"] = &sqlfront.PublicRows{Columns: []string{"k", "w"}, Steps: []*query.Steps{nil, &half}, Rows: [][]any{{"x", int64(1)}, {"x", int64(2)}}}
	for _, c := range []struct {
		text    string
		code    sqlerr.Code
		message string
	}{
		{"SELECT SUM(w) FROM sample JOIN twice ON z = k", sqlerr.Unsupported, "occurs twice in twice"},
		{"SELECT SUM(w) FROM sample JOIN risk ON n = w", sqlerr.Unsupported, "a join on anything but"},
		{"SELECT SUM(2 / w) FROM sample JOIN risk ON z = k", sqlerr.Unsupported, "dividing by this"},
		{"SELECT SUM(w / -2) FROM sample JOIN risk ON z = k", sqlerr.Unsupported, "dividing by this"},
		{"SELECT SUM(w % 2) FROM sample JOIN risk ON z = k", sqlerr.Unsupported, "dividing by this"},
		{"SELECT COUNT(*) FROM sample JOIN risk ON z = k WHERE w + 1 > 1", sqlerr.Unsupported, "computing with REAL column w"},
		{"SELECT COUNT(*) FROM sample JOIN risk ON z = k WHERE w > n", sqlerr.Unsupported, "computing with REAL column w"},
		{"SELECT COUNT(*) FROM sample JOIN risk ON z = k WHERE w", sqlerr.Unsupported, "computing with REAL column w"},
		{"SELECT SUM(ABS(w)) FROM sample JOIN risk ON z = k", sqlerr.Unsupported, "computing with REAL column w"},
		{"SELECT COUNT(*) FROM sample JOIN risk ON z = k WHERE w = 'much'", sqlerr.Invalid, "column w is REAL and is compared with 'much'"},
	} {
		_, err := compile(j, c.text)
		if sqlerr.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v, want %s: %s", c.text, err, c.code, c.message)
		}
	}
}

// TestWeightSensitivity wants the largest weight of a query to be what a row can
// change a sum by: the largest value, in units of the answer's factor.
func TestWeightSensitivity(t *testing.T) {
	j := newJoinable(t)
	rapid.Check(t, func(t *rapid.T) {
		p, _ := drawWeights(t)
		if len(p.Rows) == 0 {
			t.Skip("no rows")
		}
		j.publics["risk"] = p
		text := "SELECT " + drawOf(t, "aggregate", "SUM(w)", "SUM(w * 3 - v)", "AVG(w)") + " FROM sample JOIN risk ON sample.z = risk.k" +
			drawOf(t, "by", "", " GROUP BY region")
		b, err := compile(j, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, z := range []query.Value{query.Text("x"), query.Text("y"), query.Null()} {
			tuple := []query.Value{query.Int(1), query.Int(10), query.Null(), z}
			for k := range b.Slots {
				change := int64(0) // of one row, over all groups of a slot
				most := int64(0)
				for g := range b.Groups {
					q := b.Queries[g*b.Width()+k]
					change += q.Weight(tuple)
					most = max(most, q.MaxWeight())
				}
				if change > most {
					t.Fatalf("%s: a row changes slot %d by %d, and its largest weight is %d", text, k, change, most)
				}
			}
		}
	})
}

func TestPublicColumns(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"CREATE PUBLIC TABLE risk (k TEXT, n INTEGER, w REAL BETWEEN 0 AND 1 STEP 0.001)", "k TEXT, n INTEGER, w REAL BETWEEN 0 AND 1 STEP 0.001"},
		{"CREATE PUBLIC TABLE IF NOT EXISTS risk (w REAL BETWEEN -2.50 AND +1e1 STEP 25e-1 OR NULL);", "w REAL BETWEEN -2.5 AND 10 STEP 2.5 OR NULL"},
		{"CREATE PUBLIC TABLE risk (w REAL)", "column w is REAL and has no BETWEEN"},
		{"CREATE PUBLIC TABLE risk (w REAL BETWEEN 0 AND 1)", "column w is REAL and has no STEP"},
		{"CREATE PUBLIC TABLE risk (w REAL BETWEEN 0 AND 1 STEP 0)", "the domain of column w: the step is not above 0"},
		{"CREATE PUBLIC TABLE risk (w REAL BETWEEN 0 AND 1 STEP 0.3)", "the domain of column w: the bound 1 is no multiple of the step 0.3"},
		{"CREATE PUBLIC TABLE risk (w REAL BETWEEN 1 AND 0 STEP 0.1)", "the domain of column w: the range is empty"},
		{"CREATE PUBLIC TABLE risk (w REAL BETWEEN 0 AND 1 STEP 1e-1000)", "the bound 1 is more than 10^9 steps"},
		{"CREATE PUBLIC TABLE risk (w REAL BETWEEN 0 AND 1 STEP 1e-9999)", "a number with an exponent beyond 1000"},
		{"CREATE PUBLIC TABLE risk (w REAL BETWEEN 0 AND x STEP 1)", "expected a number"},
		{"CREATE PUBLIC TABLE risk (n INTEGER BETWEEN 0 AND 1)", "a domain of a public column"},
		{"CREATE PUBLIC TABLE risk (n BLOB)", "the column type BLOB"},
		{"CREATE PUBLIC TABLE risk (n INTEGER, N TEXT)", "column N is declared twice"},
		{"CREATE PUBLIC TABLE risk ()", "expected a column"},
		{"CREATE PUBLIC TABLE risk (w TEXT) WITH (a = 1)", "after the end of the statement"},
	} {
		s, err := syntax.Parse(c.text)
		got := fmt.Sprint(err)
		if p, ok := s.(*syntax.CreatePublic); ok && err == nil {
			var columns []string
			for _, column := range p.Columns {
				text := column.Name.Text + " " + column.Type.String()
				if column.Steps != nil {
					text = column.Name.Text + " REAL " + column.Steps.String()
				}
				columns = append(columns, text)
			}
			got = strings.Join(columns, ", ")
		}
		if !strings.Contains(got, c.want) || err == nil && got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

// valuesOf compiles the first condition of a statement, written text = 0, and
// returns the values of text with the number of records that have them.
func valuesOf(t *testing.T, text string) (string, error) {
	t.Helper()
	s, err := syntax.Parse("SELECT COUNT(*) FROM people WHERE " + text + " = 0")
	if err != nil {
		return "", err
	}
	sel, table := s.(*syntax.Select), newPeople(t)
	q, values, err := sqlfront.Values(sel, table, table.u)
	if err != nil {
		return "", err
	}
	size := make([]int, len(values)+1)
	for _, tuple := range tuples(table.u.Columns()[:4]) {
		size[q.Weight(append(tuple, query.Null()))]++
	}
	got := ""
	for i, v := range values {
		got += fmt.Sprintf("%v: %d; ", v, size[i+1])
	}
	if size[0] > 0 {
		t.Errorf("%s: %d records have no value", text, size[0])
	}
	return got, nil
}

// tuples returns every tuple of finite columns.
func tuples(columns []query.Column) [][]query.Value {
	if len(columns) == 0 {
		return [][]query.Value{nil}
	}
	var all [][]query.Value
	for _, t := range tuples(columns[1:]) {
		for o := range columns[0].Domain.Size() {
			all = append(all, append([]query.Value{columns[0].Domain.Value(o)}, t...))
		}
	}
	return all
}

// TestValues checks the values that expressions take. The universe has 122 ages,
// NULL among them, times 3 sexes, and married and order, which are 0 or 1.
func TestValues(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"age / 50", "NULL: 12; 0: 600; 1: 600; 2: 252; "},
		{`(married + "order") * 3`, "0: 366; 3: 732; 6: 366; "},
		{"coalesce(lower(sex), '?')", "'?': 488; 'f': 488; 'm': 488; "},
		{"(married <> `order`)", "0: 732; 1: 732; "},
		{"5", "5: 1464; "},
		{"CASE WHEN age < 20 THEN 'young' WHEN married THEN 'married' END", "NULL: 612; 'married': 612; 'young': 240; "},
	} {
		got, err := valuesOf(t, c.text)
		parts := strings.SplitAfter(got, "; ")
		if err != nil || len(parts) != len(strings.SplitAfter(c.want, "; ")) {
			t.Errorf("%s: %v, %v; want %v", c.text, got, err, c.want)
		}
		for _, p := range parts {
			if !strings.Contains(c.want, p) {
				t.Errorf("%s: %v, want %v", c.text, got, c.want)
			}
		}
	}
	for _, text := range []string{"zip"} {
		if got, err := valuesOf(t, text); sqlerr.CodeOf(err) != sqlerr.Unsupported {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// TestVariancesAgainstSQLite compares variances of random integer expressions,
// over random rows and in groups, with those that follow from SQLite's COUNT and
// SUM of the same; SQLite has no variance of its own.
func TestVariancesAgainstSQLite(t *testing.T) {
	s := newSample(t)
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		for range 4 {
			x, where := drawInteger(t, 2), drawRowCondition(t)
			key := drawOf(t, "key", "s", "m", "n % 2")
			from := fmt.Sprintf(" FROM sample WHERE %s GROUP BY %s ORDER BY %[2]s", where, key)
			st, err := syntax.Parse(fmt.Sprintf("SELECT %s, COUNT(*), VAR_POP(%[2]s), VARIANCE(%[2]s), VAR_SAMP(%[2]s), STDDEV_POP(%[2]s), STDDEV(%[2]s), STDDEV_SAMP(%[2]s)", key, x) + from)
			var b *sqlfront.Bound
			if err == nil {
				b, err = sqlfront.Bind(st.(*syntax.Select), s, nil)
			}
			if sqlerr.CodeOf(err) == sqlerr.Unsupported {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", x, err)
			}
			if len(b.Slots) > 5 { // all rows; and the count, the sum of either sign, and the squares
				t.Fatalf("%s: %d slots", x, len(b.Slots))
			}
			theirs, err := s.selected(fmt.Sprintf("SELECT %s, COUNT(%[2]s), COALESCE(SUM(%[2]s), 0), COALESCE(SUM((%[2]s) * (%[2]s)), 0)", key, x) + from)
			if err != nil {
				t.Fatal(err)
			}
			ours := make(map[any][]any)
			for _, row := range s.answer(b).Rows {
				ours[row[0]] = row
			}
			for _, row := range theirs {
				compared++
				got := ours[row[0]]
				n, first, second := float64(row[1].(int64)), float64(row[2].(int64)), float64(row[3].(int64))
				over := second - first*first/n
				pop, samp := over/n, over/(n-1)
				for i, want := range []float64{pop, samp, samp, math.Sqrt(max(pop, 0)), math.Sqrt(max(samp, 0)), math.Sqrt(max(samp, 0))} {
					v, some := got[2+i].(float64)
					if least := float64(min(i%3, 1)); some != (n > least) || some && math.Abs(v-want) > 1e-4*(1+math.Abs(want)) {
						t.Fatalf("%s of %s%s: got %v, want %v (n %v, sums %v, %v)", x, key, from, got, want, n, first, second)
					}
				}
			}
		}
	})
	t.Logf("%d groups were compared", compared)
	if compared < 300 {
		t.Errorf("only %d groups were compared", compared)
	}
}

// TestPairsAgainstSQLite compares aggregates of two random integer expressions with those
// that follow from SQLite's sums of the same.
func TestPairsAgainstSQLite(t *testing.T) {
	s := newSample(t)
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		for range 2 {
			y, x, where := drawInteger(t, 1), drawInteger(t, 1), drawRowCondition(t)
			key := drawOf(t, "key", "s", "m", "n % 2")
			from := fmt.Sprintf(" FROM sample WHERE %s GROUP BY %s ORDER BY %[2]s", where, key)
			list := ""
			for _, name := range []string{"REGR_COUNT", "REGR_AVGY", "REGR_AVGX", "REGR_SYY", "REGR_SXX", "REGR_SXY", "COVAR_POP", "COVAR_SAMP",
				"CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2"} {
				list += fmt.Sprintf(", %s(%s, %s)", name, y, x)
			}
			st, err := syntax.Parse("SELECT " + key + list + from)
			var b *sqlfront.Bound
			if err == nil {
				b, err = sqlfront.Bind(st.(*syntax.Select), s, nil)
			}
			if sqlerr.CodeOf(err) == sqlerr.Unsupported {
				continue
			}
			if err != nil {
				t.Fatalf("%s and %s: %v", y, x, err)
			}
			if len(b.Slots) > 9 { // the count, and two of each sum but those of squares
				t.Fatalf("%s and %s: %d slots", y, x, len(b.Slots))
			}
			both := fmt.Sprintf("CASE WHEN (%s) IS NOT NULL AND (%s) IS NOT NULL THEN ", y, x)
			theirs, err := s.selected(fmt.Sprintf("SELECT %[1]s, COUNT(%[2]s 1 END), TOTAL(%[2]s %[3]s END), TOTAL(%[2]s %[4]s END), TOTAL(%[2]s (%[3]s) * (%[3]s) END), TOTAL(%[2]s (%[4]s) * (%[4]s) END), TOTAL(%[2]s (%[3]s) * (%[4]s) END)",
				key, both, y, x) + from)
			if err != nil {
				t.Fatal(err)
			}
			ours := make(map[any][]any)
			for _, row := range s.answer(b).Rows {
				ours[row[0]] = row
			}
			for _, row := range theirs {
				compared++
				got := ours[row[0]]
				n := float64(row[1].(int64))
				sum := func(i int) float64 { return row[i].(float64) }
				sy, sx := sum(2), sum(3)
				yy, xx, xy := sum(4)-sy*sy/n, sum(5)-sx*sx/n, sum(6)-sy*sx/n
				const none = 1e-9 // integers of small columns: a spread is 0 or at least 1/n
				if math.Abs(yy) < none {
					yy, xy = 0, 0
				}
				if math.Abs(xx) < none {
					xx, xy = 0, 0
				}
				r2 := xy * xy / (xx * yy)
				if yy == 0 {
					r2 = 1
				}
				for i, c := range []struct {
					want float64
					some bool
				}{{n, true}, {sy / n, n > 0}, {sx / n, n > 0}, {yy, n > 0}, {xx, n > 0}, {xy, n > 0}, {xy / n, n > 0}, {xy / (n - 1), n > 1},
					{xy / math.Sqrt(xx*yy), n > 0 && xx > 0 && yy > 0}, {xy / xx, n > 0 && xx > 0}, {sy/n - xy/xx*sx/n, n > 0 && xx > 0}, {r2, n > 0 && xx > 0}} {
					v, some := got[1+i].(float64)
					if k, ok := got[1+i].(int64); ok {
						v, some = float64(k), true
					}
					if some != c.some || some && math.Abs(v-c.want) > 1e-6*(1+math.Abs(c.want)) {
						t.Fatalf("entry %d of %s and %s by %s%s: got %v, want %v", i, y, x, key, from, got, c)
					}
				}
			}
		}
	})
	t.Logf("%d groups were compared", compared)
	if compared < 50 {
		t.Errorf("only %d groups were compared", compared)
	}
}

// TestFunctionsInShapes checks functions of columns in GROUP BY and inside
// aggregates.
func TestFunctionsInShapes(t *testing.T) {
	for _, c := range []struct{ text, groups string }{
		{"SELECT lower(sex), COUNT(*) FROM people GROUP BY lower(sex)", "[[NULL] ['f'] ['m']]"},
		{"SELECT length(sex), COUNT(*) FROM people WHERE sex > 'A' GROUP BY 1", "[[1]]"},
		{"SELECT abs(age - 50), COUNT(*) FROM people WHERE age BETWEEN 48 AND 53 GROUP BY abs(age-50)", "[[0] [1] [2] [3]]"},
		{"SELECT substr(zip, 1, 1), COUNT(*) FROM people WHERE zip IN ('15', '16', '2') GROUP BY 1", "[['1'] ['2']]"},
		{"SELECT SUM(length(zip)), AVG(max(age, 30)), SUM(zip LIKE '1%') FROM people WHERE zip IN ('15', '16', '2')", "[[]]"},
	} {
		b, err := bind(t, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got := fmt.Sprint(b.Groups); got != c.groups {
			t.Errorf("%s: groups %s, want %s", c.text, got, c.groups)
		}
	}
	sum := counted(mustBind(t, "SELECT SUM(length(zip)) FROM people WHERE zip IN ('15', '16', '222')"))
	same := counted(mustBind(t, "SELECT SUM(CASE zip WHEN '222' THEN 3 ELSE 2 END) FROM people WHERE zip IN ('15', '16', '222')"))
	if !sum.Equal(same) {
		t.Errorf("got %v, want %v", sum, same)
	}
	checkRefusals(t, []refusal{
		{"SELECT SUM(‸lower(sex)) FROM people", sqlerr.Unsupported, "a text inside an aggregate", "integer"},
		{"SELECT COUNT(*) FROM people GROUP BY ‸length(zip)", sqlerr.Unsupported, "length() of column zip, which has no domain", "= or IN"},
		{"SELECT ‸upper(sex), COUNT(*) FROM people GROUP BY lower(sex)", sqlerr.Unsupported, "the function upper() in the select list", ""},
		{"SELECT ‸sex LIKE 'a' ESCAPE 'b', COUNT(*) FROM people GROUP BY sex LIKE 'a'", sqlerr.Unsupported, "LIKE outside WHERE", ""},
	})
}

// million is a table with a column of 2^17 values.
type million struct{ u *query.Universe }

func (million) Name() string                { return "wide" }
func (w million) Universe() *query.Universe { return w.u }

// BenchmarkSum binds sums over a column of 2^17 values.
func BenchmarkSum(b *testing.B) {
	large, err := query.NewRange(0, 1<<17-1, false)
	if err != nil {
		b.Fatal(err)
	}
	small, err := query.NewRange(0, 9, false)
	if err != nil {
		b.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "a", Domain: large}, {Name: "b", Domain: small}})
	if err != nil {
		b.Fatal(err)
	}
	for _, sum := range []string{"a", "a + 1", "a / 1000", "CASE WHEN a < 500000 THEN a ELSE 500000 END", "(a + 7) / 10 * 2", "b * 3 + 1"} {
		b.Run(sum, func(b *testing.B) {
			s, err := syntax.Parse("SELECT SUM(" + sum + ") FROM wide")
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := sqlfront.Bind(s.(*syntax.Select), million{u}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestComputedWhere is TestWhere for conditions that compute: those of one case
// are one diagram, so that one answer serves them all.
func TestComputedWhere(t *testing.T) {
	cases := []struct {
		want   string
		wheres []string
	}{
		{"married{0: order{1: 1}; 1: order{0: 1}}", []string{
			`(married + "order") % 2 = 1`, `married <> "order"`, `(married = 1 AND "order" = 0) OR (married = 0 AND "order" = 1)`,
			`("order" + 3 * married) % 2 = 1`, `married + "order" = 1`, `married - "order" <> 0`, `NOT married = "order"`, `married IS NOT "order"`,
			`(married, "order") IN ((0, 1), (1, 0))`, `(married, "order") IN (VALUES (0, 1), (1, 0))`, `(married, "order") = (1 - "order", 1 - married)`,
			`CASE married WHEN 0 THEN "order" ELSE 1 - "order" END`, `married NOT IN ("order")`, `max(married, "order") > min(married, "order")`,
			`abs(married - "order") = 1`, `married = ~"order" + 2`, `(married, "order") IS NOT ("order", married)`, `NOT (married & 1 = "order")`,
		}},
		{"age{26..120: 1}", []string{
			"age * 2 > 50", "age > 25", "50 < age * 2", "age / 2 >= 13", "age * 1.0 > 25", "-age < -25", "age - 25 > 0", "age + age > 50", "age > 100 / 4",
			"age / 2.0 > 12.5", "age BETWEEN 13 * 2 AND 240 / 2", "(age > 25) = 1", "(age > 25) IS TRUE", "coalesce(age, 0) > 25", "ifnull(age, -1) > 25",
			"iif(age > 25, 'x', 'y') = 'x'", "CASE WHEN age > 25 THEN 1 ELSE 0 END = 1", "age > 25 OR age % 0 = 1", "1 IN (age > 25)", "(age, 0) > (25, 0)",
			"(age, married) > (25, 1)", "(age, 1) >= (26, 1)", "nullif(age, 7) > 25",
		}},
		{"age{NULL: 1}", []string{"age + 1 IS NULL", "-age IS NULL", "age IS NULL", "age IS NOT DISTINCT FROM NULL", "abs(age) ISNULL", "(age > 3) IS NULL", "age IS NULL + 1", "coalesce(age, -1) = -1"}},
		{"age{0..120: 1}", []string{"age = age", "age - age = 0", "age * 0 = 0", "age <= age", "age IN (age)", "age IS DISTINCT FROM NULL", "age | 0 = age", "NULL IS NOT age", "age IS NOT NULL"}},
		{"age{1..120: 1}", []string{"age IS TRUE", "age IS (TRUE)", "age", "age <> FALSE", "age IS NOT DISTINCT FROM TRUE", "NOT age IS NOT TRUE"}},
		{"age{1: 1}", []string{"age = TRUE", "(age, 1) IS (TRUE, 1)", "age IN (TRUE)", "age IS +TRUE"}},
		{"age{NULL, 0..4, 6..120: 1}", []string{"age IS NOT 5", "age IS DISTINCT FROM 5", "NOT age IS 5", "NOT (age IS NOT DISTINCT FROM 5)"}},
		{"age{5: 1}", []string{"age IS 5", "age IS NOT DISTINCT FROM 5", "5 IS age", "age LIKE 5", "age LIKE '5'", "age GLOB '5'", "length(age) = 1 AND age % 10 = 5"}},
		{"age{10..19: 1}", []string{"age / 10 = 1", "age LIKE '1_'", "age GLOB '1?'", "age LIKE '1%' AND age BETWEEN 2 AND 99", "substr(age, 1, 1) = '1' AND length(age) = 2"}},
		{"sex{'F': 1}", []string{
			"sex LIKE 'F'", "sex LIKE 'f%'", "sex LIKE '_' AND sex NOT LIKE 'm'", "sex GLOB '[A-G]'", "lower(sex) = 'f'", "sex LIKE '\\F' ESCAPE '\\'", "sex IN ('F', 'x')",
			"sex NOT GLOB 'M*'", "substr(sex, 1, 1) = 'F'", "sex = upper('f')", "min(sex, 'G') = 'F'", "(sex, 1) = ('F', 1)", "'F' IN (sex)",
		}},
		{"0", []string{"sex LIKE 'x%'", "sex LIKE NULL", "sex NOT LIKE NULL", "age % 0 = 0", "age / 0 IS NOT NULL", "age + NULL = 1", "sex GLOB 'f'", "sex < sex", "age * 2 = 51", "(1, NULL) = (1, 2)",
			"(zip = '1' AND (coalesce(zip, '') = 'x') IS NULL) IS NULL"}},
		{"1", []string{"1 + 1 = 2", "7 / 2 = 3", "-7 / 2 = -3", "-7 % 3 = -1", "5.5 % 2 = 1", "9223372036854775807 + 1 > 9223372036854775807", "1 + 2 * 3 = 7", "(1 + 2) * 3 = 9",
			"-9223372036854775808 / -1 = 9223372036854775808", "1 << 3 = 8", "'a' LIKE 'A'", "'é' NOT LIKE 'É'", "'a' GLOB '[^b]'", "1 / 0 IS NULL", "(1, 2) < (1, 3)", "1 - -1 = 2", "8 - 4 - 2 = 2"}},
		{"zip{'15213', '15217': 1}", []string{
			"zip IN ('15213', '15217')", "zip IN ('15213', '15217', '00000') AND zip LIKE '152%'", "zip LIKE '152%' AND zip IN ('15217', '15213', '00000')",
			"(zip = '15213' OR zip = '15217') AND length(zip) = 5", "zip IN ('15213', '15217') AND zip > '1'", "NOT (zip NOT IN ('15213', '15217') OR zip NOT LIKE '1%')",
			"CASE zip WHEN '15213' THEN 1 WHEN '15217' THEN 1 ELSE 0 END", "coalesce(zip, '') IN ('15213', '15217')", "(zip, 1) IN (('15213', 1), ('15217', 1))",
		}},
		{"sex{'F': zip{'F': 1}; 'M': zip{'M': 1}}", []string{"sex = zip", "zip = sex", "zip IN (sex)", "CASE WHEN zip = sex THEN 1 END", "zip IN ('F', 'M', 'X') AND upper(zip) = sex"}},
		{"zip{NULL: 0; else: 1}", []string{"zip = zip", "zip IS NOT NULL", "zip IN (zip)", "nullif(zip, 'x') = zip OR zip = 'x'"}},
	}
	for _, c := range cases {
		for _, w := range c.wheres {
			b, err := bind(t, "SELECT COUNT(*) FROM people p WHERE "+w)
			if err != nil {
				t.Errorf("%s: %v", w, err)
			} else if got := counted(b).String(); got != c.want {
				t.Errorf("%s is %s, want %s", w, got, c.want)
			}
		}
	}
}

// wide is a table of columns c0 … c11 with 1000 values each, and two of 2^60.
func wide(t testing.TB) declared {
	columns := make([]query.Column, 14)
	for i := range columns {
		lo, hi := int64(0), int64(999)
		if i >= 12 {
			lo, hi = -1<<59, 1<<59
		}
		d, err := query.NewRange(lo, hi, true)
		if err != nil {
			t.Fatal(err)
		}
		columns[i] = query.Column{Name: fmt.Sprintf("c%d", i), Domain: d}
	}
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	return declared{"wide", u}
}

// TestWideDomains holds conditions on domains that nobody could enumerate to
// the number of records in their support.
func TestWideDomains(t *testing.T) {
	table := wide(t)
	thousand := uint64(1000)
	cases := []struct {
		where string
		size  uint64 // over the columns it depends on
	}{
		{"c12 * 2 > 100", 1<<59 - 50},
		{"c12 / 1000000 = 7", 1_000_000},
		{"abs(c12) < 10", 19},
		{"c12 * 0.5 BETWEEN 10 AND 20", 21},
		{"c12 + 1 IN (5, 6, NULL)", 2},
		{"c0 < c1", thousand * 999 / 2},
		{"c0 = c1", thousand},
		{"c12 = c0", thousand},
		{"c0 * 1000 = c12", thousand},
		{"c12 - c0 BETWEEN 1 AND 3", 3 * thousand},
		{"(c3 + c2 + c1 + c0) % 2 = 1", thousand * thousand * thousand * thousand / 2},
	}
	if *long {
		cases = append(cases, cases[0])
		last := &cases[len(cases)-1]
		last.where, last.size = "(c0 + c1 + c2 + c3) % 100 = 0", thousand*thousand*thousand*10
	}
	for _, c := range cases {
		b, err := compile(table, "SELECT COUNT(*) FROM wide WHERE "+c.where)
		if err != nil {
			t.Errorf("%s: %v", c.where, err)
			continue
		}
		q, ok := counted(b).Project(counted(b).Columns())
		if got, within := q.SizeWithin(1 << 62); !ok || !within || got != c.size {
			t.Errorf("%s has support %d, want %d", c.where, got, c.size)
		}
	}
}
