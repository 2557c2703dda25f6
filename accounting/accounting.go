// Package accounting is the arithmetic of privacy costs: exact units for ε, δ
// and ρ, the conversions between them, the calibration of Gaussian noise, and
// the two accounts into which a table's budget is divided. It reads nothing,
// stores nothing and draws nothing.
//
// Every result is rounded to the private side, and each doc comment names that
// side: charges round up, caps round down, noise rounds up. A result that goes
// through floating point is moved further by a stated pad, which exceeds the
// possible error of the floats. A search for a best order or a smallest σ is
// checked, not trusted: if it stops early, that costs accuracy and never
// privacy.
//
// A charge too large for its type is returned as [Unpayable], which no cap
// admits.
//
// Papers, by the names used in this package:
//
//	[BS16]  Bun, Steinke: Concentrated Differential Privacy. arXiv:1605.02065
//	[BW18]  Balle, Wang: Improving the Gaussian Mechanism for Differential
//	        Privacy. arXiv:1805.06530
//	[CKS20] Canonne, Kamath, Steinke: The Discrete Gaussian for Differential
//	        Privacy. arXiv:2004.00010
//	[ALCKS20] Asoodeh, Liao, Calmon, Kosut, Sankar: A Better Bound Gives a
//	        Hundred Rounds. arXiv:2001.05990
//	[P10]   Peikert: An Efficient and Parallel Gaussian Sampler for Lattices.
//	        IACR ePrint 2010/088
package accounting

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

// Unpayable stands for a charge, in any unit, that its type cannot hold. No
// account admits it.
const Unpayable = math.MaxInt64

// The number of units in 1. ε and ρ are counted in 1e-15, δ in 1e-18.
const (
	epsilonUnits = 1_000_000_000_000_000
	rhoUnits     = 1_000_000_000_000_000
	deltaUnits   = 1_000_000_000_000_000_000
)

// Epsilon is a privacy parameter ε in units of 1e-15 nats.
type Epsilon int64

// Delta is a privacy parameter δ, a probability, in units of 1e-18.
type Delta int64

// Rho is a zCDP parameter ρ ([BS16], Definition 1.1) in units of 1e-15.
type Rho int64

// Rat returns ε in nats, exactly.
func (e Epsilon) Rat() *big.Rat { return big.NewRat(int64(e), epsilonUnits) }

// Rat returns δ, exactly.
func (d Delta) Rat() *big.Rat { return big.NewRat(int64(d), deltaUnits) }

// Rat returns ρ, exactly.
func (r Rho) Rat() *big.Rat { return big.NewRat(int64(r), rhoUnits) }

// Float returns ε in nats, correct to one part in 2^52. It is for display and
// predictions, not for charging.
func (e Epsilon) Float() float64 { return float64(e) / epsilonUnits }

// Float returns δ, correct to one part in 2^52. It is for display and
// predictions, not for charging.
func (d Delta) Float() float64 { return float64(d) / deltaUnits }

// Float returns ρ, correct to one part in 2^52. It is for display and
// predictions, not for charging.
func (r Rho) Float() float64 { return float64(r) / rhoUnits }

// String returns ε in nats as the shortest exact decimal: plain from 1e-4 up
// ("0.5"), scientific below ("2.5e-6"). [ParseEpsilon] reads it back.
func (e Epsilon) String() string { return decimalString(int64(e), 15) }

// String returns δ as the shortest exact decimal, in the form of
// [Epsilon.String]. [ParseDelta] reads it back.
func (d Delta) String() string { return decimalString(int64(d), 18) }

// String returns ρ as the shortest exact decimal, in the form of
// [Epsilon.String].
func (r Rho) String() string { return decimalString(int64(r), 15) }

// decimalString writes n · 10^-places without trailing zeros.
func decimalString(n int64, places int) string {
	if n == 0 {
		return "0"
	}
	sign, digits := "", strconv.FormatInt(n, 10)
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	point := len(digits) - places // digits before the decimal point; may be negative
	digits = strings.TrimRight(digits, "0")
	switch {
	case point < -3:
		return sign + scientific(digits, point-1)
	case point <= 0:
		return sign + "0." + strings.Repeat("0", -point) + digits
	case len(digits) <= point:
		return sign + digits + strings.Repeat("0", point-len(digits))
	}
	return sign + digits[:point] + "." + digits[point:]
}

func scientific(digits string, exponent int) string {
	mantissa := digits[:1]
	if len(digits) > 1 {
		mantissa += "." + digits[1:]
	}
	return mantissa + "e" + strconv.Itoa(exponent)
}

// Amount is the cost of one step or of several together: Epsilon and Delta of
// the releases account, Rho of the interactive account. A step usually charges
// one account and leaves the other's fields 0.
type Amount struct {
	Epsilon Epsilon
	Delta   Delta
	Rho     Rho
}

// Add returns the sum, field by field, exactly. ok is false, and the sum zero,
// when a field overflows.
func (a Amount) Add(b Amount) (sum Amount, ok bool) {
	e, ok1 := add(int64(a.Epsilon), int64(b.Epsilon))
	d, ok2 := add(int64(a.Delta), int64(b.Delta))
	r, ok3 := add(int64(a.Rho), int64(b.Rho))
	if !ok1 || !ok2 || !ok3 {
		return Amount{}, false
	}
	return Amount{Epsilon(e), Delta(d), Rho(r)}, true
}

func add(a, b int64) (int64, bool) {
	if b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
		return 0, false
	}
	return a + b, true
}

// Fits reports whether charge can still be paid after spent: no field of their
// sum exceeds its cap. A charge equal to the rest fits. A negative field, an
// overflow and an [Unpayable] field do not. All three fields must hold even
// where charge is 0: an account that is overdrawn, because the table was
// declared again with less, blocks the other one too.
func (c Caps) Fits(spent, charge Amount) bool {
	sum, ok := spent.Add(charge)
	return ok && spent.valid() && charge.valid() &&
		sum.Epsilon <= c.ReleaseEpsilon && sum.Delta <= c.ReleaseDelta && sum.Rho <= c.InteractiveRho
}

func (a Amount) valid() bool {
	return a.Epsilon >= 0 && a.Delta >= 0 && a.Rho >= 0 &&
		a.Epsilon != Unpayable && a.Delta != Unpayable && a.Rho != Unpayable
}

// Remaining returns the difference of the caps and spent, with 0 in a field
// that is used up or overdrawn. Unless a field is overdrawn, exactly the
// charges up to it fit.
func (c Caps) Remaining(spent Amount) Amount {
	return Amount{
		Epsilon: remaining(c.ReleaseEpsilon, spent.Epsilon),
		Delta:   remaining(c.ReleaseDelta, spent.Delta),
		Rho:     remaining(c.InteractiveRho, spent.Rho),
	}
}

// remaining returns limit − spent, at least 0. It treats a negative spent,
// which no ledger holds, as used up.
func remaining[T ~int64](limit, spent T) T {
	if spent < 0 || spent >= limit {
		return 0
	}
	return limit - spent
}

// Caps are the limits of the two accounts into which a table's budget is
// divided. The releases account uses basic composition: its ε and δ add. The
// interactive account uses zCDP: its ρ add.
type Caps struct {
	ReleaseEpsilon     Epsilon `json:"release_epsilon"`     // cap of the releases account
	ReleaseDelta       Delta   `json:"release_delta"`       // cap of the releases account
	InteractiveRho     Rho     `json:"interactive_rho"`     // cap of the interactive account
	InteractiveDelta   Delta   `json:"interactive_delta"`   // the δ at which InteractiveRho was converted
	InteractiveEpsilon Epsilon `json:"interactive_epsilon"` // the ε at which InteractiveRho was converted
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

// floorUnits returns ⌊value · units⌋ for a value >= 0, at most [Unpayable].
func floorUnits(value *big.Rat, units int64) int64 {
	n := new(big.Int).Mul(value.Num(), big.NewInt(units))
	return saturate(n.Quo(n, value.Denom()))
}

func saturate(n *big.Int) int64 {
	if n.IsInt64() {
		return n.Int64()
	}
	return Unpayable
}
