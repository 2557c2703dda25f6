package catalog

import (
	"crypto/sha256"
	"encoding/binary"
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

func scanLine(row scanner) (l line, err error) {
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

// digest is SHA-256 over the hash of the line before and the line's canonical
// encoding: integers as 8 bytes, texts after their length.
func (l line) digest(previous [32]byte) [32]byte {
	b := append([]byte("dpsql ledger 1\x00"), previous[:]...)
	number := func(n int64) { b = binary.BigEndian.AppendUint64(b, uint64(n)) }
	text := func(s string) { number(int64(len(s))); b = append(b, s...) }
	number(l.seq)
	text(l.at)
	number(l.account)
	text(l.kind)
	text(l.action)
	text(l.object)
	number(l.epsilon)
	number(l.delta)
	number(l.rho)
	return sha256.Sum256(b)
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
