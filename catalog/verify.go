package catalog

import (
	"math"
	"strings"

	"dpsql/accounting"
	"dpsql/sqlerr"
)

// head returns the chain up to the last line this transaction sees. The first
// use in a process verifies every line; later ones that the last verified line
// is still there, and the lines after it. A transaction does so once, as no
// line but its own can come.
func (tx *Tx) head() (*chain, error) {
	if tx.chain == nil {
		return tx.verify()
	}
	if tx.atEnd {
		return tx.chain, nil
	}
	last, err := find(tx, scanLine, selectLine+`WHERE seq = ?`, tx.chain.seq)
	if err != nil {
		return nil, err
	}
	if tx.chain.seq > 0 && (last == nil || string(last.hash) != string(tx.chain.hash[:])) {
		return nil, corrupt("row %d of the ledger is not the one verified before", tx.chain.seq)
	}
	c := tx.chain.clone()
	if _, err := tx.extend(c); err != nil {
		return nil, err
	}
	if err := tx.checkEnd(c); err != nil {
		return nil, err
	}
	tx.chain, tx.atEnd = c, true
	return c, nil
}

// checkEnd compares the last line with the one that the catalog knows of.
func (tx *Tx) checkEnd(c *chain) error {
	end, err := tx.roll(0, rollLedger)
	switch {
	case err != nil:
		return err
	case end.count > c.seq:
		return corrupt("row %d of the ledger is missing", c.seq+1)
	case end != c.end():
		return corrupt("row %d of the ledger is not the last one", c.seq)
	}
	return nil
}

// extend verifies the lines after c, adds them to it, and returns the first
// line of each account among them.
func (tx *Tx) extend(c *chain) (map[int64]line, error) {
	first := map[int64]line{}
	from := c.seq
	if from == 0 {
		from = math.MinInt64 // a line below 1 does not verify
	}
	err := each(tx, func(row record) error {
		l, err := scanLine(row)
		if err != nil {
			return err
		}
		if !c.add(l) || (tx.chain != nil && c.seq == tx.chain.seq && c.hash != tx.chain.hash) {
			return corrupt("row %d of the ledger does not verify", l.seq)
		}
		if _, seen := first[l.account]; !seen {
			first[l.account] = l
		}
		return nil
	}, selectLine+`WHERE seq > ? ORDER BY seq`, from)
	return first, err
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

func (tx *Tx) verify() (*chain, error) {
	c := (*chain)(nil).clone()
	first, err := tx.extend(c)
	if err != nil {
		return nil, err
	}
	if known := tx.chain; known != nil && c.seq < known.seq {
		return nil, corrupt("row %d of the ledger is missing", c.seq+1)
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
	tx.chain, tx.atEnd = c, true
	return c, nil
}

// verifyAccounts compares each account with the line that declared it.
func (tx *Tx) verifyAccounts(first map[int64]line) error {
	accounts, err := tx.Accounts()
	if err != nil {
		return err
	}
	for _, a := range accounts {
		l, ok := first[a.ID]
		if !ok {
			return corrupt("account %d is not declared in the ledger", a.ID)
		}
		if l.action != declaration(&a) || l.object != strings.Join(a.Bases, ", ") || l.amount() != (accounting.Amount{}) {
			return corrupt("account %d is not the one declared in row %d of the ledger", a.ID, l.seq)
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
	if tx.version == 0 {
		if err := tx.migrate(); err != nil {
			return err
		}
	}
	c, err := tx.head()
	if err != nil {
		return err
	}
	l := line{
		seq: c.seq + 1, at: formatTime(tx.stamp()), account: e.Account, kind: string(e.Kind), action: e.Action, object: e.Object,
		epsilon: int64(e.Amount.Epsilon), delta: int64(e.Amount.Delta), rho: int64(e.Amount.Rho),
	}
	digest := l.digest(c.hash)
	l.hash = digest[:]
	next := c.clone()
	if !next.add(l) {
		return sqlerr.New(sqlerr.Internal, "the ledger's sums overflow")
	}
	_, err = tx.exec(`INSERT INTO dpsql_ledger (seq, at, account, kind, action, object, epsilon, delta, rho, hash)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.seq, l.at, l.account, l.kind, l.action, l.object, l.epsilon, l.delta, l.rho, l.hash)
	if err != nil {
		return err
	}
	if err := tx.setRoll(0, rollLedger, next.end()); err != nil {
		return err
	}
	tx.chain = next
	last, err := tx.mark(next)
	tx.last = &last
	return err
}

// known returns the committed ledger as far as this Store verified it, and
// where it did not yet, the marks beside the file.
func (s *Store) known() (*chain, []mark, error) {
	s.mu.Lock()
	c := s.chain
	s.mu.Unlock()
	if c != nil {
		return c, nil, nil
	}
	marks, err := s.readMarks()
	return nil, marks, err
}

// publish remembers what a finished transaction verified.
func (s *Store) publish(c *chain) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c != nil && (s.chain == nil || c.seq > s.chain.seq) {
		s.chain = c
	}
}
