package projection

import (
	"context"
	"testing"

	"dpsql/query"
)

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
// answers with margins at 2^23 buckets: in long runs, and in runs of one code.
func BenchmarkAnswer(b *testing.B) {
	for _, c := range []struct {
		name string
		run  int64
		m    int64
	}{{"m=1000 in a run", 1 << 10, 1000}, {"m=1000 one by one", 2, 1000}, {"m=65536 in runs", 1 << 10, 65536}, {"m=65536 one by one", 2, 65536}} {
		b.Run(c.name, func(b *testing.B) {
			r := eightMillion(b, c.run)
			q := query.Where(r.Universe(), 0, r.Universe().Columns()[0].Domain.Of(query.Int(77)))
			var err error
			if c.run > 2 {
				y := query.Where(r.Universe(), 1, atMost(b, r.Universe().Columns()[1].Domain, (c.m+c.run-1)/c.run-1))
				z := query.Where(r.Universe(), 2, atMost(b, r.Universe().Columns()[2].Domain, min(c.m, c.run)-1))
				if q, err = q.And(y); err == nil {
					q, err = q.And(z)
				}
			} else {
				y := query.Where(r.Universe(), 1, atMost(b, r.Universe().Columns()[1].Domain, c.m-1))
				z := query.Where(r.Universe(), 2, r.Universe().Columns()[2].Domain.Of(query.Int(1)))
				if q, err = q.And(y); err == nil {
					q, err = q.And(z)
				}
			}
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Answer(context.Background(), q, 0.95); err != nil {
					b.Fatal(err)
				}
			}
			m, _ := q.SizeWithin(1 << 40)
			b.ReportMetric(float64(m)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melements/s")
		})
	}
}

func atMost(b testing.TB, d query.Domain, v int64) query.Set {
	s, err := d.Less(query.Int(v), true)
	if err != nil {
		b.Fatal(err)
	}
	return s
}
