package catalog

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"dpsql/accounting"
	"dpsql/catalog/internal/ledger"
	"dpsql/internal/period"
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
	Over    period.Range      // the periods in each of which it counts; All without periods
	Hash    [32]byte          // chains the line to those before it
}

// mostLines is the largest number of lines of one charge. A charge to more ranges of periods
// also counts in the smallest gaps between them.
const mostLines = 64

// Charge writes a cost into the ledger if the account's caps allow it in each of the periods.
// Nil is every period, as is the only choice for an account without periods. A charge equal
// to what is left is allowed, and so is one of cost 0. The check and the lines are
// parts of this transaction: once the Write has returned nil, the cost is spent.
// Errors: Budget, which names what is needed and left, and the first period that cannot pay;
// Invalid when one of the periods is retired; Corrupt when the ledger does not verify.
func (tx *Tx) Charge(account int64, over period.Ranges, kind Kind, action, object string, amount accounting.Amount) error {
	a, over, err := tx.chargeable(account, over)
	if err != nil {
		return err
	}
	if err := tx.affords(a, over, kind, action, amount); err != nil {
		return err
	}
	for _, r := range over {
		if err := tx.append(Entry{Account: account, Kind: kind, Action: action, Object: object, Amount: amount, Over: r}); err != nil {
			return err
		}
	}
	return nil
}

// Affords returns the error that Charge would return, and writes nothing. Another
// transaction may spend before the charge.
func (tx *Tx) Affords(account int64, over period.Ranges, kind Kind, action string, amount accounting.Amount) error {
	a, over, err := tx.chargeable(account, over)
	if err != nil {
		return err
	}
	return tx.affords(a, over, kind, action, amount)
}

// chargeable returns an account and the periods in which a charge counts.
func (tx *Tx) chargeable(account int64, over period.Ranges) (*Account, period.Ranges, error) {
	a, err := tx.Account(account)
	if err != nil {
		return nil, nil, err
	}
	over, err = normal(over)
	switch {
	case err != nil:
		return nil, nil, err
	case a.Partition == nil && over[0] != period.All:
		return nil, nil, sqlerr.New(sqlerr.Internal, "a charge names periods, and the account has none")
	}
	if len(over) > mostLines {
		over = over.Coarse(mostLines)
	}
	return a, over, nil
}

// normal returns periods as a set whose ranges ascend, which the checks of caps rely on. Nil
// is every period. A range that ends before it begins is an error: whoever made it meant
// some periods, and they are not known.
func normal(over period.Ranges) (period.Ranges, error) {
	if len(over) == 0 {
		return period.Ranges{period.All}, nil
	}
	for _, r := range over {
		if r.First > r.Last {
			return nil, sqlerr.New(sqlerr.Internal, "a charge is to a range of periods that ends before it begins")
		}
	}
	if len(over) == 1 {
		return over, nil
	}
	return period.Of(over...), nil
}

func (tx *Tx) affords(a *Account, over period.Ranges, kind Kind, action string, amount accounting.Amount) error {
	if amount.Epsilon < 0 || amount.Delta < 0 || amount.Rho < 0 {
		return sqlerr.New(sqlerr.Internal, "a charge is negative")
	}
	if len(a.Retired) > 0 {
		if gone := over.Intersect(a.Retired); len(gone) > 0 {
			return Retired(a, gone[0])
		}
	}
	spent, err := tx.Spent(a.ID)
	if err != nil || amount == (accounting.Amount{}) {
		return err
	}
	for s := range spent.In(over) {
		if !a.Caps.Fits(s.Spent, amount) {
			return overCap(a, s.Over.First, kind, action, amount, a.Caps.Remaining(s.Spent))
		}
	}
	return nil
}

// Retired returns the error of reading rows of retired periods of an account.
func Retired(a *Account, gone period.Range) error {
	return sqlerr.New(sqlerr.Invalid, "%s of %s is retired, and its rows are not read any more", a.Partition.Text(gone), strings.Join(a.Bases, ", ")).
		WithHint("what was built over it goes on answering; leave the period out with WHERE")
}

// Waiting is a charge that waits for a statement.
type Waiting = ledger.Waiting

// Waiting returns the charges that wait, by statement. Callers must not change it.
func (tx *Tx) Waiting() (map[string]Waiting, error) {
	if tx.version == 0 {
		return nil, nil
	}
	c, err := tx.head()
	if err != nil {
		return nil, err
	}
	return c.Waiting(), nil
}

// Wait has a charge wait for its statement. The caller knows that nothing was drawn for it, and lets
// nothing be drawn. ChargeFor takes it, before the statement reads. Both write lines of cost 0, so they are marked,
// and no older copy of the file has the charge serve again.
func (tx *Tx) Wait(w Waiting) error { return tx.note(w, w.Waits()) }

func (tx *Tx) note(w Waiting, action string) error {
	return tx.append(Entry{Account: w.Account, Kind: KindInteractive, Action: action, Object: w.Statement, Over: period.All})
}

// ChargeFor pays what is due for a statement that reads some periods of an account: by charge, or by the
// charge that waits for the statement, if it is of the same amount. It returns what paid. Errors: those of charge;
// Invalid if one of the periods is retired.
func (tx *Tx) ChargeFor(statement string, account int64, over period.Ranges, due accounting.Amount, charge func() error) (Waiting, error) {
	all, err := tx.Waiting()
	w := all[statement]
	switch {
	case err != nil:
		return w, err
	case w.Line > 0 && w.Amount == due:
		if err = tx.Affords(account, over, KindInteractive, "", accounting.Amount{}); err == nil {
			err = tx.note(w, w.Serves())
		}
		return w, err
	}
	if err = charge(); err != nil {
		return w, err
	}
	c, err := tx.head()
	if err != nil {
		return w, err
	}
	return Waiting{Statement: statement, Line: c.Len(), Account: account, Amount: due}, nil
}

// Waits returns what a line says of the charge of another one: that it waits, or serves. The line is 0 if
// it says nothing.
func Waits(e Entry) (line int64, state string) {
	fmt.Sscanf(e.Action, "line %d %s", &line, &state)
	return line, strings.TrimSuffix(state, ":")
}

// Return gives back an amount that was reserved and never used, in each of the periods that
// it was charged to; nil is every period. The amount is positive. Errors: Corrupt when it is
// more than was spent in one of them.
func (tx *Tx) Return(account int64, over period.Ranges, kind Kind, action, object string, amount accounting.Amount) error {
	spent, err := tx.Spent(account)
	if err != nil {
		return err
	}
	if over, err = normal(over); err != nil {
		return err
	}
	if amount.Epsilon < 0 || amount.Delta < 0 || amount.Rho < 0 {
		return sqlerr.New(sqlerr.Internal, "a negative amount would come back to a budget")
	}
	for s := range spent.In(over) {
		if amount.Epsilon > s.Spent.Epsilon || amount.Delta > s.Spent.Delta || amount.Rho > s.Spent.Rho {
			return corrupt("more of a budget would come back than was spent")
		}
	}
	back := accounting.Amount{Epsilon: -amount.Epsilon, Delta: -amount.Delta, Rho: -amount.Rho}
	for _, r := range over {
		if err := tx.append(Entry{Account: account, Kind: kind, Action: action, Object: object, Amount: back, Over: r}); err != nil {
			return err
		}
	}
	return nil
}

// Spending is what an account has spent in each period.
type Spending = ledger.Spending

// Spent returns what the account has spent in each period: ε and δ of its releases part,
// ρ of its interactive part. Without periods it is the same in all of them. It is the sum of
// the ledger's lines. Errors: Corrupt when they do not verify.
func (tx *Tx) Spent(account int64) (Spending, error) {
	if tx.version == 0 {
		return Spending{}, nil
	}
	c, err := tx.head()
	if err != nil {
		return Spending{}, err
	}
	return c.Spent(account), nil
}

// Ledger lists all lines, oldest first, as stored. VerifyLedger checks them.
func (tx *Tx) Ledger() ([]Entry, error) {
	return list(tx, func(row record) (Entry, error) {
		l, err := scanLine(row)
		if err != nil {
			return Entry{}, err
		}
		at, err := parseTime(l.At)
		e := Entry{Seq: l.Seq, At: at, Account: l.Account, Kind: Kind(l.Kind), Action: l.Action, Object: l.Object, Amount: l.Amount(), Over: l.Over}
		copy(e.Hash[:], l.Hash)
		return e, err
	}, selectLine+`ORDER BY seq`)
}

const selectLine = `SELECT seq, at, account, kind, action, object, epsilon, delta, rho, period_first, period_last, hash FROM dpsql_ledger `

func scanLine(row record) (l ledger.Line, err error) {
	var first, last *int64 // NULL for all periods
	err = row.Scan(&l.Seq, &l.At, &l.Account, &l.Kind, &l.Action, &l.Object, &l.Epsilon, &l.Delta, &l.Rho, &first, &last, &l.Hash)
	if l.Over = period.All; first != nil && last != nil {
		l.Over = period.Range{First: *first, Last: *last}
	}
	return l, err
}

// overCap explains a refused charge in the account's own unit. It rounds what is
// needed up and what is left down, so the two never read the same. It names the period, if
// the account has any and not all of them are alike.
func overCap(a *Account, first int64, kind Kind, action string, need, left accounting.Amount) error {
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
	if a.Partition != nil && first != math.MinInt64 {
		message += " in " + a.Partition.Name(first)
	}
	return sqlerr.New(sqlerr.Budget, "%s", message).
		WithHint("ask for less; SHOW BUDGET and SHOW LEDGER tell what was spent, and existing releases, mechanisms and answers stay free")
}

// shortDecimal returns units · 10^−places (units ≥ 0) with at most four significant
// digits, rounded up or down: 0.5, 12.35, 7.7e-4.
func shortDecimal(units int64, places int, up bool) string {
	if units == 0 {
		return "0"
	}
	scale, exponent := uint64(units), -places
	rounded := false
	for scale >= 10000 {
		rounded = rounded || scale%10 != 0
		scale, exponent = scale/10, exponent+1
	}
	if rounded && up {
		scale++ // 10000 still prints as one digit and zeros
	}
	for scale%10 == 0 {
		scale, exponent = scale/10, exponent+1
	}
	return placePoint(strconv.FormatUint(scale, 10), exponent)
}

// placePoint returns digits · 10^exponent, without an exponent unless it is small or
// large.
func placePoint(digits string, exponent int) string {
	point := len(digits) + exponent // digits before the point
	switch {
	case point < -2 || point > 9:
		mantissa := digits[:1]
		if len(digits) > 1 {
			mantissa += "." + digits[1:]
		}
		return mantissa + "e" + strconv.Itoa(point-1)
	case point <= 0:
		return "0." + strings.Repeat("0", -point) + digits
	case exponent >= 0:
		return digits + strings.Repeat("0", exponent)
	}
	return digits[:point] + "." + digits[point:]
}

// head returns the chain up to the last line that this transaction sees. The first
// use in a process verifies every line. Later uses verify that the last verified line
// is still there, and the lines after it. A transaction verifies once, since only its
// own lines can follow.
func (tx *Tx) head() (*ledger.Chain, error) {
	if tx.chain == nil {
		return tx.verify()
	}
	if tx.atEnd {
		return tx.chain, nil
	}
	last, err := find(tx, scanLine, selectLine+`WHERE seq = ?`, tx.chain.Len())
	if err != nil {
		return nil, err
	}
	if tx.chain.Len() > 0 && (last == nil || !tx.chain.EndsWith(last.Hash)) {
		return nil, corrupt("row %d of the ledger is not the one verified before", tx.chain.Len())
	}
	c, _, err := tx.extend(*tx.chain)
	if err != nil {
		return nil, err
	}
	if err := tx.checkEnd(c); err != nil {
		return nil, err
	}
	tx.chain, tx.atEnd = &c, true
	return &c, nil
}

// checkEnd compares the end of the chain with the roll that the catalog has of it.
func (tx *Tx) checkEnd(c ledger.Chain) error {
	end, err := tx.roll(0, rollLedger)
	switch {
	case err != nil:
		return err
	case end.Count > c.Len():
		return corrupt("row %d of the ledger is missing", c.Len()+1)
	case end != c.End():
		return corrupt("row %d of the ledger is not the last one", c.Len())
	}
	return nil
}

// extend verifies the lines after c. It returns the chain with them, and the first
// line of each account among them.
func (tx *Tx) extend(c ledger.Chain) (ledger.Chain, map[int64]ledger.Line, error) {
	first := map[int64]ledger.Line{}
	from := c.Len()
	if from == 0 {
		from = math.MinInt64 // a line below 1 does not verify
	}
	v := c.Extend()
	err := each(tx, func(row record) error {
		l, err := scanLine(row)
		if err != nil {
			return err
		}
		if !v.Add(l) || tx.chain != nil && l.Seq == tx.chain.Len() && !tx.chain.EndsWith(l.Hash) {
			return corrupt("row %d of the ledger does not verify", l.Seq)
		}
		if _, seen := first[l.Account]; !seen {
			first[l.Account] = l
		}
		return nil
	}, selectLine+`WHERE seq > ? ORDER BY seq`, from)
	return v.Chain(), first, err
}

// VerifyLedger checks every line of the ledger, that no line verified before in
// this process is gone, and that the accounts are those that were declared.
// Errors: Corrupt, with the number of the first row that does not verify.
func (tx *Tx) VerifyLedger() error {
	if tx.version == 0 {
		return nil
	}
	_, err := tx.verify()
	return err
}

func (tx *Tx) verify() (*ledger.Chain, error) {
	c, first, err := tx.extend(ledger.Chain{})
	if err != nil {
		return nil, err
	}
	if tx.chain != nil && c.Len() < tx.chain.Len() {
		return nil, corrupt("row %d of the ledger is missing", c.Len()+1)
	}
	if err := tx.checkEnd(c); err != nil {
		return nil, err
	}
	if err := tx.checkMarks(c); err != nil {
		return nil, err
	}
	if err := tx.verifyAccounts(first); err != nil {
		return nil, err
	}
	tx.chain, tx.atEnd = &c, true
	return &c, nil
}

// verifyAccounts compares each account with the line that declared it.
func (tx *Tx) verifyAccounts(first map[int64]ledger.Line) error {
	accounts, err := tx.Accounts()
	if err != nil {
		return err
	}
	for _, a := range accounts {
		l, ok := first[a.ID]
		if !ok {
			return corrupt("account %d is not declared in the ledger", a.ID)
		}
		if l.Action != declaration(&a) || l.Object != strings.Join(a.Bases, ", ") || l.Amount() != (accounting.Amount{}) {
			return corrupt("account %d is not the one declared in row %d of the ledger", a.ID, l.Seq)
		}
	}
	if len(first) > len(accounts) {
		return corrupt("an account that the ledger declares is missing from the catalog")
	}
	return nil
}

// append writes the next line.
func (tx *Tx) append(e Entry) error {
	switch {
	case e.Kind == KindReleases && e.Amount.Rho == 0:
	case e.Kind == KindInteractive && e.Amount.Epsilon == 0 && e.Amount.Delta == 0:
	default:
		return sqlerr.New(sqlerr.Internal, "a cost was put into the wrong account")
	}
	if err := tx.prepare(); err != nil {
		return err
	}
	c, err := tx.head()
	if err != nil {
		return err
	}
	l, next, ok := c.Next(ledger.Line{
		At: formatTime(tx.stamp()), Account: e.Account, Kind: string(e.Kind), Action: e.Action, Object: e.Object,
		Epsilon: int64(e.Amount.Epsilon), Delta: int64(e.Amount.Delta), Rho: int64(e.Amount.Rho), Over: e.Over,
	})
	if !ok {
		return sqlerr.New(sqlerr.Internal, "the ledger's sums overflow")
	}
	var first, last *int64
	if l.Over != period.All {
		first, last = &l.Over.First, &l.Over.Last
	}
	_, err = tx.exec(`INSERT INTO dpsql_ledger (seq, at, account, kind, action, object, epsilon, delta, rho, period_first, period_last, hash)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.Seq, l.At, l.Account, l.Kind, l.Action, l.Object, l.Epsilon, l.Delta, l.Rho, first, last, l.Hash)
	if err != nil {
		return err
	}
	if err := tx.setRoll(0, rollLedger, next.End()); err != nil {
		return err
	}
	tx.chain = &next
	m, err := tx.mark(next)
	tx.newMark = &m
	return err
}

// verified returns the committed ledger as far as this Store verified it. If the Store
// has verified nothing yet, verified returns the marks beside the file.
func (s *Store) verified() (*ledger.Chain, []ledger.Mark, error) {
	s.mu.Lock()
	c := s.chain
	s.mu.Unlock()
	if c != nil {
		return c, nil, nil
	}
	marks, err := s.readMarks()
	return nil, marks, err
}

// keepVerified keeps what a finished transaction verified.
func (s *Store) keepVerified(c *ledger.Chain) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c != nil && (s.chain == nil || c.Len() > s.chain.Len()) {
		s.chain = c
	}
}

func (s *Store) markPath() string { return s.path + "-mark" }

func (s *Store) readMarks() ([]ledger.Mark, error) {
	marks, err := ledger.ReadMarks(s.markPath())
	if err != nil {
		return nil, fileError("read", s.markPath(), err)
	}
	return marks, nil
}

// writeMark makes a mark durable, or, before its line is committed, only finds out that it
// can be written. A copy in memory has no marks.
func (s *Store) writeMark(m *ledger.Mark, committed bool) error {
	if s.memory != "" || m == nil {
		return nil
	}
	hint := "nothing was charged; dpsql must be able to write that file, and its disk needs space"
	if committed {
		hint = "what the statement charged stays charged, and nothing was drawn for it: SHOW LEDGER tells"
	}
	created, err := s.marks.Write(*m, s.markPath(), s.path, committed)
	if err != nil {
		return fileError("write", s.markPath(), err).WithHint("%s", hint)
	}
	if created {
		_ = syncDirectory(filepath.Dir(s.path)) // a lost name costs one mark, and not all systems can sync a directory
	}
	return nil
}

// mark returns the mark of the last line of a chain.
func (tx *Tx) mark(c ledger.Chain) (ledger.Mark, error) {
	name, err := tx.roll(0, rollCatalog)
	return ledger.MarkOf(name, c), err
}

// checkMarks compares the ledger c with what the marks say was in it.
func (tx *Tx) checkMarks(c ledger.Chain) error {
	if len(tx.marks) == 0 {
		return nil
	}
	this, err := tx.mark(c)
	if err != nil {
		return err
	}
	last, found := ledger.Last(tx.marks, this.Catalog)
	if !found {
		return nil
	}
	l, err := find(tx, scanLine, selectLine+`WHERE seq = ?`, last.Seq)
	if err != nil || l != nil && bytes.Equal(l.Hash, last.Hash[:]) {
		return err
	}
	return sqlerr.New(sqlerr.Corrupt, "row %d of the ledger was written and is gone", last.Seq).
		WithHint("the end of the write-ahead log was lost, or the file is an older copy; restore the newest one, "+
			"or delete %s to accept that what was spent since is forgotten", tx.store.markPath())
}

// checkFirst refuses the first budget of a catalog if the marks beside the file belong
// to a ledger that is gone. The database that had the name was then deleted or
// replaced, and what it spent is not known. A lost ledger of one line is accepted: it
// declared a budget and charged nothing. Errors: Corrupt.
func (tx *Tx) checkFirst() error {
	accounts, err := tx.Accounts()
	if err != nil || len(accounts) > 0 {
		return err
	}
	all, err := tx.store.readMarks()
	if err != nil {
		return err
	}
	var lines int64
	for _, m := range all {
		lines = max(lines, m.Seq)
	}
	if lines <= 1 {
		return nil
	}
	return sqlerr.New(sqlerr.Corrupt, "another database had this name, and its ledger of %d lines is gone", lines).
		WithHint("restore it, or delete %s to begin anew: for other rows, or accepting that for the same rows the two budgets add up",
			tx.store.markPath())
}
