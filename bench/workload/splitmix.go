package workload

// Splitmix is the generator splitmix64 (Steele, Lea and Flood 2014). It defines the two
// workloads on which other systems were measured, so that anyone can make them again in
// any language.
type Splitmix struct{ state uint64 }

// NewSplitmix returns the generator of a seed.
func NewSplitmix(seed uint64) *Splitmix { return &Splitmix{seed} }

// Next returns the next 64 bits.
func (r *Splitmix) Next() uint64 {
	r.state += 0x9E3779B97F4A7C15
	z := r.state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Below returns Next modulo n. Its bias, below n/2^64, is part of the
// workloads' definition.
func (r *Splitmix) Below(n uint64) uint64 { return r.Next() % n }
