package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"dpsql/bench/report"
	"dpsql/mechanisms/direct"
	"dpsql/noise"
	"dpsql/noise/law"
	"dpsql/sqlfront/post"
)

// ages has how many of every so many rows of Adult have each age, less 16, of 85.
func (b *bench) ages(every int) ([]int64, error) {
	f, err := os.Open(b.testdata + "/adult/adult.csv")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	column := slices.Index(rows[0], "age")
	if column < 0 {
		return nil, fmt.Errorf("adult.csv has no age")
	}
	counts := make([]int64, 85)
	for i, row := range rows[1:] {
		if i%every != 0 {
			continue
		}
		if age, err := strconv.Atoi(strings.TrimSpace(row[column])); err == nil && age >= 0 && age < len(counts) {
			counts[age]++
		}
	}
	return counts, nil
}

// quantileWay is a way to estimate quantiles of the counts of ages.
type quantileWay struct {
	name, setting, charge string
	// prepare returns a function that draws estimates of the quantiles at the fractions, and
	// their intervals at 95 %, or nil for a way that has none.
	prepare func(counts []int64, fractions []float64) (func() ([]float64, []post.Interval, error), error)
}

const quantileEpsilon = 0.1

// quantiles compares the errors of quantiles with those of published ways.
func (b *bench) quantiles(s *report.Section) error {
	draws := size(b, 2000, 50)
	const rho = quantileEpsilon * quantileEpsilon / 2
	s.Say(`MEDIAN of Adult's age at ε = 0.1, if rows are added or removed, over the 85 declared ages; of all rows, and of every 20th and 200th. What is
bought is by ρ-zCDP, at ρ = ε²/2 = 0.005, which ε-DP implies, and at ρ = ε²/8 = 0.00125, which an exponential mechanism of ε implies. An identity release
of the column answers every quantile and count, what is bought every quantile; the others spend their budget on this one. A candidate of *OpenDP* has the
score −|rows below − rows above|/2: permute and flip under ε, Gumbel noise under ρ. *Tumult* chooses an interval between values of the data and
bounds that are given, by length and rank, and any value of it. *Binary search* halves the range by noisy differences, ε shared evenly by the
steps. All are written anew here from the published code and descriptions; neither OpenDP nor Tumult ran. Means over %d draws. An error in rows is how
far the answer is from the nearest value of that rank. An interval of 95 %% may miss in 5 %%. The best setting of each is to be picked from the table;
bounds narrower than the declared ages need knowledge that an analyst may not have.`, draws)
	ways := []quantileWay{releaseOfAges(), boughtAges(rho), boughtAges(rho / 4)}
	for _, step := range []int{1, 2, 5} {
		ways = append(ways, candidates(false, step, quantileEpsilon, "ε = 0.1"), candidates(true, step, quantileEpsilon, "ρ = 0.00125"))
	}
	ways = append(ways, tumults(quantileEpsilon, "ε = 0.1, ρ = 0.00125")...)
	ways = append(ways, bisections(quantileEpsilon)...)
	if err := b.errors(s, "", ways, draws, []float64{0.5}); err != nil {
		return err
	}
	s.Say(`All nine deciles at ρ = 0.005 together, which the others share evenly: RMS and mean over the deciles, and the part of the intervals that miss.`)
	each := math.Sqrt(8 * rho / 9)
	ways = []quantileWay{boughtAges(rho)}
	for _, step := range []int{1, 2, 5} {
		ways = append(ways, candidates(true, step, each, "ρ = 0.005"))
	}
	ways = append(ways, tumults(each, "ρ = 0.005")...)
	return b.errors(s, "deciles", ways, draws, []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9})
}

// errors shows the errors of ways in a table of that name.
func (b *bench) errors(s *report.Section, name string, ways []quantileWay, draws int, fractions []float64) error {
	table := &report.Table{Head: []string{"rows", "way", "setting", "charge", "RMS error in years", "mean error in rows", "intervals that miss", "mean width in years"}}
	for _, every := range []int{1, 20, 200} {
		counts, err := b.ages(every)
		if err != nil {
			return err
		}
		n := int64(0)
		for _, c := range counts {
			n += c
		}
		for _, w := range ways {
			draw, err := w.prepare(counts, fractions)
			if err != nil {
				return err
			}
			square, rank, width, missed, intervals := 0.0, 0.0, 0.0, 0, 0
			for range draws {
				values, ends, err := draw()
				if err != nil {
					return err
				}
				for i, q := range fractions {
					years, rows := missedQuantile(counts, q, values[i])
					square, rank = square+years*years, rank+rows
					if ends == nil {
						continue
					}
					intervals++
					width += ends[i].High - ends[i].Low
					if truth := values[i] - years; truth < ends[i].Low || truth > ends[i].High {
						missed++
					}
				}
			}
			misses, mean := "", ""
			if intervals > 0 {
				misses = fmt.Sprintf("%.2f %%", 100*float64(missed)/float64(intervals))
				mean = report.Number(width / float64(intervals))
			}
			all := float64(draws * len(fractions))
			table.Add(report.Number(float64(n)), w.name, w.setting, w.charge, math.Sqrt(square/all), rank/all, misses, mean)
		}
	}
	s.Show(name, table)
	return nil
}

// missedQuantile returns the error of a quantile in its own unit and in ranks.
func missedQuantile(counts []int64, q, v float64) (years, rows float64) {
	n, below, upTo, truth, sum := int64(0), int64(0), int64(0), -1, int64(0)
	for age, c := range counts {
		n += c
		if float64(age) < v {
			below += c
		}
		if float64(age) <= v {
			upTo += c
		}
	}
	rank := q * float64(n)
	for age, c := range counts {
		if sum += c; truth < 0 && float64(sum) >= rank {
			truth = age
		}
	}
	return v - float64(truth), max(0, float64(below)-rank, rank-float64(upTo))
}

// estimated returns quantiles of a distribution by the product's own estimator.
func estimated(all post.Answer, fractions []float64) ([]float64, []post.Interval) {
	p := post.Program{Limit: -1}
	for range fractions {
		p.Columns = append(p.Columns, post.Column{})
	}
	for i, q := range fractions {
		p.Columns[i].Value = post.Quantile{Q: q, Method: post.Discrete}
	}
	table := p.Run([]post.Group{{Answers: []post.Answer{all}}}, 0.95)
	values, ends := make([]float64, len(fractions)), make([]post.Interval, len(fractions))
	for i := range fractions {
		if v, ok := table.Rows[0][i].(int64); ok {
			values[i] = float64(v)
		}
		e, ok := table.Intervals[0][i].(post.Interval)
		if !ok {
			e = post.Interval{Low: 0, High: 84} // nothing is promised
		}
		ends[i] = e
	}
	return values, ends
}

func ageOf(p int64) (float64, float64) { return float64(p), float64(p) }

// releaseOfAges draws identity releases.
func releaseOfAges() quantileWay {
	prepare := func(counts []int64, fractions []float64) (func() ([]float64, []post.Interval, error), error) {
		law, err := law.Parse(fmt.Sprintf("dlap(%d)", int64(math.Round(1/quantileEpsilon))))
		if err != nil {
			return nil, err
		}
		source := noise.NewSource()
		return func() ([]float64, []post.Interval, error) {
			sums := make([]int64, len(counts)+1)
			for i, c := range counts {
				draw, err := noise.Draw(law, source)
				if err != nil {
					return nil, nil, err
				}
				sums[i+1] = sums[i] + c + draw
			}
			// Bernstein's bound for sums of Laplace draws: their moment generating function is at most
			// that of a sub-gamma variable.
			scale := 1 / quantileEpsilon
			answer := func(value, cells int64) post.Answer {
				return post.Answer{Value: value, Error: func(confidence float64) (post.Interval, bool) {
					t := math.Log(2 / (1 - confidence))
					return post.Within(math.Floor(math.Sqrt(2*law.Variance()*float64(cells)*t) + scale*t)), true
				}}
			}
			last := int64(len(counts))
			all := answer(sums[last], last)
			all.Distribution = &post.Distribution{Places: last, Values: ageOf,
				Split: func(p int64) (below, above post.Answer, ok bool) {
					return answer(sums[p+1], p+1), answer(sums[last]-sums[p+1], last-p-1), true
				}}
			values, _ := estimated(all, fractions)
			return values, nil, nil // the product's interval has the exact law of such a sum
		}, nil
	}
	return quantileWay{"dpsql, identity release", "all quantiles", "ε = 0.1", prepare}
}

// boughtAges draws distributions that are bought at a charge.
func boughtAges(rho float64) quantileWay {
	prepare := func(counts []int64, fractions []float64) (func() ([]float64, []post.Interval, error), error) {
		c := direct.Cumulative{Places: int64(len(counts))}
		miss := 1 - post.GapConfidence(c.Places, 0.95)
		// The accuracy whose price is ρ: the price falls with the square of the accuracy, nearly.
		accuracy, plan := 100.0, direct.Plan{}
		for range 20 {
			var ok bool
			if plan, ok = direct.PlanForCumulative([]direct.Cumulative{c}, []float64{miss}, accuracy, 1); !ok {
				return nil, fmt.Errorf("no distribution is within ±%g", accuracy)
			}
			accuracy *= math.Sqrt(float64(plan.Rho) / direct.Unit / rho)
		}
		measured, source := c.Measured(counts), noise.NewSource()
		noisy := make([]int64, len(measured))
		return func() ([]float64, []post.Interval, error) {
			for i, n := range measured {
				var err error
				if noisy[i], err = plan.Answer(n, source); err != nil {
					return nil, nil, err
				}
			}
			answer := func(value float64, p int64, q float64) post.Answer {
				return post.Answer{Value: int64(math.Round(value)), Error: func(confidence float64) (post.Interval, bool) {
					width, ok := c.Bound(plan.Law, p, q, (1-confidence)/2)
					return post.Within(math.Floor(width + 0.5)), ok
				}}
			}
			n, _ := c.Split(noisy, c.Places-1)
			all := answer(n, c.Places-1, 0)
			all.Distribution = &post.Distribution{Places: c.Places, Values: ageOf,
				Split: func(p int64) (below, above post.Answer, ok bool) {
					b, a := c.Split(noisy, p)
					return answer(b, p, 0), answer(a, p, 1), true
				},
				Gap: func(p int64, q, confidence float64) (post.Interval, bool) {
					b, a := c.Split(noisy, p)
					width, ok := c.Bound(plan.Law, p, q, 1-confidence)
					return post.Within(width).Plus((1-q)*b - q*a), ok
				}}
			values, ends := estimated(all, fractions)
			return values, ends, nil
		}, nil
	}
	return quantileWay{"dpsql, bought", "all quantiles", fmt.Sprintf("ρ = %g", rho), prepare}
}

// byItself is a way that estimates each quantile by itself, without an interval.
func byItself(name, setting, charge string, draw func(source *noise.Source, counts []int64, q float64) func() float64) quantileWay {
	return quantileWay{name, setting, charge, func(counts []int64, fractions []float64) (func() ([]float64, []post.Interval, error), error) {
		draws, source := make([]func() float64, len(fractions)), noise.NewSource()
		for i, q := range fractions {
			draws[i] = draw(source, counts, q)
		}
		return func() ([]float64, []post.Interval, error) {
			values := make([]float64, len(draws))
			for i, draw := range draws {
				values[i] = draw()
			}
			return values, nil, nil
		}, nil
	}}
}

// exponentially draws from the exponential distribution of mean 1.
func exponentially(source *noise.Source) float64 {
	bits, err := source.Uint64()
	if err != nil {
		panic(err)
	}
	return -math.Log((float64(bits>>11) + 0.5) / (1 << 53))
}

// candidates is OpenDP's make_private_quantile (0.15; rust/src/measurements/private_quantile,
// rust/src/transformations/quantile_score_candidates and rust/src/measurements/noisy_max):
// a candidate scores −|(1−q)·below − q·above|, of sensitivity max(q, 1−q). With Gumbel noise
// the maximum is ε²/8-zCDP (Cesar and Rogers 2021). With exponential noise it is permute and flip
// (McKenna and Sheldon 2020; Ding et al. 2021), which is ε-DP.
func candidates(gumbel bool, step int, epsilon float64, charge string) quantileWay {
	name := "OpenDP, permute and flip"
	if gumbel {
		name = "OpenDP, Gumbel"
	}
	return byItself(name, fmt.Sprintf("candidates every %d years", step), charge, func(source *noise.Source, counts []int64, q float64) func() float64 {
		var values, scores []float64
		for c := 0; c < len(counts); c += step {
			difference := 0.0
			for age, n := range counts {
				if age < c {
					difference += (1 - q) * float64(n)
				} else if age > c {
					difference -= q * float64(n)
				}
			}
			values, scores = append(values, float64(c)), append(scores, -epsilon*math.Abs(difference)/(2*max(q, 1-q)))
		}
		return func() float64 {
			return values[noisyMax(scores, func() float64 {
				if gumbel {
					return -math.Log(exponentially(source))
				}
				return exponentially(source)
			})]
		}
	})
}

// noisyMax returns the index of the largest score with noise.
func noisyMax(scores []float64, noise func() float64) (best int) {
	most := math.Inf(-1)
	for i, s := range scores {
		if v := s + noise(); v > most {
			best, most = i, v
		}
	}
	return best
}

// tumults is Tumult Core's NoisyQuantile (commit 01da7ba7; src/tmlt/core/measurements/pandas_measurements/series.py):
// the exponential mechanism over the intervals between consecutive values of the data within
// bounds, by length and by −|rank − qn| of sensitivity max(q, 1−q), and a uniform value of the
// chosen one. It is ε-DP and ε²/8-zCDP. Its value has a fraction, and is rounded to an age.
func tumults(epsilon float64, charge string) (ways []quantileWay) {
	for _, bounds := range [][2]int{{0, 85}, {0, 75}, {5, 60}} {
		ways = append(ways, tumult(bounds[0], bounds[1], "rounded down", math.Floor, epsilon, charge), tumult(bounds[0], bounds[1], "rounded", math.Round, epsilon, charge))
	}
	return ways
}

func tumult(lower, upper int, rounded string, round func(float64) float64, epsilon float64, charge string) quantileWay {
	return byItself("Tumult", fmt.Sprintf("from %d to %d, %s", lower+16, upper+16, rounded), charge, func(source *noise.Source, counts []int64, q float64) func() float64 {
		n := int64(0)
		for _, c := range counts {
			n += c
		}
		var from, to, scores []float64
		add := func(l, u int, rank int64) {
			from, to = append(from, float64(l)), append(to, float64(u))
			scores = append(scores, math.Log(float64(u-l))-epsilon*math.Abs(float64(rank)-q*float64(n))/(2*max(q, 1-q)))
		}
		left, rank := lower, int64(0)
		for age, c := range counts {
			if c > 0 && age > left && age < upper {
				add(left, age, rank)
				left = age
			}
			if age < upper {
				rank += c
			}
		}
		add(left, upper, rank)
		return func() float64 {
			i := noisyMax(scores, func() float64 { return -math.Log(exponentially(source)) })
			uniform := math.Exp(-exponentially(source))
			return round(from[i] + uniform*(to[i]-from[i]))
		}
	})
}

// bisections returns noisy binary searches of several depths.
func bisections(epsilon float64) (ways []quantileWay) {
	for _, steps := range []int{4, 5, 6, 7} {
		ways = append(ways, byItself("binary search by noisy counts", fmt.Sprintf("%d steps", steps), "ε = 0.1", func(source *noise.Source, counts []int64, q float64) func() float64 {
			return func() float64 {
				lo, hi := 0, len(counts)-1
				for range steps {
					if lo == hi {
						break
					}
					mid, difference := (lo+hi)/2, 0.0
					for age, n := range counts {
						if age <= mid {
							difference += (1 - q) * float64(n)
						} else {
							difference -= q * float64(n)
						}
					}
					laplace := max(q, 1-q) * float64(steps) / epsilon * (exponentially(source) - exponentially(source))
					if difference+laplace >= 0 {
						hi = mid
					} else {
						lo = mid + 1
					}
				}
				return math.Floor(float64(lo+hi) / 2)
			}
		}))
	}
	return ways
}
