package engine_test

import (
	"errors"
	"flag"
	"math/rand"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/internal/seeds"
	"dpsql/query"
	"dpsql/sqlerr"
)

var mixedRun = flag.Int("mixed", 60, "statements that TestMixedTypesNeverFault draws; all with -long")

// TestMixedTypesNeverFault has each kind of expression meet each kind of value in each form, inside
// private aggregates and around them. A statement may be refused, with a code of its own, but
// never as a fault of dpsql.
func TestMixedTypesNeverFault(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "mixed.db"), engine.Options{})
	quieten(db)
	s := db.NewSession()
	fill(t, s, `CREATE TABLE raw_m (i INTEGER, r REAL, m REAL, s TEXT, o TEXT, z TEXT, b INTEGER, d TEXT, at TEXT, c TEXT)`,
		`INSERT INTO raw_m VALUES (1, 2.5, 1.25, 'a', 'b', 'x', 1, '2023-01-31', '2023-01-31 02:00:00', '09:27'), (3, 0, 0, '3', 'q', 'y', 0, '2023-02-01', '2023-01-31 00:00:00', NULL)`)
	must(t, s, `CREATE PRIVATE TABLE m (i INTEGER BETWEEN 0 AND 3 OR NULL, r REAL BETWEEN 0 AND 10 STEP 2.5, m NUMERIC(4, 1) BETWEEN 0 AND 2, s TEXT IN ('a', '3', '1.5'),
		o TEXT IN ('b', '1') OR OTHER, z TEXT, b BOOLEAN, d DATE BETWEEN '2023-01-29' AND '2023-02-02', at TIMESTAMP BETWEEN '2023-01-31' AND '2023-01-31 03:00' STEP '1 hour', c TIME STEP '6 hours' OR NULL)
		FROM raw_m WITH (epsilon = 1000, delta = 1e-6)`)
	must(t, s, `SET accuracy = 10000`)
	values := strings.Split(`i|r|m|s|o|z|b|d|at|i / 2|i + 0|-i|i * 1.5|i % 2 = 1|r < 5|LENGTH(s)|UPPER(s)|SUBSTR(s, 1, 1)|CAST(i AS TEXT)|CAST(r AS TEXT)|CAST(strftime('%m', d) AS INTEGER)|
EXTRACT(MONTH FROM d)|EXTRACT(DOW FROM d)|EXTRACT(HOUR FROM at)|strftime('%Y', d)|strftime('%Y-%m-%d', d)|date_trunc('month', d)|date_trunc('hour', at)|d::timestamp|at::date|d + 1|d - '2023-01-01'|
d + INTERVAL '2 hours'|unixepoch(at)|julianday(d)|time(at)|ABS(i)|COALESCE(i, 0)|COALESCE(d, '2023-01-01')|NULLIF(s, 'a')|NULLIF(d, at)|GREATEST(d, at)|LEAST(i, 4)|CASE WHEN b THEN i ELSE 1 END|CASE WHEN b THEN s END|CASE WHEN b THEN d ELSE at END|
CASE WHEN b THEN i ELSE 'x' END|CURRENT_DATE|CURRENT_TIMESTAMP|c|at::time|date_trunc('hour', c)|EXTRACT(HOUR FROM c)|EXTRACT(EPOCH FROM c)|EXTRACT(DOW FROM c)|c::timestamp|c + INTERVAL '1 hour'|c - '09:00'|MAX(c, '9:00')|CASE WHEN b THEN c ELSE at END|COALESCE(c, '06:00')|(s = 'a')|NOT b|(i IS NULL)`, "|")
	literals := strings.Split(`3|-1|2.5|1e3|99999999999999999999|'3'|' 3 '|'2.5'|'1e400'|'x'|''|'true'|NULL|TRUE|'2023-01-31'|'2023-01-31 02:00'|'2023-01-31T02:00:00Z'|DATE '2023-01-31'|'2023-01-31'::timestamp|TIME '06:00'|'9:27 PM'|'24:00'|c|'3'::int|'3'::text|i|s|d|at|EXTRACT(MONTH FROM d)|$1`, "|")
	number := func(text string) query.Value {
		v, err := query.SQLNumeric.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	args := []query.Value{query.Null(), query.Int(3), query.Text("3"), query.Text("x"), query.Text("2023-01-05"), query.Text("2023-01-05 02:00:00"), query.Text("06:00"), number("2.5"), number("1e300")}
	operators := strings.Split(`{x} = {y}|{x} <> {y}|{x} < {y}|{y} >= {x}|{x} IN ({y}, '1')|{x} NOT IN ('1', {y})|{x} BETWEEN {y} AND '4'|'1' BETWEEN {x} AND {y}|{x} IS {y}|{x} IS NOT DISTINCT FROM {y}|CASE {x} WHEN {y} THEN 1 ELSE 0 END = '1'|NULLIF({x}, {y}) = {x}|COALESCE({x}, {y}) = {y}|
GREATEST({x}, {y}) = {y}|IIF(i < 2, {x}, {y}) > {y}|{x} LIKE {y}|{x} + {y} > 1|{x} % {y} = '0'|({x}, i) = ({y}, '3')|({x}, 1) IN (({y}, 1), ('3', '1'))|CASE WHEN {x} = {y} THEN {x} ELSE {y} END = {x}|{x} IN (SELECT {y})|{x} = (SELECT MAX({y}))|({x} = {y}) IS TRUE|NOT {x} = {y}`, "|")
	places := []string{
		`SELECT COUNT(*) FROM m WHERE {c}`, `SELECT SUM(CASE WHEN {c} THEN i ELSE 0 END) FROM m`, `SELECT COUNT(*) FILTER (WHERE {c}) FROM m WHERE z IN ('x', '3')`,
		`SELECT CASE WHEN {c} THEN 'a' ELSE 'b' END AS k, COUNT(*) FROM m GROUP BY 1`, `SELECT i, s, b, d, COUNT(*) FROM m GROUP BY i, s, b, d HAVING {c}`,
		`SELECT COUNT(*) FROM (SELECT i, s, b, d, COUNT(*) AS n FROM m GROUP BY 1, 2, 3, 4) AS q WHERE {c}`, `SELECT {c} AS c, COUNT(*) FROM m GROUP BY {c}`, `SELECT AVG({x}), MAX({y}) FROM m`,
	}
	seed := int64(seeds.Of(t))
	r := rand.New(rand.NewSource(seed))
	all, taken := len(values)*len(literals)*len(operators)*len(places), 0
	run := *mixedRun
	if *long {
		run = all
	}
	for n := range run {
		at := n
		if !*long {
			at = r.Intn(all)
		}
		pick := func(of []string) string {
			x := of[at%len(of)]
			at /= len(of)
			return strings.TrimSpace(x)
		}
		place, operator, x, y := pick(places), pick(operators), pick(values), pick(literals)
		condition := strings.NewReplacer("{x}", x, "{y}", y).Replace(operator)
		text := strings.NewReplacer("{c}", condition, "{x}", x, "{y}", y).Replace(place)
		var bound []query.Value
		if y == "$1" {
			bound = []query.Value{args[r.Intn(len(args))]}
		}
		_, err := s.Exec(t.Context(), []string{``, `EXPLAIN `}[min(1, r.Intn(8))]+text, bound)
		var own *sqlerr.Error
		switch {
		case err == nil:
			taken++
		case !errors.As(err, &own) || own.Code == sqlerr.Internal:
			t.Errorf("%s %v\n%v", text, bound, err)
		}
	}
	if taken < run/20 {
		t.Errorf("only %d of %d statements were taken", taken, run)
	}
	t.Logf("%d of %d statements were taken", taken, run)
}
