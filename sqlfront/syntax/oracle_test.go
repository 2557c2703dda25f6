package syntax_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"dpsql/internal/seeds"
	"dpsql/sqlfront/syntax"
)

// The parts of chains of operators.
var (
	chainAtoms = []string{"a", "b", "c", "1", "2", "'x'", "NULL", "x'41'", "1.5", "TRUE", "(a)", "-b", "~ c", "NOT a", "- - a", "NOT b", "- NOT a",
		"CASE WHEN a THEN b END", "abs(b)", "CAST(c AS TEXT)", "EXISTS (SELECT a)", "(SELECT b)"}
	chainOperators = []string{"OR", "AND", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "IS", "IS NOT", "IS DISTINCT FROM", "IS NOT DISTINCT FROM",
		"LIKE", "NOT LIKE", "GLOB", "NOT GLOB", "&", "|", "<<", ">>", "+", "-", "*", "/", "%", "||", "->", "->>"}
	chainTails = []string{" ISNULL", " NOTNULL", " NOT NULL", " IS NOT NULL", " IS NULL", " IS NOT TRUE", " COLLATE NOCASE"}
	chainForms = []string{" BETWEEN %s AND %s", " NOT BETWEEN %s AND %s", " IN (%s, %s)", " NOT IN (%s, %s)", " LIKE %s ESCAPE %s"}
)

// chain writes an expression without parentheses around its parts. It asks pick for each choice
// of one out of n.
func chain(pick func(n int) int) string {
	atom := func() string { return chainAtoms[pick(len(chainAtoms))] }
	s := atom()
	for range 1 + pick(5) {
		switch pick(8) {
		case 0:
			s += chainTails[pick(len(chainTails))]
		case 1:
			s += fmt.Sprintf(chainForms[pick(len(chainForms))], atom(), atom())
		default:
			s += " " + chainOperators[pick(len(chainOperators))] + " " + atom()
		}
	}
	return s
}

// programs returns the function that says what SQLite makes of a statement, instruction by
// instruction; ok is false if it refuses it.
func programs(t testing.TB) func(text string) (program string, ok bool) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE t (a INTEGER, b REAL, c TEXT)"); err != nil {
		t.Fatal(err)
	}
	return func(text string) (string, bool) {
		rows, err := db.Query("EXPLAIN " + text)
		if err != nil {
			return err.Error(), false
		}
		defer rows.Close()
		var b strings.Builder
		for rows.Next() {
			var address, p1, p2, p3 int
			var op string
			var p4, p5, comment any
			if err := rows.Scan(&address, &op, &p1, &p2, &p3, &p4, &p5, &comment); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&b, address, op, p1, p2, p3, p4, p5)
		}
		return b.String(), rows.Err() == nil
	}
}

// enclosed puts each operation of a query into parentheses, so that its text shows how the tree
// was read.
func enclosed(q *syntax.Query) *syntax.Query {
	return syntax.Replace(q, func(e syntax.Expr) syntax.Expr {
		switch e.(type) {
		case *syntax.Unary, *syntax.Binary, *syntax.Test, *syntax.Between, *syntax.In, *syntax.Collate:
			return &syntax.Paren{X: e}
		}
		return e
	})
}

// checkChain holds the reading of an expression to SQLite's.
func checkChain(t *testing.T, program func(string) (string, bool), expression string) {
	t.Helper()
	text := "SELECT " + expression + " AS z FROM t"
	want, ok := program(text)
	if !ok {
		return
	}
	q, err := syntax.ParseQuery(text, syntax.Native)
	if err != nil {
		t.Errorf("%s: %v, and SQLite reads it", text, err)
		return
	}
	for _, printed := range []string{q.String(), enclosed(q).String()} {
		if got, ok := program(printed); !ok || got != want {
			t.Errorf("%s\nis printed as\n%s\nwhich SQLite reads otherwise", text, printed)
		}
	}
}

// TestOperatorsAgainstSQLite: SQLite compiles a chain of operators, and the tree that is read of
// it with all parentheses written, to the same program.
func TestOperatorsAgainstSQLite(t *testing.T) {
	program := programs(t)
	r := rand.New(rand.NewPCG(seeds.Of(t), 1))
	for range 500 {
		checkChain(t, program, chain(r.IntN))
	}
}

// FuzzOperators is TestOperatorsAgainstSQLite for the chains that bytes choose.
func FuzzOperators(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add([]byte("NOT a BETWEEN b AND c COLLATE NOCASE"))
	program := programs(f)
	f.Fuzz(func(t *testing.T, choices []byte) {
		checkChain(t, program, chain(func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			c := int(choices[0])
			choices = choices[1:]
			return c % n
		}))
	})
}
