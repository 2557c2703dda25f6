package projection

import (
	"context"
	"math/rand/v2"
	"testing"

	"dpsql/query"
)

// million is a sparse release of 2^20 buckets over a universe of 2^40, with a
// million rows.
func million(b *testing.B) *Release {
	src, random := seeded(b)
	u := line(b, 1<<40)
	d := counts{}
	for range 1_000_000 {
		d[random.Uint64N(1<<40)]++
	}
	return build(b, u, Params{Transform: Sparse, Rows: 1 << 20, Law: laplace(b, 1, 1), Bulk: true}, src, d.cells())
}

func BenchmarkEstimateSparse1000(b *testing.B) {
	r := million(b)
	q := between(b, r.Universe(), 5000, 5999)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Answer(context.Background(), q, 0.95); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarginSparse1000(b *testing.B) { benchmarkMargin(b, 1000) }

// The quantile of a sum of 64 is found once and then remembered.
func BenchmarkMarginSparse64(b *testing.B) { benchmarkMargin(b, 64) }

func benchmarkMargin(b *testing.B, m int64) {
	r := million(b)
	q := between(b, r.Universe(), 5000, 5000+m-1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Answer(context.Background(), q, 0.95); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarginSparse64First(b *testing.B) {
	r := million(b)
	q := between(b, r.Universe(), 5000, 5063)
	b.ReportAllocs()
	for b.Loop() {
		r.widths = newWidths()
		if _, err := r.Answer(context.Background(), q, 0.95); err != nil {
			b.Fatal(err)
		}
	}
}

// Heavy cells that were not split off: the law of the sum needs its largest grid.
func BenchmarkMarginSkewedFirst(b *testing.B) {
	src, _ := seeded(b)
	u := line(b, 1<<40)
	r := build(b, u, Params{Transform: Sparse, Rows: 1 << 20, Law: laplace(b, 1, 1), Bulk: true}, src,
		zipf(1<<40, 100_000, 100_000).cells())
	q := between(b, u, 5000, 5999)
	b.ReportAllocs()
	for b.Loop() {
		r.widths = newWidths()
		if _, err := r.Answer(context.Background(), q, 0.95); err != nil {
			b.Fatal(err)
		}
	}
}

// 94 blocks of rows, 64 elements, polynomials of degree 59.
func BenchmarkEstimateDense64(b *testing.B) {
	src, _ := seeded(b)
	u := line(b, 1<<40)
	p := Params{Transform: Dense, Rows: 6000, Law: laplace(b, 1000, 1), Independence: 60, Bulk: true}
	r := build(b, u, p, src, zipf(1<<40, 100, 100).cells())
	q := between(b, u, 5000, 5063)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Answer(context.Background(), q, 0.95); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEstimateUncoded1000(b *testing.B) {
	src, _ := seeded(b)
	u := infinite(b)
	names := make([]query.Value, 100)
	for i := range names {
		names[i] = query.Text(string(rune('a' + i)))
	}
	q, err := query.Where(u, 0, u.Columns()[0].Domain.Of(names...)).And(
		query.Where(u, 1, u.Columns()[1].Domain.NotNull()))
	if err != nil {
		b.Fatal(err)
	}
	r := build(b, u, Params{Transform: Sparse, Rows: 1 << 20, Law: laplace(b, 1, 1)}, src, counts{}.cells())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Answer(context.Background(), q, 0.95); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSigns(b *testing.B) {
	src, random := seeded(b)
	f, err := drawSigns(64, src)
	if err != nil {
		b.Fatal(err)
	}
	var t multiplier
	x := query.Element{Lo: random.Uint64()}
	b.ReportAllocs()
	for i := uint32(0); b.Loop(); i++ {
		f.at(x, i, &t)
	}
}

func BenchmarkCountSketchColumn(b *testing.B) {
	src, _ := seeded(b)
	c, err := drawCountSketch(1<<20, true, src)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	x := rand.Uint64N(1 << 60)
	for b.Loop() {
		x ^= c.atPoint(x).row()
	}
}

func BenchmarkNoiseAndSummary1M(b *testing.B) {
	src, _ := seeded(b)
	u := line(b, 1<<40)
	p := Params{Transform: Sparse, Rows: 1 << 20, Law: laplace(b, 1, 1), Bulk: true}
	b.ReportAllocs()
	for b.Loop() {
		build(b, u, p, src, counts{}.cells())
	}
}

func BenchmarkUnmarshal1M(b *testing.B) {
	r := million(b)
	data, err := r.MarshalBinary()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Unmarshal(r.Universe(), data); err != nil {
			b.Fatal(err)
		}
	}
}
