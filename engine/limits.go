package engine

import (
	"errors"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// limitOptions are the options of a declaration that say what SELECTs may take.
type limitOptions struct {
	charge *accounting.Rho // nil: not given; 0: no limit
	buyOff *bool           // nil: not given
}

// limitNames are the names of these options.
var limitNames = []string{"max_charge", "buy"}

func readLimits(o *options) (l limitOptions) {
	if option := o.find("max_charge"); option != nil {
		var rho accounting.Rho
		if option.Kind == sqlfront.String || option.Kind == sqlfront.Word && option.Value != "none" {
			o.fail(sqlerr.New(sqlerr.Invalid, "max_charge must be a number, or none"), option.Position)
		} else if option.Kind == sqlfront.Number {
			var err error
			rho, err = accounting.ParseRho("max_charge", option.Value)
			o.fail(err, option.Position)
		}
		l.charge = &rho
	}
	if o.has("buy") {
		off := o.word("buy", "on", "off") == "off"
		l.buyOff = &off
	}
	return l
}

// over returns limits with what was given in its place.
func (l limitOptions) over(limits catalog.Limits) catalog.Limits {
	if l.charge != nil {
		limits.MaxCharge = *l.charge
	}
	if l.buyOff != nil {
		limits.BuyOff = *l.buyOff
	}
	return limits
}

// purse is what a statement can pay from.
type purse struct {
	left   accounting.Rho // of the account
	most   accounting.Rho // that the statement may still take
	closed *sqlerr.Error  // why it may buy nothing, nil where it may
}

// purseOf returns what a statement can pay from that also begins runs.
func purseOf(v *view.View, t *view.Table, by *catalog.Buyer, runs accounting.Rho) purse {
	a := v.Accounts[t.Account]
	p := purse{left: a.Left().Rho, most: a.Left().Rho}
	if a.Limits.MaxCharge > 0 {
		p.most = min(p.most, a.Limits.MaxCharge-by.Taken-runs)
	}
	errors.As(a.Limits.Check(catalog.Buyer{Principal: by.Principal}, 0), &p.closed)
	return p
}

// hinted is the refusal of a limit, nil for none. One that a smaller purchase
// would pass has the hint that says which.
func hinted(err error, hint func() string) *sqlerr.Error {
	var e *sqlerr.Error
	if errors.As(err, &e) && e.Code == sqlerr.Budget {
		return e.WithHint("%s", hint())
	}
	return e
}
