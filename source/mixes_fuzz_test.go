package source_test

import (
	"strings"
	"testing"

	"dpsql/sqlerr"
)

// FuzzDefinitions makes views of any text over the tables of mixesSchema. What
// SQLite reads and is understood here must be read alike: the compiled view may
// open no table that was not found in the text. Nothing may panic.
func FuzzDefinitions(f *testing.F) {
	for _, text := range []string{"SELECT * FROM raw", "SELECT age FROM seen AS s JOIN codes USING (k)", "SELECT r.age FROM raw r LEFT JOIN (codes c JOIN years y) ON c.k = r.code",
		"WITH a (x) AS (SELECT age FROM raw) SELECT x, (SELECT max(v) FROM lists WHERE k = x) AS m FROM a GROUP BY 1 HAVING x > 2",
		"SELECT person, count(*) OVER (PARTITION BY person ORDER BY age ROWS 1 PRECEDING) FROM raw UNION ALL SELECT guest, 1 FROM visits", "SELECT \"age\", [code] FROM `raw` /* x */ -- y"} {
		f.Add(text)
	}
	db := memory(f, mixesSchema...)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, ";") || len(text) > 1000 {
			return
		}
		if _, err := db.Exec("CREATE VIEW made AS " + text); err != nil {
			return
		}
		defer run(t, db, "DROP VIEW made")
		for _, unit := range []string{"", "person"} {
			err := checkView(t, db, "made", unit)
			if sqlerr.CodeOf(err) == sqlerr.Internal || err != nil && strings.Contains(err.Error(), "more than is understood") {
				t.Errorf("CREATE VIEW made AS %s\n%v", text, err)
			}
		}
	})
}
