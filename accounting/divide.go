package accounting

import (
	"math/big"

	"dpsql/sqlerr"
)

// Caps are the limits of the two accounts into which a table's budget is
// divided. The releases account is kept by basic composition: its ε and δ
// add. The interactive account is kept in zCDP: its ρ add.
type Caps struct {
	ReleaseEpsilon     Epsilon // cap of the releases account
	ReleaseDelta       Delta   // cap of the releases account
	InteractiveRho     Rho     // cap of the interactive account
	InteractiveDelta   Delta   // the δ at which InteractiveRho was converted
	InteractiveEpsilon Epsilon // the ε at which InteractiveRho was converted
}

// Divide gives the share s = interactive of the budget (e, d) to the
// interactive account and the rest to the releases account: caps (1−s)ε,
// (1−s)δ, and the largest ρ with ε(ρ; sδ) <= sε (see [RhoFor]). Every cap is
// rounded down, so the two accounts together are (e, d)-differentially
// private: each is a privacy filter, valid when costs and mechanisms are chosen
// as answers come in (Rogers, Roth, Ullman, Vadhan 2016, arXiv:1605.08294, for
// basic composition; Feldman, Zrnic 2021, arXiv:2008.11193, for Rényi orders
// and so for zCDP), also when interactive mechanisms run at the same time
// (Haney et al. 2023, arXiv:2309.05901), and the two compose concurrently by
// adding (Lyu 2022, arXiv:2207.09397).
//
// s may be 0 or 1. An e that is not positive, a d outside [0, 1), an s outside
// [0, 1], and an s above 0 whose δ or ρ is below one unit, as with d = 0, is an
// error with code invalid and a hint.
func Divide(e Epsilon, d Delta, interactive *big.Rat) (Caps, error) {
	if e <= 0 || d < 0 || d >= deltaUnits {
		return Caps{}, sqlerr.New(sqlerr.Invalid, "a budget needs epsilon above 0 and delta at least 0 and below 1").
			WithHint("such as epsilon = 2, delta = 1e-6")
	}
	if interactive == nil || interactive.Sign() < 0 || interactive.Cmp(one) > 0 {
		return Caps{}, sqlerr.New(sqlerr.Invalid, "the interactive share must lie between 0 and 1").
			WithHint("such as interactive = 0.5")
	}
	rest := new(big.Rat).Sub(one, interactive)
	c := Caps{
		ReleaseEpsilon:     Epsilon(portion(int64(e), rest)),
		ReleaseDelta:       Delta(portion(int64(d), rest)),
		InteractiveDelta:   Delta(portion(int64(d), interactive)),
		InteractiveEpsilon: Epsilon(portion(int64(e), interactive)),
	}
	c.InteractiveRho = RhoFor(c.InteractiveEpsilon, c.InteractiveDelta)
	if interactive.Sign() > 0 && c.InteractiveRho == 0 {
		return Caps{}, uselessShare(d)
	}
	return c, nil
}

// portion returns ⌊amount · share⌋.
func portion(amount int64, share *big.Rat) int64 {
	return floorUnits(new(big.Rat).Set(share), amount)
}

func uselessShare(d Delta) error {
	if d == 0 {
		return sqlerr.New(sqlerr.Invalid, "the interactive account needs delta above 0").
			WithHint("set interactive = 0, or give the table a delta such as 1e-6")
	}
	return sqlerr.New(sqlerr.Invalid, "the interactive share of epsilon and delta is too small to answer anything").
		WithHint("set interactive = 0, or raise interactive, epsilon or delta")
}
