package source_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dpsql/query"
	"dpsql/source"

	"pgregory.net/rapid"
)

// naiveKept chooses the rows kept as the definition says, all in memory. Rows go
// through a table whose columns have the declared types, beside the unit in a
// column without affinity or collation; SQLite says which units are equal.
func naiveKept(t testing.TB, db *sql.DB, table source.Table) [][]query.Value {
	t.Helper()
	perUnit := make(map[int64][]rankedRow)
	seen := make(map[string]uint64)
	for _, r := range unitRows(t, db, table) {
		if query.All(universe(t, table.Columns)).Weight(r.tuple) == 0 {
			continue
		}
		equal := fmt.Sprintf("%d %q", r.unit, r.tuple)
		perUnit[r.unit] = append(perUnit[r.unit], rankedRow{naiveRank(table.Key, r.raw, r.tuple, seen[equal]), r.tuple})
		seen[equal]++
	}
	var kept [][]query.Value
	for _, rows := range perUnit {
		slices.SortFunc(rows, func(a, b rankedRow) int { return bytes.Compare(a.rank[:], b.rank[:]) })
		for _, r := range rows[:min(int64(len(rows)), table.MaxRows)] {
			kept = append(kept, r.tuple)
		}
	}
	return kept
}

type rankedRow struct {
	rank  [sha256.Size]byte
	tuple []query.Value
}

type unitRow struct {
	unit  int64 // a number that the rows of the unit share
	raw   any   // the value of the unit
	tuple []query.Value
}

// unitRows returns the rows that have a unit and stand for values of the types.
func unitRows(t testing.TB, db *sql.DB, table source.Table) []unitRow {
	t.Helper()
	defs, names := []string{"unit"}, []string{source.Quoted(table.Unit)}
	for i, c := range table.Columns {
		defs = append(defs, fmt.Sprintf("k%d %s", i, c.Domain.Type()))
		names = append(names, source.Quoted(c.Name))
	}
	run(t, db, "DROP TABLE IF EXISTS naive")
	run(t, db, "CREATE TABLE naive ("+strings.Join(defs, ", ")+")")
	run(t, db, "CREATE INDEX naive_unit ON naive (unit)")
	run(t, db, "INSERT INTO naive SELECT "+strings.Join(names, ", ")+" FROM "+source.Quoted(table.Source))
	found, err := db.Query("SELECT (SELECT MIN(m.rowid) FROM naive AS m WHERE m.unit = n.unit) AS number, n.* FROM naive AS n WHERE n.unit IS NOT NULL")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	var out []unitRow
	for found.Next() {
		var number int64
		raw := make([]any, len(table.Columns))
		var unit any
		into := []any{&number, &unit}
		for i := range raw {
			into = append(into, &raw[i])
		}
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		if tuple, ok := typed(table, raw); ok {
			out = append(out, unitRow{number, unit, tuple})
		}
	}
	return out
}

func naiveRank(key []byte, unit any, tuple []query.Value, number uint64) [sha256.Size]byte {
	message := naiveUnit(unit)
	for _, v := range tuple {
		switch {
		case v.IsNull():
			message = append(message, 0)
		case v.IsInt():
			message = append(message, 1)
			message, _ = binary.Append(message, binary.BigEndian, v.Int64())
		case v.IsText():
			message = append(message, 2)
			length := len(v.Str())
			for ; length >= 128; length /= 128 {
				message = append(message, byte(128+length%128))
			}
			message = append(append(message, byte(length)), v.Str()...)
		}
	}
	message, _ = binary.Append(message, binary.BigEndian, number)
	mac := hmac.New(sha256.New, key)
	mac.Write(message)
	return [sha256.Size]byte(mac.Sum(nil))
}

func naiveUnit(raw any) []byte {
	number := func(kind byte, v any) []byte {
		message, _ := binary.Append([]byte{kind}, binary.BigEndian, v)
		return message
	}
	switch v := raw.(type) {
	case int64:
		return number(1, v)
	case float64:
		if i := int64(v); v < 9e18 && float64(i) == v {
			return number(1, i)
		}
		return number(2, v)
	case string:
		return append([]byte{3, byte(len(v))}, v...)
	case []byte:
		return append([]byte{4, byte(2 * len(v))}, fmt.Sprintf("%X", v)...)
	}
	return []byte{4, 0} // empty blobs come as nil
}

// multiset counts tuples.
func multiset(tuples [][]query.Value) map[string]int {
	m := make(map[string]int)
	for _, tuple := range tuples {
		m[fmt.Sprintf("%q", tuple)]++
	}
	return m
}

// someUnits are values that are equal in some ways and not in others.
var someUnits = append([]any{int64(1)<<53 + 1, float64(1 << 53), int64(1) << 53, 9.2233720368547758e18, -0.5, []byte{}}, small...)

// unitScenario is a scenario whose rows have units.
func unitScenario(t *rapid.T, db *sql.DB) source.Table {
	table := scenario(t, db)
	table.Unit = rapid.SampledFrom([]string{"unit", "group", `u"n.it`}).Draw(t, "unit")
	table.MaxRows = rapid.Int64Range(1, 4).Draw(t, "max_rows")
	table.Key = rapid.SliceOfN(rapid.Byte(), 1, 80).Draw(t, "key")
	exec := func(statement string, args ...any) {
		_, err := db.Exec(statement, args...)
		must(t, err)
	}
	exec("ALTER TABLE raw ADD COLUMN " + source.Quoted(table.Unit) + " " + rapid.SampledFrom(affinities).Draw(t, "affinity"))
	few := rapid.SliceOfN(rapid.SampledFrom(someUnits), 1, 4).Draw(t, "units")
	var n int
	must(t, db.QueryRow("SELECT COUNT(*) FROM raw").Scan(&n))
	for id := 1; id <= n; id++ {
		exec("UPDATE raw SET "+source.Quoted(table.Unit)+" = ? WHERE rowid = ?", rapid.SampledFrom(few).Draw(t, "of"), id)
	}
	if rapid.Bool().Draw(t, "indexed") {
		exec("CREATE INDEX iu ON raw (" + source.Quoted(table.Unit) + ")")
	}
	table.Source = rapid.SampledFrom([]string{"raw", "RAW", "v", "w", "x"}).Draw(t, "source")
	var names []string
	for _, c := range table.Columns {
		names = append(names, source.Quoted(c.Name))
	}
	columns, unit := strings.Join(names, ", "), source.Quoted(table.Unit)
	exec("DROP VIEW w")
	exec("DROP VIEW IF EXISTS x")
	exec("CREATE VIEW w AS SELECT " + columns + ", " + unit + " COLLATE NOCASE AS " + unit + " FROM raw")
	exec("CREATE VIEW x AS SELECT " + columns + ", CAST(" + unit + " AS TEXT) AS " + unit + " FROM raw UNION ALL SELECT " + columns + ", " + unit + " FROM raw")
	return table
}
