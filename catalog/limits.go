package catalog

import (
	"strings"

	"dpsql/accounting"
	"dpsql/sqlerr"
)

// Principal is who a SELECT is answered for: so far, a role.
type Principal string

// The principals.
const (
	Curator Principal = "curator"
	Analyst Principal = "analyst"
)

// Limits are what SELECTs may take of an interactive account. They belong to the
// account, as its caps do: a limit of one declaration would be none where the
// same rows are declared again without it. The zero value limits nothing.
type Limits struct {
	MaxCharge accounting.Rho // the most that one statement may take, whoever asks; 0 is no limit
	BuyOff    bool           // the analyst role gets answers that cost nothing, and no others
}

// String writes the limits as the options of a declaration, "" where there are
// none.
func (l Limits) String() string {
	var all []string
	if l.MaxCharge > 0 {
		all = append(all, "max_charge = "+l.MaxCharge.String())
	}
	if l.BuyOff {
		all = append(all, "buy = off")
	}
	return strings.Join(all, ", ")
}

// Buyer is the statement that buys.
type Buyer struct {
	Principal Principal
	Taken     accounting.Rho // what it took before, of mechanisms' reserves too
}

// Check refuses a purchase that the limits do not allow, with code forbidden or
// budget. It looks at nothing private: prices and what was taken are public.
func (l Limits) Check(by Buyer, cost accounting.Rho) error {
	if l.BuyOff && by.Principal == Analyst {
		return sqlerr.New(sqlerr.Forbidden, "the analyst role may not buy answers about these rows (buy = off)").
			WithHint("releases, stored answers and runs of mechanisms that have begun stay free")
	}
	sum, ok := accounting.Amount{Rho: by.Taken}.Add(accounting.Amount{Rho: cost})
	if l.MaxCharge == 0 || ok && sum.Rho <= l.MaxCharge {
		return nil
	}
	takes := "it takes"
	if by.Taken > 0 {
		takes = "with what it took before it takes"
	}
	return sqlerr.New(sqlerr.Budget, "%s ρ = %s, and one statement may take ρ = %s at most (max_charge)",
		takes, shortDecimal(int64(sum.Rho), 15, true), shortDecimal(int64(l.MaxCharge), 15, false)).
		WithHint("what is stored and released stays free")
}

// Payment is a line of the ledger by which a SELECT pays.
type Payment struct {
	Account        int64
	Action, Object string
	Rho            accounting.Rho // off the account
	Prepaid        accounting.Rho // off what a mechanism has reserved
}

// Cost returns what the payment takes in all.
func (p Payment) Cost() accounting.Rho { return p.Rho + p.Prepaid }

// Buy charges a SELECT. It is the one gate for whatever asking takes: the limits
// of who asks, the cap and the line are parts of this transaction. Errors:
// those of Limits.Check and Charge.
func (tx *Tx) Buy(by Buyer, p Payment) error {
	a, err := tx.Account(p.Account)
	if err != nil {
		return err
	}
	if err := a.Limits.Check(by, p.Cost()); err != nil {
		return err
	}
	return tx.Charge(p.Account, KindInteractive, p.Action, p.Object, accounting.Amount{Rho: p.Rho})
}

// SetLimits sets an account's limits, and writes a line of cost 0 into the ledger,
// so that it tells since when they hold. The object is the table that was named.
func (tx *Tx) SetLimits(account int64, object string, l Limits) error {
	a, err := tx.Account(account)
	if err != nil || a.Limits == l {
		return err
	}
	if l.MaxCharge < 0 {
		return sqlerr.New(sqlerr.Internal, "a limit is negative")
	}
	a.Limits = l
	_, err = tx.exec(`UPDATE dpsql_accounts SET max_charge = ?, analysts_buy = ? WHERE id = ?`, l.MaxCharge, !l.BuyOff, a.ID)
	if err != nil {
		return err
	}
	if err := tx.seal("dpsql_accounts", a.ID, a.encoding()); err != nil {
		return err
	}
	action := "limits lifted"
	if l != (Limits{}) {
		action = "limits set: " + l.String()
	}
	return tx.append(Entry{Account: account, Kind: KindInteractive, Action: action, Object: object})
}
