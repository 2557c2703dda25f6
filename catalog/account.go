package catalog

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"dpsql/accounting"
	"dpsql/internal/period"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Account is the privacy budget of a set of base tables. Everything answered about
// any of them is charged to it. It outlives the private tables declared over them.
type Account struct {
	ID          int64             `json:"-"`
	Epsilon     string            `json:"epsilon"` // as the next two decimal text, as declared
	Delta       string            `json:"delta"`
	Interactive string            `json:"interactive"`
	Caps        accounting.Caps   `json:"caps"`
	Limits      Limits            `json:"limits"`
	Bases       []string          `json:"-"`              // sorted
	Unit        *string           `json:"unit,omitempty"` // the unit column of the tables that charge it, dropped ones too; nil before the first
	Partition   *period.Partition `json:"-"`              // of the rows into periods, to each of which the caps belong; nil for none
	Retired     period.Ranges     `json:"-"`              // the periods whose rows are not read any more
	Since       int64             `json:"-"`              // the line of the ledger that declared the periods; what was charged before counts once for a unit
	CreatedAt   time.Time         `json:"created_at"`
}

// storedAccount is the body of an account.
type storedAccount struct {
	Account
	Bases   []query.Exact  `json:"bases"`
	Periods *storedPeriods `json:"periods,omitempty"`
}

func (a *Account) stored() (s *storedAccount, err error) {
	s = &storedAccount{Account: *a}
	for _, base := range a.Bases {
		s.Bases = append(s.Bases, query.Exact(base))
	}
	s.Periods, err = encodePeriods(a)
	return s, err
}

func accountFrom(o *object, s *storedAccount) (Account, error) {
	a := s.Account
	a.ID = o.id
	for _, base := range s.Bases {
		a.Bases = append(a.Bases, string(base))
	}
	if s.Periods == nil {
		return a, nil
	}
	return a, s.Periods.decode(&a)
}

// storeAccount stores an account that has changed.
func (tx *Tx) storeAccount(a *Account) error {
	body, err := a.stored()
	if err != nil {
		return err
	}
	return tx.replace(kindAccount, a.ID, body)
}

// AccountFor returns the account that the base tables charge, or nil if none of them
// has one. It compares names as SQLite does. The tables in also may have the same
// rows. They must have that account or none. If the base tables have no account,
// AccountFor returns theirs. Errors: Invalid if some base tables have an account and
// the others have another or none, since no single ledger would cover them.
func (tx *Tx) AccountFor(bases []string, also ...string) (*Account, error) {
	all, err := tx.Accounts()
	if err != nil {
		return nil, err
	}
	var owner *Account
	var without, with string
	take := func(base string, found []*Account) error {
		for _, a := range found {
			if owner != nil && a != owner {
				return sqlerr.New(sqlerr.Invalid, "%s and %s have different budgets", with, base).WithHint("%s", otherBudgetHint(base))
			}
			owner, with = a, base
		}
		return nil
	}
	for _, base := range bases {
		found := accountsOf(all, base)
		if len(found) == 0 {
			without = base
		}
		if err := take(base, found); err != nil {
			return nil, err
		}
	}
	if owner != nil && without != "" {
		return nil, sqlerr.New(sqlerr.Invalid, "%s already has a budget, which does not cover %s", with, without).
			WithHint("declare the private table over all of these base tables first, or over %s alone", with)
	}
	for _, base := range also {
		if err := take(base, accountsOf(all, base)); err != nil {
			return nil, err
		}
	}
	return owner, nil
}

// otherBudgetHint suggests what to do about tables of different budgets.
func otherBudgetHint(base string) string {
	if strings.HasPrefix(base, postgresPrefix) {
		return "a private table can read base tables of one budget only; what is in another database can be told apart where its catalog is read, as docs/postgres.md says"
	}
	return "a private table can read base tables of one budget only"
}

// accountsOf returns the accounts that a base table charges. There is at most one,
// unless the name stands for several tables.
func accountsOf(all []Account, base string) (found []*Account) {
	for i := range all {
		if slices.ContainsFunc(all[i].Bases, func(b string) bool {
			return query.SameName(b, base) || belongsToDatabase(b, base) || belongsToDatabase(base, b)
		}) {
			found = append(found, &all[i])
		}
	}
	return found
}

// postgresPrefix begins the names of base tables outside the file.
const postgresPrefix = "postgresql:"

// belongsToDatabase reports whether a base table outside the file is in a database
// whose name stands for all of its tables.
func belongsToDatabase(table, database string) bool {
	return strings.HasPrefix(database, postgresPrefix) && strings.HasPrefix(query.FoldName(table), query.FoldName(database)+"/")
}

// Account returns the account with the id. Errors: Corrupt when there is none.
func (tx *Tx) Account(id int64) (*Account, error) {
	a, err := one(tx, kindAccount, withID(id), accountFrom)
	if err == nil && a == nil {
		err = corrupt("account %d is missing from the catalog", id)
	}
	return a, err
}

// Accounts lists all accounts, oldest first.
func (tx *Tx) Accounts() ([]Account, error) { return all(tx, kindAccount, accountFrom) }

// CreateAccount opens an account over a.Bases, sets a.ID and a.CreatedAt, and
// writes the ledger's line "budget declared", whose text states the caps.
// Errors: Invalid when a base is missing, public, or has an account already; Corrupt when
// it is the first and the marks beside the file belong to a ledger that is gone.
func (tx *Tx) CreateAccount(a *Account) error {
	if err := tx.checkBases(a.Bases); err != nil {
		return err
	}
	if err := tx.checkFirst(); err != nil {
		return err
	}
	if _, err := tx.head(); err != nil { // before the new account, whose line is still missing
		return err
	}
	slices.SortFunc(a.Bases, func(x, y string) int { return strings.Compare(query.FoldName(x), query.FoldName(y)) })
	a.CreatedAt = tx.stamp()
	body, err := a.stored()
	if err != nil {
		return err
	}
	if a.ID, err = tx.create(kindAccount, "", 0, body); err != nil {
		return err
	}
	return tx.append(Entry{Account: a.ID, Kind: KindReleases, Action: declaration(a), Object: strings.Join(a.Bases, ", "), Over: period.All})
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

// declaration returns the ledger's text for a new account. It repeats the caps, so an
// edited cap contradicts the chain.
func declaration(a *Account) string {
	c := a.Caps
	return fmt.Sprintf("budget declared: epsilon = %s, delta = %s, interactive = %s; releases ε %v, δ %v; interactive ρ %v (ε %v at δ %v)",
		a.Epsilon, a.Delta, a.Interactive, c.ReleaseEpsilon, c.ReleaseDelta, c.InteractiveRho, c.InteractiveEpsilon, c.InteractiveDelta)
}

// Principal is the role that a SELECT is answered for.
type Principal string

// The principals.
const (
	Curator Principal = "curator"
	Analyst Principal = "analyst"
)

// Limits bound what SELECTs may take from an interactive account. They belong to the
// account, as its caps do: another declaration of the same rows would otherwise
// evade them. The zero value limits nothing.
type Limits struct {
	MaxCharge accounting.Rho `json:"max_charge"` // the most that one statement may take, whoever asks; 0 is no limit
	BuyOff    bool           `json:"buy_off"`    // the analyst role gets answers that cost nothing, and no others
}

// String returns the limits as the options of a declaration, "" if there are none.
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

// Buyer is a statement that buys answers.
type Buyer struct {
	Principal Principal
	User      int64          // the user who pays from her quota too; 0 for none
	Taken     accounting.Rho // what it took before, mechanisms' reserves included
	Agreed    *Agreement     // of all buyers of one statement; nil for none
}

// Agreement is what somebody agreed to pay for a statement, over all accounts that it buys from.
type Agreement struct {
	Most  accounting.Rho
	taken map[int64]accounting.Rho // from each account
}

// Check refuses a purchase with which a statement has taken more from all accounts than was agreed, in all from this
// one. A nil Agreement refuses nothing.
func (a *Agreement) Check(account int64, all accounting.Rho) error {
	if a == nil {
		return nil
	}
	sum, ok := accounting.Amount{Rho: all}, true
	for other, rho := range a.taken {
		if other != account && ok {
			sum, ok = sum.Add(accounting.Amount{Rho: rho})
		}
	}
	if ok && sum.Rho <= a.Most {
		return nil
	}
	return sqlerr.New(sqlerr.Budget, "it takes ρ = %s in all, and ρ = %s was agreed", shortDecimal(int64(sum.Rho), 15, true), shortDecimal(int64(a.Most), 15, false)).
		WithHint("what is stored and released stays free")
}

// note notes what was taken from an account.
func (a *Agreement) note(account int64, all accounting.Rho) {
	if a != nil && a.taken == nil {
		a.taken = make(map[int64]accounting.Rho, 1)
	}
	if a != nil {
		a.taken[account] = all
	}
}

// Check refuses a purchase that the limits do not allow, with code forbidden or
// budget. It depends on nothing private: prices and earlier purchases are public.
func (l Limits) Check(by Buyer, cost accounting.Rho) error {
	if l.BuyOff && by.Principal == Analyst {
		return sqlerr.New(sqlerr.Forbidden, "the analyst role may not buy answers about these rows (buy = off)").
			WithHint("releases, stored answers and runs of mechanisms that have begun stay free")
	}
	return checkCharge(l.MaxCharge, "max_charge", by, cost)
}

// checkCharge refuses a purchase with which one statement takes more than most. 0 is no
// limit.
func checkCharge(most accounting.Rho, option string, by Buyer, cost accounting.Rho) error {
	sum, ok := accounting.Amount{Rho: by.Taken}.Add(accounting.Amount{Rho: cost})
	if most == 0 || ok && sum.Rho <= most {
		return nil
	}
	takes := "it takes"
	if by.Taken > 0 {
		takes = "with what it took before it takes"
	}
	return sqlerr.New(sqlerr.Budget, "%s ρ = %s, and one statement may take ρ = %s at most (%s)",
		takes, shortDecimal(int64(sum.Rho), 15, true), shortDecimal(int64(most), 15, false), option).
		WithHint("what is stored and released stays free")
}

// Payment is a charge of a SELECT.
type Payment struct {
	Account        int64
	Table          int64 // the private table that it is about
	Action, Object string
	Rho            accounting.Rho // taken from the account: the most from any one period
	Prepaid        accounting.Rho // taken from what a mechanism has reserved
	Shares         []Share        // what Rho is taken from; nil for every period
	Bytes          int64          // that the answers take in the file, at most
	Statement      string         // what is asked, for a charge that waits
}

// Over returns the periods that are read; nil for every period.
func (p Payment) Over() (over period.Ranges) {
	for _, s := range p.Shares {
		over = over.Union(s.Over)
	}
	return over
}

// Share is a part of a payment, taken from each of some periods. A payment that is prepaid
// has one of ρ = 0, over the periods that are read.
type Share struct {
	Over period.Ranges
	Rho  accounting.Rho
}

// perPeriod returns the shares of a payment, added up.
func (p Payment) perPeriod() ([]Share, error) {
	if p.Shares == nil {
		return []Share{{Over: period.Ranges{period.All}, Rho: p.Rho}}, nil
	}
	all, err := PerPeriod(p.Shares)
	if err == nil && Most(all) != p.Rho {
		err = sqlerr.New(sqlerr.Internal, "the shares of a payment are not what it costs")
	}
	return all, err
}

// Most returns the most that shares take from any one period; the largest ρ there is if a sum
// overflows.
func Most(shares []Share) (most accounting.Rho) {
	all, err := PerPeriod(shares)
	if err != nil {
		return math.MaxInt64
	}
	for _, s := range all {
		most = max(most, s.Rho)
	}
	return most
}

// PerPeriod adds up shares. It returns the periods from each of which the same is taken, with
// that. Errors: Internal for a negative share, a range that ends before it begins, and a sum that
// overflows.
func PerPeriod(shares []Share) ([]Share, error) {
	var taken Spending
	var touched period.Ranges
	for _, s := range shares {
		over, err := normal(s.Over)
		if err != nil {
			return nil, err
		}
		touched = touched.Union(over)
		for _, r := range over {
			if s.Rho < 0 || !taken.Add(r, accounting.Amount{Rho: s.Rho}) {
				return nil, sqlerr.New(sqlerr.Internal, "the shares of a payment cannot be added up")
			}
		}
	}
	var all []Share
	for s := range taken.In(touched) {
		i := slices.IndexFunc(all, func(t Share) bool { return t.Rho == s.Spent.Rho })
		if i < 0 {
			i, all = len(all), append(all, Share{Rho: s.Spent.Rho})
		}
		all[i].Over = all[i].Over.Union(period.Ranges{s.Over})
	}
	return all, nil
}

// Cost returns Rho + Prepaid.
func (p Payment) Cost() accounting.Rho { return p.Rho + p.Prepaid }

// Buy charges a SELECT. It is the one gate for every purchase: the limits, what was agreed, the quota of a
// user, the cap and the ledger's line are parts of this transaction. Errors: those of
// Limits.Check, Grant.Check and Charge. A user is not told what is left of the account,
// which others spend from.
func (tx *Tx) Buy(by Buyer, p Payment) error {
	a, err := tx.Account(p.Account)
	if err != nil {
		return err
	}
	if err := a.Limits.Check(by, p.Cost()); err != nil {
		return err
	}
	if err := by.Agreed.Check(p.Account, by.Taken+p.Cost()); err != nil {
		return err
	}
	shares, err := p.perPeriod()
	if err != nil {
		return err
	}
	action := p.Action
	if by.User != 0 {
		user, err := tx.takeQuota(by, p)
		if err != nil {
			return err
		}
		action += " for " + user
	}
	for _, s := range shares {
		err := tx.Charge(p.Account, s.Over, KindInteractive, action, p.Object, accounting.Amount{Rho: s.Rho})
		if by.User != 0 && sqlerr.CodeOf(err) == sqlerr.Budget {
			return OverBudget(p.Rho)
		}
		if err != nil {
			return err
		}
	}
	by.Agreed.note(p.Account, by.Taken+p.Cost())
	return nil
}

// OverBudget returns the error for a user's purchase that her quota would pay and the
// account does not. It does not say what the account has left.
func OverBudget(cost accounting.Rho) *sqlerr.Error {
	return sqlerr.New(sqlerr.Budget, "it takes ρ = %s, which is more than is left of the table's budget", shortDecimal(int64(cost), 15, true)).
		WithHint("ask for less; what is stored and released stays free")
}

// SetLimits sets an account's limits. It writes a line of cost 0 into the ledger, which
// shows when they began to hold. The object is the table that the statement names.
func (tx *Tx) SetLimits(account int64, object string, l Limits) error {
	a, err := tx.Account(account)
	if err != nil || a.Limits == l {
		return err
	}
	if l.MaxCharge < 0 {
		return sqlerr.New(sqlerr.Internal, "a limit is negative")
	}
	a.Limits = l
	if err := tx.storeAccount(a); err != nil {
		return err
	}
	action := "limits lifted"
	if l != (Limits{}) {
		action = "limits set: " + l.String()
	}
	return tx.append(Entry{Account: account, Kind: KindInteractive, Action: action, Object: object, Over: period.All})
}
