// Package noise draws the integer noise that privacy is made of: exact
// samplers for the discrete Laplace and the discrete Gaussian law, a table
// sampler for bulk use, and exact statements about the tails of both.
//
// What it promises: every draw follows the stated law exactly, given uniform
// random bits. Parameters are rationals, no floating point number takes part
// in a draw, and a failure to read random bits ends the draw with an error; it
// is never replaced by weaker bits or by no noise. Exactness matters because
// floating point samplers leak through the low bits of their results
// (Mironov, "On significance of the least significant bits for differential
// privacy", 2012).
//
// What it does not promise: constant running time. How long a draw takes
// depends on its value.
//
// The samplers are those of Canonne, Kamath and Steinke, "The Discrete
// Gaussian for Differential Privacy" (2020), called CKS20 below.
package noise

import (
	"math"
	"math/big"
	"strings"

	"dpsql/sqlerr"
)

// Law is a law on the integers, symmetric about 0. Laws are immutable and safe
// for concurrent use, as long as each Source is used by one goroutine.
type Law interface {
	// Draw returns one exact draw. It fails when the source fails, and when
	// the drawn value lies outside int64, which happens with probability below
	// exp(-9000) for any law this package makes.
	Draw(s *Source) (int64, error)
	// Variance returns the law's variance.
	Variance() float64
	// Tail returns P(X >= k), rounded up: never below the true value, and
	// above it by at most 1e-12 of it, as long as it is at least 1e-240 (by
	// 2e-12 down to the smallest normal number; below that Tail is only an
	// upper bound, and never 0).
	Tail(k int64) float64
	// String returns the law as ParseLaw reads it: "dlap(5/2)" is the discrete
	// Laplace law of scale 5/2, "dgauss(17/3)" the discrete Gaussian law with
	// variance parameter sigma^2 = 17/3.
	String() string
}

// maxSpread is the largest scale or sigma that is accepted. At this spread a
// draw lies outside int64 with probability below exp(-9000).
const maxSpread = 1_000_000_000_000_000

// ParseLaw returns the law whose String is text.
func ParseLaw(text string) (Law, error) {
	name, rest, ok := strings.Cut(text, "(")
	inner, closed := strings.CutSuffix(rest, ")")
	parameter, valid := parseFraction(inner)
	if !ok || !closed || !valid {
		return nil, malformedLaw(text)
	}
	var l Law
	var err error
	switch name {
	case "dlap":
		l, err = NewLaplace(parameter)
	case "dgauss":
		l, err = NewGaussian(parameter)
	default:
		return nil, malformedLaw(text)
	}
	if err != nil {
		return nil, err
	}
	if l.String() != text {
		return nil, malformedLaw(text)
	}
	return l, nil
}

func malformedLaw(text string) error {
	const limit = 80
	if len(text) > limit {
		text = text[:limit] + "..."
	}
	return sqlerr.New(sqlerr.Invalid, "not a noise law: %q", text).
		WithHint("write dlap(SCALE) or dgauss(VARIANCE) with a reduced fraction, as in dlap(5/2)")
}

// parseFraction reads digits, or digits/digits. big.Rat alone would also read
// exponents, whose value can be far larger than their text.
func parseFraction(text string) (*big.Rat, bool) {
	for _, c := range text {
		if (c < '0' || c > '9') && c != '/' {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// checkSpread refuses a parameter that is missing, not positive or above limit.
func checkSpread(what string, v *big.Rat, limit *big.Int) error {
	switch {
	case v == nil:
		return sqlerr.New(sqlerr.Invalid, "%s is missing", what)
	case v.Sign() <= 0:
		return sqlerr.New(sqlerr.Invalid, "%s must be above 0", what)
	case v.Cmp(new(big.Rat).SetInt(limit)) > 0:
		return sqlerr.New(sqlerr.Invalid, "%s must be at most %s", what, limit)
	}
	return nil
}

// HalfWidth returns the smallest w >= 0 with P(|X| <= w) >= confidence, so that
// a noisy count lies within w of the true one with at least that probability.
// For laws made by this package it is exactly that integer: what floating
// point cannot decide is decided by enclosures. For other laws it is as good as
// their Tail. A confidence of 1 or more, or NaN, has no half-width, as the laws
// are unbounded: the result is then math.MaxInt64.
func HalfWidth(l Law, confidence float64) int64 {
	if !(confidence < 1) {
		return math.MaxInt64
	}
	if confidence <= 0 {
		return 0
	}
	below, above := int64(-1), int64(1) // not reached at below
	for !reached(l, above-1, confidence) {
		if above > math.MaxInt64/2 {
			return math.MaxInt64
		}
		below, above = above-1, 2*above
	}
	for above--; above-below > 1; {
		middle := below + (above-below)/2
		if reached(l, middle, confidence) {
			above = middle
		} else {
			below = middle
		}
	}
	return above
}

// reached reports whether P(|X| <= w) >= confidence.
func reached(l Law, w int64, confidence float64) bool {
	// Tail's promise leaves 2e-12, and 1 - confidence is rounded once.
	outside, miss := 2*l.Tail(w+1), 1-confidence
	if outside <= miss*(1-1e-15) {
		return true
	}
	exact, ok := l.(enclosed)
	if !ok {
		return outside <= miss
	}
	if outside*(1-3e-12) > miss {
		return false
	}
	return reachedExactly(exact, w, confidence)
}

// maxEnclosureBits ends reachedExactly when P(|X| <= w) and the confidence
// agree to this many bits; no such pair is known. The answer is then the wider.
const maxEnclosureBits = 1 << 12

func reachedExactly(l enclosed, w int64, confidence float64) bool {
	target := new(big.Rat).SetFloat64(confidence)
	for bits := uint(128); bits <= maxEnclosureBits; bits *= 2 {
		if c := l.within(w, bits).compare(target); c != 0 {
			return c > 0
		}
	}
	return false
}
