// Package ledger has the formats by which a catalog notices that it is not as
// dpsql wrote it. It reads and writes no database: catalog brings the rows.
//
// Five things work together.
//
//   - An Encoding is the canonical form of a record. Its SHA-256 stands beside
//     the record, so a changed record is noticed when it is read.
//   - A Roll says which records there are. A record's digest cannot tell that
//     the record is missing; the roll of its set can.
//   - A Chain is the ledger of privacy budgets. Every Line has the hash of the
//     line before it, so no line can be changed, removed or inserted alone. The
//     chain adds up what each account has spent.
//   - The roll of the chain has its length and its last hash, so the last lines
//     cannot go missing either.
//   - A Mark stands in a small file beside the database, and says that the
//     ledger had a line. SQLite drops the end of a damaged write-ahead log
//     without a word, and an older copy of the database may be put in its place:
//     the mark remains.
//
// All this finds accidents. Whoever can write the file can write new digests and
// new marks.
package ledger

import (
	"maps"

	"dpsql/accounting"
)

// Line is a line of the ledger as it is stored. The hash covers exactly these
// texts and numbers.
type Line struct {
	Seq                  int64 // 1, 2, … over all accounts
	At                   string
	Account              int64
	Kind, Action, Object string
	Epsilon, Delta, Rho  int64
	Hash                 []byte
}

// Amount returns what the line charges; negative amounts were given back.
func (l Line) Amount() accounting.Amount {
	return accounting.Amount{Epsilon: accounting.Epsilon(l.Epsilon), Delta: accounting.Delta(l.Delta), Rho: accounting.Rho(l.Rho)}
}

// digest is the SHA-256 of the hash of the line before and the line's encoding.
func (l Line) digest(previous [32]byte) [32]byte {
	e := append(Encoding("dpsql ledger 1\x00"), previous[:]...)
	return e.Numbers(l.Seq).Texts(l.At).Numbers(l.Account).Texts(l.Kind, l.Action, l.Object).
		Numbers(l.Epsilon, l.Delta, l.Rho).Digest()
}

// Chain is a verified beginning of the ledger. The zero value is that of no
// lines. A Chain never changes: Add returns another.
type Chain struct {
	seq   int64
	hash  [32]byte
	spent map[int64]accounting.Amount // by account
}

// Len returns the number of lines, which is the number of the last one.
func (c Chain) Len() int64 { return c.seq }

// EndsWith reports whether hash is that of the last line.
func (c Chain) EndsWith(hash []byte) bool { return string(hash) == string(c.hash[:]) }

// Spent returns the sum of the lines of an account.
func (c Chain) Spent(account int64) accounting.Amount { return c.spent[account] }

// End returns what the catalog stores of the chain apart from its lines.
func (c Chain) End() Roll { return Roll{Count: c.seq, Sum: c.hash} }

// Next returns the line with the number and the hash that it has at the end of
// the chain, and the chain with it. It fails where a sum overflows or would be
// negative.
func (c Chain) Next(l Line) (Line, Chain, bool) {
	l.Seq = c.seq + 1
	digest := l.digest(c.hash)
	l.Hash = digest[:]
	b := c.Extend()
	ok := b.Add(l)
	return l, b.Chain(), ok
}

// Extend begins to verify the lines that follow the chain.
func (c Chain) Extend() *Verifier {
	spent := maps.Clone(c.spent)
	if spent == nil {
		spent = make(map[int64]accounting.Amount)
	}
	return &Verifier{chain: Chain{c.seq, c.hash, spent}}
}

// Verifier verifies lines, one after the other.
type Verifier struct{ chain Chain }

// Add adds the next line to the chain. It reports false, and adds nothing, where
// the line does not follow the one before or a sum overflows or would be negative.
func (v *Verifier) Add(l Line) bool {
	c := &v.chain
	digest := l.digest(c.hash)
	if l.Seq != c.seq+1 || string(l.Hash) != string(digest[:]) {
		return false
	}
	sum, ok := c.spent[l.Account].Add(l.Amount())
	if !ok || sum.Epsilon < 0 || sum.Delta < 0 || sum.Rho < 0 {
		return false
	}
	c.seq, c.hash, c.spent[l.Account] = l.Seq, digest, sum
	return true
}

// Chain returns the chain as far as it was verified. No line may be added
// afterwards.
func (v *Verifier) Chain() Chain { return v.chain }
