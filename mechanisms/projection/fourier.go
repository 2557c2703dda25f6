package projection

import (
	"math"
	"math/bits"
	"math/cmplx"
)

// evenTransform replaces a by Σ_j a[j]·cos(2πjk/n) for every k: the discrete
// Fourier transform of a sequence with a[j] = a[n−j], which is real. n is a power
// of two, at least 2.
//
// Pairs of neighbours are taken as complex numbers: the transform of the half as
// long sequence holds those of the even and of the odd places.
func evenTransform(a []float64) {
	half := len(a) / 2
	c := make([]complex128, half)
	for i := range c {
		c[i] = complex(a[2*i], a[2*i+1])
	}
	roots := make([]complex128, half)
	for k := range roots {
		sin, cos := math.Sincos(-math.Pi * float64(k) / float64(half))
		roots[k] = complex(cos, sin)
	}
	fourier(c, roots)
	for k := range half {
		z, mirrored := c[k], cmplx.Conj(c[(half-k)%half])
		even, odd := z+mirrored, (z-mirrored)*-1i*roots[k]
		a[k], a[k+half] = real(even+odd)/2, real(even-odd)/2
	}
}

// fourier replaces a, whose length is a power of two, by its discrete Fourier
// transform (Cooley and Tukey 1965). roots are the first half of the roots of
// unity of twice the length.
func fourier(a, roots []complex128) {
	n := len(a)
	shift := 64 - bits.Len64(uint64(n-1))
	for i := range a {
		if j := int(bits.Reverse64(uint64(i)) >> shift); i < j {
			a[i], a[j] = a[j], a[i]
		}
	}
	for size := 2; size <= n; size *= 2 {
		half, stride := size/2, 2*n/size
		for start := 0; start < n; start += size {
			for k := range half {
				x, y := a[start+k], a[start+k+half]*roots[k*stride]
				a[start+k], a[start+k+half] = x+y, x-y
			}
		}
	}
}
