package noise

import "math/big"

// expNeg encloses exp(-x), x >= 0: the alternating Taylor series at x/2^s,
// squared s times.
func expNeg(x *big.Rat, bits uint) interval {
	whole := floorQuo(x.Num(), x.Denom())
	if whole.Cmp(new(big.Int).SetUint64(uint64(bits))) >= 0 {
		return interval{new(big.Int), big.NewInt(1), bits} // below e^-bits
	}
	s := uint(whole.BitLen()) + 8
	scale := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), s))
	y := intervalRat(scale.Quo(x, scale), bits+s+16)
	result := alternating(intervalInt(1, y.bits), func(term interval, n int64) interval {
		return term.mul(y).divInt(n)
	})
	for ; s > 0; s-- {
		result = result.mul(result)
	}
	return result.round(bits)
}

// alternating encloses first - next(first, 1) + next(·, 2) - ..., whose terms
// must be positive and fall to 0: what is left out after a term is smaller
// than the next term.
func alternating(first interval, next func(term interval, n int64) interval) interval {
	sum, term := first, first
	for n := int64(1); ; n++ {
		term = next(term, n)
		if term.hi.BitLen() <= 1 {
			return sum.widen(term)
		}
		if n&1 == 1 {
			sum = sum.sub(term)
		} else {
			sum = sum.add(term)
		}
	}
}

// pi encloses π by Machin's formula, π = 16 arctan(1/5) - 4 arctan(1/239).
func pi(bits uint) interval {
	a, b := arctanInverse(5, bits+8), arctanInverse(239, bits+8)
	return a.double().double().sub(b).double().double().round(bits)
}

// arctanInverse encloses arctan(1/m) = Σ (-1)ⁿ / ((2n+1) m^(2n+1)).
func arctanInverse(m int64, bits uint) interval {
	power := intervalInt(1, bits).divInt(m)
	return alternating(power, func(_ interval, n int64) interval {
		power = power.divInt(m * m)
		return power.divInt(2*n + 1)
	})
}

// bernoulliNumbers returns B₀, B₁, ..., Bₙ (Akiyama and Tanigawa's algorithm,
// which gives B₁ = +1/2; only even indices are used here).
func bernoulliNumbers(n int) []*big.Rat {
	row := make([]*big.Rat, n+1)
	numbers := make([]*big.Rat, n+1)
	for m := range row {
		row[m] = big.NewRat(1, int64(m)+1)
		for j := m; j > 0; j-- {
			row[j-1].Sub(row[j-1], row[j])
			row[j-1].Mul(row[j-1], big.NewRat(int64(j), 1))
		}
		numbers[m] = new(big.Rat).Set(row[0])
	}
	return numbers
}
