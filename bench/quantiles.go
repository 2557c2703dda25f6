package main

import (
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"dpsql/bench/report"
	"dpsql/noise"
	"dpsql/post"
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

// medianWay is a way to estimate one. It draws once.
type medianWay struct {
	name, setting string
	draw          func() (float64, error)
}

// quantiles compares the error of a median with those of published ways.
func (b *bench) quantiles(s *report.Section) error {
	const epsilon = 0.1
	draws := size(b, 2000, 50)
	s.Say(`MEDIAN of Adult's age at ε = 0.1, if rows are added or removed, over the 85 declared ages; of all rows, and of every 20th and 200th. An identity
release of the column answers every quantile and count; the others spend ε on this one median. *Exponential mechanism* is OpenDP's way: a candidate c has the score
−|rows below c − rows above c|/2, which one row changes by ½. *Binary search* halves the range by noisy differences of the rows on both sides, ε shared evenly by
the steps. Both are written anew here from descriptions; neither OpenDP nor Tumult ran, and Tumult's quantile was not compared. Means over %d draws. An
error in rows is how far the answer is from the nearest value of middle rank. The best setting of each is to be picked from the table.`, draws)
	table := &report.Table{Head: []string{"rows", "way", "setting", "RMS error in years", "mean error in rows"}}
	for _, every := range []int{1, 20, 200} {
		counts, err := b.ages(every)
		if err != nil {
			return err
		}
		n := int64(0)
		for _, c := range counts {
			n += c
		}
		ways := append([]medianWay{releaseOfAges(counts, epsilon)}, exponential(counts, epsilon)...)
		ways = append(ways, bisections(counts, epsilon)...)
		for _, w := range ways {
			square, rank := 0.0, 0.0
			for range draws {
				v, err := w.draw()
				if err != nil {
					return err
				}
				years, rows := missedMedian(counts, v)
				square, rank = square+years*years, rank+rows
			}
			table.Add(report.Number(float64(n)), w.name, w.setting, math.Sqrt(square/float64(draws)), rank/float64(draws))
		}
	}
	s.Show(table)
	return nil
}

// missedMedian returns the error of a median in its own unit and in ranks.
func missedMedian(counts []int64, v float64) (years, rows float64) {
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
	for age, c := range counts {
		if sum += c; truth < 0 && 2*sum >= n {
			truth = age
		}
	}
	half := float64(n) / 2
	return v - float64(truth), max(0, float64(below)-half, half-float64(upTo))
}

// releaseOfAges draws an identity release, and its median by the product's own estimator.
func releaseOfAges(counts []int64, epsilon float64) medianWay {
	return medianWay{"dpsql, identity release", "all quantiles", func() (float64, error) {
		law, err := noise.ParseLaw(fmt.Sprintf("dlap(%d)", int64(math.Round(1/epsilon))))
		if err != nil {
			return 0, err
		}
		source := noise.NewSource()
		sums := make([]int64, len(counts)+1)
		for i, c := range counts {
			draw, err := law.Draw(source)
			if err != nil {
				return 0, err
			}
			sums[i+1] = sums[i] + c + draw
		}
		answer := func(value, cells int64) post.Answer {
			return post.Answer{Value: value, Error: func(confidence float64) (post.Interval, bool) {
				return post.Within(math.Sqrt(law.Variance() * float64(cells) / (1 - confidence))), true // Chebyshev
			}}
		}
		last := int64(len(counts))
		all := answer(sums[last], last)
		all.Distribution = &post.Distribution{Places: last, Values: func(p int64) (float64, float64) { return float64(p), float64(p) },
			Split: func(p int64) (below, above post.Answer, ok bool) {
				return answer(sums[p+1], p+1), answer(sums[last]-sums[p+1], last-p-1), true
			}}
		p := post.Program{Columns: []post.Column{{Name: "median", Value: post.Quantile{Q: 0.5, Method: post.Continuous}}}, Limit: -1}
		v, _ := p.Run([]post.Group{{Answers: []post.Answer{all}}}, 0.95).Rows[0][0].(float64)
		return v, nil
	}}
}

// exponentially draws from the exponential distribution of mean 1.
func exponentially() float64 {
	var bits [8]byte
	if err := noise.NewSource().Bytes(bits[:]); err != nil {
		panic(err)
	}
	return -math.Log((float64(binary.LittleEndian.Uint64(bits[:])>>11) + 0.5) / (1 << 53))
}

// exponential returns exponential mechanisms over candidates of several spacings.
func exponential(counts []int64, epsilon float64) (ways []medianWay) {
	for _, step := range []int{1, 2, 5} {
		ways = append(ways, medianWay{"exponential mechanism (OpenDP)", fmt.Sprintf("candidates every %d years", step), func() (float64, error) {
			best, most := 0, math.Inf(-1)
			for c := 0; c < len(counts); c += step {
				difference := int64(0)
				for age, n := range counts {
					if age < c {
						difference += n
					} else if age > c {
						difference -= n
					}
				}
				score := -math.Abs(float64(difference)) / 2
				gumbel := -math.Log(exponentially())
				if v := epsilon*score + gumbel; v > most { // ε·score/(2Δ) with Δ = ½
					best, most = c, v
				}
			}
			return float64(best), nil
		}})
	}
	return ways
}

// bisections returns noisy binary searches of several depths.
func bisections(counts []int64, epsilon float64) (ways []medianWay) {
	for _, steps := range []int{4, 5, 6, 7} {
		ways = append(ways, medianWay{"binary search by noisy counts", fmt.Sprintf("%d steps", steps), func() (float64, error) {
			lo, hi := 0, len(counts)-1
			for range steps {
				if lo == hi {
					break
				}
				mid, difference := (lo+hi)/2, 0.0
				for age, n := range counts {
					if age <= mid {
						difference += float64(n)
					} else {
						difference -= float64(n)
					}
				}
				laplace := float64(steps) / epsilon * (exponentially() - exponentially())
				if difference+laplace >= 0 {
					hi = mid
				} else {
					lo = mid + 1
				}
			}
			return math.Floor(float64(lo+hi) / 2), nil
		}})
	}
	return ways
}
