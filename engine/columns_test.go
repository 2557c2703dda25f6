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

// nearlyExact is a budget for a release of all cells.
const nearlyExact = `WITH (epsilon = 1000, delta = 1e-6, interactive = 0.65)`

// overBoth runs a test on a private table over rows in the file, and over rows on a server. There is no noise.
func overBoth(t *testing.T, columns string, file, server []string, ask func(t *testing.T, s *engine.Session)) {
	declared := t
	t.Run("file", func(t *testing.T) {
		s := quietOver(t, file)
		must(t, s, `CREATE PRIVATE TABLE rows (`+columns+`) FROM raw `+nearlyExact)
		ask(t, s)
	})
	t.Run("server", func(t *testing.T) {
		c := pgtest.SharedDatabase(t)
		c.MustExec(t, strings.Join(server, "; "))
		s := quietOver(t, nil)
		must(t, s, warehouseOf(declared, c))
		must(t, s, `CREATE PRIVATE TABLE rows (`+columns+`) FROM warehouse.public.raw `+nearlyExact)
		ask(t, s)
	})
}

// quietOver returns a session without noise on a new file that statements made tables in.
func quietOver(t *testing.T, statements []string) *engine.Session {
	t.Helper()
	db := open(t, filepath.Join(t.TempDir(), "rows.db"), engine.Options{})
	quieten(db)
	s := db.NewSession()
	fill(t, s, statements...)
	return s
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

// refusedColumns fails unless no private table can be declared with such a column.
func refusedColumns(t *testing.T, s *engine.Session, columns ...string) {
	t.Helper()
	for _, column := range columns {
		if _, err := s.Exec(t.Context(), `CREATE PRIVATE TABLE x (`+column+`) FROM raw `+nearlyExact, nil); sqlerr.CodeOf(err) != sqlerr.Malformed && sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("%s: %v", column, err)
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
			`lit = 'true'`: 4, `lit = 'f'`: 3, `lit IN ('yes', 'no')`: 7, // as PostgreSQL reads texts beside a BOOLEAN
		})
		if r := must(t, s, `SELECT lit, COUNT(*), SUM(lit), AVG(lit) FROM rows GROUP BY lit`); fmt.Sprint(r.Rows) != "[[<nil> 1 0 <nil>] [0 3 0 0] [1 4 4 1]]" {
			t.Error(r.Rows)
		}
		if r := must(t, s, `DESCRIBE rows`); !strings.Contains(fmt.Sprint(r.Rows), "BOOLEAN IN (FALSE, TRUE, NULL) 3") {
			t.Error(r.Rows)
		}
		e := refused(t, s, sqlerr.Invalid, `SELECT COUNT(*) FROM rows WHERE lit = 'maybe'`)
		if !strings.Contains(e.Hint, "TRUE or FALSE") {
			t.Error(e.Hint)
		}
	})
	s := quietOver(t, file)
	refusedColumns(t, s, `lit BOOLEAN IN (TRUE)`, `lit BOOLEAN IN (0, 1)`, `lit BOOLEAN IN ()`, `lit BOOLEAN CLAMP`, `lit BOOLEAN BETWEEN 0 AND 1`)
	must(t, s, `CREATE PRIVATE TABLE bulbs (lit bool IN (NULL, FALSE, TRUE)) FROM raw `+nearlyExact)
}

// TestOrOther asks about a column whose domain has a value for every other text.
func TestOrOther(t *testing.T) {
	t.Parallel()
	const texts = `('ash'), ('ash'), ('elm?'), ('d''e\f'), ('oak'), ('yew'), ('OTHER'), ('Ash'), (''), (NULL)`
	file := []string{`CREATE TABLE raw (tree TEXT)`, `INSERT INTO raw VALUES ` + texts, `INSERT INTO raw VALUES (7), (x'617368')`}
	server := []string{`CREATE TABLE raw (tree varchar)`, `INSERT INTO raw VALUES ` + texts + `, ('7')`}
	overBoth(t, `tree TEXT IN ('ash', 'elm?', 'd''e\f') OR OTHER OR NULL`, file, server, func(t *testing.T, s *engine.Session) {
		wheres := map[string]int64{
			`tree = 'ash'`: 2, `tree = 'OTHER'`: 6, `tree <> 'ash'`: 8, `tree IN ('ash', 'OTHER')`: 8, `tree NOT IN ('ash', 'elm?')`: 7, `tree IS NULL`: 1,
			`tree = 'd''e\f'`: 1, `tree = 'elm?'`: 1, `tree IS NOT NULL`: 10, `CASE tree WHEN 'ash' THEN 1 END = 1`: 2, `coalesce(tree, 'none') = 'OTHER'`: 6, `tree IN ('OTHER', NULL)`: 6,
		}
		must(t, s, `SET accuracy = 5`)
		counts(t, s, wheres) // pushed down
		must(t, s, `CREATE RELEASE cells ON rows USING PROJECTION WITH (epsilon = 300, transform = identity)`)
		must(t, s, `SET mechanism = cells`)
		counts(t, s, wheres) // from the cells
		if r := must(t, s, `SELECT tree, COUNT(*) FROM rows GROUP BY tree ORDER BY 1`); fmt.Sprint(r.Rows) != "[[<nil> 1] [OTHER 6] [ash 2] [d'e\\f 1] [elm? 1]]" {
			t.Error(r.Rows)
		}
		if r := must(t, s, `DESCRIBE rows`); !strings.Contains(fmt.Sprint(r.Rows), "TEXT IN ('ash', 'd''e\\f', 'elm?', NULL) OR OTHER 5") {
			t.Error(r.Rows)
		}
		for _, where := range []string{`tree = 'yew'`, `tree <> 'yew'`, `tree IN ('ash', 'yew')`, `tree NOT IN ('yew')`, `tree < 'b'`, `tree BETWEEN 'a' AND 'b'`, `tree = 7`,
			`tree LIKE 'y%'`, `tree GLOB 'y*'`, `length(tree) = 3`, `substr(tree, 1, 1) = 'y'`, `lower(iif(tree = 'ash', tree, 'b')) = 'c'`} {
			refused(t, s, sqlerr.Unsupported, `SELECT COUNT(*) FROM rows WHERE `+where)
		}
	})
	s := quietOver(t, file)
	fill(t, s, `CREATE TABLE known (tree TEXT)`, `INSERT INTO known VALUES ('ash'), ('OTHER')`)
	must(t, s, `CREATE PUBLIC TABLE known`)
	refusedColumns(t, s, `tree TEXT OR OTHER`, `tree INTEGER IN (1) OR OTHER`, `tree TEXT IN ('ash', 'OTHER') OR OTHER`, `tree TEXT IN ('ash') OTHER`)
	must(t, s, `CREATE PRIVATE TABLE rows (tree TEXT IN (SELECT tree FROM known) OR OTHER) FROM raw `+nearlyExact)
	must(t, s, `SET accuracy = 5`)
	counts(t, s, map[string]int64{`tree = 'ash'`: 2, `tree = 'OTHER'`: 8, `tree IS NULL`: 0})
}

// TestNoCase asks about columns whose texts are compared without regard to the case of ASCII letters.
func TestNoCase(t *testing.T) {
	t.Parallel()
	const texts = `('ASH', 'X', 'Yew'), ('ash', 'x', 'yew'), ('Ash', 'y', 'YEW'), ('ELM', 'Z', 'Elm'), ('é', 'É', 'ash'), ('É', 'zz', 'oak'), ('box', NULL, 'BOX')`
	file := []string{`CREATE TABLE raw (tree TEXT, code TEXT, other TEXT)`, `INSERT INTO raw VALUES ` + texts}
	server := []string{`CREATE TABLE raw (tree text, code varchar, other text)`, `INSERT INTO raw VALUES ` + texts}
	overBoth(t, `tree TEXT COLLATE NOCASE IN ('Ash', 'elm', 'é', 'É', 'box'), code TEXT COLLATE NOCASE, other TEXT IN ('YEW', 'Elm') OR OTHER COLLATE NOCASE`, file, server, func(t *testing.T, s *engine.Session) {
		must(t, s, `SET accuracy = 5`)
		// What SQLite has for columns with COLLATE NOCASE; other texts of other count as OTHER.
		counts(t, s, map[string]int64{
			`tree = 'aSH'`: 3, `tree <> 'ash'`: 4, `tree IN ('ELM', 'BOX')`: 2, `tree = 'é'`: 1, `tree = 'É'`: 1, `tree < 'C'`: 4, `tree > 'BOX'`: 3,
			`tree BETWEEN 'ASH' AND 'elm'`: 5, `code = 'X'`: 2, `code IN ('Y', 'z')`: 2, `code = 'é'`: 0, `code = 'É'`: 1, `code IS NULL`: 1, `code <> 'x'`: 4,
			`CASE WHEN tree = 'ASH' THEN 1 ELSE 0 END = 1`: 3, `CASE tree WHEN 'ELM' THEN 1 END = 1`: 1, `(tree = 'ASH') + (tree IN ('ELM')) = 1`: 4, `'ASH' = tree`: 3,
			`tree LIKE 'AS%'`: 3, `other = 'yew'`: 3, `other = 'other'`: 3, `other IN ('ELM')`: 1, `coalesce(tree, '') = 'Ash'`: 3,
		})
		must(t, s, `CREATE RELEASE cells ON rows (tree, other) USING PROJECTION WITH (epsilon = 300, transform = identity)`)
		must(t, s, `SET mechanism = cells`)
		counts(t, s, map[string]int64{`tree = 'aSH'`: 3, `other = 'yew'`: 3, `tree > 'BOX' AND other = 'OTHER'`: 2})
		if r := must(t, s, `SELECT tree, COUNT(*) FROM rows GROUP BY tree`); fmt.Sprint(r.Rows) != "[[Ash 3] [box 1] [elm 1] [É 1] [é 1]]" {
			t.Error(r.Rows)
		}
		// Keys compare and sort as the column does, and functions of them do not.
		for text, want := range map[string]string{
			`SELECT other, COUNT(*) FROM rows GROUP BY other`:                                                          "[[Elm 1] [OTHER 3] [YEW 3]]",
			`SELECT tree, COUNT(*) FROM rows GROUP BY tree ORDER BY tree DESC LIMIT 2`:                                 "[[é 1] [É 1]]",
			`SELECT tree, COUNT(*) AS n FROM rows GROUP BY tree HAVING tree = 'ASH' OR tree IN ('BOX')`:                "[[Ash 3] [box 1]]",
			`SELECT tree AS t, COUNT(*) AS n FROM rows GROUP BY 1 HAVING t BETWEEN 'ASH' AND 'CC' ORDER BY t`:          "[[Ash 3] [box 1]]",
			`SELECT tree, COUNT(*) AS n FROM rows GROUP BY tree HAVING upper(tree) = 'ash' OR lower(tree) = 'box'`:     "[[box 1]]",
			`SELECT CASE tree WHEN 'ELM' THEN 'e' ELSE 'x' END AS c, COUNT(*) FROM rows GROUP BY tree LIMIT 3`:         "[[x 3] [x 1] [e 1]]",
			`SELECT other, COUNT(*) FROM rows GROUP BY other HAVING 'yew' = other OR other > 'OTHERS' ORDER BY 1 DESC`: "[[YEW 3]]",
		} {
			if r := must(t, s, text); fmt.Sprint(r.Rows) != want {
				t.Errorf("%s: %v, want %s", text, r.Rows, want)
			}
		}
		if r := must(t, s, `DESCRIBE rows`); !strings.Contains(fmt.Sprint(r.Rows), "TEXT IN ('Elm', 'YEW') OR OTHER COLLATE NOCASE 3") || !strings.Contains(fmt.Sprint(r.Rows), "any text or NULL COLLATE NOCASE") {
			t.Error(r.Rows)
		}
		refused(t, s, sqlerr.Unsupported, `SELECT COUNT(*) FROM rows WHERE other = 'oak'`)
	})
	s := quietOver(t, file)
	fill(t, s, `CREATE TABLE kinds (tree TEXT, kind TEXT)`, `INSERT INTO kinds VALUES ('ASH', 'hard'), ('ELM', 'hard'), ('Box', 'soft')`, `CREATE TABLE twice (tree TEXT, n INTEGER)`, `INSERT INTO twice VALUES ('ash', 1), ('ASH', 2)`)
	for _, public := range []string{"kinds", "twice"} {
		must(t, s, `CREATE PUBLIC TABLE `+public)
	}
	for _, column := range []string{`tree TEXT COLLATE NOCASE IN ('ash', 'ASH')`, `tree TEXT IN ('ash', 'Ash') COLLATE NOCASE`, `tree TEXT COLLATE NOCASE IN (SELECT tree FROM twice)`} {
		refused(t, s, sqlerr.Invalid, `CREATE PRIVATE TABLE x (`+column+`) FROM raw `+nearlyExact)
	}
	refused(t, s, sqlerr.Unsupported, `CREATE PRIVATE TABLE x (tree TEXT COLLATE RTRIM) FROM raw `+nearlyExact)
	must(t, s, `CREATE PRIVATE TABLE rows (tree TEXT IN (SELECT tree FROM kinds) COLLATE NOCASE, code TEXT COLLATE BINARY) FROM raw `+nearlyExact)
	must(t, s, `SET accuracy = 5`)
	counts(t, s, map[string]int64{`tree = 'ash'`: 3, `tree IN (SELECT tree FROM kinds WHERE kind = 'hard')`: 4, `code = 'X'`: 1})
	if r := must(t, s, `SELECT kind, COUNT(*) FROM rows JOIN kinds ON rows.tree = kinds.tree GROUP BY kind`); fmt.Sprint(r.Rows) != "[[hard 4] [soft 1]]" {
		t.Error(r.Rows)
	}
	refused(t, s, sqlerr.Unsupported, `SELECT n, COUNT(*) FROM rows JOIN twice ON rows.tree = twice.tree GROUP BY n`)
}
