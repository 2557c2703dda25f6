// Package ledger defines the formats by which a catalog notices changes that dpsql
// did not make. It reads and writes no database: package catalog passes it the rows.
//
// Five things work together.
//
//   - An Encoding is the canonical form of a record, of an object with its body as
//     it is stored. Its SHA-256 stands beside the record, so a changed record is
//     noticed when it is read.
//   - A Roll says which records there are. A record's digest cannot tell that
//     the record is missing; the roll of its set can.
//   - A Chain is the ledger of privacy budgets. Every Line has the hash of the
//     line before it, so no line can be changed, removed or inserted alone. The
//     chain adds up what each account has spent in each period.
//   - The roll of the chain has its length and its last hash, so the last lines
//     cannot go missing either.
//   - A Mark stands in a small file beside the database, and says that the
//     ledger had a line. SQLite silently drops the end of a damaged write-ahead
//     log, and an older copy of the database may be put in its place. The mark
//     remains.
//
// The formats detect accidents and not attacks: whoever can write the file can write
// new digests and new marks.
package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"dpsql/accounting"
	"dpsql/internal/period"
)

// Line is a line of the ledger as it is stored. The hash covers exactly these
// texts and numbers.
type Line struct {
	Seq                  int64 // 1, 2, … over all accounts
	At                   string
	Account              int64
	Kind, Action, Object string
	Epsilon, Delta, Rho  int64
	Over                 period.Range // in each of which it is charged; All where an account has no periods
	Hash                 []byte
}

// Amount returns what the line charges; negative amounts were given back.
func (l Line) Amount() accounting.Amount {
	return accounting.Amount{Epsilon: accounting.Epsilon(l.Epsilon), Delta: accounting.Delta(l.Delta), Rho: accounting.Rho(l.Rho)}
}

// digest is the SHA-256 of the hash of the line before and the line's encoding. A line that
// counts in every period is encoded as before there were periods.
func (l Line) digest(previous [32]byte) [32]byte {
	e := append(Encoding("dpsql ledger 1\x00"), previous[:]...)
	e = e.Numbers(l.Seq).Texts(l.At).Numbers(l.Account).Texts(l.Kind, l.Action, l.Object).
		Numbers(l.Epsilon, l.Delta, l.Rho)
	if l.Over != period.All {
		e = e.Numbers(l.Over.First, l.Over.Last)
	}
	return e.Digest()
}

// Chain is a verified beginning of the ledger. The zero value has no lines. A Chain
// never changes: Next returns another.
type Chain struct {
	seq   int64
	hash  [32]byte
	spent map[int64]Spending // by account
	waits map[string]Waiting // by statement
}

// Len returns the number of lines, which is the number of the last one.
func (c Chain) Len() int64 { return c.seq }

// EndsWith reports whether hash is that of the last line.
func (c Chain) EndsWith(hash []byte) bool { return string(hash) == string(c.hash[:]) }

// Spent returns the sums of the lines of an account. Callers must not add to it.
func (c Chain) Spent(account int64) Spending { return c.spent[account] }

// Waiting returns the charges that wait, by statement. Callers must not change it.
func (c Chain) Waiting() map[string]Waiting { return c.waits }

// Waiting is a charge that waits for a statement, because nothing was drawn for it. It serves the statement
// once: whatever is drawn after that is what it paid for. Two lines of cost 0 say so, with the statement as
// their object.
type Waiting struct {
	Statement     string
	Line, Account int64 // the last line of the charge
	Amount        accounting.Amount
}

const waitingAction = "line %d waits: nothing was drawn for its %d, %d, %d units of ε, δ, ρ"

// Waits and Serves return the actions of the lines.
func (w Waiting) Waits() string {
	return fmt.Sprintf(waitingAction, w.Line, w.Amount.Epsilon, w.Amount.Delta, w.Amount.Rho)
}
func (w Waiting) Serves() string { return fmt.Sprintf("line %d serves: its statement goes on", w.Line) }

// note follows which charges wait.
func (c *Chain) note(l Line) {
	if !strings.HasPrefix(l.Action, "line ") {
		return
	}
	w := Waiting{Statement: l.Object, Account: l.Account}
	if n, _ := fmt.Sscanf(l.Action, waitingAction, &w.Line, &w.Amount.Epsilon, &w.Amount.Delta, &w.Amount.Rho); n == 4 {
		c.waits[w.Statement] = w
	} else {
		delete(c.waits, w.Statement)
	}
}

// End returns what the catalog stores of the chain apart from its lines.
func (c Chain) End() Roll { return Roll{Count: c.seq, Sum: c.hash} }

// Next returns the line with the number and the hash that it has at the end of the
// chain, and the chain with the line. It is false if a sum overflows or would be
// negative.
func (c Chain) Next(l Line) (Line, Chain, bool) {
	l.Seq = c.seq + 1
	digest := l.digest(c.hash)
	l.Hash = digest[:]
	b := c.Extend()
	ok := b.Add(l)
	return l, b.Chain(), ok
}

// Extend returns a Verifier of the lines that follow the chain.
func (c Chain) Extend() *Verifier {
	spent, waits := maps.Clone(c.spent), maps.Clone(c.waits)
	if spent == nil {
		spent, waits = make(map[int64]Spending), make(map[string]Waiting)
	}
	return &Verifier{chain: Chain{c.seq, c.hash, spent, waits}, own: make(map[int64]bool)}
}

// Verifier verifies lines, one after the other.
type Verifier struct {
	chain Chain
	own   map[int64]bool // the accounts whose Spending no other Chain has
}

// Add adds the next line to the chain. It reports false if the line does not follow the one
// before or a sum overflows or would be negative; nothing may be added then.
func (v *Verifier) Add(l Line) bool {
	c := &v.chain
	digest := l.digest(c.hash)
	if l.Seq != c.seq+1 || string(l.Hash) != string(digest[:]) {
		return false
	}
	sum := c.spent[l.Account]
	if !v.own[l.Account] {
		sum, v.own[l.Account] = sum.Clone(), true
	}
	if !sum.Add(l.Over, l.Amount()) {
		return false
	}
	c.seq, c.hash, c.spent[l.Account] = l.Seq, digest, sum
	c.note(l)
	return true
}

// Chain returns the chain as far as it was verified. No line may be added
// afterwards.
func (v *Verifier) Chain() Chain { return v.chain }

// Spending is what an account has spent in each period. The zero value has spent nothing.
//
// # What the sums of each period guarantee
//
// A base table has a history: its states, one after another. A unit u is one row, or all rows
// with one value of the unit column, through the whole history. A row lies in one period, by
// its own value. Write u|p for the rows that u ever has in period p, and H−S for the history
// H without the rows S. The caps of an account are those of (ε, δ), divided as
// accounting.Divide does. A step is what was charged at once; it has a cost, ε_i and δ_i or
// ρ_i, and the periods R_i to which it was charged. The code keeps to this:
//
//	(1) Of a table with periods, a step reads rows of the periods R_i and no others: R_i is
//	    what view.Table.Part or Touched says, and other rows have no weight, or are outside
//	    the domain and do not count. Its max_rows = L rows are kept within u|p, by a secret
//	    key and the rows of u|p alone. A source view works row by row, and hands the column
//	    on as it is.
//	(2) R_i follows from the query, declarations, the clock and earlier answers, and from no
//	    row. So does a refusal.
//	(3) For each p in R_i, the step is (ε_i, δ_i), or ρ_i-zCDP, between H and H−u|p.
//	(4) It is charged, durably, before it reads, and only if the sums of every period in R_i
//	    then keep to the caps.
//	(5) A table without periods keeps L rows of u in all, and its steps are charged to All.
//
// # One period
//
// Theorem 1. All answers together of tables with periods are (ε, δ) between H and H−u|p,
// for every u and p.
//
// Fix u, p and whoever asks. Given what was answered before, a step with p outside R_i has
// the same law over H as over H−u|p, by (1). The same holds for which step is next, its cost,
// its periods and its refusal, by (2). So all of that is randomness that does not depend on
// u|p, as whoever asks may have any. What is left are the steps with p in R_i. They are chosen
// adaptively, and have the costs of (3), of which the sums never exceed the caps, by (4). Those
// of the releases account are (1−s)(ε, δ) together (Rogers, Roth, Ullman, Vadhan 2016,
// for basic composition as a filter). Those of the interactive account are ρ-zCDP
// together (Feldman, Zrnic 2021), and so s(ε, δ), also where interactive
// mechanisms take turns with others, on whatever periods (Haney et al. 2023; Vadhan, Zhang
// 2023). The two add (Lyu 2022). ∎
//
// This is the parallel composition of McSherry (2009, Theorem 4), for steps that are chosen one
// after another, overlap in part, and have budgets that are checked as they go: a charge to
// other periods does not add, since (1) makes it another randomness and nothing else.
//
// # A unit with rows in k periods
//
// Let S be the k periods in which u ever has a row, and j_i = |R_i ∩ S|.
//
// Theorem 2. The answers of tables with periods are, between H and H−u:
// releases ε at most k(1−s)ε, and δ the sum of δ_i·(1 + e^ε_i + … + e^((j_i−1)ε_i)), at most
// j_i·e^((j_i−1)ε_i)·δ_i each; and (Σ j_i² ρ_i)-zCDP, at most k²ρ. If no step reads two of the
// periods, they are (kε, kδ).
//
// H−u is reached from H in k moves, each of which takes away u|p for one p in S. A step differs
// in law at j_i of them: it has the cost that accounting.Amount.Group gives for j_i
// neighbours in a row (for zCDP: Bun, Steinke 2016, Proposition 1.9; for an interactive
// mechanism: the same, of the views of each one who asks). These costs follow from what was
// answered, and are summed as in Theorem 1. Σ j_i ε_i is the sum over the p in S of what p
// spent, at most k(1−s)ε. Σ j_i² ρ_i is at most k·Σ j_i ρ_i, and that at most k²ρ. If every
// j_i is at most 1, the answers are made of k interactive mechanisms, one for each p, that
// are (ε, δ) by Theorem 1 and run side by side: (kε, kδ) (Lyu 2022; Vadhan, Zhang 2023). ∎
//
// A row that is moved to another period has been in both: k counts it twice, and nothing else
// is lost. The bound δ for steps that span periods soon is 1, which says nothing; that
// of interactive answers grows with k². What was built period by period grows with k alone.
//
// # Before there were periods
//
// What was charged to All before the account had periods counts in every period, so that
// Theorem 1 holds for the sum. By (5) it is (ε₀, δ₀) between H and H−u, whatever k is: it is
// counted once. A unit with rows in k periods has ε₀ + k(ε−ε₀), and likewise δ₀ and ρ₀; where
// k² counts, ρ₀ + k²(ρ−ρ₀). Tables without periods go on in this way. A line does not say
// whose it is, so later lines over All count as steps that span periods, which is more.
//
// Between H and H−u|p, where u has rows in other periods too, (5) is weaker: without u|p such
// a table may keep other rows of u in place of those that are gone. That is two moves: u goes,
// and comes with other rows. So with ε₀ spent by tables without periods, the rows of one
// period, of a unit with rows elsewhere, have ε + ε₀ (and 4ρ₀ in place of ρ₀). With
// single rows as units there is no such case. A row in no period is read by tables without
// periods alone, and has (ε, δ).
//
// # Running periods, late rows, clocks
//
// A part that is built early, and built AGAIN, is charged twice, to the same period: two
// steps of Theorem 1. That the new part replaces the old is post-processing. Rows that came
// between, or come too late for any part, are part of u|p. Which periods have begun or ended
// follows from the clock alone, whatever it shows; a statement looks at it once, and is
// charged for the periods that it then reads. Rows of periods that have not begun are read by
// no step. Retired periods are refused by (2).
//
// A range that is wider than what is read costs accuracy and never privacy: a charge to more
// than 64 ranges counts in the gaps between some of them.
type Spending struct {
	steps []step // by first, which ascends from the smallest number on; nil for nothing
}

// step is what was spent in each of the periods from first on, up to the next step.
type step struct {
	first int64
	spent accounting.Amount
}

// Step is a range of periods in each of which as much was spent.
type Step struct {
	Over  period.Range
	Spent accounting.Amount
}

// Steps yields the ranges of periods from the first period to the last one. Neighbours
// differ.
func (s Spending) Steps() iter.Seq[Step] {
	return func(yield func(Step) bool) {
		if len(s.steps) == 0 {
			yield(Step{Over: period.All})
			return
		}
		for i, t := range s.steps {
			last := int64(math.MaxInt64)
			if i+1 < len(s.steps) {
				last = s.steps[i+1].first - 1
			}
			if !yield(Step{period.Range{First: t.first, Last: last}, t.spent}) {
				return
			}
		}
	}
}

// In yields the steps that have periods of a set, cut to it, in order.
func (s Spending) In(over period.Ranges) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		if len(s.steps) <= 1 { // as much was spent in every period
			var spent accounting.Amount
			if len(s.steps) == 1 {
				spent = s.steps[0].spent
			}
			for _, r := range over {
				if !yield(Step{r, spent}) {
					return
				}
			}
			return
		}
		for t := range s.Steps() {
			for _, r := range over.Intersect(period.Ranges{t.Over}) {
				if !yield(Step{r, t.Spent}) {
					return
				}
			}
		}
	}
}

// Most returns the largest ε, δ and ρ that were spent in any one period of a set. They may be
// of different periods.
func (s Spending) Most(over period.Ranges) (most accounting.Amount) {
	for t := range s.In(over) {
		most.Epsilon = max(most.Epsilon, t.Spent.Epsilon)
		most.Delta = max(most.Delta, t.Spent.Delta)
		most.Rho = max(most.Rho, t.Spent.Rho)
	}
	return most
}

// Add adds an amount, which may be negative, in each period of a range. It is false, and s
// is undefined, if a sum overflows or would be negative. It changes the steps in place.
func (s *Spending) Add(over period.Range, amount accounting.Amount) bool {
	if over.First > over.Last {
		return false
	}
	if len(s.steps) == 0 {
		s.steps = append(s.steps, step{first: math.MinInt64})
	}
	from, to := s.cut(over.First), len(s.steps)
	if over.Last < math.MaxInt64 {
		to = s.cut(over.Last + 1)
	}
	for i := from; i < to; i++ {
		sum, ok := s.steps[i].spent.Add(amount)
		if !ok || sum.Epsilon < 0 || sum.Delta < 0 || sum.Rho < 0 {
			return false
		}
		s.steps[i].spent = sum
	}
	s.join(to)
	s.join(from)
	return true
}

// cut makes a step begin at a period, and returns its index.
func (s *Spending) cut(first int64) int {
	i, found := slices.BinarySearchFunc(s.steps, first, func(t step, n int64) int {
		switch {
		case t.first < n:
			return -1
		case t.first > n:
			return 1
		}
		return 0
	})
	if !found {
		s.steps = slices.Insert(s.steps, i, step{first, s.steps[i-1].spent})
	}
	return i
}

// join removes a step in which as much was spent as in the one before it.
func (s *Spending) join(i int) {
	if 0 < i && i < len(s.steps) && s.steps[i].spent == s.steps[i-1].spent {
		s.steps = slices.Delete(s.steps, i, i+1)
	}
}

// Clone returns a copy, which Add does not change.
func (s Spending) Clone() Spending { return Spending{slices.Clone(s.steps)} }

// Mark says that the ledger of a database had a line. Marks stand in a small file
// beside the database, written after the commit of the line and before anything
// it paid for is drawn. So the marks are never ahead of the database, unless the
// database lost lines.
type Mark struct {
	Catalog [16]byte // names the database; chosen at random with the catalog
	Seq     int64    // the number of the line
	Hash    [sha256.Size]byte
}

// The mark of line n is in slot n mod slots, so that processes which charge at the
// same time do not overwrite each other's. A half-written mark fails its check.
const (
	slots    = 64
	markSize = 16 + 8 + sha256.Size + 8
)

// MarkOf returns the mark of the last line of a chain. The name is the roll that
// names the catalog.
func MarkOf(name Roll, c Chain) (m Mark) {
	copy(m.Catalog[:], name.Sum[:])
	m.Seq, m.Hash = c.seq, c.hash
	return m
}

// Last returns the mark of the highest line of a catalog. It is false if there is
// none. It ignores marks of another database that once had the name.
func Last(marks []Mark, catalog [16]byte) (last Mark, found bool) {
	for _, m := range marks {
		if m.Catalog == catalog && m.Seq > last.Seq {
			last, found = m, true
		}
	}
	return last, found
}

func (m Mark) encode() []byte {
	b := binary.BigEndian.AppendUint64(m.Catalog[:], uint64(m.Seq))
	b = append(b, m.Hash[:]...)
	check := sha256.Sum256(b)
	return append(b, check[:8]...)
}

func decodeMark(b []byte) (m Mark, ok bool) {
	copy(m.Catalog[:], b)
	m.Seq = int64(binary.BigEndian.Uint64(b[16:]))
	copy(m.Hash[:], b[24:])
	return m, bytes.Equal(m.encode(), b)
}

// ReadMarks returns the marks in the file of that name. The caller must read them
// before it begins the transaction whose ledger it compares them with: a later mark may
// be of a line that the transaction does not see. A file that is missing, or that may
// not be read, has no marks.
func ReadMarks(path string) ([]Mark, error) {
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) || os.IsPermission(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Mark
	for b = b[:min(len(b), slots*markSize)]; len(b) >= markSize; b = b[markSize:] {
		if m, ok := decodeMark(b[:markSize]); ok {
			all = append(all, m)
		}
	}
	return all, nil
}

// MarkFile writes marks. It keeps the file open between them: opening and closing
// it takes half as long as the sync. Its methods may be called by several
// goroutines. The zero value is ready to use.
type MarkFile struct {
	mu   sync.Mutex
	file *os.File
	info fs.FileInfo // which file this is
}

// Write makes a mark durable in the file of that name. It costs about as much as a commit. Before
// the mark's line is committed it only returns the error that it would meet: it writes what stands
// in the mark's place again, and syncs a file that was not open. It creates a missing file with
// the permissions of the database, and created reports that the name is new. After an error the
// mark may be there or not.
func (f *MarkFile) Write(m Mark, path, database string, committed bool) (created bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, b, at := f.file, m.encode(), m.Seq%slots*markSize
	created, err = f.open(path, database)
	if err == nil && !committed {
		_, err = f.file.ReadAt(b, at)
	}
	if err == nil {
		_, err = f.file.WriteAt(b, at)
	}
	if err == nil && (committed || f.file != known) {
		err = f.file.Sync()
	}
	if err != nil {
		f.close() // so that the next one syncs
	}
	return created, err
}

// open opens the file, unless the open file still has the name. It gives a file its full
// size, so that no later mark needs space.
func (f *MarkFile) open(path, database string) (created bool, err error) {
	named, err := os.Stat(path)
	if created = os.IsNotExist(err); err == nil && f.file != nil && os.SameFile(named, f.info) {
		return false, nil
	}
	f.close()
	mode := os.FileMode(0o600)
	if info, err := os.Stat(database); err == nil {
		mode = info.Mode().Perm() // for everyone who may charge
	}
	opened, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return false, err
	}
	info, err := opened.Stat()
	if err == nil && info.Size() < slots*markSize {
		_, err = opened.WriteAt(make([]byte, slots*markSize-info.Size()), info.Size())
	}
	if err != nil {
		opened.Close()
		return false, err
	}
	f.file, f.info = opened, info
	return created, nil
}

// Close closes the file, which the next mark opens again.
func (f *MarkFile) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.close()
}

// close closes the file and ignores the error: the file has been synced, or the mark
// failed.
func (f *MarkFile) close() {
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
}

// Encoding is the canonical form of a record: what kind of record it is, then its
// values in a fixed order, numbers as 8 bytes and texts after their length. Two
// records of a kind have the same encoding only if all their values are equal.
type Encoding []byte

// Encode begins the encoding of a record of a kind.
func Encode(kind string) Encoding { return make(Encoding, 0, 128).Texts("dpsql " + kind + " 1") }

// Numbers adds numbers.
func (e Encoding) Numbers(all ...int64) Encoding {
	for _, n := range all {
		e = binary.BigEndian.AppendUint64(e, uint64(n))
	}
	return e
}

// Texts adds texts, each after its length.
func (e Encoding) Texts(all ...string) Encoding {
	for _, s := range all {
		e = append(e.Numbers(int64(len(s))), s...)
	}
	return e
}

// Digest returns the SHA-256 of the encoding.
func (e Encoding) Digest() [32]byte { return sha256.Sum256(e) }

// Roll identifies the records that exist by their number and a digest over them. The
// roll of a set has the exclusive or of the digests of its keys, so that records can
// join and leave in any order. The roll of a chain has the digest of its last record.
type Roll struct {
	Count int64
	Sum   [sha256.Size]byte
}

// RollOf returns the roll of a set of records with these keys.
func RollOf[T any](all []T, key func(*T) string) (r Roll) {
	for i := range all {
		r = r.With(key(&all[i]))
	}
	return r
}

// With returns the roll with a key that it does not have yet.
func (r Roll) With(key string) Roll { return r.toggle(key, 1) }

// Without returns the roll without a key that it has.
func (r Roll) Without(key string) Roll { return r.toggle(key, -1) }

func (r Roll) toggle(key string, count int64) Roll {
	r.Count += count
	for i, b := range Encode("key").Texts(key).Digest() {
		r.Sum[i] ^= b
	}
	return r
}

// Follow returns the roll of a chain of records after one more: the digest of a
// record covers that of the record before it.
func (r Roll) Follow(e Encoding) Roll {
	return Roll{Count: r.Count + 1, Sum: append(e, r.Sum[:]...).Digest()}
}
