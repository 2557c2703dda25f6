package engine_test

import (
	"path/filepath"
	"testing"

	"dpsql/engine"
)

// TestMeansOfVagueRows: where a release's number of rows is mostly noise, a mean reaches SET accuracy none the less: its rows are
// counted first. The noise is drawn from one seed.
func TestMeansOfVagueRows(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "vague.db"), engine.Options{}).NewSession()
	fixed(s.DB(), 1)
	fill(t, s, `CREATE TABLE raw AS WITH RECURSIVE i (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM i WHERE i < 998) SELECT i % 100 AS age, i % 3 AS ward FROM i`)
	must(t, s, `CREATE PRIVATE TABLE t (age INTEGER BETWEEN 0 AND 99, ward INTEGER BETWEEN 0 AND 2) FROM raw WITH (epsilon = 100, delta = 1e-6)`)
	must(t, s, `CREATE RELEASE r ON t (age, ward) USING PROJECTION WITH (epsilon = 0.001)`)
	for _, ask := range []string{`SELECT ward, AVG(age) FROM t GROUP BY ward WITH ACCURACY 5`, `SELECT AVG(age) FROM t WITH ACCURACY 3`} {
		for _, m := range must(t, s, ask).Answer.Margins {
			if mean, ok := m[len(m)-1].(float64); !ok || mean > 10 {
				t.Errorf("%s: a mean is within %v", ask, m[len(m)-1])
			}
		}
	}
}
