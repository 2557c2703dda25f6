// Package coin has random bits that are not noise: the matrices of sketches, keys of hash
// functions, seeds, and the draws of simulations. No row is protected by them.
//
// Their Source is of another type than noise.Source. A simulation cannot be given the source
// of private noise, nor a mechanism that adds noise the source of a simulation, and a package
// that imports coin and not noise adds no noise to anything.
package coin

import (
	"io"

	"dpsql/noise"
	"dpsql/noise/law"
)

// Source is a stream of random bits, as noise.Source is: it serves one goroutine at a time,
// returns its first error for ever, and the zero Source returns an error.
type Source struct{ bits noise.Source }

// NewSource returns a source over the operating system's generator.
func NewSource() *Source { return &Source{*noise.NewSource()} }

// NewSourceFrom returns a source over r, for tests.
func NewSourceFrom(r io.Reader) *Source { return &Source{*noise.NewSourceFrom(r)} }

// Uint64 returns 64 uniform bits.
func (s *Source) Uint64() (uint64, error) { return s.bits.Uint64() }

// Bytes fills p with uniform bytes. On error p is cleared.
func (s *Source) Bytes(p []byte) error { return s.bits.Bytes(p) }

// Below returns a uniform integer in [0, n). It refuses n = 0.
func (s *Source) Below(n uint64) (uint64, error) { return s.bits.Below(n) }

// InBulk returns a function that overwrites a slice with independent draws of a law, as they
// are simulated. Only the source can cause an error; what the slice holds must then not be used.
func InBulk(l law.Law) func(dst []int64, s *Source) error {
	fill := noise.InBulk(l)
	return func(dst []int64, s *Source) error { return fill(dst, &s.bits) }
}
