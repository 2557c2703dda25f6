package accounting

import (
	"math"
	"math/big"
)

// Times returns k steps of cost a: (kε, kδ) and kρ, by composition. It is what steps that
// read one period each cost a unit with rows in k periods, if each period has a step of
// cost a. A field that its type cannot hold is [Unpayable]; δ is at most 1, which says
// nothing. k is at least 0, and so are the fields.
func (a Amount) Times(k int64) Amount {
	return Amount{
		Epsilon: Epsilon(product(int64(a.Epsilon), k)),
		Delta:   min(Delta(product(int64(a.Delta), k)), deltaUnits),
		Rho:     Rho(product(int64(a.Rho), k)),
	}
}

// Group returns what one step costs between tables that differ in k neighbouring ways. If a
// is its cost in the rows of a unit within each period, Group is its cost in those rows of a
// unit within k periods that it reads together:
//
//	ε: kε
//	δ: δ·(1 + e^ε + … + e^((k−1)ε)), which is at most k·e^((k−1)ε)·δ
//	ρ: k²ρ ([BS16], Proposition 1.9)
//
// The first two follow from k neighbours in a row: P₀(S) <= e^ε P₁(S) + δ <= … <= e^(kε) P_k(S) +
// δ(1 + … + e^((k−1)ε)). δ is at most 1, and rounded up, after a pad of 2^-40; a field that
// its type cannot hold is [Unpayable]. k is at least 0, and so are the fields.
func (a Amount) Group(k int64) Amount {
	g := a.Times(k)
	g.Rho = Rho(product(int64(g.Rho), k))
	g.Delta = groupDelta(a.Epsilon, a.Delta, k)
	return g
}

// groupDelta returns δ·(e^(kε)−1)/(e^ε−1). Where that is below 1, kε is below 84, so that
// fewer than 2^10 half-ulps are lost, and the pad is 2^12 of them.
func groupDelta(e Epsilon, d Delta, k int64) Delta {
	switch {
	case d <= 0 || k <= 0:
		return 0
	case k == 1:
		return min(d, deltaUnits)
	case e <= 0:
		return min(Delta(product(int64(d), k)), deltaUnits)
	}
	ratio := math.Expm1(float64(k)*e.Float()) / math.Expm1(e.Float())
	units := math.Ceil(float64(d) * ratio * (1 + 0x1p-40))
	if !(units < deltaUnits) { // infinite, or no number, too
		return deltaUnits
	}
	return Delta(units)
}

// Plus returns the sum of two costs. A field that its type cannot hold is [Unpayable], and δ
// is at most 1.
func (a Amount) Plus(b Amount) Amount {
	return Amount{
		Epsilon: Epsilon(total(int64(a.Epsilon), int64(b.Epsilon))),
		Delta:   min(Delta(total(int64(a.Delta), int64(b.Delta))), deltaUnits),
		Rho:     Rho(total(int64(a.Rho), int64(b.Rho))),
	}
}

// Together returns the (ε, δ) of two accounts that have spent a: ε and δ as they are, and
// ρ at the δ of interactive. It is rounded up.
func (a Amount) Together(interactive Delta) (epsilon float64, delta Delta) {
	epsilon = a.Epsilon.Float() * (1 + 0x1p-50)
	if a.Epsilon == Unpayable {
		epsilon = math.Inf(1)
	}
	if a.Rho > 0 {
		epsilon += EpsilonOf(a.Rho, interactive)
		a.Delta = Amount{Delta: a.Delta}.Plus(Amount{Delta: interactive}).Delta
	}
	return epsilon, min(a.Delta, deltaUnits)
}

// product returns n·k, at most Unpayable, for numbers that are not negative.
func product(n, k int64) int64 {
	return saturate(new(big.Int).Mul(big.NewInt(max(n, 0)), big.NewInt(max(k, 0))))
}

// total returns a+b, at most Unpayable.
func total(a, b int64) int64 {
	if sum, ok := add(a, b); ok {
		return sum
	}
	return Unpayable
}
