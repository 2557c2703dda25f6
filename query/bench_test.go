package query_test

import (
	"testing"

	"dpsql/query"
)

// scattered calls f with queries of about 2^20 codes, in runs of 1, 10 and 1,000.
func scattered(b *testing.B, f func(b *testing.B, q query.Query)) {
	for _, last := range []int64{1, 10, 1000} {
		u := must(query.NewUniverse([]query.Column{
			{Name: "a", Domain: must(query.NewRange(0, 1<<20/last-1, false))}, {Name: "b", Domain: must(query.NewRange(0, 2*last, false))}}))
		q := query.Where(u, 1, must(u.Columns()[1].Domain.Less(query.Int(last), false)))
		b.Run(query.Int(last).String(), func(b *testing.B) {
			b.ReportAllocs()
			f(b, q)
			b.ReportMetric(float64(q.Size().Int64())*float64(b.N)/b.Elapsed().Seconds(), "elements/s")
		})
	}
}

// BenchmarkRuns enumerates runs.
func BenchmarkRuns(b *testing.B) {
	scattered(b, func(b *testing.B, q query.Query) {
		var sum uint64
		for b.Loop() {
			for r := range q.Runs() {
				sum += r.Len
			}
		}
	})
}

// BenchmarkBoxes enumerates the same elements by boxes, code by code.
func BenchmarkBoxes(b *testing.B) {
	scattered(b, func(b *testing.B, q query.Query) {
		coder := query.NewCoder(q.Universe(), [16]byte{})
		var sum uint64
		for b.Loop() {
			for box := range coder.Boxes(q) {
				box.Each(box.Start, func(x query.Element) bool { sum += x.Lo; return true })
			}
		}
	})
}

// BenchmarkConjunction builds a four-column conjunction and its canonical text.
func BenchmarkConjunction(b *testing.B) {
	d := must(query.NewRange(0, 99, false))
	u := must(query.NewUniverse([]query.Column{{Name: "a", Domain: d}, {Name: "b", Domain: d}, {Name: "c", Domain: d}, {Name: "d", Domain: d}}))
	b.ReportAllocs()
	for b.Loop() {
		q := query.All(u)
		for i := range 4 {
			q = must(q.And(query.Where(u, i, d.SetOf(query.Int(3), query.Int(4), query.Int(50)))))
		}
		_ = q.String()
	}
}
