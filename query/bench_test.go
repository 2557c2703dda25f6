package query

import "testing"

// BenchmarkRuns enumerates 2^20 elements in runs of 1, 10 and 1,000 codes.
func BenchmarkRuns(b *testing.B) {
	for _, last := range []int64{1, 10, 1000} {
		u := must(NewUniverse([]Column{
			{"a", must(NewRange(0, 1<<20/last-1, false))}, {"b", must(NewRange(0, 2*last, false))}}))
		q := Where(u, 1, must(u.Columns()[1].Domain.Less(Int(last), false)))
		m := q.Size().Int64()
		b.Run(Int(last).String(), func(b *testing.B) {
			b.ReportAllocs()
			var sum uint64
			for b.Loop() {
				for r := range q.Runs() {
					sum += r.Len
				}
			}
			b.ReportMetric(float64(m)*float64(b.N)/b.Elapsed().Seconds(), "elements/s")
		})
	}
}

// BenchmarkConjunction builds a four-column conjunction and its canonical text.
func BenchmarkConjunction(b *testing.B) {
	d := must(NewRange(0, 99, false))
	u := must(NewUniverse([]Column{{"a", d}, {"b", d}, {"c", d}, {"d", d}}))
	b.ReportAllocs()
	for b.Loop() {
		q := All(u)
		for i := range 4 {
			q = must(q.And(Where(u, i, d.Of(Int(3), Int(4), Int(50)))))
		}
		_ = q.String()
	}
}
