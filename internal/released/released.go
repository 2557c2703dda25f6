// Package released answers from what was released: it opens releases, and says which of them can answer a
// query. It knows no catalog, no row and no receipt.
package released

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"dpsql/mechanisms/marginals"
	"dpsql/post"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Answers is a release in memory.
type Answers interface {
	// Evaluate returns the answer to a query and its error, in one pass.
	Evaluate(ctx context.Context, q query.Query, confidence float64) (Estimate, error)
	// Predict returns the expected margin of the answer, in counts. It
	// evaluates nothing. known is false if the release promises no margin for the
	// query.
	Predict(q query.Query, confidence float64) (margin float64, known bool, err error)
	// Note describes the release in EXPLAIN.
	Note() string
}

// Decode reads a release from its payload and what is stored about it.
func Decode(u *query.Universe, name, using string, about json.RawMessage, payload []byte) (Answers, error) {
	switch using {
	case "smw":
		h, err := DecodeHypothesis(u, payload)
		return learned{h}, err
	case "marginals":
		var shape string
		var p MarginalsAbout
		if json.Unmarshal(about, &p) == nil { // only for people
			shape = p.Shape()
		}
		if marginals.IsOnDemand(payload) {
			release, err := marginals.UnmarshalOnDemand(u, payload)
			if err != nil {
				return nil, err
			}
			return Demanded{Fitted{release.Exact(), shape}, release}, nil
		}
		release, err := marginals.Unmarshal(u, payload)
		return Fitted{release, shape}, err
	}
	release, fit, err := DecodeProjection(u, payload)
	if err != nil {
		return nil, err
	}
	sketch := Sketch{Release: release}
	var p ReleaseAbout
	if json.Unmarshal(about, &p) == nil {
		sketch.Shape = p.Shape()
	} else if fit != nil {
		return nil, sqlerr.New(sqlerr.Corrupt, "what is stored about release %s cannot be read", name)
	}
	if fit != nil {
		return FittedCells{sketch, fit, p.Chooses}, nil
	}
	return sketch, nil
}

// Estimate is a private answer before it is written as a result.
type Estimate struct {
	Value     int64
	Error     post.Interval                                   // of the true count less Value, at the confidence asked for
	Verified  bool                                            // whether the error is known
	AsOf      time.Time                                       // when rows were read of periods that had not ended; zero if there are none
	At        func(confidence float64) (post.Interval, error) // the error at another confidence
	Simulated func(confidence float64) (post.Interval, bool)  // the error that simulations suggest; nil without

	Distribution func(Settings) *post.Distribution // of the column that was asked for; nil without
}

// Less returns the difference of two estimates. half is the confidence of each at one of both.
func (e Estimate) Less(f Estimate, half func(confidence float64) float64) Estimate {
	minus := func(a, b post.Interval) post.Interval {
		return post.Interval{Low: a.Low - b.High, High: a.High - b.Low}
	}
	return Estimate{Value: e.Value - f.Value, Error: minus(e.Error, f.Error), Verified: e.Verified && f.Verified,
		At: func(confidence float64) (post.Interval, error) {
			a, err := e.At(half(confidence))
			if err != nil {
				return a, err
			}
			b, err := f.At(half(confidence))
			return minus(a, b), err
		}}
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
