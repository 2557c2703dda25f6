package catalog

import (
	"maps"

	"dpsql/accounting"
)

// chain is a verified beginning of the ledger: its length, the hash of its last
// line, and the sums of its lines. It is immutable once shared.
type chain struct {
	seq   int64
	hash  [32]byte
	spent map[int64]accounting.Amount // by account
}

func (c *chain) clone() *chain {
	if c == nil {
		return &chain{spent: map[int64]accounting.Amount{}}
	}
	return &chain{seq: c.seq, hash: c.hash, spent: maps.Clone(c.spent)}
}

// end is what the catalog keeps of the chain apart from its lines.
func (c *chain) end() roll { return roll{count: c.seq, sum: c.hash} }

// line is a ledger row exactly as stored; the hash covers these texts.
type line struct {
	seq                  int64
	at                   string
	account              int64
	kind, action, object string
	epsilon, delta, rho  int64
	hash                 []byte
}

const selectLine = `SELECT seq, at, account, kind, action, object, epsilon, delta, rho, hash FROM dpsql_ledger `

func scanLine(row record) (l line, err error) {
	err = row.Scan(&l.seq, &l.at, &l.account, &l.kind, &l.action, &l.object, &l.epsilon, &l.delta, &l.rho, &l.hash)
	return l, err
}

func (l line) amount() accounting.Amount {
	return accounting.Amount{Epsilon: accounting.Epsilon(l.epsilon), Delta: accounting.Delta(l.delta), Rho: accounting.Rho(l.rho)}
}

func (l line) entry() (Entry, error) {
	at, err := parseTime(l.at)
	e := Entry{Seq: l.seq, At: at, Account: l.account, Kind: Kind(l.kind), Action: l.action, Object: l.object, Amount: l.amount()}
	copy(e.Hash[:], l.hash)
	return e, err
}

// digest is SHA-256 over the hash of the line before and the line's encoding.
func (l line) digest(previous [32]byte) [32]byte {
	e := append(encoding("dpsql ledger 1\x00"), previous[:]...)
	return e.numbers(l.seq).texts(l.at).numbers(l.account).texts(l.kind, l.action, l.object).
		numbers(l.epsilon, l.delta, l.rho).digest()
}

// add extends the chain by its next line; false when the line does not follow.
func (c *chain) add(l line) bool {
	digest := l.digest(c.hash)
	if l.seq != c.seq+1 || string(l.hash) != string(digest[:]) {
		return false
	}
	sum, ok := c.spent[l.account].Add(l.amount())
	if !ok || sum.Epsilon < 0 || sum.Delta < 0 || sum.Rho < 0 {
		return false
	}
	c.seq, c.hash, c.spent[l.account] = l.seq, digest, sum
	return true
}
