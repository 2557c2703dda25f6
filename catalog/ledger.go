package catalog

import (
	"fmt"
	"strings"
	"time"

	"dpsql/accounting"
	"dpsql/sqlerr"
)

// Kind names one of the two accounts into which a budget is divided.
type Kind string

// The accounts of a budget.
const (
	KindReleases    Kind = "releases"    // ε and δ, by basic composition
	KindInteractive Kind = "interactive" // ρ, by zero-concentrated differential privacy
)

// Entry is one line of the ledger.
type Entry struct {
	Seq     int64 // 1, 2, … over all accounts
	At      time.Time
	Account int64
	Kind    Kind
	Action  string            // what was done, for people
	Object  string            // the release, mechanism or table it was done to
	Amount  accounting.Amount // negative when given back
	Hash    [32]byte          // chains the line to those before it
}

// Charge writes a cost into the ledger, if the account's cap allows it; a charge
// equal to what is left is allowed, and so is a line of cost 0. The check and the line are parts of this
// transaction, so whatever is charged in a Write that returned nil is spent.
// Errors: Budget, which names what is needed and left; Corrupt when the ledger
// does not verify.
func (tx *Tx) Charge(account int64, kind Kind, action, object string, amount accounting.Amount) error {
	if err := tx.Affords(account, kind, action, amount); err != nil {
		return err
	}
	return tx.append(Entry{Account: account, Kind: kind, Action: action, Object: object, Amount: amount})
}

// Affords refuses with Charge's errors what Charge would refuse, and writes
// nothing; another transaction may spend before a charge.
func (tx *Tx) Affords(account int64, kind Kind, action string, amount accounting.Amount) error {
	if amount.Epsilon < 0 || amount.Delta < 0 || amount.Rho < 0 {
		return sqlerr.New(sqlerr.Internal, "a charge is negative")
	}
	a, err := tx.Account(account)
	if err != nil {
		return err
	}
	spent, err := tx.Spent(account)
	if err != nil {
		return err
	}
	if free := amount == (accounting.Amount{}); !free && !a.Caps.Fits(spent, amount) {
		return overCap(a, kind, action, amount, a.Caps.Left(spent))
	}
	return nil
}

// Return gives back what was reserved and never used; amount is positive.
// Errors: Corrupt when more would come back than was spent.
func (tx *Tx) Return(account int64, kind Kind, action, object string, amount accounting.Amount) error {
	spent, err := tx.Spent(account)
	if err != nil {
		return err
	}
	if amount.Epsilon < 0 || amount.Delta < 0 || amount.Rho < 0 {
		return sqlerr.New(sqlerr.Internal, "a negative amount would come back to a budget")
	}
	if amount.Epsilon > spent.Epsilon || amount.Delta > spent.Delta || amount.Rho > spent.Rho {
		return corrupt("more of a budget would come back than was spent")
	}
	back := accounting.Amount{Epsilon: -amount.Epsilon, Delta: -amount.Delta, Rho: -amount.Rho}
	return tx.append(Entry{Account: account, Kind: kind, Action: action, Object: object, Amount: back})
}

// Spent returns what the account has spent in all: ε and δ of its releases part,
// ρ of its interactive part. It is the sum of the ledger's lines, and fails with
// Corrupt when they do not verify.
func (tx *Tx) Spent(account int64) (accounting.Amount, error) {
	if tx.version == 0 {
		return accounting.Amount{}, nil
	}
	c, err := tx.head()
	if err != nil {
		return accounting.Amount{}, err
	}
	return c.spent[account], nil
}

// Ledger lists all lines, oldest first, as stored; VerifyLedger checks them.
func (tx *Tx) Ledger() ([]Entry, error) {
	return list(tx, func(row record) (Entry, error) {
		line, err := scanLine(row)
		if err != nil {
			return Entry{}, err
		}
		return line.entry()
	}, selectLine+`ORDER BY seq`)
}

// overCap explains a refused charge in the account's own unit. What is needed
// is rounded up and what is left down, so the two never read the same.
func overCap(a *Account, kind Kind, action string, need, left accounting.Amount) error {
	var needs, have []string
	add := func(name string, need, left int64, places int) {
		if need > 0 {
			needs = append(needs, name+" = "+shortDecimal(need, places, true))
			have = append(have, name+" = "+shortDecimal(left, places, false))
		}
	}
	add("ε", int64(need.Epsilon), int64(left.Epsilon), 15)
	add("δ", int64(need.Delta), int64(left.Delta), 18)
	add("ρ", int64(need.Rho), int64(left.Rho), 15)
	message := fmt.Sprintf("%s needs %s; the %s account of %s has %s left", action,
		strings.Join(needs, " and "), kind, strings.Join(a.Bases, ", "), strings.Join(have, " and "))
	return sqlerr.New(sqlerr.Budget, "%s", message).
		WithHint("ask for less; SHOW BUDGET and SHOW LEDGER tell what was spent, and existing releases, mechanisms and answers stay free")
}
