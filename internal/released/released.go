// Package released answers from what was released: it opens releases, says which of them can answer a
// query, chooses among the ways to answer, and makes rows of answers. It knows no catalog, no row and no receipt.
package released

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"dpsql/mechanisms/marginals"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/post"
)

// An Opener opens the releases of one kind, and reads what is stored about them.
type Opener interface {
	// Name is what the kind is called in USING, in the catalog and in SET mechanism.
	Name() string
	// Open reads a release over u. about is what is stored about it; name is for errors.
	Open(u *query.Universe, name string, about json.RawMessage, payload []byte) (Answers, error)
	// Describe reads what is stored about a release, for people and for those who look for a release.
	Describe(about json.RawMessage) Description
	// Cover says, before a release is opened, whether it can answer a query. It decides by the
	// release's columns, nil for all, and its max_support.
	Cover(q query.Query, columns []int, maxSupport uint64) Coverage
	// AnswersUnfinished reports whether an unfinished release answers from what is drawn of it.
	AnswersUnfinished() bool
	// Adds reports whether answers of several releases about different rows are added. Then a release
	// of the kind can be one of each period.
	Adds() bool
}

// Description is what is stored about a release.
type Description struct {
	Whole, Brief string // how it was made; Brief is without sizes and noise
	Fitted       bool   // it has a fitted table
	Texts        bool   // its heavy cells have texts
	Keys         bool   // its heavy cells can be keys
}

// Answers is a release in memory. It never changes.
type Answers interface {
	// Evaluate returns the answer to a query and its error, in one pass.
	Evaluate(ctx context.Context, q query.Query, confidence float64) (Estimate, error)
	// Predict returns the expected margin of the answer, in counts. It evaluates nothing. known is
	// false if the release promises no margin for the query.
	Predict(q query.Query, confidence float64) (margin float64, known bool, err error)
	// Shifts reports whether margins are wider than predicted, by as much as a fit is away from the
	// unbiased answer: Evaluate tells.
	Shifts() bool
	// Note describes the release in EXPLAIN.
	Note() string
	// Cover covers a projected query by what the release is over.
	Cover(see Coverage) Coverage
	// Over returns what answers q, a query of the release, in a statement that asks about the given
	// columns of the release, and the query that it answers.
	Over(ctx context.Context, q query.Query, statement func() []int, simulated bool) (Answers, query.Query, error)
	// Add adds the answers of several releases of its kind, each to its own query. Their noise is
	// independent.
	Add(ctx context.Context, all []Answers, queries []query.Query, confidence float64) (Estimate, error)
	// Independent reports whether the errors of cells are independent, with one law that is symmetric about 0.
	Independent() bool
	// Texts returns the texts of a column in the heavy cells, or false if they have none.
	Texts(column int) (texts []query.Value, ok bool)
	// Keys returns the names of the heavy cells, and the key that they are made with; false if there are none.
	Keys() (key [16]byte, names []query.Element, ok bool)
	// Measured returns the sets of columns whose marginals were measured, nil for another kind.
	Measured() [][]int
	// Table returns the fitted table, summed over all columns but those at rest, ascending; nil if
	// there is none. measured are the marginals that were measured, by their places in rest.
	Table(ctx context.Context, rest []int) (table []float64, measured [][]int, err error)
}

// plain is what a release has that has nothing but its answers.
type plain struct{}

func (plain) Shifts() bool                                    { return false }
func (plain) Note() string                                    { return "" }
func (plain) Cover(see Coverage) Coverage                     { return see }
func (plain) Independent() bool                               { return false }
func (plain) Texts(int) ([]query.Value, bool)                 { return nil, false }
func (plain) Keys() (key [16]byte, _ []query.Element, _ bool) { return key, nil, false }
func (plain) Measured() [][]int                               { return nil }

func (plain) Table(context.Context, []int) ([]float64, [][]int, error) { return nil, nil, nil }

func (plain) Add(context.Context, []Answers, []query.Query, float64) (Estimate, error) {
	return Estimate{}, errKinds()
}

// errKinds refuses to add what is not of one kind.
func errKinds() error {
	return sqlerr.New(sqlerr.Internal, "parts of one release are of several kinds")
}

// described describes a release by what is stored about it, or by the name of its kind if that cannot be read.
func described[about any](k Opener, text json.RawMessage, describe func(about) Description) Description {
	var p about
	if json.Unmarshal(text, &p) != nil {
		return Description{Whole: k.Name(), Brief: k.Name()}
	}
	return describe(p)
}

// Estimate is a private answer before it is written as a result.
type Estimate struct {
	Value     int64
	Error     post.Interval                                   // of the true count less Value, at the confidence asked for
	Verified  bool                                            // whether the error is known
	AsOf      time.Time                                       // when rows were read of periods that had not ended; zero if there are none
	At        func(confidence float64) (post.Interval, error) // the error at another confidence
	Simulated func(confidence float64) (post.Interval, bool)  // the error that simulations suggest; nil without
	Variance  func() float64                                  // as in post.Answer
	Off       *int64                                          // Less of post.Answer

	Distribution func(Settings) *post.Distribution // of the column that was asked for; nil without
}

// Less returns the difference of two estimates. half is the confidence of each at one of both.
func (e Estimate) Less(f Estimate, half func(confidence float64) float64) Estimate {
	minus := func(a, b post.Interval) post.Interval {
		a, b = a.Beyond(e.Value), b.Beyond(f.Value)
		return post.Interval{Low: a.Low - b.High, High: a.High - b.Low}
	}
	return Estimate{Value: difference(e.Value, f.Value), Error: minus(e.Error, f.Error), Verified: e.Verified && f.Verified,
		At: func(confidence float64) (post.Interval, error) {
			a, err := e.At(half(confidence))
			if err != nil {
				return a, err
			}
			b, err := f.At(half(confidence))
			return minus(a, b), err
		}}
}

// difference returns a − b. Beyond 64 bits it stays at the end of their range.
func difference(a, b int64) int64 {
	switch n := a - b; {
	case b < 0 && n < a:
		return math.MaxInt64
	case b > 0 && n > a:
		return math.MinInt64
	default:
		return n
	}
}

// Missed returns the error at a confidence by the kind of margins, or by the proven where there is no other.
func (e Estimate) Missed(confidence float64, margins string) (by post.Interval, known bool) {
	if margins == Simulated && e.Simulated != nil {
		return e.Simulated(confidence)
	}
	by, err := e.At(confidence)
	return by, err == nil
}

// twofold is a release with a fitted answer and an unbiased one, which have one interval
// in common. The fitted answer mostly errs less, and the unbiased one has the lesser margin,
// since it is the middle.
type twofold interface {
	unbiased(ctx context.Context, q query.Query, confidence float64) (Estimate, error)
}

// Evaluate returns the release's answer. If that of a fit is not within the accuracy asked
// for, and the unbiased one is, it returns the latter, so that nothing is bought which the
// release can answer.
func Evaluate(ctx context.Context, a Answers, q query.Query, s Settings) (Estimate, error) {
	ask := a.Evaluate
	e, err := ask(ctx, q, s.Confidence)
	if two, ok := a.(twofold); ok && err == nil && s.Accuracy > 0 && !(e.Verified && e.Error.Reach() <= s.Accuracy) {
		middle, err := two.unbiased(ctx, q, s.Confidence)
		if err != nil {
			return e, err
		}
		if middle.Verified && middle.Error.Reach() <= s.Accuracy {
			e, ask = middle, two.unbiased
		}
	}
	e.At = func(confidence float64) (post.Interval, error) {
		other, err := ask(ctx, q, confidence)
		return other.Error, err
	}
	return e, err
}

// simulatedBy returns a function for the errors that simulations suggest for a query. They
// reach no further than the proven ones of the same answer: where a proven interval is
// narrower, it is within what is returned.
func simulatedBy(fit *marginals.Release, q query.Query, proven func(confidence float64) (Estimate, error)) func(confidence float64) (post.Interval, bool) {
	return func(confidence float64) (post.Interval, bool) {
		m, err := fit.SimulatedMargin(q, confidence)
		if err != nil {
			return post.Interval{}, false
		}
		e, err := proven(confidence)
		return post.Within(min(math.Floor(m), e.Error.Reach())), err == nil
	}
}
