package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpsql/internal/pgtest"
	"dpsql/internal/seeds"
)

// TestAsPostgres sends the same statements to PostgreSQL and compares what comes back: tags,
// rows, names and types of columns, the state of the transaction, and SQLSTATEs. The statements
// are those of the protocol and of sessions, with constants in place of private answers.
func TestAsPostgres(t *testing.T) {
	t.Parallel()
	theirs := connect(t, pgtest.Shared(t).DSN())
	url, _ := start(t, nil)
	ours := connect(t, url)
	seed := seeds.Of(t)
	random := rand.New(rand.NewPCG(seed, 0))
	statements := []string{
		"BEGIN", "BEGIN", "COMMIT", "COMMIT", "SAVEPOINT a", "ROLLBACK", "START TRANSACTION READ ONLY", "SHOW transaction_read_only", "SAVEPOINT a", "SELECT 1 FROM nothing",
		"ROLLBACK TO a", "RELEASE SAVEPOINT a", "RELEASE a", "ROLLBACK WORK AND CHAIN", "END", "COMMIT AND CHAIN", "ABORT TRANSACTION", "FETCH c", "CLOSE c", "MOVE c", "DEALLOCATE p", "EXECUTE p",
		"PREPARE p AS SELECT 7 AS n", "PREPARE p AS SELECT 8", "EXECUTE p", "EXECUTE p (1)", "DEALLOCATE PREPARE p", "DECLARE c CURSOR FOR SELECT 1", "BEGIN; DECLARE c CURSOR FOR SELECT 1 AS n; FETCH ALL FROM c; FETCH c; CLOSE c; COMMIT",
		"SET statement_timeout TO '3s'; SHOW statement_timeout", "SET statement_timeout = 1500; SHOW statement_timeout", "RESET statement_timeout; SHOW statement_timeout", "SHOW nothing", "SET nothing = 1", "SET a.b = 'x'; SHOW a.b",
		"BEGIN; SET LOCAL statement_timeout = '7s'; SHOW statement_timeout; COMMIT; SHOW statement_timeout", "BEGIN; SET statement_timeout = '8s'; ROLLBACK; SHOW statement_timeout",
		"SET LOCAL statement_timeout = '9s'; SHOW statement_timeout", "SHOW statement_timeout", "SET LOCAL statement_timeout = '9s'", "SHOW statement_timeout", "SELECT set_config('statement_timeout', '9s', true)", "SHOW statement_timeout",
		"SET statement_timeout = '4s'; BEGIN; SET LOCAL statement_timeout TO DEFAULT; SHOW statement_timeout; COMMIT; SHOW statement_timeout; RESET statement_timeout",
		"SET statement_timeout = '5s'; SELECT 1 FROM nothing", "SHOW statement_timeout", "SET statement_timeout = '5s'; BEGIN; SELECT 1 FROM nothing", "ROLLBACK", "SHOW statement_timeout",
		"SET statement_timeout = '5s'; ROLLBACK; SHOW statement_timeout", "SET statement_timeout = '5s'; COMMIT; SET statement_timeout = '6s'; SELECT 1 FROM nothing", "SHOW statement_timeout", "RESET statement_timeout; SELECT 1 FROM nothing", "SHOW statement_timeout; RESET statement_timeout",
		"BEGIN ISOLATION LEVEL SERIALIZABLE; COMMIT AND CHAIN; SHOW transaction_isolation", "ROLLBACK AND CHAIN", "SHOW transaction_isolation; COMMIT", "BEGIN; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; COMMIT AND CHAIN; SHOW transaction_isolation; COMMIT",
		"BEGIN; SET LOCAL statement_timeout = '7s'; SET statement_timeout = '8s'; COMMIT; SHOW statement_timeout; RESET statement_timeout", "SET TRANSACTION READ ONLY",
		"DISCARD ALL", "BEGIN; DISCARD ALL", "ROLLBACK", "DISCARD PLANS", "UNLISTEN *", "CLOSE ALL", "DEALLOCATE ALL", "", ";", "-- nothing", "SELEC 1", "BEGIN; SELEC 1", "SELECT 1 AS n", "SHOW TRANSACTION ISOLATION LEVEL",
		"SET client_encoding = 'nothing'", "SET NAMES 'UTF8'", "SHOW TimeZone", "SHOW datestyle", "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SHOW transaction_isolation", "BEGIN ISOLATION LEVEL REPEATABLE READ; SHOW transaction_isolation; COMMIT; SHOW default_transaction_isolation", "RESET default_transaction_isolation", "SHOW transaction_isolation", "SET TIME ZONE 'UTC'", "BEGIN ISOLATION LEVEL NOTHING", "PREPARE q (int) AS SELECT $1 + 1 AS n; EXECUTE q (41); DEALLOCATE q", "COPY (SELECT 1 AS n, 'a' AS t) TO STDOUT",
		"SELECT 1", "SELECT 1, 'a', NULL, TRUE, 3000000000, 1 / 2, -7 % 3, 1 = 1, 'abc' LIKE 'a%'", "VALUES (1, 'x'), (2, 'y')", "SELECT 1 UNION SELECT 2 ORDER BY 1", "(SELECT 7)",
		"SELECT CASE WHEN 1 > 2 THEN 'a' ELSE 'b' END, COALESCE(NULL, 3), lower('A') || 'b', length('äb'), count(*)", "SELECT 1 WHERE FALSE", "SELECT now() IS NULL, current_date = now()::date, now()::timestamp IS NULL",
		"SELECT now() WHERE FALSE", "SELECT current_timestamp, current_date, localtimestamp, clock_timestamp(), now()::date WHERE FALSE", "SELECT 'it''s', E'a\\nb', $$x$$",
	}
	for _, text := range statements {
		if a, b := replied(t, theirs, text), replied(t, ours, text); a != b {
			t.Errorf("%s\nPostgreSQL: %s\nwe:         %s", text, a, b)
		}
	}
	// A cursor moved at random over 10 rows.
	values := "SELECT 1 AS n"
	for i := 2; i <= 10; i++ {
		values += fmt.Sprintf(" UNION ALL SELECT %d", i)
	}
	for _, c := range []*pgx.Conn{theirs, ours} {
		run(t, c, "BEGIN; DECLARE c SCROLL CURSOR FOR "+values)
	}
	var script []string
	for range 400 {
		direction := []string{"", "NEXT", "PRIOR", "FIRST", "LAST", "ALL", "FORWARD", "BACKWARD", "FORWARD ALL", "BACKWARD ALL", "ABSOLUTE %d", "RELATIVE %d", "%d", "FORWARD %d", "BACKWARD %d"}[random.IntN(15)]
		if strings.Contains(direction, "%d") {
			direction = fmt.Sprintf(direction, random.IntN(25)-12)
		}
		script = append(script, fmt.Sprintf("%s %s FROM c", []string{"FETCH", "FETCH", "MOVE"}[random.IntN(3)], direction))
		if a, b := replied(t, theirs, script[len(script)-1]), replied(t, ours, script[len(script)-1]); a != b {
			t.Fatalf("%s\nPostgreSQL: %s\nwe:         %s", strings.Join(script, "; "), a, b)
		}
	}
}

// replied returns all that comes back to a statement in the simple protocol, as a text.
func replied(t *testing.T, c *pgx.Conn, text string) string {
	t.Helper()
	var b strings.Builder
	if strings.HasPrefix(text, "COPY") {
		var out bytes.Buffer
		tag, err := c.PgConn().CopyTo(context.Background(), &out, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return tag.String() + out.String()
	}
	results, err := c.PgConn().Exec(context.Background(), text).ReadAll()
	for _, r := range results {
		if r.CommandTag.String() == "" && len(r.FieldDescriptions) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s", r.CommandTag)
		for _, f := range r.FieldDescriptions {
			fmt.Fprintf(&b, " %s %d", f.Name, f.DataTypeOID)
		}
		for _, row := range r.Rows {
			fmt.Fprintf(&b, " %q", row)
		}
		b.WriteString("; ")
	}
	var e *pgconn.PgError
	if errors.As(err, &e) {
		fmt.Fprintf(&b, "error %s ", e.Code)
	} else if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b.String() + string(c.PgConn().TxStatus())
}

// TestCopyAsPostgres copies texts with what has to be quoted, in each form.
func TestCopyAsPostgres(t *testing.T) {
	t.Parallel()
	theirs := connect(t, pgtest.Shared(t).DSN())
	url, _ := start(t, nil)
	ours := connect(t, url)
	const query = `SELECT 'a' AS x, NULL AS y, '' AS z, 'tab	here' AS t, 'line
here' AS l, 'quote"here' AS q, 'back\slash' AS b, 'comma,semi;' AS c, '\N' AS n, '\.' AS e, 12 AS i`
	for _, options := range []string{"", "WITH CSV", "WITH CSV HEADER", "(FORMAT csv, HEADER true, DELIMITER ';')", "(FORMAT text, DELIMITER ';', NULL 'none')", "(FORMAT csv, NULL 'a')", "WITH DELIMITER AS ',' NULL AS ''", "(FORMAT csv, HEADER off)"} {
		text := "COPY (" + query + ") TO STDOUT " + options
		if a, b := replied(t, theirs, text), replied(t, ours, text); a != b {
			t.Errorf("%s\nPostgreSQL: %q\nwe:         %q", options, a, b)
		}
	}
}
