package driver_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"dpsql/sqlerr"
)

func TestNamedArguments(t *testing.T) {
	db := open(t, clinic(t))
	var byPosition, byName int64
	if err := db.QueryRow(`SELECT COUNT(*) FROM visits WHERE sex = ? AND age = ?`, "F", 40).Scan(&byPosition); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`SELECT COUNT(*) FROM visits WHERE sex = :sex AND age = :age`,
		`SELECT COUNT(*) FROM visits WHERE age = @age AND sex = $sex AND (@age IS NOT NULL)`,
	} {
		err := db.QueryRow(text, sql.Named("age", 40), sql.Named("sex", "F")).Scan(&byName)
		if err != nil || byName != byPosition {
			t.Errorf("%s: %d, %v; want %d", text, byName, err, byPosition)
		}
	}
	prepared, err := db.Prepare(`SELECT COUNT(*) FROM visits WHERE age = :age AND sex = :sex`)
	if err != nil {
		t.Fatal(err)
	}
	defer prepared.Close()
	if err := prepared.QueryRow(sql.Named("sex", "F"), sql.Named("age", 40)).Scan(&byName); err != nil || byName != byPosition {
		t.Errorf("prepared: %d, %v; want %d", byName, err, byPosition)
	}
}

func TestMisnamedArguments(t *testing.T) {
	db := open(t, clinic(t))
	age, sex := sql.Named("age", 40), sql.Named("sex", "F")
	tests := []struct {
		where string
		args  []any
		want  string
	}{
		{"age = :age AND sex = :sex", []any{age}, "invalid: the parameter :sex has no argument"},
		{"age = :age", []any{age, sex}, "invalid: the statement has no parameter :sex"},
		{"age = :age", []any{age, age}, "invalid: the argument age is given twice"},
		{"age = :age AND sex = ?", []any{age, sex}, "invalid: arguments with and without names are mixed"},
		{"age = ? AND sex = ?", []any{age, sex}, "invalid: arguments with and without names are mixed"},
		{"age = :age AND sex = :sex", []any{age, "F"}, "invalid: arguments with and without names are mixed"},
	}
	for _, test := range tests {
		var n int64
		err := db.QueryRow(`SELECT COUNT(*) FROM visits WHERE `+test.where, test.args...).Scan(&n)
		if sqlerr.CodeOf(err) != sqlerr.Invalid || err.Error() != test.want {
			t.Errorf("%s: %v, want %s", test.where, err, test.want)
		}
	}
}

// Arguments stand for literals in every statement, of the type that the statement wants.
func TestArgumentsOfStatements(t *testing.T) {
	db, err := open(t, clinic(t)).Conn(t.Context()) // SET is of one connection
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	dir := t.TempDir()
	for _, test := range []struct {
		statement string
		args      []any
		code      sqlerr.Code
	}{
		{`CREATE PRIVATE TABLE adults (age INTEGER BETWEEN ? AND ?, sex TEXT IN (?, ?)) FROM raw_visits WITH (epsilon = ?, delta = ?, interactive = ?)`,
			[]any{18, 120, "F", "M", 4, 1e-6, "0.5"}, ""},
		{`EXPLAIN CREATE RELEASE by_sex ON adults (sex) USING PROJECTION WITH (epsilon = ?)`, []any{0.25}, ""},
		{`EXPLAIN CREATE RELEASE named ON adults (sex) USING PROJECTION WITH (epsilon = :e)`, []any{sql.Named("e", "0.25")}, ""},
		{`EXPORT RELEASE cells TO ?`, []any{filepath.Join(dir, "it's.db")}, ""},
		{`CREATE USER ann PASSWORD ?`, []any{"12345678"}, ""},
		{`GRANT SELECT ON adults TO ann WITH (rho = ?)`, []any{0.01}, ""},
		{`ALTER PRIVATE TABLE adults SET (max_charge = ?)`, []any{0.001}, ""},
		{`CREATE VIEW low AS SELECT age FROM raw_visits WHERE age <-? AND sex <> ?`, []any{-5, "' OR 1 = 1 --"}, ""},
		{`SET accuracy = ?`, []any{400}, ""},
		{`SET mechanism = $1`, []any{"direct"}, ""},
		{`CREATE RELEASE r ON ? (sex) WITH (epsilon = 1)`, []any{"adults"}, sqlerr.Malformed},
		{`DROP RELEASE ?`, []any{"by_sex"}, sqlerr.Malformed},
		{`CREATE RELEASE r ON adults (sex) WITH (epsilon = ?)`, []any{"much"}, sqlerr.Invalid},
	} {
		if _, err := db.ExecContext(t.Context(), test.statement, test.args...); sqlerr.CodeOf(err) != test.code {
			t.Errorf("%s: %v", test.statement, err)
		}
	}
	var n int64
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM adults WHERE age = 40`).Scan(&n); err != nil {
		t.Errorf("under SET accuracy = 400 and mechanism = direct: %v", err)
	}
	if _, err := open(t, clinic(t)).Exec(`SET accuracy = ?`, 40); sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("SET on a pool: %v", err)
	}
	if _, err := db.ExecContext(t.Context(), `SET accuracy = ?`); err == nil {
		t.Error("a missing argument is accepted")
	}
}
