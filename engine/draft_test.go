package engine_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// TestDraft drafts a declaration of columns of every kind, and runs it.
func TestDraft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "draft.db")
	s := open(t, path, engine.Options{}).NewSession()
	fill(t, s, `CREATE TABLE codes (code TEXT, n INTEGER)`, `INSERT INTO codes VALUES ('a', 1), ('b', 2), ('c', 3)`,
		`CREATE TABLE raw_stays (patient TEXT, "group" TEXT, code TEXT, n INTEGER, age INTEGER, year INTEGER, kind INTEGER, came TEXT,
			cost REAL, small REAL, zip TEXT, note BLOB, blank TEXT, mixed, serial INTEGER, huge INTEGER, "odd name" TEXT)`,
		`WITH RECURSIVE i (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 999)
			INSERT INTO raw_stays SELECT 'p' || (i / 4), iif(i % 10, 'it''s', iif(i = 500, 'rare', NULL)), substr('abc', i % 3 + 1, 1), i % 3 + 1,
			17 + i % 74, 1991 + i % 33, iif(i % 2, 1, 900), date('2021-03-01', (i % 700) || ' days'), i / 7.0, i / 1700.0 - 0.23, 'z' || (i % 60), x'00', NULL,
			iif(i % 2, i, 'x'), i, i % 90 * 18000000000000000, 'one' || char(10) FROM i`)
	must(t, s, `CREATE PUBLIC TABLE codes`)
	text, err := s.Draft(context.Background(), "raw_stays")
	if err != nil {
		t.Fatal(err)
	}
	const want = `-- A draft of a declaration of raw_stays, made from its 1000 rows, without noise. It tells of
-- them: review it as a text for the public before anyone else sees it or runs it.
-- Left out:
--   patient: may be the unit, which need not be declared
--   note: has blobs, which are no values
--   blank: has no values yet; declare what it can have
--   mixed: has values of several types: a view can make one of them
--   serial: every row has another value: it names rows, or the persons who have one row each
--   huge: has numbers of any size; bin it in a view
--   "odd name": no value has 10 rows; list those that can occur
CREATE PRIVATE TABLE stays (
    "group" TEXT IN ('it''s') OR OTHER OR NULL, -- each in 10 rows or more: list all that can occur
    code TEXT IN (SELECT code FROM codes), -- all values are there
    n INTEGER IN (SELECT n FROM codes), -- or a range of whole numbers
    age INTEGER BETWEEN 0 AND 90, -- rounded: give the bounds that can occur
    year INTEGER BETWEEN 1990 AND 2030, -- rounded: give the bounds that can occur
    kind INTEGER IN (1, 900), -- each in 10 rows or more: list all that can occur
    came DATE BETWEEN '2021-01-01' AND '2023-12-31', -- whole years
    cost REAL BETWEEN 0 AND 200 STEP 1, -- rounded; counts of values by steps
    small REAL BETWEEN -0.3 AND 0.4 STEP 0.001, -- rounded; counts of values by steps
    zip TEXT -- any text; list values to count by them, or publish keys
) FROM raw_stays WITH (
    epsilon = 1, -- of everything that is ever answered: choose it before anyone asks
    delta = 1e-6 -- far below 1 / rows
    -- , unit = patient, max_rows = 4 -- if these are the persons: 95 % of them have no more rows
);
`
	if text != want {
		t.Errorf("the draft is\n%s", text)
	}
	must(t, s, strings.Replace(text, "-- , unit", ", unit", 1))
	must(t, s, `SET accuracy = 1000`)
	must(t, s, `SELECT COUNT(*) FROM stays WHERE "group" = 'it''s' AND came >= '2022-01-01'`)

	for table, code := range map[string]sqlerr.Code{"dpsql_ledger": sqlerr.Forbidden, "DPSQL_ledger": sqlerr.Forbidden, "missing": sqlerr.Unknown, "": sqlerr.Unknown} {
		if _, err := s.Draft(context.Background(), table); sqlerr.CodeOf(err) != code {
			t.Errorf("%q: %v, want %s", table, err, code)
		}
	}
	if _, err := open(t, path, engine.Options{Role: engine.Analyst}).NewSession().Draft(context.Background(), "raw_stays"); sqlerr.CodeOf(err) != sqlerr.Forbidden {
		t.Errorf("an analyst was drafted a table: %v", err)
	}
	empty := open(t, filepath.Join(t.TempDir(), "empty.db"), engine.Options{}).NewSession()
	fill(t, empty, `CREATE TABLE raw (a INTEGER)`)
	if text, err := empty.Draft(context.Background(), "raw"); err != nil || !strings.Contains(text, "No column can be declared") {
		t.Errorf("of an empty table: %s, %v", text, err)
	}
}
