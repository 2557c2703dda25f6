package projection

import (
	"context"
	"strconv"
	"testing"

	"dpsql/noise/coin"
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
	q, err := query.Where(u, 0, u.Columns()[0].Domain.SetOf(names...)).And(
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
	_, random := seeded(b)
	f, err := drawSigns(64, coin.NewSource())
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
	_, random := seeded(b)
	c, err := drawCountSketch(1<<20, true, coin.NewSource())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	x := random.Uint64N(1 << 60)
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

// eightMillion is a heavy/light release of 2^23 buckets over a universe of
// three columns, the last of which varies over runs of the given length.
func eightMillion(b testing.TB, run int64) *Release {
	src, _ := seeded(b)
	column := func(name string, n int64) query.Column {
		d, err := query.NewRange(0, n-1, false)
		if err != nil {
			b.Fatal(err)
		}
		return query.Column{Name: name, Domain: d}
	}
	u := universe(b, column("x", 1<<20), column("y", 1<<20), column("z", run))
	d := zipf(1<<40, 100_000, 100_000)
	p := Params{Transform: Sparse, Rows: 1 << 23, Law: laplace(b, 1, 1), Bulk: true,
		Heavy: Heavy{Form: Clipped, Clip: 64, Threshold: Threshold(laplace(b, 1, 1), 1, 1e-6)}}
	return build(b, u, p, src, d.cells())
}

// BenchmarkAnswer reports elements of a support per second, in one core, of
// answers with margins at 2^23 buckets: in long runs, in runs of one code, and
// without codes. No query comes twice, so that nothing of one is in the
// processor's caches.
func BenchmarkAnswer(b *testing.B) {
	for _, c := range []struct {
		name string
		run  int64
		m    int64
	}{
		{"m=1000 in a run", 1 << 10, 1000}, {"m=1000 one by one", 2, 1000},
		{"m=65536 in runs", 1 << 10, 65536}, {"m=65536 one by one", 2, 65536},
		{"m=1048576 in runs", 1 << 10, 1 << 20}, {"m=1048576 one by one", 2, 1 << 20},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := eightMillion(b, c.run)
			y, z := (c.m+c.run-1)/c.run, min(c.m, c.run)
			if c.run == 2 {
				y, z = c.m, 1
			}
			answerAll(b, r, y*z, func(i int64) query.Query { return block(b, r.Universe(), i%(1<<20), y, z) })
		})
	}
	for _, name := range []string{"m=1000 without codes", "m=50000 without codes"} {
		b.Run(name, func(b *testing.B) {
			r, free := withoutCodes(b), int64(1000)
			if name == "m=50000 without codes" {
				free = 50_000
			}
			u := r.Universe()
			columns := u.Columns()
			answerAll(b, r, free, func(i int64) query.Query {
				return query.Conjunction(u, []query.ColumnSet{{Column: 0, Set: columns[0].Domain.SetOf(query.Text(strconv.FormatInt(i, 36)))},
					{Column: 1, Set: atMost(b, columns[1].Domain, free/1000-1)}})
			})
		})
	}
}

// answerAll answers different queries of m elements.
func answerAll(b *testing.B, r *Release, m int64, ask func(i int64) query.Query) {
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		if _, err := r.Answer(context.Background(), ask(i), 0.95); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(m)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melements/s")
}

// withoutCodes is a heavy/light release of 2^23 buckets over a text key and
// columns of 50 and three times 10 values.
func withoutCodes(b testing.TB) *Release {
	src, random := seeded(b)
	columns := []query.Column{{Name: "k", Domain: query.Unbounded()}}
	for i, n := range []int64{50, 10, 10, 10} {
		d, err := query.NewRange(0, n-1, false)
		if err != nil {
			b.Fatal(err)
		}
		columns = append(columns, query.Column{Name: string(rune('a' + i)), Domain: d})
	}
	p := Params{Transform: Sparse, Rows: 1 << 23, Law: laplace(b, 1, 1), Bulk: true,
		Heavy: Heavy{Form: Clipped, Clip: 64, Threshold: Threshold(laplace(b, 1, 1), 1, 1e-6)}}
	builder, err := NewBuilder(universe(b, columns...), p, coin.NewSource())
	if err != nil {
		b.Fatal(err)
	}
	r, err := builder.Build(func(yield func(query.Element, int64) bool) {
		for i := range int64(100_000) {
			x, _ := builder.Coder().Code([]query.Value{query.Text(strconv.FormatInt(i, 36)), query.Int(random.Int64N(50)),
				query.Int(random.Int64N(10)), query.Int(random.Int64N(10)), query.Int(random.Int64N(10))})
			if !yield(x, 100_000/(i+1)) {
				return
			}
		}
	}, src)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// block is the query x AND y < ny AND z < nz.
func block(b testing.TB, u *query.Universe, x, ny, nz int64) query.Query {
	columns := u.Columns()
	return query.Conjunction(u, []query.ColumnSet{{Column: 0, Set: columns[0].Domain.SetOf(query.Int(x))},
		{Column: 1, Set: atMost(b, columns[1].Domain, ny-1)}, {Column: 2, Set: atMost(b, columns[2].Domain, nz-1)}})
}

func atMost(b testing.TB, d query.Domain, v int64) query.Set {
	s, err := d.Less(query.Int(v), true)
	if err != nil {
		b.Fatal(err)
	}
	return s
}
