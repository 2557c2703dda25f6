package smw

import (
	"math/big"

	"dpsql/sqlerr"
)

// maxBits bounds the numerators and denominators of stored shares of ε, which
// split keeps far shorter.
const maxBits = 2048

// Check refuses, as corrupt, parameters that Plan cannot have made: they come
// from a store, and are not what was stored. Every other method relies on it.
func (p Params) Check() error {
	in := func(n, least, most int64) bool { return least <= n && n <= most }
	most := limit / max(p.MaxWeight, 1)
	switch {
	case p.S < 1 || p.S > maxSize || p.MaxSupport < 1 || p.MaxSupport > maxSize,
		!in(p.Updates, 1, mostRuns) || !in(p.Queries, 1, 1e15),
		!in(p.MaxWeight, 1, limit) || !in(p.NHat, 1, most) || !in(p.Sensitivity, 1, most),
		!in(p.Threshold, 1, limit) || !in(p.Bound, 1, limit) || !in(p.Floor, 1, limit) || !in(p.Replay, 0, limit),
		!(p.Beta >= 1e-30 && p.Beta < 1) || !(p.Eta >= 0 && p.Eta <= 0.5) || !(p.Alpha >= 0 && p.Alpha <= 1),
		p.Update != Projection && p.Update != Paper,
		!isShare(p.Eps1) || !isShare(p.Eps2) || p.Eps3 != nil && !isShare(p.Eps3):
		return errParams()
	}
	if _, _, err := p.laws(); err != nil {
		return errParams()
	}
	if _, err := p.FiredLaw(); err != nil {
		return errParams()
	}
	return nil
}

func isShare(eps *big.Rat) bool {
	return eps != nil && eps.Sign() > 0 && eps.Num().BitLen() <= maxBits && eps.Denom().BitLen() <= maxBits
}

func errParams() error {
	return sqlerr.New(sqlerr.Corrupt, "the stored parameters of a mechanism cannot be right")
}
