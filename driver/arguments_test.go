package driver_test

import (
	"database/sql"
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
