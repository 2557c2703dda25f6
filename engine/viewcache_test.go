package engine_test

import (
	"context"
	"database/sql"
	"testing"

	"dpsql/engine"
	"dpsql/engine/internal/view"
	"dpsql/sqlerr"
)

// TestViewIsSharedUntilACommit asks for the view again and again: it is the
// same one until somebody commits, and then it is a new one.
func TestViewIsSharedUntilACommit(t *testing.T) {
	s := clinic(t)
	other := open(t, s.DB().Store().Path(), engine.Options{}).NewSession()
	now := func() *view.View {
		t.Helper()
		v, err := s.DB().Current(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := now()
	if now() != first {
		t.Error("the view was read again though nothing happened")
	}
	must(t, other, `CREATE RELEASE r ON admissions (sex, age) USING PROJECTION WITH (epsilon = 0.1)`)
	second := now()
	if second == first || second.Release("r") == nil {
		t.Fatal("a release of another database on the file is not seen")
	}
	must(t, s, `DROP RELEASE r`)
	if now().Release("r") != nil {
		t.Error("a dropped release is still seen")
	}
	if second.Release("r") == nil {
		t.Error("a view was changed while it may be in use")
	}
	third := now()
	program, err := sql.Open("sqlite", s.DB().Store().Path())
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if _, err := program.Exec(`CREATE TABLE theirs (a)`); err != nil {
		t.Fatal(err)
	}
	if now() == third {
		t.Error("a commit of another program is not noticed at once")
	}
}

// TestOthersCommitsAreSeen runs every statement that uses the shared view right
// after another database on the file has changed what it says.
func TestOthersCommitsAreSeen(t *testing.T) {
	s := clinic(t)
	other := open(t, s.DB().Store().Path(), engine.Options{}).NewSession()
	const q = `SELECT COUNT(*) FROM admissions WHERE sex = 'F'`
	set := func(on *engine.Session, name, value string) {
		if err := on.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, s, sqlerr.Uncovered, q)
	set(other, "accuracy", "50")
	bought := count(t, other, q)
	if got := must(t, s, q); got.Rows[0][0] != bought || got.Answer.Cost != (engine.Cost{}) {
		t.Errorf("the other's answer %d is not served: %v at %v", bought, got.Rows[0][0], got.Answer.Cost)
	}
	if a, b := ledger(t, s), ledger(t, other); a != b {
		t.Error("the ledgers differ")
	}
	must(t, other, `CREATE PRIVATE TABLE again (age INTEGER BETWEEN 0 AND 9) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6)`)
	must(t, s, `DESCRIBE again`)
	must(t, other, `DROP PRIVATE TABLE again`)
	refused(t, s, sqlerr.Unknown, `SELECT COUNT(*) FROM again`)
}

// TestPublicViewsMayCallAnyFunction declares a view public whose functions can
// fail on a row, which is no secret; a private source may not call them.
func TestPublicViewsMayCallAnyFunction(t *testing.T) {
	s := clinic(t)
	fill(t, s, `CREATE VIEW codes AS SELECT json_extract('{"a": "' || code || '"}', '$.a') AS code, abs(length(label)) AS n FROM icd10`,
		`CREATE VIEW failing AS SELECT abs(age) AS age FROM raw_admissions`)
	must(t, s, `CREATE PUBLIC TABLE codes`)
	must(t, s, `CREATE PRIVATE TABLE coded (diagnosis TEXT IN (SELECT code FROM codes)) FROM raw_admissions WITH (epsilon = 4, delta = 1e-6)`)
	refused(t, s, sqlerr.Unsupported, `CREATE PRIVATE TABLE absolute (age INTEGER BETWEEN 0 AND 9) FROM failing WITH (epsilon = 4, delta = 1e-6)`)
	refused(t, s, sqlerr.Invalid, `CREATE PUBLIC TABLE failing`) // it reads private rows
}
