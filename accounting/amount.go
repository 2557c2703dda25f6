package accounting

import "math"

// Amount is what one step costs, or what several cost together: Epsilon and
// Delta of the releases account, Rho of the interactive account. A step
// usually charges one account and leaves the other's fields 0.
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
// sum exceeds its cap. A charge equal to what is left fits. A negative field,
// an overflow or an [Unpayable] field does not. All three fields must hold even
// where charge is 0: an account that is overdrawn, because the table was
// declared again with less, stops the other one too.
func (c Caps) Fits(spent, charge Amount) bool {
	sum, ok := spent.Add(charge)
	return ok && spent.valid() && charge.valid() &&
		sum.Epsilon <= c.ReleaseEpsilon && sum.Delta <= c.ReleaseDelta && sum.Rho <= c.InteractiveRho
}

func (a Amount) valid() bool {
	return a.Epsilon >= 0 && a.Delta >= 0 && a.Rho >= 0 &&
		a.Epsilon != Unpayable && a.Delta != Unpayable && a.Rho != Unpayable
}

// Left returns what the caps leave after spent, 0 in a field that is used up
// or overdrawn. Unless a field is overdrawn, exactly the charges up to it fit.
func (c Caps) Left(spent Amount) Amount {
	return Amount{
		Epsilon: left(c.ReleaseEpsilon, spent.Epsilon),
		Delta:   left(c.ReleaseDelta, spent.Delta),
		Rho:     left(c.InteractiveRho, spent.Rho),
	}
}

// left treats a negative spent, which no ledger holds, as used up.
func left[T ~int64](limit, spent T) T {
	if spent < 0 || spent >= limit {
		return 0
	}
	return limit - spent
}
