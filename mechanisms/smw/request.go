package smw

import (
	"math"
	"math/big"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Request is what the curator asked for, and what is publicly known of the
// table. At most one of MaxUpdates and Alpha is above 0.
type Request struct {
	MaxUpdates int64   // B, the number of runs; 0: chosen, where Alpha is 0
	Alpha      float64 // the accuracy to guarantee, as a fraction of the rows

	MaxSupport uint64  // m, the largest support of a query
	Queries    int64   // k, the number of comparisons the bounds speak of
	Class      int64   // or, above 0: the queries of a class that Passes goes over, which makes k = (B+1)·Class
	Beta       float64 // β, the probability with which the bounds may fail

	NHat      int64 // N̂, the noisy number of rows, at least 1
	NHatBound int64 // e, with |N̂ − n| ≤ e except with probability β/2; in rows

	Update       Update   // "" stands for Projection
	UniverseSize *big.Int // |X|, nil when infinite
	Prior        bool     // the hypothesis starts from Classes
	Remeasure    bool     // a query that fires is counted anew, with a third of a run's ε

	Sensitivity int64 // L, the rows one unit can change
	MaxWeight   int64 // W, the largest weight of a query

	// RunEpsilon returns the ε of one run, in nats, when the mechanism's
	// reserve is divided into so many equal runs.
	RunEpsilon func(runs int64) *big.Rat
}

// mostQueries is the largest k.
const mostQueries = 1e15

// normal returns the request with its defaults filled in, or says what of it
// cannot be accepted.
func (r Request) normal() (Request, error) {
	if r.Update == "" {
		r.Update = Projection
	}
	if err := r.checkOptions(); err != nil {
		return r, err
	}
	if r.NHat < 1 || r.NHatBound < 0 || r.Sensitivity < 1 || r.MaxWeight < 1 || r.RunEpsilon == nil {
		return r, sqlerr.New(sqlerr.Internal, "smw: the table's parameters are incomplete")
	}
	if r.NHat > limit/r.MaxWeight || r.NHatBound >= limit/r.MaxWeight || r.Sensitivity > limit/r.MaxWeight {
		return r, sqlerr.New(sqlerr.Unsupported, "the weights are too large for this number of rows")
	}
	if r.Prior && r.UniverseSize == nil {
		return r, sqlerr.New(sqlerr.Invalid, "a prior needs a domain for every column")
	}
	if u := r.universe(); u < r.MaxSupport {
		r.MaxSupport = u
	}
	return r, nil
}

func (r Request) checkOptions() error {
	switch {
	case r.MaxUpdates > 0 && r.Alpha > 0 || r.MaxUpdates < 0 || r.Alpha < 0 || math.IsNaN(r.Alpha):
		return sqlerr.New(sqlerr.Invalid, "max_updates and alpha exclude each other, and are above 0")
	case r.MaxUpdates > 1e9:
		return sqlerr.New(sqlerr.Invalid, "max_updates must be at most 1e9")
	case r.Alpha > 1:
		return sqlerr.New(sqlerr.Invalid, "alpha is a fraction of the rows: it must be at most 1")
	case r.MaxSupport < 1 || r.MaxSupport > maxSize:
		return sqlerr.New(sqlerr.Invalid, "max_support must be at least 1 and at most 2^62")
	case r.Class < 0 || r.Class > 0 && r.Queries > 0:
		return sqlerr.New(sqlerr.Internal, "smw: the number of queries is given twice")
	case r.Class == 0 && r.Queries < 1 || r.Queries > mostQueries || r.Class > mostQueries:
		return sqlerr.New(sqlerr.Invalid, "queries must be at least 1 and at most 1e15")
	case !(r.Beta >= 1e-30 && r.Beta < 1):
		return sqlerr.New(sqlerr.Invalid, "beta must be at least 1e-30 and below 1")
	case r.Update != Projection && r.Update != Paper:
		return sqlerr.New(sqlerr.Invalid, "update must be projection or paper")
	case r.UniverseSize != nil && r.UniverseSize.Sign() <= 0:
		return sqlerr.New(sqlerr.Invalid, "the universe is empty")
	}
	return nil
}

// universe returns |X|, or the largest size a hypothesis can have when that is
// smaller.
func (r Request) universe() uint64 {
	if r.UniverseSize == nil || !r.UniverseSize.IsUint64() {
		return maxSize
	}
	return min(r.UniverseSize.Uint64(), maxSize)
}

// logUniverse returns ln |X| of a finite universe.
func (r Request) logUniverse() float64 {
	mantissa := new(big.Float)
	exponent := new(big.Float).SetInt(r.UniverseSize).MantExp(mantissa)
	m, _ := mantissa.Float64()
	return math.Log(m) + float64(exponent)*math.Ln2
}

// Admits says whether the mechanism can take the query: m and W within what
// its parameters were computed for. Every other function that takes a query
// relies on it.
func (p Params) Admits(q query.Query) error {
	if _, ok := q.SizeWithin(p.MaxSupport); !ok {
		return sqlerr.New(sqlerr.Uncovered, "the support of the query is larger than max_support = %d", p.MaxSupport)
	}
	if q.MaxWeight() > p.MaxWeight {
		return sqlerr.New(sqlerr.Uncovered, "the weights of the query are larger than the mechanism's largest, %d", p.MaxWeight)
	}
	return nil
}
