package engine_test

import (
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/engine/internal/schemas"
	"dpsql/sqlerr"
)

// changes alters what private tables were declared over, on the coordinator and
// on a shard.
func (w *warehouse) changes(t *testing.T) {
	const build = `CREATE RELEASE r ON seen (day) USING PROJECTION WITH (epsilon = 1)`
	for _, c := range []struct {
		name, made, changed string
		code                sqlerr.Code
		charges             int
	}{
		{"a column is dropped", `CREATE TABLE seen (day integer, class text)`, `ALTER TABLE seen DROP COLUMN class`, sqlerr.Unknown, 0},
		{"a type is changed", `CREATE TABLE seen (day integer, class text)`, `ALTER TABLE seen ALTER COLUMN class TYPE bytea USING class::bytea`, sqlerr.Unsupported, 0},
		{"a type is widened", `CREATE TABLE seen (day integer, class text)`, `ALTER TABLE seen ALTER COLUMN day TYPE bigint`, sqlerr.Invalid, 0},
		{"a view is replaced", `CREATE TABLE below (day integer, class text); CREATE VIEW seen AS SELECT * FROM below WHERE day < 30`,
			`CREATE OR REPLACE VIEW seen AS SELECT * FROM below`, sqlerr.Invalid, 0},
		{"a table is dropped", `CREATE TABLE seen (day integer, class text)`, `DROP TABLE seen`, sqlerr.Unknown, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.MustExec(t, c.made)
			defer w.MustExec(t, `DROP TABLE IF EXISTS below CASCADE; DROP TABLE IF EXISTS seen`)
			s := w.remote(t)
			must(t, s, `CREATE PRIVATE TABLE seen (day INTEGER BETWEEN 0 AND 59, class TEXT IN ('A', 'B', NULL)) FROM shards.public.seen WITH (epsilon = 2)`)
			m, declared := metered(s.DB()), len(entries(t, s.DB()))
			w.MustExec(t, c.changed)
			refused(t, s, c.code, build)
			if n := len(entries(t, s.DB())) - declared; n != c.charges || m.taken > oneRead || len(released(t, s)) > 0 {
				t.Errorf("%d lines, %d random bytes, %v stored", n, m.taken, released(t, s))
			}
		})
	}
	t.Run("a shard's column is dropped", w.changedShard)
}

// changedShard drops a column behind the coordinator's back, which shows only
// when the rows are read, and so after the charge; from then on the table is
// refused before it.
func (w *warehouse) changedShard(t *testing.T) {
	w.Create(t, "gone", "passenger bigint, day integer, class text", "passenger")
	w.Generate(t, "gone", bookings+"generate_series(1, 1000) AS i")
	s := w.remote(t)
	must(t, s, `CREATE PRIVATE TABLE gone (day INTEGER BETWEEN 0 AND 59) FROM shards.public.gone WITH (epsilon = 2, placement = fixed)`)
	m, declared := metered(s.DB()), len(entries(t, s.DB()))
	w.Shard[0].MustExec(t, `ALTER TABLE gone DROP COLUMN day`)
	for range 3 { // told once, for one charge
		refused(t, s, sqlerr.Invalid, `CREATE RELEASE r ON gone USING PROJECTION WITH (epsilon = 0.5)`)
		if n := len(entries(t, s.DB())) - declared; n != 1 || m.taken > oneRead || len(released(t, s)) > 0 {
			t.Errorf("%d lines, %d random bytes, %v stored", n, m.taken, released(t, s))
		}
	}
}

// apart declares rows of several servers: without a unit only where the curator
// says that none moves, which is told wherever it matters.
func (w *warehouse) apart(t *testing.T) {
	w.Create(t, "stays", "passenger bigint, day integer", "passenger")
	defer w.MustExec(t, `DROP TABLE stays`)
	s := w.remote(t)
	const declared = `CREATE PRIVATE TABLE stays (day INTEGER BETWEEN 0 AND 59) FROM shards.public.stays WITH (epsilon = 2, delta = 1e-6`
	e := refused(t, s, sqlerr.Invalid, declared+`)`)
	if !strings.Contains(e.Message, "several servers") || !strings.Contains(e.Hint, "max_rows = 1") || !strings.Contains(e.Hint, "placement = fixed") {
		t.Errorf("%v (%s)", e, e.Hint)
	}
	warned := func(r *engine.Result) bool { return slices.Contains(r.Warnings, schemas.Moving) }
	if !warned(must(t, s, declared+`, placement = fixed)`)) {
		t.Error("the declaration does not say what it relies on")
	}
	for _, text := range []string{`EXPLAIN SELECT COUNT(*) FROM stays WHERE day = 3`, `EXPLAIN SELECT day, COUNT(*) FROM stays GROUP BY day`} {
		if !warned(must(t, s, text)) {
			t.Errorf("%s does not say what the table relies on", text)
		}
	}
	must(t, s, `DROP PRIVATE TABLE stays`)
	must(t, s, declared+`, placement = fixed)`)
	w.MustExec(t, `CREATE TABLE here (passenger bigint, day integer)`)
	defer w.MustExec(t, `DROP TABLE here`)
	must(t, s, `CREATE PRIVATE TABLE here (day INTEGER BETWEEN 0 AND 59) FROM shards.public.here WITH (epsilon = 2, delta = 1e-6, interactive = 1)`)
	w.MustExec(t, `CREATE FOREIGN TABLE there () INHERITS (here) SERVER shard0 OPTIONS (table_name 'stays')`)
	defer w.MustExec(t, `DROP FOREIGN TABLE there`)
	must(t, s, `SET accuracy = 200`)
	if e := refused(t, s, sqlerr.Invalid, `SELECT COUNT(*) FROM here WHERE day = 3`); !strings.Contains(e.Message, "changed since") {
		t.Error(e)
	}
	refused(t, s, sqlerr.Invalid, `CREATE PRIVATE TABLE airlines (iata TEXT) FROM airports WITH (epsilon = 2, placement = fixed)`)
	refused(t, s, sqlerr.Invalid, declared+`, unit = passenger, max_rows = 1, placement = fixed)`)
	if e := must(t, s, `EXPLAIN SELECT COUNT(*) FROM bookings WHERE day = 3`); warned(e) {
		t.Error("a table with a unit relies on no placement")
	}
}
