package catalog

import (
	"fmt"
	"strings"
	"time"

	"dpsql/accounting"
	"dpsql/sqlerr"
)

// Account is the privacy budget of a set of base tables: everything answered
// about any of them is charged to it. It outlives the private tables declared
// over them.
type Account struct {
	ID                          int64
	Epsilon, Delta, Interactive string // decimal text, as declared
	Caps                        accounting.Caps
	Bases                       []string // sorted
	CreatedAt                   time.Time
}

const selectAccount = `SELECT id, epsilon, delta, interactive, release_epsilon, release_delta,
	interactive_rho, interactive_delta, interactive_epsilon, created_at FROM dpsql_accounts `

func scanAccount(row scanner) (a Account, err error) {
	var at string
	err = row.Scan(&a.ID, &a.Epsilon, &a.Delta, &a.Interactive, &a.Caps.ReleaseEpsilon, &a.Caps.ReleaseDelta,
		&a.Caps.InteractiveRho, &a.Caps.InteractiveDelta, &a.Caps.InteractiveEpsilon, &at)
	if err == nil {
		a.CreatedAt, err = parseTime(at)
	}
	return a, err
}

// AccountFor returns the account that the base tables charge, nil when none of
// them has one. Names are compared as SQLite does. Errors: Invalid when some of
// the tables have an account and the others have another or none, because no
// one ledger would then cover them.
func (tx *Tx) AccountFor(bases []string) (*Account, error) {
	var owner int64
	var without, with string
	for _, base := range bases {
		id, err := find(tx, scanInt, `SELECT account FROM dpsql_bases WHERE name = ?`, base)
		switch {
		case err != nil:
			return nil, err
		case id == nil:
			without = base
		case owner != 0 && *id != owner:
			return nil, sqlerr.New(sqlerr.Invalid, "%s and %s have different budgets", with, base).
				WithHint("a private table can read base tables of one budget only")
		default:
			owner, with = *id, base
		}
	}
	if owner != 0 && without != "" {
		return nil, sqlerr.New(sqlerr.Invalid, "%s already has a budget, which does not cover %s", with, without).
			WithHint("declare the private table over all of these base tables first, or over %s alone", with)
	}
	if owner == 0 {
		return nil, nil
	}
	return tx.Account(owner)
}

// Account returns the account with the id. Errors: Corrupt when there is none.
func (tx *Tx) Account(id int64) (*Account, error) {
	a, err := find(tx, scanAccount, selectAccount+`WHERE id = ?`, id)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, corrupt("account %d is missing from the catalog", id)
	}
	a.Bases, err = tx.bases(id)
	return a, err
}

// Accounts lists all accounts, oldest first.
func (tx *Tx) Accounts() ([]Account, error) {
	accounts, err := list(tx, scanAccount, selectAccount+`ORDER BY id`)
	for i := range accounts {
		if err == nil {
			accounts[i].Bases, err = tx.bases(accounts[i].ID)
		}
	}
	return accounts, err
}

func (tx *Tx) bases(id int64) ([]string, error) {
	return list(tx, scanText, `SELECT name FROM dpsql_bases WHERE account = ? ORDER BY name`, id)
}

// CreateAccount opens an account over a.Bases, sets a.ID and a.CreatedAt, and
// writes the ledger's line "budget declared", whose text states the caps.
// Errors: Invalid when a base is missing, public, or has an account already.
func (tx *Tx) CreateAccount(a *Account) error {
	if err := tx.checkBases(a.Bases); err != nil {
		return err
	}
	if _, err := tx.head(); err != nil { // while every account has its line
		return err
	}
	created := tx.stamp()
	c := a.Caps
	id, err := tx.insert(`INSERT INTO dpsql_accounts (epsilon, delta, interactive, release_epsilon, release_delta,
		interactive_rho, interactive_delta, interactive_epsilon, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.Epsilon, a.Delta, a.Interactive, c.ReleaseEpsilon, c.ReleaseDelta,
		c.InteractiveRho, c.InteractiveDelta, c.InteractiveEpsilon, formatTime(created))
	if err != nil {
		return err
	}
	for _, base := range a.Bases {
		if _, err := tx.exec(`INSERT INTO dpsql_bases (name, account) VALUES (?, ?)`, base, id); err != nil {
			return err
		}
	}
	stored, err := tx.Account(id)
	if err != nil {
		return err
	}
	*a = *stored
	return tx.append(Entry{Account: id, Kind: KindReleases, Action: declaration(a), Object: strings.Join(a.Bases, ", ")})
}

func (tx *Tx) checkBases(bases []string) error {
	if len(bases) == 0 {
		return sqlerr.New(sqlerr.Invalid, "a budget needs a base table")
	}
	existing, err := tx.AccountFor(bases)
	switch {
	case err != nil:
		return err
	case existing != nil:
		return sqlerr.New(sqlerr.Invalid, "%s already has a budget", strings.Join(bases, ", "))
	}
	for _, base := range bases {
		public, err := tx.IsPublic(base)
		if err != nil {
			return err
		}
		if public {
			return sqlerr.New(sqlerr.Invalid, "%s is public and cannot hold the rows of a private table", base)
		}
	}
	return nil
}

// declaration is the ledger's text for a new account. It repeats the caps, so
// that an edited cap does not agree with the chain.
func declaration(a *Account) string {
	c := a.Caps
	return fmt.Sprintf("budget declared: epsilon = %s, delta = %s, interactive = %s; releases ε %v, δ %v; interactive ρ %v (ε %v at δ %v)",
		a.Epsilon, a.Delta, a.Interactive, c.ReleaseEpsilon, c.ReleaseDelta, c.InteractiveRho, c.InteractiveEpsilon, c.InteractiveDelta)
}
