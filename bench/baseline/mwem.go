package baseline

import (
	"math"
	"math/big"

	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/query"
)

// MWEM is Figure 1 of Hardt, Ligett and McSherry, "A Simple and Practical Algorithm for
// Differentially Private Data Release" (NIPS 2012). In each of T rounds the exponential
// mechanism picks a query that the synthetic distribution answers badly, its count is
// measured with Laplace noise, and a multiplicative weights step learns it. It is
// ε-differentially private: ε/2T for a choice, ε/2T for a measurement.
type MWEM struct {
	Rounds  int     // T
	Epsilon float64 // ε
	Rows    int64   // n, public
	// Replays is how often a round learns all measurements so far again, as the
	// experiments of the paper's section 4 do. With replays the result is the last
	// distribution; without, the average of the rounds', as in Figure 1.
	Replays int
}

// Answer learns from the queries, given their true counts, and answers them.
func (m MWEM) Answer(size uint64, queries []query.Query, counts []int64, src *noise.Source) ([]float64, error) {
	a := newDistribution(size)
	average := make([]float64, len(queries))
	law, err := law.NewLaplace(new(big.Rat).SetFloat64(2 * float64(m.Rounds) / m.Epsilon))
	if err != nil {
		return nil, err
	}
	var chosen []int
	var measured []float64
	answers := evaluate(a, queries, m.Rows)
	for range m.Rounds {
		for i, v := range answers {
			average[i] += v / float64(m.Rounds) // of A_0 … A_T−1
		}
		i, err := m.choose(answers, counts, src)
		if err != nil {
			return nil, err
		}
		draw, err := noise.Draw(law, src)
		if err != nil {
			return nil, err
		}
		chosen, measured = append(chosen, i), append(measured, float64(counts[i]+draw))
		m.learn(a, queries[i], measured[len(measured)-1])
		for range m.Replays {
			for j, c := range chosen {
				m.learn(a, queries[c], measured[j])
			}
		}
		answers = evaluate(a, queries, m.Rows)
	}
	if m.Replays > 0 {
		return answers, nil
	}
	return average, nil
}

func evaluate(a distribution, queries []query.Query, rows int64) []float64 {
	answers := make([]float64, len(queries))
	for i, q := range queries {
		answers[i] = a.value(q) * float64(rows)
	}
	return answers
}

// choose draws i with probability proportional to exp(ε/2T · |error_i| / 2).
func (m MWEM) choose(answers []float64, counts []int64, src *noise.Source) (int, error) {
	rate := m.Epsilon / (4 * float64(m.Rounds))
	worst := 0.0
	for i, v := range answers {
		worst = max(worst, math.Abs(v-float64(counts[i])))
	}
	upTo := make([]float64, len(answers))
	total := 0.0
	for i, v := range answers {
		total += math.Exp(rate * (math.Abs(v-float64(counts[i])) - worst))
		upTo[i] = total
	}
	word, err := src.Below(1 << 53)
	if err != nil {
		return 0, err
	}
	u := float64(word) / (1 << 53) * total
	for i, t := range upTo {
		if u < t {
			return i, nil
		}
	}
	return len(upTo) - 1, nil
}

// learn is the step A(x) ∝ A(x)·exp(q(x)·(measured − q(A))/2n).
func (m MWEM) learn(a distribution, q query.Query, measured float64) {
	n := float64(m.Rows)
	a.reweigh(q, math.Exp((measured-a.value(q)*n)/(2*n)))
}
