package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/internal/scram"
	"dpsql/sqlerr"
)

// admits makes users of a clinic, with what is granted to them, and returns their sessions.
func admits(t testing.TB, s *engine.Session, grants ...string) (sessions []*engine.Session) {
	t.Helper()
	for i, grant := range grants {
		name := fmt.Sprintf("user%d", i)
		must(t, s, fmt.Sprintf(`CREATE USER %s PASSWORD 'secret %d'`, name, i))
		if grant != "" {
			must(t, s, fmt.Sprintf(grant, name))
		}
		sessions = append(sessions, s.DB().NewUserSession(strings.ToUpper(name)))
	}
	return sessions
}

// quotaOf returns what is left of the quotas of a user, and what she spent.
func quotaOf(t testing.TB, s *engine.Session, user string) (left, spent accounting.Rho) {
	t.Helper()
	err := s.DB().Store().Read(t.Context(), func(tx *catalog.Tx) error {
		u, err := tx.User(user)
		if err != nil {
			return err
		}
		all, err := tx.Grants()
		for _, g := range all {
			if g.UserID == u.ID {
				left, spent = left+g.Left(), spent+g.Spent
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return left, spent
}

func TestVerifier(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	exists := true
	verifier := func(user string) string {
		t.Helper()
		text, known, err := s.DB().Verifier(t.Context(), user)
		if err != nil || known != exists {
			t.Fatalf("%s is known: %v, %v", user, known, err)
		}
		return text
	}
	exists = false
	unused := verifier("ana")
	if unused != verifier("ANA") {
		t.Error("without users the verifiers of nobody change")
	}
	must(t, s, `CREATE USER eve PASSWORD 'x-x-x-x-x'`)
	before := verifier("ana")
	if !scram.Valid(before) || verifier("ANA") != before || verifier("bob") == before {
		t.Errorf("the verifiers of nobody are %q, %q and %q", before, verifier("ANA"), verifier("bob"))
	}
	exists = true
	must(t, s, `CREATE USER Ana PASSWORD 'hunter22'`)
	first := verifier("ANA")
	if !scram.Valid(first) {
		t.Errorf("the verifier is %q", first)
	}
	must(t, s, `CREATE USER IF NOT EXISTS ana PASSWORD 'another one'`)
	if verifier("ana") != first {
		t.Error("IF NOT EXISTS sets a password")
	}
	must(t, s, `ALTER USER ana PASSWORD 'hunter22'`)
	if second := verifier("ana"); second == first || !scram.Valid(second) {
		t.Error("ALTER USER takes no new salt")
	}
	must(t, s, fmt.Sprintf(`ALTER USER ana PASSWORD '%s'`, first))
	if verifier("ana") != first {
		t.Error("a verifier is not taken as it is")
	}
	for _, password := range []string{"", "1234567", strings.Repeat("ü", 7), first[:60], "md5" + strings.Repeat("0", 32)} {
		_, err := s.Exec(t.Context(), fmt.Sprintf(`ALTER USER ana PASSWORD '%s'`, password), nil)
		if e := sqlerr.CodeOf(err); e != sqlerr.Invalid && e != sqlerr.Unsupported || password != "" && strings.Contains(err.Error(), password) {
			t.Errorf("%q: %v", password, err)
		}
	}
	must(t, s, `ALTER USER IF EXISTS eva PASSWORD 'x-x-x-x-x'`)
	for _, text := range []string{`SHOW USERS`, `SHOW GRANTS`, `SHOW LEDGER`} {
		if shown := fmt.Sprint(must(t, s, text).Rows); strings.Contains(shown, "SCRAM") {
			t.Errorf("%s shows %s", text, shown)
		}
	}
	must(t, s, `DROP USER ana`)
	exists = false
	if verifier("ana") != before {
		t.Error("a dropped user has a verifier of her own")
	}
}

// The verifier of nobody is the same for all processes and after a restart, as that of a user is. A process that
// may not write has the stored one, or one of its own.
func TestVerifiersOfNobody(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users.db")
	first := open(t, path, engine.Options{})
	must(t, first.NewSession(), `CREATE USER ana PASSWORD 'hunter22'`)
	of := func(db *engine.DB) string {
		t.Helper()
		text, known, err := db.Verifier(t.Context(), "nobody")
		if err != nil || known || !scram.Valid(text) {
			t.Fatalf("nobody is known: %v, %v", known, err)
		}
		return text
	}
	reader := open(t, path, engine.Options{ReadOnly: true})
	own := of(reader)
	if own != of(reader) {
		t.Error("a process that may not write has many")
	}
	dbs := []*engine.DB{first, open(t, path, engine.Options{})}
	texts := make([]string, len(dbs))
	var wait sync.WaitGroup
	for i, db := range dbs {
		wait.Go(func() { texts[i], _, _ = db.Verifier(context.Background(), "nobody") })
	}
	wait.Wait()
	if texts[0] == "" || texts[1] != texts[0] || of(open(t, path, engine.Options{})) != texts[0] || of(reader) != texts[0] || own == texts[0] {
		t.Errorf("the verifiers are %q", texts)
	}
}

// A user may do what an analyst may, less what is the curator's; nobody but the curator
// makes users.
func TestUsersMayNot(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	ana := admits(t, s, `GRANT SELECT ON admissions TO %s WITH (rho = 0.01)`)[0]
	for _, text := range []string{`SHOW USERS`, `SHOW GRANTS`, `SHOW GRANTS FOR user0`, `CREATE USER eva PASSWORD 'x-x-x-x-x'`, `ALTER USER user0 PASSWORD 'x-x-x-x-x'`, `DROP USER user0`,
		`GRANT SELECT ON admissions TO user0 WITH (rho = 1)`, `REVOKE SELECT ON admissions FROM user0`} {
		refused(t, ana, sqlerr.Forbidden, text)
		refused(t, asAnalyst(t, s), sqlerr.Forbidden, text)
	}
	for _, text := range []string{`SHOW LEDGER`, `SHOW SOURCES`, `ADVISE 'w.sql' WITH (epsilon = 1)`, `EXPLAIN CREATE RELEASE r ON admissions (sex) USING PROJECTION WITH (epsilon = 1)`,
		`CREATE PUBLIC TABLE p AS SELECT COUNT(*) AS n FROM admissions`, `DROP PRIVATE TABLE admissions`, `ALTER PRIVATE TABLE admissions SET (buy = on)`} {
		refused(t, ana, sqlerr.Forbidden, text)
	}
	if _, err := ana.Rehearse(t.Context()); sqlerr.CodeOf(err) != sqlerr.Forbidden {
		t.Errorf("rehearses: %v", err)
	}
	if _, err := ana.Import(t.Context(), engine.Import{Path: "x.csv", Table: "x"}); sqlerr.CodeOf(err) != sqlerr.Forbidden {
		t.Errorf("imports: %v", err)
	}
	if _, err := ana.Draft(t.Context(), "raw_admissions"); sqlerr.CodeOf(err) != sqlerr.Forbidden {
		t.Errorf("drafts: %v", err)
	}
	if r := must(t, ana, `SHOW TABLES`); r.Elapsed != 0 || fmt.Sprint(r.Rows[0][7]) != "<nil>" {
		t.Errorf("is told %v", r)
	}
}

// What holds at the next statement of a session: a revoked table is gone, and a dropped user
// is refused everything, whoever has the name then.
func TestSessionsOfDroppedUsers(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	ana := admits(t, s, `GRANT SELECT ON admissions TO %s WITH (rho = 0.01)`)[0]
	nobody := s.DB().NewUserSession("nobody")
	const ask = `SELECT COUNT(*) FROM admissions WHERE age < 50 WITH ACCURACY 100`
	must(t, ana, ask)
	must(t, s, `REVOKE SELECT ON admissions FROM user0`)
	refused(t, ana, sqlerr.Unknown, ask)
	must(t, s, `GRANT SELECT ON admissions TO user0`)
	must(t, ana, ask) // stored
	must(t, s, `DROP USER user0`)
	must(t, s, `CREATE USER user0 PASSWORD 'x-x-x-x-x'`)
	must(t, s, `GRANT SELECT ON admissions TO user0 WITH (rho = 0.01)`)
	must(t, s, `CREATE USER nobody PASSWORD 'x-x-x-x-x'`)
	for _, session := range []*engine.Session{ana, nobody} {
		for _, text := range []string{ask, `SELECT 1 + 1`, `SELECT * FROM icd10`, `SHOW TABLES`, `SHOW BUDGET`, `SHOW LEDGER`, `DESCRIBE admissions`, `EXPLAIN ` + ask} {
			refused(t, session, sqlerr.Forbidden, text)
		}
		if _, err := session.Vocabulary(t.Context()); sqlerr.CodeOf(err) != sqlerr.Forbidden {
			t.Errorf("has a vocabulary: %v", err)
		}
		if _, err := session.ShapesState(t.Context()); sqlerr.CodeOf(err) != sqlerr.Forbidden {
			t.Errorf("sees shapes: %v", err)
		}
	}
	must(t, s.DB().NewUserSession("user0"), ask)
}

// Sessions of several users in one process share what they see of one state of the file, while
// grants come and go: a free answer, or the error of an unknown name.
func TestUsersSideBySide(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	must(t, s, `CREATE RELEASE cells ON admissions (sex) USING PROJECTION WITH (epsilon = 1)`)
	const ask = `SELECT COUNT(*) FROM admissions WHERE sex = 'F'`
	want := count(t, s, ask)
	const grant = `GRANT SELECT ON admissions TO %s`
	var all sync.WaitGroup
	for i, session := range admits(t, s, grant, grant, grant, "") {
		all.Go(func() {
			for range 30 {
				r, err := session.Exec(t.Context(), ask, nil)
				switch code := sqlerr.CodeOf(err); {
				case code == "" && i < 3 && r.Rows[0][0] == want, code == sqlerr.Unknown && i != 0:
				default:
					t.Errorf("user %d: %v", i, err)
				}
			}
		})
	}
	for range 10 {
		must(t, s, `REVOKE SELECT ON admissions FROM user1, user2`)
		must(t, s, `GRANT SELECT ON admissions TO user1, user2`)
	}
	all.Wait()
}

var anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z`)

// allShown is all that a session shows of a statement, without times.
func allShown(t *testing.T, s *engine.Session, text string) string {
	t.Helper()
	r, err := s.Exec(t.Context(), text, nil)
	columns := "no SELECT"
	if p, failed := engine.Prepare(text); failed == nil {
		c, failed := s.Columns(t.Context(), p, nil)
		types, untyped := s.ParameterTypes(t.Context(), p)
		columns = fmt.Sprintf("%+v %s %v %s", c, wholeError(failed), types, wholeError(untyped))
	}
	if err != nil {
		return wholeError(err) + "\n" + columns
	}
	shown := fmt.Sprintf("%+v %v %q", r.Columns, r.Rows, r.Warnings)
	if r.Brief != nil {
		shown += fmt.Sprintf(" %+v %v", r.Brief.Columns, r.Brief.Rows)
	}
	if r.Answer != nil {
		shown += fmt.Sprintf(" %+v", *r.Answer)
	}
	return anyTime.ReplaceAllString(shown, "then") + "\n" + columns
}

// wholeError returns all of an error.
func wholeError(err error) string {
	if e, ok := err.(*sqlerr.Error); ok {
		return fmt.Sprintf("%s at %d: %s (%s)", e.Code, e.Position, e.Message, e.Hint)
	}
	return fmt.Sprint(err)
}

// A user without a grant gets the same from every statement, byte for byte, whether a table
// exists or not: as a private table with a release, a mechanism, a stored answer and a share in
// her own table's budget, as a raw table, or not at all.
func TestTablesWithoutAGrantDoNotExist(t *testing.T) {
	t.Parallel()
	make := func(rows, declared bool) *engine.Session {
		s := clinic(t)
		quieten(s.DB())
		if rows {
			fill(t, s, `CREATE VIEW raw_secrets AS SELECT sex, age FROM raw_admissions`, `CREATE TABLE raw_staff (grade INTEGER)`, `INSERT INTO raw_staff VALUES (3)`)
		}
		if declared {
			must(t, s, `CREATE PRIVATE TABLE secrets (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 99) FROM raw_secrets WITH (epsilon = 4, delta = 1e-6, interactive = 0.5)`)
			must(t, s, `CREATE PRIVATE TABLE staff (grade INTEGER BETWEEN 0 AND 9) FROM raw_staff WITH (epsilon = 1, delta = 1e-6)`)
			must(t, s, `CREATE RELEASE cells ON secrets USING PROJECTION WITH (epsilon = 0.5)`)
			must(t, s, `CREATE MECHANISM live ON secrets (sex) USING SMW WITH (epsilon = 0.5, max_updates = 2, queries = 100, prior = uniform)`)
			must(t, s, `SELECT COUNT(*) FROM secrets WHERE age = 3 WITH ACCURACY 200`)
			must(t, s, `SELECT COUNT(*) FROM staff WITH ACCURACY 200`)
		}
		users := admits(t, s, `GRANT SELECT ON admissions TO %s WITH (rho = 0.01)`, ``)
		if declared { // another user has it
			must(t, s, `GRANT SELECT ON secrets, staff TO user1 WITH (rho = 0.1)`)
			must(t, users[1], `SELECT COUNT(*) FROM secrets WHERE age = 4 WITH ACCURACY 200`)
		}
		return users[0]
	}
	nothing, rows, private := make(false, false), make(true, false), make(true, true)
	texts := []string{`SHOW TABLES`, `SHOW RELEASES`, `SHOW MECHANISMS`, `SHOW BUDGET`, `SHOW BUDGET FULL`, `SHOW LEDGER`, `SHOW SOURCES`, `SHOW USERS`, `SHOW SETTINGS`,
		`SELECT COUNT(*) FROM admissions WHERE age = 3 WITH ACCURACY 200`, `SELECT COUNT(*) FROM admissions WHERE age = 5`, `EXPLAIN SELECT COUNT(*) FROM admissions WHERE age < 5`,
		`SET mechanism = cells`, `SELECT COUNT(*) FROM admissions WHERE age = 7`, `SET mechanism = live`, `SELECT COUNT(*) FROM admissions WHERE age = 7`, `SET mechanism = auto`,
		`DROP RELEASE cells`, `EXPORT RELEASE cells TO 'x.db'`}
	for _, name := range []string{"secrets", "SECRETS", "staff", "raw_secrets", "raw_staff", "secret", `"secrets"`, "main.secrets"} {
		for _, text := range []string{`SELECT COUNT(*) FROM %s`, `SELECT COUNT(*) FROM %s WHERE age = 3`, `SELECT COUNT(*) FROM %s WHERE age = 3 WITH ACCURACY 200`, `SELECT sex, AVG(age) FROM %s GROUP BY sex`,
			`SELECT MEDIAN(age) FROM %s`, `SELECT * FROM %s`, `SELECT age FROM %s`, `SELECT nonsense FROM %s`, `EXPLAIN SELECT COUNT(*) FROM %s`, `EXPLAIN FULL SELECT COUNT(*) FROM %s`, `DESCRIBE %s`, `DESCRIBE %s FULL`,
			`SELECT COUNT(*) FROM admissions JOIN %s ON admissions.sex = %[1]s.sex`, `SELECT COUNT(*) FROM %s JOIN icd10 ON code = sex`, `SELECT * FROM icd10 JOIN %s ON sex = code`,
			`SELECT COUNT(*) FROM admissions WHERE age IN (SELECT age FROM %s)`, `SELECT COUNT(*) FROM admissions WHERE age > (SELECT COUNT(*) FROM %s)`,
			`SELECT COUNT(*) * 1.0 / (SELECT COUNT(*) FROM %s) FROM admissions`, `WITH c AS (SELECT sex, COUNT(*) AS n FROM %s GROUP BY sex) SELECT MAX(n) FROM c`,
			`SELECT COUNT(*) FROM %s WHERE age = ? AND sex = $2`, `SELECT COUNT(*) FROM admissions WHERE age > ? AND age > (SELECT COUNT(*) FROM %s WHERE age = ?)`,
			`SELECT n FROM (SELECT COUNT(*) AS n FROM %s)`, `SELECT COUNT(*) FROM (SELECT * FROM %s)`, `SELECT COUNT(*) FROM admissions UNION ALL SELECT COUNT(*) FROM %s`,
			`SELECT (SELECT COUNT(*) FROM %s), code FROM icd10`, `EXPLAIN SELECT (SELECT COUNT(*) FROM %s), code FROM icd10`, `EXPLAIN CREATE RELEASE r ON %s USING PROJECTION WITH (epsilon = 1)`,
			`DROP PRIVATE TABLE %s`, `GRANT SELECT ON %s TO user0`, `CREATE PUBLIC TABLE %s`} {
			texts = append(texts, fmt.Sprintf(text, name))
		}
	}
	for _, text := range texts {
		want := allShown(t, nothing, text)
		if got := allShown(t, rows, text); got != want {
			t.Errorf("%s\nwith raw rows: %s\nwithout:       %s", text, got, want)
		}
		if got := allShown(t, private, text); got != want {
			t.Errorf("%s\nwith a private table: %s\nwithout:              %s", text, got, want)
		}
	}
	words := func(s *engine.Session) string {
		v, err := s.Vocabulary(t.Context())
		shapes, failed := s.Shapes(t.Context())
		return fmt.Sprintf("%+v %v %+v %v", v, err, shapes, failed)
	}
	if got, want := words(private), words(nothing); got != want {
		t.Errorf("the vocabulary and the shapes are %s, and %s", got, want)
	}
}

// A quota binds direct answers of every kind, together with the limits of the account, and
// what was spent is what the ledger has.
func TestQuotas(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	users := admits(t, s, `GRANT SELECT ON admissions TO %s WITH (rho = 0.01, charge = 0.004)`, `GRANT SELECT ON admissions TO %s`)
	ana, free := users[0], users[1]
	for _, session := range users {
		must(t, session, `SET accuracy = 50`)
	}
	spends := func(text string) accounting.Rho {
		t.Helper()
		_, before := quotaOf(t, s, "user0")
		lines := len(interactiveLines(t, s, "for user0"))
		r := must(t, ana, text)
		_, after := quotaOf(t, s, "user0")
		var paid accounting.Rho
		for _, l := range interactiveLines(t, s, "for user0")[lines:] {
			paid += l.rho
		}
		if paid != after-before || (paid == 0) != (r.Answer.Cost == engine.Cost{}) {
			t.Errorf("%s: the ledger has %v, the quota %v, the answer %v", text, paid, after-before, r.Answer.Cost)
		}
		return paid
	}
	one := spends(`SELECT COUNT(*) FROM admissions WHERE age = 1`)
	if spends(`SELECT COUNT(*) FROM admissions WHERE age = 1`) != 0 {
		t.Error("a stored answer is bought again")
	}
	if spends(`SELECT sex, COUNT(*) FROM admissions WHERE age = 2 GROUP BY sex`) < one || spends(`SELECT COUNT(*), COUNT(*) * 1.0 / (SELECT COUNT(*) FROM admissions WHERE age < 9) FROM admissions WHERE age = 4`) < one ||
		spends(`SELECT MEDIAN(age) FROM admissions WITH ACCURACY 1000`) <= 0 {
		t.Error("statements cost too little")
	}
	// What is stored is free for all users.
	if r := must(t, free, `SELECT COUNT(*) FROM admissions WHERE age = 1`); r.Answer.Cost != (engine.Cost{}) {
		t.Errorf("costs %v", r.Answer.Cost)
	}
	const other = `SELECT COUNT(*) FROM admissions WHERE age = 9`
	if e := refused(t, free, sqlerr.Forbidden, other); !strings.Contains(e.Message, "no quota") {
		t.Error(e)
	}
	if rows := fmt.Sprint(must(t, free, `EXPLAIN `+other).Rows); !strings.Contains(rows, "not: nothing may be bought about this table") {
		t.Error(rows)
	}
	must(t, ana, `SET accuracy = 20`)
	e := refused(t, ana, sqlerr.Budget, other)
	if !strings.Contains(e.Message, "(charge)") || !strings.Contains(e.Hint, "the quota left pays for") {
		t.Errorf("%v (%s)", e, e.Hint)
	}
	if rows := fmt.Sprint(must(t, ana, `EXPLAIN `+other).Rows); !strings.Contains(rows, "(charge)") {
		t.Error(rows)
	}
	must(t, s, `GRANT SELECT ON admissions TO user0 WITH (rho = 0.01)`)
	must(t, ana, `SET accuracy = 15`)
	if e := refused(t, ana, sqlerr.Budget, other); !strings.Contains(e.Message, "the quota for this table has ρ =") {
		t.Errorf("%v (%s)", e, e.Hint)
	}
	if rows := fmt.Sprint(must(t, ana, `EXPLAIN `+other).Rows); !strings.Contains(rows, "not: it takes ρ =") {
		t.Error(rows)
	}
	left, _ := quotaOf(t, s, "user0")
	if rows := must(t, ana, `SHOW BUDGET`).Rows; len(rows) != 1 || rows[0][5] != left.String() || rows[0][3] != "0.01" {
		t.Errorf("SHOW BUDGET has %v, and %v is left", rows, left)
	}
	// A quota above what the account has left is no promise, and the amount is not told.
	must(t, s, `GRANT SELECT ON admissions TO user0 WITH (rho = 100)`)
	must(t, ana, `SET accuracy = 1`)
	e = refused(t, ana, sqlerr.Budget, other)
	shown := e.Message + e.Hint + fmt.Sprint(must(t, ana, `EXPLAIN `+other).Rows, must(t, ana, `SHOW BUDGET`).Rows)
	v, err := s.DB().View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(shown, "the table's budget has less left") {
		t.Errorf("SHOW BUDGET promises what is not there: %s", shown)
	}
	if rest := v.Accounts[v.Tables[0].Account].Remaining().Rho; !strings.Contains(e.Message, "the table's budget") || strings.Contains(shown, rest.String()[:6]) {
		t.Errorf("%s, and %v is left", shown, rest)
	}
	// The limits of the account bind users as they bind analysts.
	must(t, ana, `SET accuracy = 50`)
	must(t, s, `ALTER PRIVATE TABLE admissions SET (max_charge = 1e-6)`)
	if e := refused(t, ana, sqlerr.Budget, other); !strings.Contains(e.Message, "max_charge") {
		t.Error(e)
	}
	must(t, s, `ALTER PRIVATE TABLE admissions SET (max_charge = none, buy = off)`)
	refused(t, ana, sqlerr.Forbidden, other)
}

// Whoever asks the question that starts a run pays it, from her quota. While a run is open
// every user may ask.
func TestRunsTakeFromQuotas(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	quieten(s.DB())
	run := runsOf(t, s)
	users := admits(t, s, fmt.Sprintf(`GRANT SELECT ON admissions TO %%s WITH (rho = %v)`, run), `GRANT SELECT ON admissions TO %s`)
	const where = `SELECT COUNT(*) FROM admissions WHERE `
	if e := refused(t, users[1], sqlerr.Forbidden, where+`sex IS NULL`); !strings.Contains(e.Message, "the next run of live has to be paid for") {
		t.Error(e)
	}
	must(t, users[0], where+`sex IS NULL`) // begins a run, and fires
	if left, spent := quotaOf(t, s, "user0"); spent != run || left != 0 {
		t.Errorf("%v was spent, and %v is left", spent, left)
	}
	if lines := interactiveLines(t, s, "for user0"); len(lines) != 1 || lines[0] != (rhoLine{"run 1 of 6 for user0", 0}) {
		t.Errorf("the ledger has %v", lines)
	}
	must(t, users[1], where+`sex IS NULL`) // stored
	if e := refused(t, users[0], sqlerr.Budget, where+`sex = 'F'`); !strings.Contains(e.Message, "the next run of live has to be paid for") {
		t.Error(e)
	}
	if rows := fmt.Sprint(must(t, users[0], `EXPLAIN `+where+`sex = 'F'`).Rows); !strings.Contains(rows, "not: the next run of live has to be paid for") {
		t.Errorf("EXPLAIN says %s", rows)
	}
	must(t, s, where+`sex = 'F'`) // begins the next, and agrees
	for _, session := range users {
		must(t, session, where+`sex = 'M'`) // agrees too
	}
	if lines := begunRuns(t, s); len(lines) != 2 || lines[1].action != "run 2 of 6" {
		t.Errorf("the ledger has %v", lines)
	}
	if _, spent := quotaOf(t, s, "user0"); spent != run {
		t.Errorf("%v was spent", spent)
	}
}

// TestStoredBytes compares what a user's statements count as stored with what the file takes for them.
// It counts enough, and at most four times as much. That depends on no row.
func TestStoredBytes(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{0, 3000} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, filepath.Join(t.TempDir(), "visits.db"), engine.Options{}).NewSession()
			fill(t, s, `CREATE TABLE raw_visits (a INTEGER, b INTEGER)`, `INSERT INTO raw_visits SELECT i % 500, i % 7 FROM `+numbers(rows))
			for _, text := range []string{
				`CREATE PRIVATE TABLE visits (a INTEGER BETWEEN 0 AND 299, b INTEGER BETWEEN 0 AND 9) FROM raw_visits WITH (epsilon = 1000, delta = 1e-6)`,
				`ALTER PRIVATE TABLE visits SET (answer_time = 5000)`} {
				must(t, s, text)
			}
			ana := admits(t, s, `GRANT SELECT ON visits TO %s WITH (rho = 1000)`)[0]
			measured := func() (pages, stored int64) {
				err := s.DB().Store().Read(t.Context(), func(tx *catalog.Tx) error {
					all, err := tx.Grants()
					stored = all[0].Stored
					return errors.Join(err, tx.SQL().QueryRowContext(t.Context(), `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`).Scan(&pages))
				})
				if err != nil {
					t.Fatal(err)
				}
				return pages, stored
			}
			for _, c := range []struct {
				text string
				want int64
			}{
				{`SELECT a, COUNT(*) FROM visits GROUP BY a`, 90_000},
				{`SELECT a, COUNT(b), COUNT(*) FROM visits WHERE b IN (1, 3, 5) GROUP BY a`, 90_000},
				{`SELECT b, MEDIAN(a) FROM visits GROUP BY b`, 66_000},
				{`SELECT b, MEDIAN(a) FROM visits GROUP BY b`, 0},
			} {
				pages, stored := measured()
				if _, err := ana.Exec(t.Context(), c.text+` WITH ACCURACY 100`, nil); err != nil {
					t.Fatal(c.text, err)
				}
				after, counted := measured()
				if taken := after - pages; counted-stored != c.want || taken > c.want+8192 || 4*taken < c.want {
					t.Errorf("%s takes %d bytes of the file and counts %d, want %d", c.text, taken, counted-stored, c.want)
				}
			}
		})
	}
}
