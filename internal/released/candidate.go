package released

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dpsql/accounting"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// Origin says where a candidate's answer comes from. It alone decides whether the
// answer is paid for.
type Origin int

const (
	_             Origin = iota
	FromConstant         // no record can satisfy the query
	FromStored           // the query was answered before
	FromRelease          // estimated by a release
	FromMechanism        // answered by an interactive mechanism, whose runs are prepaid
	FromRows             // counted on the rows and bought: a direct answer
	FromScript           // planned by a rehearsed script and not built
)

// Candidate is one way to answer a query. Everything in it derives from the query, the
// public catalog and earlier releases.
type Candidate struct {
	Origin    Origin
	Name      string      // the release or mechanism, or "direct"
	Kind      string      // what SET mechanism calls it: "projection", "marginals", "smw", "direct" or "constant"
	Columns   []int       // the columns of the table that it uses; nil for all
	Support   SupportSize // m over those columns
	Margin    float64     // predicted half-width in counts at the session's confidence
	Known     bool        // the answer would have a margin
	Simulated float64     // the simulated margin, if there is one and it matters; else 0
	Shows     bool        // the answer would show the simulated margin
	Cost      accounting.Amount
	Starts    accounting.Rho                          // the part of a mechanism's reserve that its next run takes, if none is open
	Refusal   string                                  // why it cannot answer; "" if it can
	Short     string                                  // the same, if an account lacks its cost and a charge that waits could do without
	Waits     bool                                    // a charge waits that pays for it
	Guards    string                                  // the release whose table a mechanism started from
	Parts     []Candidate                             // those whose difference answers; else nil
	Note      string                                  // a remark for EXPLAIN; nothing else depends on it
	Offer     func() string                           // a hint with the price, for a direct answer
	Failure   *sqlerr.Error                           // why it is refused, if the reason is a fault rather than a fact
	Answer    func(context.Context) (Estimate, error) // nil if it is bought with others
}

// Failed returns the candidate refused by an error of its own. Such a candidate does
// not stand in the way of others. The end of the context does, and so does damage: an
// answer that is stored and cannot be read must not be bought a second time unnoticed.
func (c Candidate) Failed(err error) (Candidate, error) {
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Code == sqlerr.Cancelled || e.Code == sqlerr.Corrupt {
		return c, err
	}
	c.Known, c.Refusal, c.Failure = false, e.Message, e
	return c, nil
}

// Dated returns the candidate with answers about rows as they were at a time; zero changes nothing.
func (c Candidate) Dated(asOf time.Time) Candidate {
	if asOf.IsZero() || c.Answer == nil {
		return c
	}
	ask := c.Answer
	c.Note = JoinNotes(c.Note, "as of "+AsOfText(asOf))
	c.Answer = func(ctx context.Context) (Estimate, error) {
		e, err := ask(ctx)
		e.AsOf = asOf
		return e, err
	}
	return c
}

// AsOfText writes the time of an answer for people.
func AsOfText(at time.Time) string { return at.UTC().Format("2006-01-02 15:04") }

// Named adds the names and kinds of what answers.
func (c *Candidate) Named(names, kinds []string) ([]string, []string) {
	for i := range c.Parts {
		names, kinds = c.Parts[i].Named(names, kinds)
	}
	if c.Parts == nil {
		names, kinds = AppendNew(names, c.Name), AppendNew(kinds, c.Kind)
	}
	return names, kinds
}

// AppendNew appends a text to a list that does not have it.
func AppendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// Buys reports whether the candidate is a new direct answer.
func (c Candidate) Buys() bool { return c.Origin == FromRows }

func (c Candidate) Free() bool { return c.Cost == accounting.Amount{} }

// Allowed reports whether SET mechanism admits the candidate.
func (c Candidate) Allowed(mechanism string) bool {
	switch {
	case mechanism == "auto" || c.Origin == FromConstant:
		return true
	case NamesOne(mechanism):
		return query.SameName(c.Name, mechanism)
	}
	return c.Kind == mechanism
}

// Asked is what a candidate is chosen for.
type Asked struct {
	Settings Settings
	Accuracy float64 // SET accuracy as it was given; that of Settings is what the query needs
	Table    string
	Rows     bool // the table has rows, which could be counted
}

// Choose returns the candidate that answers. It is the tightest of those that cost
// nothing, and one without a margin comes last. Under SET accuracy only those that
// reach the accuracy count, and after them those that can be bought.
func Choose(candidates []Candidate, a Asked) (*Candidate, error) {
	s := a.Settings
	if s.Mechanism == "direct" && s.Accuracy == 0 {
		return nil, sqlerr.New(sqlerr.Invalid, "a direct answer needs an accuracy").
			WithHint("SET accuracy = 50 asks for answers within ±50")
	}
	var best *Candidate
	for i := range candidates {
		c := &candidates[i]
		if c.Refusal == "" && c.Allowed(s.Mechanism) && c.Reaches(s.Accuracy) && (best == nil || c.before(best)) {
			best = c
		}
	}
	if best == nil {
		return nil, uncovered(candidates, a)
	}
	return best, nil
}

// before reports whether c is a better answer than d. Where neither has a margin, the guard
// of a release answers before the release: it has corrected some of what the release says.
func (c *Candidate) before(d *Candidate) bool {
	return cmp.Or(compareBool(d.Free(), c.Free()), compareBool(d.Known, c.Known),
		cmp.Compare(c.Cost.Rho, d.Cost.Rho), cmp.Compare(c.width(), d.width()), compareBool(d.isGuardOf(c), c.isGuardOf(d))) < 0
}

// isGuardOf reports whether c started from the table of the release d.
func (c *Candidate) isGuardOf(d *Candidate) bool {
	return c.Guards != "" && d.Origin == FromRelease && query.SameName(c.Guards, d.Name)
}

// width returns the half-width that goes with the answer under SET margins. The tightest of
// the candidates answers by it, and so by predicted error; SET accuracy is for proven ones.
func (c *Candidate) width() float64 {
	if c.Shows {
		return c.Simulated
	}
	return c.Margin
}

// Reaches reports whether the candidate meets SET accuracy. Every candidate meets 0.
func (c Candidate) Reaches(accuracy float64) bool {
	return accuracy == 0 || c.Known && c.Margin <= accuracy
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// uncovered returns the error for a query that no candidate answers. It gives the
// reason and a way to get an answer.
func uncovered(candidates []Candidate, a Asked) error {
	s := a.Settings
	var why reasons
	var direct *Candidate
	var limit *sqlerr.Error // the error of a candidate that cannot pay for its next run
	for i, c := range candidates {
		switch {
		case c.Buys():
			direct = &candidates[i]
		case c.Allowed(s.Mechanism) && c.Starts > 0 && c.Failure != nil:
			limit = cmp.Or(limit, c.Failure)
			why.add(c.Name, c.Refusal)
		case c.Allowed(s.Mechanism) && c.Failure != nil && c.Failure.Code != sqlerr.Uncovered:
			return c.Failure
		case c.Allowed(s.Mechanism):
			why.add(c.Name, c.shortcoming())
		}
	}
	switch {
	case direct != nil && direct.Allowed(s.Mechanism) && s.Accuracy > 0 && direct.Failure != nil:
		return direct.Failure
	case direct != nil && direct.Allowed(s.Mechanism) && s.Accuracy > 0:
		return sqlerr.New(sqlerr.Budget, "%s", direct.Refusal).WithHint("%s", direct.Offer())
	case limit != nil:
		return limit
	case len(why.list) == 0 && NamesOne(s.Mechanism):
		return sqlerr.New(sqlerr.Unknown, "%s has no release or mechanism %s", a.Table, s.Mechanism).
			WithHint("SET mechanism = auto")
	}
	e := sqlerr.New(sqlerr.Uncovered, "no release or mechanism covers this query%s%s", withinAccuracy(a.Accuracy), why)
	switch {
	case !a.Rows:
		return e.WithHint("the file has no rows: SHOW RELEASES lists what it answers from")
	case direct != nil && s.Mechanism == "auto":
		return e.WithHint("%s", direct.Offer())
	}
	return e.WithHint("SET mechanism = auto tries every way")
}

func withinAccuracy(accuracy float64) string {
	if accuracy == 0 {
		return ""
	}
	return " within ±" + Counts(accuracy)
}

// shortcoming returns the reason why the candidate does not answer.
func (c Candidate) shortcoming() string {
	switch {
	case c.Refusal != "":
		return c.Refusal
	case !c.Known:
		return "no error bar for this query"
	}
	return "±" + Counts(c.Margin)
}

// reasons groups candidates' names by the reason why they do not answer, in order of
// appearance.
type reasons struct{ list []reason }

type reason struct {
	text  string
	names []string
}

func (rs *reasons) add(name, text string) {
	for i := range rs.list {
		if rs.list[i].text == text {
			rs.list[i].names = append(rs.list[i].names, name)
			return
		}
	}
	rs.list = append(rs.list, reason{text, []string{name}})
}

// String follows the word "query" of a message.
func (rs reasons) String() string {
	const most = 4 // names listed for one reason
	if len(rs.list) == 0 {
		return ": the table has none"
	}
	parts := make([]string, len(rs.list))
	for i, r := range rs.list {
		names := strings.Join(r.names[:min(most, len(r.names))], ", ")
		if more := len(r.names) - most; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		parts[i] = fmt.Sprintf("%s (%s)", r.text, names)
	}
	return ": " + strings.Join(parts, "; ")
}

// explained returns the candidate's row in EXPLAIN.
func (c Candidate) explained(columns string, support any, a Asked, best bool) []any {
	note := c.Note
	if best {
		note = JoinNotes("chosen", note)
	} else if why := c.Why(a); why != "" {
		note = JoinNotes(why, note)
	}
	var margin any
	if c.Known && (c.Refusal == "" || c.Buys()) {
		margin = c.Margin
	}
	var cost any = "0"
	if c.Waits {
		note = JoinNotes(note, WaitsNote)
	} else if !c.Free() {
		cost = "ρ " + c.Cost.Rho.String()
	} else if c.Buys() {
		cost = nil // it has no price
	}
	if margin != nil && c.Simulated > 0 {
		note = JoinNotes(note, BothMargins(Counts(c.Margin), Counts(c.Simulated)))
	}
	return []any{c.Name, c.Kind, columns, support, margin, cost, note}
}

// Why returns the reason why a candidate cannot be chosen. It is "" if another is only
// better.
func (c Candidate) Why(a Asked) string {
	switch {
	case c.Refusal != "":
		return "not: " + c.Refusal
	case !c.Allowed(a.Settings.Mechanism):
		return "not: SET mechanism = " + a.Settings.Mechanism
	case c.Origin == FromScript && !c.Known && !c.Reaches(a.Settings.Accuracy):
		return "not known to reach SET accuracy = " + Counts(a.Accuracy)
	case !c.Reaches(a.Settings.Accuracy):
		return "not: beyond SET accuracy = " + Counts(a.Accuracy)
	}
	return ""
}

// BothMargins names the two kinds of margins.
func BothMargins(proven, simulated any) string {
	return fmt.Sprintf("proven ± %s, simulated ± %s", proven, simulated)
}

// JoinNotes joins two notes, each of which may be "".
func JoinNotes(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "; " + b
}

// Digest identifies a question about the records of a query.
func Digest(q query.Query, question sqlfront.Question, column int) [32]byte {
	d := q.Digest()
	if question == sqlfront.Weight {
		return d
	}
	return sha256.Sum256(binary.BigEndian.AppendUint64(append(d[:], byte(question)), uint64(column)))
}

// Queried returns the columns that a SELECT's queries and orders are on, ascending.
func Queried(b *sqlfront.Bound) (columns []int) {
	for _, q := range b.Queries {
		columns = append(columns, q.Columns()...)
	}
	for _, s := range b.Slots {
		if s.Question == sqlfront.Order || s.Question == sqlfront.DistinctValues {
			columns = append(columns, s.Column)
		}
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

// Shared returns the confidence of each of a number of answers, of which all hold with a confidence, by the
// union bound.
func Shared(confidence float64, split int) float64 { return 1 - (1-confidence)/float64(split) }

// ErrNumbers refuses a statement of more numbers than sqlfront.MaxNumbers.
var ErrNumbers = sqlerr.New(sqlerr.Unsupported, "more than %d numbers in a statement are outside the dialect", sqlfront.MaxNumbers).
	WithHint("ask for fewer groups, or fewer aggregates, at a time")

// Partly returns the error of the first query of a statement that cannot be answered, with their number.
func Partly(first *sqlerr.Error, queries, failed int) *sqlerr.Error {
	c := *first
	c.Message += fmt.Sprintf(" (of %d queries of the statement %d cannot be answered)", queries, failed)
	return &c
}

// mostUnlisted bounds the columns that Rest takes apart: for n of them there are 2^n parts.
const mostUnlisted = 3

// Unlisted returns the first column without a domain of which the query has weights for texts that
// it does not name. It is false if there is none, for too many columns.
func Unlisted(q query.Query) (column int, ok bool) {
	if q.Universe().Size() != nil || !SupportOf(q).Infinite {
		return 0, false
	}
	columns := slices.DeleteFunc(q.Columns(), func(c int) bool { return q.Universe().Columns()[c].Domain.Finite() })
	if len(columns) > mostUnlisted {
		return 0, false
	}
	i := slices.IndexFunc(columns, func(c int) bool { _, _, ok := q.Rest(c); return ok })
	if i < 0 {
		return 0, false
	}
	return columns[i], true
}
