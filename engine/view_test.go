package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// TestViews makes views and drops them, and is refused what would leave a declared table
// without rows or show dpsql's own tables.
func TestViews(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "views.db")
	db := open(t, path, engine.Options{})
	s := db.NewSession()
	fill(t, s, `CREATE TABLE raw (a INTEGER, b TEXT)`, `INSERT INTO raw VALUES (1, 'x'), (2, 'y')`)
	const declare = `CREATE PRIVATE TABLE p (h INTEGER BETWEEN 0 AND 9) FROM outer_view WITH (epsilon = 1, delta = 1e-6)`
	for _, text := range []string{
		`CREATE VIEW inner_view (h) AS SELECT a / 2 FROM raw -- halves`,
		`CREATE VIEW IF NOT EXISTS inner_view AS SELECT nothing FROM nowhere`,
		`CREATE VIEW "outer_view" AS SELECT h FROM inner_view;`,
		`CREATE VIEW codes AS SELECT 'x' AS code UNION ALL SELECT 'y'`,
		`CREATE PUBLIC TABLE codes`,
		declare,
	} {
		must(t, s, text)
	}
	before := ledger(t, s)
	for text, want := range map[string]sqlerr.Code{
		`DROP VIEW inner_view`:                                  sqlerr.Invalid,
		`DROP VIEW OUTER_VIEW`:                                  sqlerr.Invalid,
		`DROP VIEW codes`:                                       sqlerr.Invalid,
		`DROP VIEW raw`:                                         sqlerr.Unknown,
		`DROP VIEW missing`:                                     sqlerr.Unknown,
		`CREATE VIEW raw AS SELECT 1`:                           sqlerr.Exists,
		`CREATE VIEW inner_view AS SELECT 1`:                    sqlerr.Exists,
		`CREATE VIEW dpsql_x AS SELECT 1`:                       sqlerr.Forbidden,
		`CREATE VIEW DPSQL_x AS SELECT 1`:                       sqlerr.Forbidden,
		`CREATE VIEW sqlite_x AS SELECT 1`:                      sqlerr.Forbidden,
		`CREATE VIEW v AS SELECT * FROM dpsql_ledger`:           sqlerr.Forbidden,
		`CREATE VIEW v AS SELECT * FROM nowhere`:                sqlerr.Malformed,
		`CREATE VIEW v AS SELECT c FROM raw`:                    sqlerr.Malformed,
		`CREATE VIEW v AS SELEKT 1`:                             sqlerr.Malformed,
		`CREATE VIEW v AS SELECT ?`:                             sqlerr.Invalid,
		`CREATE VIEW v AS SELECT * FROM pragma_table_info('x')`: sqlerr.Unsupported,
		`CREATE VIEW v AS SELECT 1; DROP TABLE raw`:             sqlerr.Unsupported,
		`CREATE VIEW v`:                                         sqlerr.Malformed,
		`CREATE VIEW v AS`:                                      sqlerr.Malformed,
		`CREATE TEMP VIEW v AS SELECT 1`:                        sqlerr.Unsupported,
		`DROP VIEW`:                                             sqlerr.Malformed,
	} {
		refused(t, s, want, text)
	}
	must(t, s, `DROP VIEW IF EXISTS missing`)
	must(t, s, `SET accuracy = 1000`)
	must(t, s, `SELECT COUNT(*) FROM p`)
	must(t, s, `DROP PRIVATE TABLE p`)
	must(t, s, `DROP VIEW outer_view`)
	must(t, s, `DROP VIEW inner_view`)
	if after := ledger(t, s); !strings.HasPrefix(after, before) {
		t.Errorf("the ledger was\n%s\nand is\n%s", before, after)
	}
	analyst := open(t, path, engine.Options{Role: engine.Analyst}).NewSession()
	for _, text := range []string{`CREATE VIEW v AS SELECT a FROM raw`, `DROP VIEW codes`} {
		refused(t, analyst, sqlerr.Forbidden, text)
	}
}
