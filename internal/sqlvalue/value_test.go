package sqlvalue_test

import (
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"testing"

	_ "modernc.org/sqlite"
	"pgregory.net/rapid"

	_ "dpsql/internal/seeds"

	. "dpsql/internal/sqlvalue"
)

var operators = []Operator{Plus, Minus, Times, Over, Modulo, BitAnd, BitOr, ShiftLeft, ShiftRight}

var relations = []Relation{Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual}

// numbers are at the ends of the ranges, and where integers stop being REALs.
func number(t *rapid.T, name string) Value {
	n := rapid.OneOf(rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, -1 << 53, -64, -7, -1, 0, 1, 2, 7, 63, 64, 1<<53 + 1, 1 << 62, math.MaxInt64}),
		rapid.Int64()).Draw(t, name)
	switch rapid.IntRange(0, 5).Draw(t, "kind of "+name) {
	case 0:
		return Null()
	case 1:
		return Real(float64(n))
	case 2:
		return Real(rapid.SampledFrom([]float64{0.5, -0.5, 2.5, 1e300, -1e300, 1e19, -1e19, 9.3e18}).Draw(t, "real "+name))
	}
	return Int(n)
}

// TestAgainstSQLite holds every operator and relation to SQLite.
func TestAgainstSQLite(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ask := func(t *rapid.T, operator string, x, y Value) Value {
		var v any
		if err := db.QueryRow(fmt.Sprintf("SELECT ? %s ?", operator), x.Any(), y.Any()).Scan(&v); err != nil {
			t.Fatal(err)
		}
		return FromAny(v)
	}
	rapid.Check(t, func(t *rapid.T) {
		x, y := number(t, "x"), number(t, "y")
		for _, op := range operators {
			if got, want := Arithmetic(op, x, y), ask(t, string(op), x, y); got != want {
				t.Errorf("%v %s %v is %v, want %v", x.Any(), op, y.Any(), got.Any(), want.Any())
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "text") == 0 {
			y = Text(rapid.SampledFrom([]string{"", "1", "b", "é"}).Draw(t, "y as a text"))
		}
		for _, r := range relations {
			got := Null()
			if !x.IsNull() && !y.IsNull() {
				got = Bool(r.Holds(x.Compare(y)))
			}
			if want := ask(t, string(r), x, y); got != want {
				t.Errorf("%v %s %v is %v, want %v", x.Any(), r, y.Any(), got.Any(), want.Any())
			}
		}
		if x.Canonical().Compare(x) != 0 || (x.Compare(y) == 0) != (x.Canonical() == y.Canonical()) {
			t.Errorf("%v and %v: canonical %v and %v", x.Any(), y.Any(), x.Canonical(), y.Canonical())
		}
	})
}

// TestIntegers holds integer arithmetic to big integers.
func TestIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := number(t, "a").Int64(), number(t, "b").Int64()
		x, y := big.NewInt(a), big.NewInt(b)
		for _, op := range operators[:5] {
			want := new(big.Int)
			switch {
			case op == Plus:
				want.Add(x, y)
			case op == Minus:
				want.Sub(x, y)
			case op == Times:
				want.Mul(x, y)
			case b == 0:
			case op == Over:
				want.Quo(x, y)
			default:
				want.Rem(x, y)
			}
			fits := want.IsInt64() && (b != 0 || op != Over && op != Modulo)
			if got, ok := Integers(op, a, b); ok != fits || ok && got != want.Int64() {
				t.Errorf("%d %s %d is %d, %v, want %v", a, op, b, got, ok, want)
			}
		}
	})
}

// TestOverflow holds arithmetic of integers to SQLite's rules, at the ends of the range.
func TestOverflow(t *testing.T) {
	const least, most = math.MinInt64, math.MaxInt64
	for _, c := range []struct {
		operator Operator
		a, b     int64
		want     Value
	}{
		{Plus, most, 1, Real(1 << 63)},
		{Plus, least, -1, Real(-1 << 63)},
		{Plus, most, least, Int(-1)},
		{Minus, least, 1, Real(-1 << 63)},
		{Minus, 0, least, Real(1 << 63)},
		{Minus, -1, least, Int(most)},
		{Times, least, -1, Real(1 << 63)},
		{Times, 1 << 32, 1 << 31, Real(1 << 63)},
		{Times, -1 << 32, 1 << 31, Int(least)},
		{Over, least, -1, Real(1 << 63)},
		{Over, 7, 0, Null()},
		{Modulo, least, -1, Int(0)},
		{Modulo, -7, 3, Int(-1)},
		{Modulo, 7, 0, Null()},
		{ShiftLeft, 1, 64, Int(0)},
		{ShiftRight, -1, 100, Int(-1)},
		{ShiftLeft, 8, -2, Int(2)},
		{ShiftRight, 1, least, Int(0)},
	} {
		if got := Arithmetic(c.operator, Int(c.a), Int(c.b)); got != c.want {
			t.Errorf("%s: got %v, want %v", fmt.Sprint(c.a, c.operator, c.b), got.Any(), c.want.Any())
		}
	}
}

// TestAffinity holds the affinities of declared types to what SQLite's casts make of texts.
func TestAffinity(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	becomes := map[Affinity]string{Integer: "integer integer", Float: "real real", Numeric: "integer real", Textual: "text text", Blob: "blob blob"}
	for _, declared := range []string{"INT", "BIGINT", "UNSIGNED BIG INT", "POINT", "CHARINT", "VARCHAR(20)", "NVARCHAR(10)", "CLOB", "TEXT", "text", "TINYTEXT REAL",
		"BLOB", "blobreal", "REAL", "DOUBLE PRECISION", "FLOAT", "floating blob", "NUMERIC", "DECIMAL(10,5)", "BOOLEAN", "DATE", "DATETIME", "STRING", "ıNT"} {
		var got string
		if err := db.QueryRow("SELECT typeof(CAST('1' AS " + declared + ")) || ' ' || typeof(CAST('1.5' AS " + declared + "))").Scan(&got); err != nil {
			t.Fatal(err)
		}
		if a := AffinityOf(declared); becomes[a] != got {
			t.Errorf("%s has the affinity %s, and casts make %s", declared, a, got)
		}
	}
	for _, declared := range []string{"", "ANY"} {
		if got := AffinityOf(declared); got != Blob {
			t.Errorf("%q has the affinity %s", declared, got)
		}
	}
}
