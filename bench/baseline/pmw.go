package baseline

import (
	"math"
	"math/big"

	"dpsql/mechanisms/smw"
	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/query"
)

// PMWParams are the parameters of Figure 1 of Hardt and Rothblum, "A
// Multiplicative Weights Mechanism for Privacy-Preserving Data Analysis" (FOCS
// 2010), equation (3): fractions of the rows.
type PMWParams struct {
	Sigma     float64 // σ, the scale of Laplace noise: 10·ln(1/δ)·(ln|X|)^¼ / (√n·ε)
	Eta       float64 // η, the step: (ln|X|)^¼ / √n
	Threshold float64 // T: 4σ·(ln k + ln(1/β))
	Updates   float64 // the largest number of updates before failure: n·(ln|X|)^½
}

// PaperPMW returns the paper's parameters for n rows, k queries and a universe
// of the given size.
func PaperPMW(size uint64, n int64, k int, epsilon, delta, beta float64) PMWParams {
	l, rows := math.Log(float64(size)), float64(n)
	p := PMWParams{
		Sigma:   10 * math.Log(1/delta) * math.Pow(l, 0.25) / (math.Sqrt(rows) * epsilon),
		Eta:     math.Pow(l, 0.25) / math.Sqrt(rows),
		Updates: rows * math.Sqrt(l),
	}
	p.Threshold = 4 * p.Sigma * (math.Log(float64(k)) + math.Log(1/beta))
	return p
}

// PMW is private multiplicative weights over a whole universe. The paper's SMW is this
// mechanism made independent of |X|.
type PMW struct {
	x       distribution
	rows    int64
	Updates int // updates made so far
}

// NewPMW returns the mechanism before its first query, uniform.
func NewPMW(size uint64, rows int64) *PMW { return &PMW{x: newDistribution(size), rows: rows} }

// update is Figure 1's. Elements with r = 1 shrink by e^−η, where r is the query if the
// hypothesis answered too much, and its complement if too little.
func (m *PMW) update(q query.Query, eta float64, tooMuch bool) {
	factor := math.Exp(-eta)
	if !tooMuch { // the complement shrinks, which is the same as the support growing
		factor = math.Exp(eta)
	}
	m.x.reweigh(q, factor)
	m.Updates++
}

// Answer answers a query as Figure 1 does, given its true count. It returns the
// hypothesis's answer if the noisy difference is at most T. Otherwise it returns the
// noisy count, from which the hypothesis learns. It reports false once the updates
// exceed their bound, which is the paper's failure.
func (m *PMW) Answer(q query.Query, trueCount int64, p PMWParams, src *noise.Source) (answer float64, ok bool, err error) {
	if float64(m.Updates) > p.Updates {
		return 0, false, nil
	}
	law, err := law.NewLaplace(ceilRat(p.Sigma * float64(m.rows)))
	if err != nil {
		return 0, false, err
	}
	draw, err := noise.Draw(law, src)
	if err != nil {
		return 0, false, err
	}
	noisy := float64(trueCount + draw)
	hypothesis := m.x.value(q)
	difference := noisy/float64(m.rows) - hypothesis
	if math.Abs(difference) <= p.Threshold {
		return count(hypothesis, m.rows), true, nil
	}
	m.update(q, p.Eta, difference < 0)
	return noisy, true, nil
}

// ceilRat returns a rational of 20 binary places that is at least x.
func ceilRat(x float64) *big.Rat {
	const unit = 1 << 20
	r := new(big.Rat).SetFloat64(math.Ceil(x * unit))
	return r.Quo(r, big.NewRat(unit, 1))
}

// AnswerAll answers a list of queries with the private test, the noise, the threshold
// and the number of runs of dpsql's own SMW, and with Figure 1's step of η. The
// constants of Figure 1 promise nothing below millions of rows. This is the same
// algorithm with today's accounting, and the one to use when comparing the two
// hypotheses.
//
// unverified is the number of answers that were compared with nothing because the runs
// were spent.
func (m *PMW) AnswerAll(queries []query.Query, counts []int64, p smw.Params, src *noise.Source) (answers []float64, unverified int, err error) {
	answers = make([]float64, len(queries))
	var run smw.Run
	open := false
	for i, q := range queries {
		hypothesis := count(m.x.value(q), m.rows)
		answers[i] = hypothesis
		if !open && int64(m.Updates) == p.Updates {
			unverified++
			continue
		}
		if !open {
			if run, err = smw.StartRun(p, src); err != nil {
				return nil, 0, err
			}
			open = true
		}
		out, err := run.Test(counts[i], int64(hypothesis), src)
		if err != nil {
			return nil, 0, err
		}
		if out.Fired {
			answers[i] = float64(out.Noisy)
			m.update(q, p.Eta, answers[i] < hypothesis)
			open = false
		}
	}
	return answers, unverified, nil
}
