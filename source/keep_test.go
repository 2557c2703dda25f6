package source_test

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"dpsql/internal/period"
	"dpsql/query"
	"dpsql/source"

	"pgregory.net/rapid"
)

func allOf(table source.Table) []int {
	columns := make([]int, len(table.Columns))
	for i := range columns {
		columns[i] = i
	}
	return columns
}

// kept returns the rows that are kept, through the stream.
func kept(t rapid.TB, db *sql.DB, table source.Table) [][]query.Value {
	var out [][]query.Value
	must(t, source.Stream(context.Background(), db, table, allOf(table), func(tuple []query.Value) {
		out = append(out, slices.Clone(tuple))
	}))
	return out
}

func TestKeptMatchesNaive(t *testing.T) {
	db := memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		table := unitScenario(rt, db)
		got, want := multiset(kept(rt, db, table)), multiset(naiveKept(t, db, table))
		if !maps.Equal(got, want) {
			rt.Fatalf("%s: kept %v, naive %v", table.Source, got, want)
		}
	})
}

// TestAllSeeTheRowsKept: Count, Rows and Cells are sums over the same rows for every
// query.
func TestAllSeeTheRowsKept(t *testing.T) {
	ctx, db := context.Background(), memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		table := unitScenario(rt, db)
		u := universe(t, table.Columns)
		rows := naiveKept(t, db, table)
		n, err := countAll(ctx, db, table)
		must(rt, err)
		if n != int64(len(rows)) {
			rt.Fatalf("%d rows, naive %d", n, len(rows))
		}
		for range 4 {
			q := someQuery(rt, u)
			want := int64(0)
			for _, tuple := range rows {
				want += q.Weight(tuple)
			}
			got, err := source.SQLite(db).Count(ctx, anyone{}, table, q)
			must(rt, err)
			streamed, err := source.CountStreamed(ctx, db, table, q)
			must(rt, err)
			if got != want || streamed != want {
				rt.Fatalf("%s of %s: counted %d, streamed %d, naive %d", q, table.Source, got, streamed, want)
			}
		}
		columns := []int{rapid.IntRange(0, len(table.Columns)-1).Draw(rt, "column")}
		coder := query.NewCoder(u.Project(columns), [16]byte{1})
		want := make(map[query.Element]int64)
		for _, tuple := range rows {
			e, _ := coder.Code(pick(tuple, columns))
			want[e]++
		}
		got, err := source.SQLite(db).Cells(ctx, anyone{}, table, columns, coder, math.MaxInt)
		must(rt, err)
		if !maps.Equal(maps.Collect(got.All()), want) {
			rt.Fatalf("cells %v, naive %v", maps.Collect(got.All()), want)
		}
	})
}

// TestUnitsAreCounted compares numbers of units with a naive count of those that have a kept
// row of the query. Removing a unit takes at most 1 from each, and from at most L of those of
// disjoint queries: so the shift of all of them is at most √min(L, queries).
func TestUnitsAreCounted(t *testing.T) {
	ctx, db := context.Background(), memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		table := unitScenario(rt, db)
		table.Source = "raw"
		u := universe(t, table.Columns)
		some := someQuery(rt, u)
		queries := []query.Query{query.All(u), some, query.None(u)}
		groups := len(queries) // of a column's values
		if d := u.Columns()[0].Domain; d.Finite() {
			for i := range min(d.Size(), 20) {
				queries = append(queries, query.Where(u, 0, d.SetOf(d.Value(i))))
			}
		}
		got, err := source.SQLite(db).CountUnits(ctx, anyone{}, table, queries)
		must(rt, err)
		for i, q := range queries {
			want := int64(0)
			for _, rows := range naiveUnits(t, db, table) {
				if slices.ContainsFunc(rows, func(tuple []query.Value) bool { return q.Weight(tuple) > 0 }) {
					want++
				}
			}
			if got[i] != want {
				rt.Fatalf("%s: %d units, naive %d", q, got[i], want)
			}
		}
		unit := "(+" + query.Quoted(table.Unit) + ")"
		_, err = db.Exec("DELETE FROM raw WHERE " + unit + " COLLATE BINARY = (SELECT " + unit + " FROM raw WHERE " + unit + " IS NOT NULL LIMIT 1)")
		must(rt, err)
		fewer, err := source.SQLite(db).CountUnits(ctx, anyone{}, table, queries)
		must(rt, err)
		changed := int64(0)
		for i := range queries {
			change := got[i] - fewer[i]
			if change < 0 || change > 1 {
				rt.Fatalf("%s: one unit changed the number by %d", queries[i], change)
			}
			if i >= groups {
				changed += change
			}
		}
		if changed > table.MaxRows {
			rt.Fatalf("one unit of at most %d rows changed %d groups", table.MaxRows, changed)
		}
	})
}

// TestSensitivity removes one unit from a table. Adding it back is the reverse.
func TestSensitivity(t *testing.T) {
	ctx, db := context.Background(), memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		table := unitScenario(rt, db)
		table.Source = "raw"
		u := universe(t, table.Columns)
		queries := []query.Query{query.All(u), someQuery(rt, u), someQuery(rt, u), someQuery(rt, u)}
		coder := query.NewCoder(u, [16]byte{2})
		measure := func() (counts []int64, cells map[query.Element]int64) {
			for _, q := range queries {
				n, err := source.SQLite(db).Count(ctx, anyone{}, table, q)
				must(rt, err)
				counts = append(counts, n)
			}
			h, err := source.SQLite(db).Cells(ctx, anyone{}, table, allOf(table), coder, math.MaxInt)
			must(rt, err)
			return counts, maps.Collect(h.All())
		}
		counts, cells := measure()
		_, err := db.Exec("DELETE FROM raw WHERE (+" + query.Quoted(table.Unit) + ") COLLATE BINARY = (SELECT (+" + query.Quoted(table.Unit) + ") FROM raw WHERE " +
			query.Quoted(table.Unit) + " IS NOT NULL LIMIT 1)")
		must(rt, err)
		fewer, left := measure()
		for i, q := range queries {
			if change := counts[i] - fewer[i]; change < 0 || change > table.MaxRows*q.MaxWeight() {
				rt.Fatalf("%s: one unit changed the count by %d; L = %d, W = %d", q, change, table.MaxRows, q.MaxWeight())
			}
		}
		total := int64(0)
		for e, n := range cells {
			if left[e] > n {
				rt.Fatalf("a cell grew when a unit went")
			}
			total += n - left[e]
		}
		if total > table.MaxRows || len(left) > len(cells) {
			rt.Fatalf("one unit changed the cells by %d; L = %d", total, table.MaxRows)
		}
	})
}

// TestKeptIgnoresOrder stores the same rows in another order, under other
// rowids, among rows that do not count.
func TestKeptIgnoresOrder(t *testing.T) {
	db := memory(t)
	rapid.Check(t, func(rt *rapid.T) {
		table := unitScenario(rt, db)
		table.Source = "raw"
		before := multiset(kept(rt, db, table))
		for _, s := range []string{"DROP TABLE IF EXISTS copy", "CREATE TABLE copy AS SELECT * FROM raw", "DELETE FROM raw"} {
			_, err := db.Exec(s)
			must(rt, err)
		}
		_, err := db.Exec("INSERT INTO raw (" + query.Quoted(table.Unit) + ") VALUES (NULL), (NULL), (NULL)")
		must(rt, err)
		order := rapid.SampledFrom([]string{"rowid DESC", "rowid % 2, rowid", "rowid * 7 % 11"}).Draw(rt, "order")
		_, err = db.Exec("INSERT INTO raw SELECT * FROM copy ORDER BY " + order)
		must(rt, err)
		if after := multiset(kept(rt, db, table)); !maps.Equal(before, after) {
			rt.Fatalf("kept %v, in another order %v", before, after)
		}
	})
}

// TestKeepHeavyUnits has units of far more than L rows, some of them equal. It has
// more matches than are narrowed to units.
func TestKeepHeavyUnits(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a INTEGER, b TEXT, person)",
		"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5999) INSERT INTO raw SELECT i % 7, 'b' || (i % 11), CASE WHEN i % 3 = 0 THEN 'heavy' ELSE i / 500 END FROM n")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 5)}, {Name: "b", Domain: query.Unbounded()}}, Unit: "Person", Key: []byte("key")}
	u := universe(t, table.Columns)
	few := where(t, u, table.Columns[0].Domain.SetOf(query.Int(1)), query.Unbounded().SetOf(query.Text("b4")))
	for _, l := range []int64{1, 57, 1000, 1 << 62} {
		table.MaxRows = l
		want := naiveKept(t, db, table)
		if got := kept(t, db, table); !maps.Equal(multiset(got), multiset(want)) {
			t.Errorf("L = %d: kept %d rows, not those of the naive choice (%d)", l, len(got), len(want))
		}
		for _, q := range []query.Query{query.All(u), few} {
			n := int64(0)
			for _, tuple := range want {
				n += q.Weight(tuple)
			}
			if got, err := source.SQLite(db).Count(context.Background(), anyone{}, table, q); err != nil || got != n {
				t.Errorf("L = %d, %s: counted %d, %v, naive %d", l, q, got, err, n)
			}
		}
	}
}

// TestKeepIsUniform: over many keys, every row of a unit is kept about equally often.
// The keys are fixed, so the test cannot fail by chance.
func TestKeepIsUniform(t *testing.T) {
	const rows, limit, keys = 10, 3, 4000
	times := make([]int, rows)
	for i := range keys {
		k := source.NewKeeper(source.Table{MaxRows: limit, Key: []byte{byte(i), byte(i >> 8)}}, func(tuple []query.Value) { times[tuple[0].Int64()]++ })
		for r := range int64(rows) {
			k.Add(query.Int(0), []query.Value{query.Int(r)})
		}
		k.Flush()
	}
	for r, n := range times { // mean 1200, standard deviation 29
		if n < 1050 || n > 1350 {
			t.Errorf("row %d was kept %d times of %d, want about %d", r, n, keys, keys*limit/rows)
		}
	}
}

// TestUnitsKeepTheirOwn: units with the same rows do not all keep the same ones.
// The key is fixed, so the test cannot fail by chance.
func TestUnitsKeepTheirOwn(t *testing.T) {
	const rows, limit, units = 10, 3, 4000
	times := make([]int, rows)
	k := source.NewKeeper(source.Table{MaxRows: limit, Key: []byte("key")}, func(tuple []query.Value) { times[tuple[0].Int64()]++ })
	for i := range int64(units) {
		for r := range int64(rows) {
			k.Add(query.Int(i), []query.Value{query.Int(r)})
		}
	}
	k.Flush()
	for r, n := range times { // mean 1200, standard deviation 29
		if n < 1050 || n > 1350 {
			t.Errorf("row %d was kept %d times of %d, want about %d", r, n, units, units*limit/rows)
		}
	}
}

// TestKeyChooses: one key always keeps the same rows. Another key keeps others.
func TestKeyChooses(t *testing.T) {
	db := memory(t, "CREATE TABLE raw (a INTEGER, person)",
		"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99) INSERT INTO raw SELECT i, 1 FROM n")
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 99)}}, Unit: "person", MaxRows: 10, Key: []byte{1}}
	first, again := multiset(kept(t, db, table)), multiset(kept(t, db, table))
	table.Key = []byte{2}
	if other := multiset(kept(t, db, table)); !maps.Equal(first, again) || maps.Equal(first, other) || len(first) != 10 {
		t.Errorf("kept %v, again %v, under another key %v", first, again, other)
	}
}

// TestRank pins the encoding under the HMAC. With another encoding, every file in use
// would keep other rows. The value is from another implementation.
func TestRank(t *testing.T) {
	k := source.NewKeeper(source.Table{MaxRows: 1, Key: []byte("a key")}, nil)
	k.Begin("p 17")
	tuple := []query.Value{query.Null(), query.Int(-2), query.Text("é"), query.Text(strings.Repeat("x", 200))}
	for _, want := range []string{"e46b95c31ba50e931f3ae4b8597feff5a5316f2376dd8537f02af6a99db169f9", "3f14929fc04fa1170b3ee04fa8f30877d96e3a656c958f196b49fcb19e8a3b2e"} {
		if got := k.Rank(tuple); hex.EncodeToString(got[:]) != want {
			t.Errorf("rank %s, want %s", hex.EncodeToString(got[:]), want)
		}
	}
}

// TestKeepsOfEachPeriod: what a unit keeps of a period is what it would keep if it had rows in
// no other.
func TestKeepsOfEachPeriod(t *testing.T) {
	const limit = 3
	table := source.Table{MaxRows: limit, Key: []byte("key"), Period: &source.Period{Column: 0, Partition: period.Partition{By: period.Value}}}
	keep := func(periods ...int64) (rows map[int64][]int64, ended int) {
		rows = make(map[int64][]int64)
		k := source.NewKeeper(table, func(tuple []query.Value) {
			rows[tuple[0].Int64()] = append(rows[tuple[0].Int64()], tuple[1].Int64())
		})
		k.Ended = func() { ended++ }
		for unit := range int64(2) {
			for i := range int64(9) {
				for _, p := range periods {
					if i < 2*p { // fewer than are kept, and more
						k.Add(query.Int(unit), []query.Value{query.Int(p), query.Int(10*unit + i)})
					}
				}
			}
		}
		k.Flush()
		for _, all := range rows {
			slices.Sort(all)
		}
		return rows, ended
	}
	together, ended := keep(1, 2, 4)
	if ended != 2 {
		t.Errorf("%d units ended", ended)
	}
	for _, p := range []int64{1, 2, 4} {
		alone, _ := keep(p)
		if !slices.Equal(alone[p], together[p]) || len(alone[p]) != 2*int(min(limit, 2*p)) {
			t.Errorf("period %d keeps %v alone and %v with the others", p, alone[p], together[p])
		}
	}
}

// TestKeeperRefusesDisorder: units that are not in ascending order have no kept rows, since a
// unit may come back. SQLite's own order is the one that is expected.
func TestKeeperRefusesDisorder(t *testing.T) {
	i, s := query.Int, query.Text
	for _, c := range []struct {
		units []query.Value
		ok    bool
	}{
		{[]query.Value{i(math.MinInt64), i(-1), i(0), i(7), s(""), s("A"), s("a"), s("ab"), s("é")}, true},
		{[]query.Value{i(1), i(2), i(1)}, false}, {[]query.Value{i(2), i(1)}, false}, {[]query.Value{s("a"), s("A"), s("a")}, false},
		{[]query.Value{s("a"), s("B")}, false}, {[]query.Value{s("1"), i(2)}, false}, {[]query.Value{s("é"), s("z")}, false},
	} {
		k := source.NewKeeper(source.Table{MaxRows: 1, Key: []byte("key")}, func([]query.Value) {})
		for _, u := range c.units {
			k.Add(u, []query.Value{i(0)})
		}
		if err := k.Flush(); errors.Is(err, source.ErrMixed) == c.ok {
			t.Errorf("%v: %v", c.units, err)
		}
	}
	db := memory(t, "CREATE TABLE raw (a INTEGER, person)", `INSERT INTO raw SELECT 0, column1 FROM (VALUES (9e999), (-9e999), (1e300), (-9223372036854775808), (-9223372036854775808.0), (9223372036854775807),
		(9223372036854775808.0), (9007199254740993), (9007199254740992.0), (0.5), (-0.5), (0), (-0.0), (1), (1.0), (''), ('1'), ('a'), ('B'), ('é'), (x''), (x'00'), (x'61'), (x'ff'), (1.5), (2), (1), ('a'))`)
	table := source.Table{Source: "raw", Columns: []query.Column{{Name: "a", Domain: between(t, 0, 1)}}, Unit: "person", MaxRows: 1, Key: []byte{1}}
	if n := len(kept(t, db, table)); n != 23 {
		t.Errorf("%d units, want 23", n)
	}
}
