package noise

import (
	"math"
	"math/big"
)

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
