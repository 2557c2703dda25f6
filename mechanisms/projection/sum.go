package projection

import (
	"context"
	"math"

	"dpsql/query"
)

// Sum adds the answers of several releases, of rows that no other of them has, to one query on
// each. Their errors are independent. Where all are identity releases with one law of noise, the
// margin is the quantile of the sum of all coordinates. Else it is that of the normal law, with the
// correction for the fourth cumulant, if the sum is near it; and if not, the sum of the margins
// that hold together by the union bound. What margin adds for clips and crowded buckets is added
// up by the union bound, too. See Release.Answer for the rest.
func Sum(ctx context.Context, releases []*Release, queries []query.Query, confidence float64) (Answer, error) {
	var out Answer
	s := sum{together: 1 - (1-confidence)/float64(max(1, len(releases)))}
	for i, r := range releases {
		value, err := s.add(ctx, r, queries[i], confidence)
		if err != nil {
			return Answer{}, err
		}
		if (value > 0) == (out.Value > 0) && math.MaxInt64-abs(value) < abs(out.Value) {
			return Answer{}, tooLarge()
		}
		out.Value += value
	}
	out.Margin = s.margin(confidence) + s.extra
	return out, nil
}

func abs(v int64) int64 { return max(v, -v) }

// sum adds up the errors of answers.
type sum struct {
	together float64 // the confidence of each margin, so that all hold at once
	parts    []summed
	terms    uint64
	variance float64
	fourth   float64
	dense    bool    // some matrix is dense: its errors are taken to be normal
	extra    float64 // the additions of all margins
}

// summed is the coordinates of one answer's error.
type summed struct {
	r       *Release
	factors []factor
	dense   float64 // the variance of the error of a dense matrix
}

// add adds the answer of a release, and returns its value.
func (s *sum) add(ctx context.Context, r *Release, q query.Query, confidence float64) (int64, error) {
	m, err := r.accepts(q, confidence)
	if err != nil || m == 0 {
		return 0, err
	}
	if r.p.Transform == Dense {
		a, err := r.denseAnswer(ctx, q, m, confidence)
		deviation := (a.Margin - 0.5) / normalQuantile(confidence)
		s.parts = append(s.parts, summed{r: r, dense: deviation * deviation})
		s.variance, s.dense, s.extra = s.variance+deviation*deviation, true, s.extra+0.5
		return a.Value, err
	}
	e := r.begin(ctx, m, r.clipMargin(s.together))
	defer e.end()
	if err := e.all(q); err != nil {
		return 0, err
	}
	lift := int64(math.Round(e.lift))
	e.sum.plus(wide{lift >> 63, uint64(lift)})
	value, ok := e.sum.int64()
	if !ok {
		return 0, tooLarge()
	}
	factors, crowd := e.factors(m)
	s.extra += crowd + e.missed(s.together)
	for _, f := range factors {
		square := float64(f.value) * float64(f.value)
		s.terms += f.times
		s.variance += float64(f.times) * square * r.laws[f.law].variance
		s.fourth += float64(f.times) * square * square * r.laws[f.law].fourth
	}
	s.parts = append(s.parts, summed{r: r, factors: factors})
	return value, nil
}

// margin returns the quantile of the absolute value of the sum of all coordinates, without the
// additions.
func (s *sum) margin(confidence float64) float64 {
	switch {
	case len(s.parts) == 0:
		return 0
	case len(s.parts) == 1 && !s.dense:
		return s.parts[0].r.sumQuantile(s.parts[0].factors, confidence)
	case s.alike():
		var all tally
		for _, p := range s.parts {
			for _, f := range p.factors {
				all.add(f.value, f.times)
			}
		}
		var factors []factor
		for _, t := range all.merged() {
			factors = append(factors, factor{0, t.weight, t.times})
		}
		return s.parts[0].r.sumQuantile(factors, confidence)
	}
	n := nearNormal{math.Sqrt(s.variance), s.fourth / (s.variance * s.variance)}
	if (s.dense || s.terms > exactTerms) && s.variance >= 16 && math.Abs(n.kurtosis) <= almostNormal {
		return n.quantile(confidence)
	}
	w := 0.0
	for _, p := range s.parts {
		if p.dense > 0 {
			w += normalQuantile(s.together) * math.Sqrt(p.dense)
			continue
		}
		w += p.r.sumQuantile(p.factors, s.together)
	}
	return w
}

// alike reports whether all parts are identity releases with one law.
func (s *sum) alike() bool {
	first := s.parts[0].r.p
	for _, p := range s.parts {
		if p.r.p.Transform != Identity || p.r.p.Law.String() != first.Law.String() {
			return false
		}
	}
	return true
}
