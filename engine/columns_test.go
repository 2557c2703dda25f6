package engine_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/internal/pgtest"
	"dpsql/sqlerr"
)

// nearlyExact is a budget for a release of all cells. The
// noise of a cell has σ² < 0.02: a draw is not 0 with a probability below 1e-10.
const nearlyExact = `WITH (epsilon = 400, delta = 1e-6, interactive = 0.1)`

// overBoth runs a test on a private table over rows in the file, and over rows on a server.
func overBoth(t *testing.T, columns string, file, server []string, ask func(t *testing.T, s *engine.Session)) {
	declared := t
	t.Run("file", func(t *testing.T) {
		s := open(t, filepath.Join(t.TempDir(), "rows.db"), engine.Options{}).NewSession()
		fill(t, s, file...)
		must(t, s, `CREATE PRIVATE TABLE rows (`+columns+`) FROM raw `+nearlyExact)
		ask(t, s)
	})
	t.Run("server", func(t *testing.T) {
		c := pgtest.SharedDatabase(t)
		c.MustExec(t, strings.Join(server, "; "))
		s := open(t, filepath.Join(t.TempDir(), "rows.db"), engine.Options{}).NewSession()
		must(t, s, warehouseOf(declared, c))
		must(t, s, `CREATE PRIVATE TABLE rows (`+columns+`) FROM warehouse.public.raw `+nearlyExact)
		ask(t, s)
	})
}

// counts compares counts of rows with the true ones.
func counts(t *testing.T, s *engine.Session, want map[string]int64) {
	t.Helper()
	for where, want := range want {
		if got := count(t, s, `SELECT COUNT(*) FROM rows WHERE `+where); got != want {
			t.Errorf("%s: %d rows, want %d", where, got, want)
		}
	}
}

// TestBoolean asks about a BOOLEAN. Each condition counts the rows that SQLite selects by it.
func TestBoolean(t *testing.T) {
	t.Parallel()
	file := []string{`CREATE TABLE raw (lit BOOLEAN, room TEXT)`,
		`INSERT INTO raw VALUES (1, 'a'), (TRUE, 'b'), ('1', 'a'), (1.0, 'b'), (FALSE, 'a'), (0, 'b'), (0, 'b'), (NULL, 'a'), (2, 'a'), ('true', 'a')`}
	server := []string{`CREATE TABLE raw (lit boolean, room text)`,
		`INSERT INTO raw VALUES (TRUE, 'a'), (TRUE, 'b'), (TRUE, 'a'), (TRUE, 'b'), (FALSE, 'a'), (FALSE, 'b'), (FALSE, 'b'), (NULL, 'a')`}
	overBoth(t, `lit BOOLEAN OR NULL, room TEXT IN ('a', 'b')`, file, server, func(t *testing.T, s *engine.Session) {
		must(t, s, `CREATE RELEASE cells ON rows USING PROJECTION WITH (epsilon = 300, transform = identity)`)
		counts(t, s, map[string]int64{
			`lit`: 4, `NOT lit`: 3, `lit = TRUE`: 4, `lit = FALSE`: 3, `lit IS TRUE`: 4, `lit IS NOT TRUE`: 4, `lit IS FALSE`: 3, `lit IS NULL`: 1,
			`lit IN (TRUE, FALSE)`: 7, `lit AND room = 'b'`: 2, `lit <> TRUE`: 3, `lit = 1`: 4, `lit < TRUE`: 3, `lit = (room = 'a')`: 4, `lit OR lit IS NULL`: 5,
		})
		if r := must(t, s, `SELECT lit, COUNT(*), SUM(lit), AVG(lit) FROM rows GROUP BY lit`); fmt.Sprint(r.Rows) != "[[<nil> 1 0 <nil>] [0 3 0 0] [1 4 4 1]]" {
			t.Error(r.Rows)
		}
		if r := must(t, s, `DESCRIBE rows`); !strings.Contains(fmt.Sprint(r.Rows), "BOOLEAN IN (FALSE, TRUE, NULL) 3") {
			t.Error(r.Rows)
		}
		e := refused(t, s, sqlerr.Invalid, `SELECT COUNT(*) FROM rows WHERE lit = 'true'`)
		if !strings.Contains(e.Hint, "TRUE or FALSE") {
			t.Error(e.Hint)
		}
	})
	s := open(t, filepath.Join(t.TempDir(), "lamps.db"), engine.Options{}).NewSession()
	fill(t, s, file...)
	for _, column := range []string{`lit BOOLEAN IN (TRUE)`, `lit BOOLEAN IN (0, 1)`, `lit BOOLEAN IN ()`, `lit BOOLEAN CLAMP`, `lit BOOLEAN BETWEEN 0 AND 1`} {
		if _, err := s.Exec(t.Context(), `CREATE PRIVATE TABLE x (`+column+`) FROM raw `+nearlyExact, nil); sqlerr.CodeOf(err) != sqlerr.Malformed && sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%s: %v", column, err)
		}
	}
	must(t, s, `CREATE PRIVATE TABLE bulbs (lit bool IN (NULL, FALSE, TRUE)) FROM raw `+nearlyExact)
}
