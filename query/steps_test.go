package query_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
)

func steps(t interface{ Fatal(...any) }, lo, hi, step string, orNull bool) query.Steps {
	var r [3]*big.Rat
	for i, text := range []string{lo, hi, step} {
		r[i], _ = new(big.Rat).SetString(text)
	}
	s, err := query.NewSteps(r[0], r[1], r[2], orNull)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStepsOfStoredValues(t *testing.T) {
	tenths, thousandths := steps(t, "0", "1", "0.1", false), steps(t, "-1", "1", "0.001", true)
	for _, c := range []struct {
		s    query.Steps
		v    any
		want string
	}{
		{tenths, 0.1, "1"},
		{tenths, 0.1 + float64(0.2)*1, "3"},
		{tenths, 0.30000000000000004, "3"},
		{tenths, 1 - 0.9, "1"}, // 0.09999999999999998
		{tenths, int64(1), "10"},
		{tenths, math.Copysign(0, -1), "0"},
		{tenths, 0.10000000001, "0.10000000001 is no multiple of the step 0.1"},
		{tenths, 0.15, "0.15 is no multiple"},
		{tenths, 1.1, "1.1 is not in the declared domain BETWEEN 0 AND 1 STEP 0.1"},
		{tenths, -0.1, "-0.1 is not in the declared domain"},
		{tenths, int64(2), "2 is not in the declared domain"},
		{tenths, nil, "NULL is not in the declared domain"},
		{tenths, "0.1", "a value is no number"},
		{tenths, []byte("1"), "a value is no number"},
		{tenths, math.Inf(1), "+Inf is not in the declared domain"},
		{tenths, math.NaN(), "NaN is not in the declared domain"},
		{tenths, 1e300, "1e+300 is no multiple"},
		{thousandths, nil, "NULL"},
		{thousandths, -0.999, "-999"},
		{thousandths, 0.0005, "0.0005 is no multiple"},
	} {
		v, err := c.s.Value(c.v)
		got := v.String()
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%v in %v: %s, want %s", c.v, c.s, got, c.want)
		}
	}
}

// TestStepsThereAndBack wants every multiple to be told from the REAL that it is
// stored as, also by what a literal of it is, and numbers between to stay between.
func TestStepsThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.SampledFrom([]string{"0.1", "0.001", "0.3", "7", "1e-9", "1e12", "2.5e-7", "0.000123"}).Draw(t, "step")
		r, _ := new(big.Rat).SetString(step)
		n := rapid.Int64Range(-query.MaxSteps, query.MaxSteps).Draw(t, "n")
		bound := new(big.Rat).Mul(r, big.NewRat(query.MaxSteps, 1))
		s, err := query.NewSteps(new(big.Rat).Neg(bound), bound, r, false)
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.Value(s.Number(n))
		if err != nil || v != query.Int(n) {
			t.Fatalf("%d steps of %s are %g, and that is %v, %v", n, step, s.Number(n), v, err)
		}
		if in := s.InSteps(new(big.Rat).SetFloat64(s.Number(n))); !in.IsInt() || in.Num().Int64() != n {
			t.Fatalf("%d steps of %s are %g, and that is %v", n, step, s.Number(n), in)
		}
		between := (s.Number(n) + s.Number(n+1)) / 2
		if in := s.InSteps(new(big.Rat).SetFloat64(between)); in.Cmp(big.NewRat(n, 1)) <= 0 || in.Cmp(big.NewRat(n+1, 1)) >= 0 {
			t.Fatalf("%g is %v steps of %s, not between %d and %d", between, in, step, n, n+1)
		}
		if _, err := s.Value(between); err == nil {
			t.Fatalf("%g is taken for a multiple of %s", between, step)
		}
	})
}
