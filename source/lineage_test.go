package source_test

import (
	"database/sql"
	"math/rand/v2"
	"slices"
	"testing"

	"dpsql/internal/period"
	"dpsql/internal/seeds"
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// inMonths returns a table whose rows lie in the months of a column.
func inMonths(name, column, unit string) source.Table {
	t := source.Table{Source: name, Unit: unit, Columns: []query.Column{{Name: "sex"}, {Name: column, Form: query.DateForm(query.StoredISO)}},
		Period: &source.Period{Column: 1, Partition: period.Partition{By: period.Month, Form: query.DateForm(query.StoredISO)}}}
	if unit != "" {
		t.MaxRows, t.Key = 2, []byte("key")
	}
	return t
}

// TestPeriodColumns follows the period's column to the base table, and refuses what could give
// rows to other periods or let the rows of one change those of another. With and without a unit
// the answers are the same.
func TestPeriodColumns(t *testing.T) {
	db := memory(t,
		`CREATE TABLE raw (patient TEXT, sex TEXT, Visited TEXT, left_at TEXT, month_before TEXT AS (substr(Visited, 1, 7)), kept TEXT AS (Visited) STORED)`,
		`CREATE TABLE other (patient TEXT, sex TEXT, visited TEXT)`, `CREATE TABLE calendar (day TEXT PRIMARY KEY, holiday TEXT, patient TEXT)`)
	public := []string{"calendar"}
	for _, c := range []struct {
		view string // over which there is a table, or "" for raw
		want string // or the code of the refusal
	}{
		{"", "Visited"},
		{"SELECT patient, sex, visited FROM raw", "Visited"},
		{"SELECT *, 7 AS seven FROM raw WHERE sex = 'F'", "Visited"},
		{"SELECT patient, sex, left_at AS visited FROM raw", "left_at"},
		{"SELECT patient, lower(sex) AS sex, v AS visited FROM (SELECT patient, sex, visited AS v FROM raw) WHERE v > '2024'", "Visited"},
		{"WITH c AS (SELECT * FROM raw) SELECT patient, sex, visited COLLATE NOCASE AS visited FROM c", "Visited"},
		{"SELECT raw.patient, sex, visited, holiday FROM raw LEFT JOIN calendar ON visited = day", "Visited"},
		{"SELECT patient, sex, visited FROM raw UNION ALL SELECT patient, holiday, day FROM calendar", "Visited"},

		{"SELECT patient, sex, '2024-02-01' AS visited FROM raw", "invalid"},
		{"SELECT patient, sex, date(min(visited, ':'), '+1 month') AS visited FROM raw", "invalid"},
		{"SELECT patient, sex, visited || '' AS visited FROM raw", "invalid"},
		{"SELECT patient, sex, CAST(visited AS TEXT) AS visited FROM raw", "invalid"},
		{"SELECT patient, sex, +visited AS visited FROM raw", "invalid"},
		{"SELECT patient, sex, CASE WHEN sex = 'F' THEN visited ELSE left_at END AS visited FROM raw", "invalid"},
		{"SELECT patient, sex, coalesce(visited, left_at) AS visited FROM raw", "invalid"},
		{"SELECT raw.patient, sex, holiday AS visited FROM raw JOIN calendar ON visited = day", "invalid"},
		{"SELECT patient, sex, (SELECT holiday FROM calendar WHERE day = visited) AS visited FROM raw", "invalid"},
		{"SELECT patient, sex, month_before AS visited FROM raw", "invalid"},
		{"SELECT patient, sex, kept AS visited FROM raw", "invalid"},
		{"SELECT patient, sex, rowid AS visited FROM raw", "unsupported"},
		{"SELECT patient, sex, date(min(visited, ':'), '+1 month') AS visited FROM raw UNION ALL SELECT patient, holiday, day FROM calendar", "invalid"},
		{"SELECT patient, sex, visited FROM raw UNION ALL SELECT patient, sex, visited FROM other", "invalid"},
		{"SELECT day AS visited, holiday AS sex, patient FROM calendar", "invalid"},

		{"SELECT patient, sex, lag(visited) OVER (PARTITION BY patient ORDER BY visited) AS visited FROM raw", "unsupported"},
		{"SELECT patient, sex, visited, lag(sex) OVER (PARTITION BY patient ORDER BY visited) AS before FROM raw", "unsupported"},
		{"SELECT patient, sex, max(visited) AS visited FROM raw GROUP BY patient", "unsupported"},
		{"SELECT DISTINCT patient, sex, visited FROM raw", "unsupported"},
		{"SELECT raw.patient, raw.sex, raw.visited FROM raw JOIN other ON raw.patient = other.patient", "unsupported"},
		{"SELECT a.patient, a.sex, a.visited FROM raw a JOIN raw b ON a.patient = b.patient", "unsupported"},
		{"SELECT raw.patient, sex, visited FROM raw JOIN calendar ON visited > day", "unsupported"},
		{"SELECT patient, sex, visited FROM raw UNION ALL SELECT patient, sex, visited FROM raw", "unsupported"},
		{"SELECT patient, sex, visited FROM raw UNION SELECT patient, holiday, day FROM calendar", "unsupported"},
		{"SELECT patient, sex, visited FROM raw LIMIT 5", "unsupported"},
	} {
		name := "raw"
		if c.view != "" {
			name = "v"
			run(t, db, "DROP VIEW IF EXISTS v")
			run(t, db, "CREATE VIEW v AS "+c.view)
		}
		for _, unit := range []string{"", "patient"} {
			table := inMonths(name, "visited", unit)
			table.Public = public
			schema, err := source.SQLite(db).Check(t.Context(), table)
			if got := schema.Period; err == nil && got != c.want || err != nil && string(sqlerr.CodeOf(err)) != c.want {
				t.Errorf("%s with the unit %q: %q, %v; want %s", c.view, unit, got, err, c.want)
			}
		}
	}
}

// TestPeriodUnits refuses a unit that is not the base table's column of that name: over one
// account, it would divide the rows differently.
func TestPeriodUnits(t *testing.T) {
	db := memory(t, `CREATE TABLE raw (patient TEXT, doctor TEXT, sex TEXT, visited TEXT, folded TEXT AS (lower(patient)))`,
		`CREATE VIEW same AS SELECT PATIENT, sex, visited FROM raw`, `CREATE VIEW computed AS SELECT lower(patient) AS patient, sex, visited FROM raw`,
		`CREATE VIEW swapped AS SELECT doctor AS patient, sex, visited FROM raw`, `CREATE VIEW renamed AS SELECT patient AS person, sex, visited FROM raw`)
	for _, c := range []struct {
		table, unit string
		ok          bool
	}{
		{"raw", "patient", true}, {"same", "patient", true}, {"raw", "doctor", true},
		{"computed", "patient", false}, {"swapped", "patient", false}, {"renamed", "person", false}, {"raw", "folded", false},
	} {
		_, err := source.SQLite(db).Check(t.Context(), inMonths(c.table, "visited", c.unit))
		if c.ok != (err == nil) || err != nil && sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%s of %s: %v", c.unit, c.table, err)
		}
	}
}

// TestRandomViewsOfPeriods makes random views over random rows, and removes each private row. A
// view that is accepted with x0 as the column of its periods then loses at most one row, with
// the value in x0 that the private row has in the column found for it, and gains none. With
// the unit u, it has the private row's unit in u.
//
// Of 20,001 views of each kind, 2410 were accepted without a unit and 2049 with one. Acceptance
// depends on the text alone. So none of 300 is accepted with a probability below 1e-13.
func TestRandomViewsOfPeriods(t *testing.T) {
	seed := seeds.Of(t)
	for _, unit := range []string{"", "u"} {
		m := &viewMaker{Rand: rand.New(rand.NewPCG(seed, 2)), tame: true}
		db := memory(t, randomSchema...)
		fillRandom(t, m, db)
		accepted, of := 0, *randomViews*3/2
		for range of {
			text := m.query(1)
			if _, err := db.Exec("CREATE VIEW made AS " + text); err != nil {
				continue
			}
			table := inMonths("made", "x0", unit)
			table.Columns[0].Name = "x1"
			table.Public = []string{"keyed", "num", "multi", "fold", "loose", "pair", "partial", "bare"}
			if schema, err := source.SQLite(db).Check(t.Context(), table); err == nil {
				accepted++
				base := "raw"
				if slices.Contains(schema.Bases, "more") {
					base = "more"
				}
				loseEach(t, db, base, schema.Period, unit, text)
			}
			run(t, db, "DROP VIEW made")
			if t.Failed() {
				return
			}
		}
		if t.Logf("unit %q: %d of %d views are accepted", unit, accepted, of); accepted == 0 {
			t.Error("no view is accepted")
		}
	}
}

// loseEach removes each row of a base table alone, and compares the row that the view loses.
func loseEach(t *testing.T, db *sql.DB, base, column, unit, text string) {
	t.Helper()
	shown := func(from, u, x string) map[[2]string]int {
		if unit == "" {
			u = "NULL"
		}
		found, err := db.Query("SELECT quote(" + u + "), typeof(" + x + ") || quote(" + x + ") FROM " + from)
		if err != nil {
			t.Fatal(err)
		}
		defer found.Close()
		rows := make(map[[2]string]int)
		for found.Next() {
			var row [2]string
			if err := found.Scan(&row[0], &row[1]); err != nil {
				t.Fatal(err)
			}
			rows[row]++
		}
		return rows
	}
	ids, err := source.Texts(t.Context(), db, base, "SELECT CAST(rowid AS TEXT) FROM "+base)
	if err != nil {
		t.Fatal(err)
	}
	before := shown("made", "u", "x0")
	for _, id := range ids {
		own := shown(base+" WHERE rowid = "+id, "u", column)
		run(t, db, "SAVEPOINT one")
		run(t, db, "DELETE FROM "+base+" WHERE rowid = "+id)
		after := shown("made", "u", "x0")
		run(t, db, "ROLLBACK TO one")
		run(t, db, "RELEASE one")
		for row, n := range after {
			if n > before[row] {
				t.Errorf("CREATE VIEW made AS %s\nwithout row %s of %s there is one more %v", text, id, base, row)
			}
		}
		for row, n := range before {
			if lost := n - after[row]; lost > own[row] {
				t.Errorf("CREATE VIEW made AS %s\nwithout row %s of %s, %v, %d are lost of %v", text, id, base, own, lost, row)
			}
		}
	}
}
