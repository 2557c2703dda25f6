package source_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/source"
)

// naive counts as the definition says: SQLite stores each value in a column of
// the declared type, and the query weighs what was stored.
func naive(t testing.TB, db *sql.DB, table source.Table, q query.Query) int64 {
	t.Helper()
	total := int64(0)
	for _, tuple := range stored(t, db, table) {
		total += q.Weight(tuple)
	}
	return total
}

// stored returns the tuples of the rows that stand for values of the types.
func stored(t testing.TB, db *sql.DB, table source.Table) [][]query.Value {
	t.Helper()
	defs, names := make([]string, len(table.Columns)), make([]string, len(table.Columns))
	for i, c := range table.Columns {
		defs[i] = fmt.Sprintf("k%d %s", i, c.Domain.Type())
		names[i] = query.Quoted(c.Name)
	}
	run(t, db, "DROP TABLE IF EXISTS naive")
	run(t, db, "CREATE TABLE naive ("+strings.Join(defs, ", ")+")")
	run(t, db, "INSERT INTO naive SELECT "+strings.Join(names, ", ")+" FROM "+query.Quoted(table.Source))
	found, err := db.Query("SELECT * FROM naive")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	var tuples [][]query.Value
	for found.Next() {
		raw, into := make([]any, len(names)), make([]any, len(names))
		for i := range raw {
			into[i] = &raw[i]
		}
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		if tuple, ok := typed(table, raw); ok {
			tuples = append(tuples, tuple)
		}
	}
	return tuples
}

func typed(table source.Table, raw []any) ([]query.Value, bool) {
	tuple := make([]query.Value, len(raw))
	for i, r := range raw {
		if c := table.Columns[i]; c.Form.IsStepped() {
			r = inSteps(c, r)
		} else if c.Form.IsClamped() {
			r = clampedTo(c.Domain, r)
		}
		isInteger := table.Columns[i].Domain.Type() == query.TypeInteger
		switch v := r.(type) {
		case nil:
		case int64:
			tuple[i] = query.Int(v)
		case string:
			if isInteger {
				return nil, false
			}
			tuple[i] = query.Text(v)
		default:
			return nil, false
		}
	}
	return tuple, true
}

// inSteps finds the step of a number by comparing it with the ends of all steps.
func inSteps(c query.Column, raw any) any {
	x := new(big.Float)
	switch v := raw.(type) {
	case int64:
		x.SetInt64(v)
	case float64:
		x.SetFloat64(v)
	case nil:
		return nil
	default:
		return false // no value
	}
	lo, hi := c.Domain.Bounds()
	end := func(n int64) *big.Float {
		nearest, _ := c.Steps().Multiple(n).Float64()
		return big.NewFloat(nearest)
	}
	top := hi
	if c.Form.IsRounded() {
		top++
	}
	switch {
	case x.Cmp(end(lo)) < 0 && c.Form.IsClamped():
		return lo
	case x.Cmp(end(top)) > 0 && c.Form.IsClamped(), x.Cmp(end(top)) == 0:
		return hi
	}
	for n := lo; n <= hi; n++ {
		if x.Cmp(end(n)) == 0 || c.Form.IsRounded() && x.Cmp(end(n)) > 0 && x.Cmp(end(n+1)) < 0 {
			return n
		}
	}
	return false
}

// clampedTo moves a number into a range.
func clampedTo(d query.Domain, raw any) any {
	lo, hi := d.Bounds()
	x := new(big.Float)
	switch v := raw.(type) {
	case int64:
		x.SetInt64(v)
	case float64:
		x.SetFloat64(v)
	default:
		return raw
	}
	switch {
	case x.Cmp(new(big.Float).SetInt64(lo)) <= 0:
		return lo
	case x.Cmp(new(big.Float).SetInt64(hi)) >= 0:
		return hi
	}
	return raw
}

func TestCountMatchesNaive(t *testing.T) {
	ctx, db := context.Background(), memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		table := scenario(rt, db)
		u := universe(t, table.Columns)
		for range 4 {
			q := someQuery(rt, u)
			want := naive(t, db, table, q)
			got, err := source.SQLite(db).Count(ctx, anyone{}, table, q)
			must(rt, err)
			if got != want {
				rt.Fatalf("%s: counted %d, naive %d", q, got, want)
			}
			streamed, err := source.CountStreamed(ctx, db, table, q)
			must(rt, err)
			if streamed != want {
				rt.Fatalf("%s: streamed %d, naive %d", q, streamed, want)
			}
		}
	})
}

func TestRowsMatchesNaive(t *testing.T) {
	ctx, db := context.Background(), memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		table := scenario(rt, db)
		got, err := countAll(ctx, db, table)
		must(rt, err)
		if want := naive(t, db, table, query.All(universe(t, table.Columns))); got != want {
			rt.Fatalf("%d rows, naive %d", got, want)
		}
	})
}

func TestCountSaturates(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a INTEGER)", "INSERT INTO raw VALUES (0), (1), (1)")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 1)}}}
	q, err := query.Weighted(universe(t, table.Columns), 0, []int64{1, math.MaxInt64 - 1})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := source.SQLite(db).Count(context.Background(), anyone{}, table, q); err != nil || got != math.MaxInt64 {
		t.Errorf("got %d, %v, want 2^63-1", got, err)
	}
}

// TestCountManyColumns has more conditions than SQLite's limit on the depth of
// an expression and, with long lists, more arguments than it takes.
func TestCountManyColumns(t *testing.T) {
	const columns = 1100
	var values []query.Value
	for i := range int64(30) {
		values = append(values, query.Int(2*i))
	}
	for name, domain := range map[string]query.Domain{"ranges": between(t, 0, 9), "lists": list(t, query.TypeInteger, values...)} {
		names := make([]string, columns)
		table := source.Table{Source: "raw"}
		for i := range names {
			names[i] = fmt.Sprintf("c%d INTEGER DEFAULT 2", i)
			table.Columns = append(table.Columns, query.Column{Name: fmt.Sprintf("c%d", i), Domain: domain})
		}
		db := memory(t, "CREATE TABLE raw ("+strings.Join(names, ", ")+")", "INSERT INTO raw (c0, c1099) VALUES (2, 2), (0, 2), (2, 77)")
		q := query.Where(universe(t, table.Columns), 0, domain.SetOf(query.Int(2)))
		if got, err := source.SQLite(db).Count(context.Background(), anyone{}, table, q); err != nil || got != 1 {
			t.Errorf("%s: got %d, %v, want 1", name, got, err)
		}
		if name == "ranges" && !*long {
			continue
		}
		if got, err := source.CountStreamed(context.Background(), db, table, q); err != nil || got != 1 {
			t.Errorf("%s: streamed %d, %v, want 1", name, got, err)
		}
	}
}

func TestCountRefusesAnotherUniverse(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a, b)")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 1)}}}
	other := universe(t, []query.Column{{Name: "b", Domain: between(t, 0, 1)}})
	if _, err := source.SQLite(db).Count(context.Background(), anyone{}, table, query.All(other)); err == nil {
		t.Error("a query over other columns was counted")
	}
}

// TestUnknownColumnIsNoString: SQLite reads an unknown "name" as a string.
func TestUnknownColumnIsNoString(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a)", "INSERT INTO raw VALUES (1)")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "gone", Domain: query.Unbounded()}}}
	if n, err := countAll(context.Background(), db, table); err == nil {
		t.Errorf("counted %d rows by a column that is not there", n)
	}
}

// TestCountUsesAnIndex: SQLite must be able to look up the condition on the stored
// value in an index.
func TestCountUsesAnIndex(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a INTEGER, b TEXT COLLATE NOCASE, c TEXT)", "CREATE INDEX ia ON raw (a)",
		"CREATE INDEX ib ON raw (b)", "CREATE INDEX ic ON raw (c)")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 99)},
		{Name: "b", Domain: query.Unbounded()}, {Name: "c", Domain: query.Unbounded()}}}
	for i, set := range []query.Set{table.Columns[0].Domain.SetOf(query.Int(3)), query.Unbounded().SetOf(query.Text("x")), query.Unbounded().SetOf(query.Text("x"))} {
		sets := []query.Set{table.Columns[0].Domain.All(), query.Unbounded().All(), query.Unbounded().All()}
		sets[i] = set
		text, args, ok, err := source.Conjunction(context.Background(), db, table, sets)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		var id, parent, unused int
		var detail string
		err = db.QueryRow("EXPLAIN QUERY PLAN SELECT COUNT(*)"+source.From("raw")+" WHERE "+text, args...).Scan(&id, &parent, &unused, &detail)
		if err != nil || !strings.HasPrefix(detail, "SEARCH r USING") {
			t.Errorf("column %d: plan %q, %v", i, detail, err)
		}
	}
}

func TestCellsMatchNaive(t *testing.T) {
	ctx, db := context.Background(), memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		table := scenario(rt, db)
		u := universe(t, table.Columns)
		var columns []int
		for i := range table.Columns {
			if i == len(table.Columns)-1 && len(columns) == 0 || rapid.Bool().Draw(rt, "projected") {
				columns = append(columns, i)
			}
		}
		coder := query.NewCoder(u.Project(columns), [16]byte{1})
		want := make(map[query.Element]int64)
		for _, tuple := range stored(t, db, table) {
			if query.All(u).Weight(tuple) == 1 {
				e, _ := coder.Code(pick(tuple, columns))
				want[e]++
			}
		}
		got, err := source.SQLite(db).Cells(ctx, anyone{}, table, columns, coder, math.MaxInt)
		must(rt, err)
		if !maps.Equal(maps.Collect(got.All()), want) {
			rt.Fatalf("columns %v: cells %v, naive %v", columns, maps.Collect(got.All()), want)
		}
	})
}

func pick(tuple []query.Value, columns []int) []query.Value {
	var out []query.Value
	for _, c := range columns {
		out = append(out, tuple[c])
	}
	return out
}

// TestCellsChecksEveryDomain: a column that is not projected drops rows too,
// by a condition in SQL or, where its domain is too scattered, in Go.
func TestCellsChecksEveryDomain(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a, b)", "INSERT INTO raw VALUES (1, 0), (1, 4), (1, 2), (1, NULL), (2, 0), (3, 0), (NULL, 0)")
	var apart []query.Value
	for i := range int64(40_000) { // pairs of neighbours
		apart = append(apart, query.Int(4*i), query.Int(4*i+1), query.Int(4*i+3))
	}
	for name, domain := range map[string]query.Domain{"list": list(t, query.TypeInteger, query.Int(0), query.Int(4)), "scattered": list(t, query.TypeInteger, apart...)} {
		table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 1, 2)}, {Name: "b", Domain: domain}}}
		coder := query.NewCoder(universe(t, table.Columns[:1]), [16]byte{})
		got, err := source.SQLite(db).Cells(context.Background(), anyone{}, table, []int{0}, coder, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[query.Element]int64{{Lo: 0}: 2, {Lo: 1}: 1}; !maps.Equal(maps.Collect(got.All()), want) {
			t.Errorf("%s: %v, want %v", name, maps.Collect(got.All()), want)
		}
		if n, err := countAll(context.Background(), db, table); err != nil || n != 3 {
			t.Errorf("%s: %d rows, %v, want 3", name, n, err)
		}
	}
}

// TestCellsOfDates: the driver would turn a text of a DATE column into a time.
func TestCellsOfDates(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (d DATE)", "INSERT INTO raw VALUES ('2024-05-01'), ('2024-05-01'), ('2024-05-02')")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "d", Domain: list(t, query.TypeText, query.Text("2024-05-01"), query.Text("2024-05-02"))}}}
	got, err := source.SQLite(db).Cells(context.Background(), anyone{}, table, []int{0}, query.NewCoder(universe(t, table.Columns), [16]byte{}), math.MaxInt)
	if want := map[query.Element]int64{{Lo: 0}: 2, {Lo: 1}: 1}; err != nil || !maps.Equal(maps.Collect(got.All()), want) {
		t.Errorf("%v, want %v", err, want)
	}
}

func TestCellsRefusesOtherColumns(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a, b)")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 1)}, {Name: "b", Domain: between(t, 0, 1)}}}
	coder := query.NewCoder(universe(t, table.Columns[:1]), [16]byte{})
	for _, columns := range [][]int{{1}, {0, 1}, {2}, {-1}, {}} {
		if _, err := source.SQLite(db).Cells(context.Background(), anyone{}, table, columns, coder, math.MaxInt); err == nil {
			t.Errorf("columns %v were accepted for a coder over a", columns)
		}
	}
}

// TestHistogramCountsAsSQL holds counts in memory to those of SQL and of the
// definition, over all columns and over those a query needs.
func TestHistogramCountsAsSQL(t *testing.T) {
	ctx, db := context.Background(), memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		table := scenario(rt, db)
		u := universe(t, table.Columns)
		q := someQuery(rt, u)
		columns := q.Columns()
		if len(columns) == 0 || rapid.Bool().Draw(rt, "all columns") {
			columns = columns[:0]
			for i := range table.Columns {
				columns = append(columns, i)
			}
		}
		h, err := source.SQLite(db).Cells(ctx, anyone{}, table, columns, query.NewCoder(u.Project(columns), [16]byte{1}), math.MaxInt)
		must(rt, err)
		narrow, ok := q.Project(columns)
		if !ok {
			rt.Fatal("a query depends on a column it does not name")
		}
		got, ok := h.Count(narrow)
		if !ok {
			if narrow.Size() != nil {
				rt.Fatal("a finite support was not counted")
			}
			return
		}
		want, err := source.SQLite(db).Count(ctx, anyone{}, table, q)
		must(rt, err)
		if naive := naive(t, db, table, q); got != want || got != naive {
			rt.Fatalf("%v over %v: %d in memory, %d by SQL, %d by definition", q, columns, got, want, naive)
		}
	})
}

// TestHistogramIndex counts runs of every place and length in universes whose cells
// are dense, sparse or at the ends, and in universes without cells.
func TestHistogramIndex(t *testing.T) {
	for name, codes := range map[string][]uint64{"none": nil, "first": {0}, "last": {99}, "dense": {3, 4, 5, 6, 7, 8}, "ends": {0, 99},
		"some": {1, 2, 30, 31, 64, 65, 98}} {
		u := universe(t, []query.Column{{Name: "a", Domain: between(t, 0, 99)}})
		cells := source.NewTally(source.Table{}, query.NewCoder(u, [16]byte{}), math.MaxInt)
		for _, c := range codes {
			cells.Add(query.Element{Lo: c}, int64(c)+1)
		}
		h := histogram(t, cells)
		for lo := int64(0); lo < 100; lo++ {
			for hi := lo; hi < 100; hi++ {
				d := u.Columns()[0].Domain
				from, _ := d.Greater(query.Int(lo), true)
				q := query.Where(u, 0, from.Intersect(below(d, hi+1)))
				want := int64(0)
				for _, c := range codes {
					if int64(c) >= lo && int64(c) <= hi {
						want += int64(c) + 1
					}
				}
				if got, _ := h.Count(q); got != want || h.CountByScan(q) != want {
					t.Fatalf("%s, %d to %d: %d by runs, %d by scan, want %d", name, lo, hi, got, h.CountByScan(q), want)
				}
			}
		}
	}
}

func histogram(t *testing.T, cells *source.Tally) *source.Histogram {
	t.Helper()
	h, err := cells.Histogram()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestTallyGrows counts many codes, some of them often.
func TestTallyGrows(t *testing.T) {
	u := universe(t, []query.Column{{Name: "a", Domain: between(t, 0, 1<<40)}})
	cells, want := source.NewTally(source.Table{}, query.NewCoder(u, [16]byte{}), math.MaxInt), make(map[uint64]int64)
	for i := range uint64(20_000) {
		code := i * i % 9_973 << (i % 27)
		cells.Add(query.Element{Lo: code}, 1)
		want[code]++
	}
	h := histogram(t, cells)
	if h.Len() != len(want) {
		t.Errorf("%d cells, want %d", h.Len(), len(want))
	}
	last := int64(-1)
	for e, n := range h.All() {
		if want[e.Lo] != n || int64(e.Lo) <= last {
			t.Fatalf("cell %d after %d has %d, want %d", e.Lo, last, n, want[e.Lo])
		}
		last = int64(e.Lo)
	}
}

func TestCellsStopAtALimit(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a, b)", "INSERT INTO raw VALUES (1, 'x'), (1, 'x'), (2, 'y'), (3, 'z')")
	for _, column := range []query.Column{{Name: "a", Domain: between(t, 0, 9)}, {Name: "b", Domain: query.Unbounded()}} {
		table := source.Table{Source: "raw", Columns: []query.Column{column}}
		coder := query.NewCoder(universe(t, table.Columns), [16]byte{})
		if _, err := source.SQLite(db).Cells(context.Background(), anyone{}, table, []int{0}, coder, 2); !errors.Is(err, source.ErrTooManyCells) {
			t.Errorf("%s: three cells of at most two: %v", column.Name, err)
		}
		if h, err := source.SQLite(db).Cells(context.Background(), anyone{}, table, []int{0}, coder, 3); err != nil || h.Len() != 3 {
			t.Errorf("%s: three cells of at most three: %v", column.Name, err)
		}
	}
}

func TestWeightedSumsSaturate(t *testing.T) {
	for _, c := range []struct{ total, w, n, want int64 }{
		{1, 2, 3, 7}, {math.MaxInt64, 1, 1, math.MaxInt64}, {math.MaxInt64 - 1, 1, 1, math.MaxInt64},
		{0, 1 << 40, 1 << 40, math.MaxInt64}, {1, math.MaxInt64, 1, math.MaxInt64}, {5, 0, 9, 5},
	} {
		if got := source.AddWeighted(c.total, c.w, c.n); got != c.want {
			t.Errorf("%d + %d·%d = %d, want %d", c.total, c.w, c.n, got, c.want)
		}
	}
}

func TestHistogramPrintsNothing(t *testing.T) {
	u := universe(t, []query.Column{{Name: "a", Domain: between(t, 0, 9)}})
	cells := source.NewTally(source.Table{}, query.NewCoder(u, [16]byte{}), math.MaxInt)
	cells.Add(query.Element{Lo: 7}, 31337)
	h := histogram(t, cells)
	count := regexp.MustCompile(`\b(31337|(0x)?7a69)\b`) // a number of its own, since addresses have any digits
	for _, format := range []string{"%v", "%+v", "%#v", "%d", "%s", "%x"} {
		for _, v := range []any{struct{ H *source.Histogram }{h}, *h, cells} {
			if text := fmt.Sprintf(format, v); count.MatchString(text) {
				t.Errorf("%s prints %s", format, text)
			}
		}
	}
}

// TestCountLists covers the forms in which lists reach SQLite: bound, as JSON,
// bound beside JSON, intervals, intervals written out, and too many to push.
func TestCountLists(t *testing.T) {
	ctx := context.Background()
	db := memory(t, "CREATE TABLE raw (i INTEGER, t TEXT COLLATE NOCASE)", "CREATE INDEX it ON raw (t)", "CREATE INDEX ii ON raw (i)",
		"WITH RECURSIVE n (x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n WHERE x < 1200) INSERT INTO raw SELECT x, 'w' || x FROM n",
		"INSERT INTO raw VALUES (5, 'W5'), (6, 'z'||char(0)||'1'), (7, CAST(x'ff' AS TEXT)), (8, NULL), (9, ''), (9.5, 'w9'), (9, x'7739'), ('x', 'w9'), (NULL, 'w9')")
	texts := []query.Value{query.Null(), query.Text("z\x001"), query.Text("\xff"), query.Text("<&>\u2028\"\\"), query.Text("")}
	for i := range 2000 {
		texts = append(texts, query.Text(fmt.Sprintf("w%d", i)))
	}
	listed := list(t, query.TypeText, texts...)
	numbers := between(t, 0, 1<<40)
	for _, text := range []query.Domain{listed, query.Unbounded()} {
		table := source.Table{Source: "raw", Columns: []query.Column{{Name: "i", Domain: numbers}, {Name: "T", Domain: text}}}
		u := universe(t, table.Columns)
		for i, s := range []query.Set{text.All(), text.None(), text.NotNull(), text.SetOf(texts...), text.SetOf(texts[:3]...), text.SetOf(texts[1:3]...),
			text.SetOf(texts...).Complement(), text.SetOf(texts[:2]...).Complement(), text.SetOf(texts[1:40]...).Complement(), text.SetOf(texts[5:]...)} {
			for j, n := range []query.Set{numbers.All(), every(numbers, 3, 900), blocks(numbers, 10), blocks(numbers, 100), scattered(numbers)} {
				if !*long && (i+j)%2 > 0 {
					continue // every list of the one with half of the other
				}
				q := where(t, u, n, s)
				got, err := source.SQLite(db).Count(ctx, anyone{}, table, q)
				if err != nil {
					t.Fatal(err)
				}
				if want := naive(t, db, table, q); got != want {
					t.Errorf("%.100s: counted %d, naive %d", q, got, want)
				}
			}
		}
	}
}

// every returns n multiples of step.
func every(d query.Domain, step, n int64) query.Set {
	var values []query.Value
	for i := range n {
		values = append(values, query.Int(i*step))
	}
	return d.SetOf(values...)
}

// blocks returns n intervals of three values.
func blocks(d query.Domain, n int64) query.Set {
	return every(d, 4, n).Complement().Intersect(below(d, 4*n))
}

// scattered returns twenty intervals too large to be written out.
func scattered(d query.Domain) query.Set { return every(d, 20_000, 20).Complement() }

func below(d query.Domain, n int64) query.Set {
	s, _ := d.Less(query.Int(n), false)
	return s
}

func TestScatteredSetsAreNotPushed(t *testing.T) {
	d := between(t, 0, 1<<40)
	for set, want := range map[*query.Set]bool{ptr(blocks(d, 10)): true, ptr(blocks(d, 100)): true, ptr(every(d, 3, 900)): true, ptr(scattered(d)): false} {
		if got := source.Pushed(*set); got != want {
			t.Errorf("%d ranges: pushed %v, want %v", len(set.Ranges()), got, want)
		}
	}
}

func ptr[T any](v T) *T { return &v }
