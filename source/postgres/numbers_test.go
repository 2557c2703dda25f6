package postgres

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
)

// TestTextsAsIntegers reads texts that are nearly numbers as SQLite does.
func TestTextsAsIntegers(t *testing.T) {
	db := memory(t)
	_, err := db.Exec("CREATE TABLE n (x INTEGER)")
	must(t, err)
	digits := rapid.StringOfN(rapid.RuneFrom([]rune("0001234999")), 0, 22, -1)
	sometimes := func(s ...string) *rapid.Generator[string] { return rapid.SampledFrom(append(s, "", "")) }
	rapid.Check(t, func(t *rapid.T) {
		parts := []string{sometimes(" ", "\t", "\n ", "\v", "\f", "\r", "\u00a0", "\x1f", "_").Draw(t, "before"), sometimes("-", "+", "- ").Draw(t, "sign"),
			digits.Draw(t, "whole"), sometimes(".").Draw(t, "point"), digits.Draw(t, "fraction"), sometimes("e", "E", "e+", "e-", "x").Draw(t, "exponent"),
			sometimes("1", "3", "18", "19", "400", "0").Draw(t, "power"), sometimes(" ", "a", "\n").Draw(t, "behind")}
		text := strings.Join(parts, "")
		var stored any
		must(t, db.QueryRowContext(context.Background(), "INSERT INTO n VALUES (?) RETURNING x", text).Scan(&stored))
		want, isInteger := stored.(int64)
		if got, ok := integerOfText([]byte(text)); ok != isInteger || ok && got != query.Int(want) {
			t.Fatalf("%q is %v (%v), in SQLite %v", text, got, ok, stored)
		}
		_, err := db.Exec("DELETE FROM n")
		must(t, err)
	})
}

// TestRealBounds finds the reals of an interval's ends by trying.
func TestRealBounds(t *testing.T) {
	ends := []int64{math.MinInt64, math.MinInt64 + 1, math.MinInt64 + 1024, -1<<53 - 1, -1, 0, 1, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1024, math.MaxInt64 - 1, math.MaxInt64}
	for _, lo := range ends {
		for _, hi := range ends {
			var c column
			c.array, c.text, c.between = "float8[]", "x", "$lo $hi"
			var w writer
			w.interval(c, query.Interval{First: lo, Last: hi})
			var a, b float64
			if _, err := fmt.Sscan(string(w.args[0]), &a); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Sscan(string(w.args[1]), &b); err != nil {
				t.Fatal(err)
			}
			for _, x := range []float64{float64(lo), float64(hi), math.Nextafter(float64(lo), 0), math.Nextafter(float64(hi), 0), -1 << 63, 1 << 63} {
				if x != math.Trunc(x) {
					continue
				}
				n, ok := integerOfReal(x)
				if want, got := ok && lo <= n && n <= hi, a <= x && x <= b; got != want {
					t.Errorf("%v in %d..%d is %v, want %v", x, lo, hi, got, want)
				}
			}
		}
	}
}
