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
// No query comes twice, so that nothing of one is in the processor's caches.
func BenchmarkAnswer(b *testing.B) {
	for _, c := range []struct {
		name string
		run  int64
		m    int64
	}{{"m=1000 in a run", 1 << 10, 1000}, {"m=1000 one by one", 2, 1000}, {"m=65536 in runs", 1 << 10, 65536}, {"m=65536 one by one", 2, 65536}} {
		b.Run(c.name, func(b *testing.B) {
			r := eightMillion(b, c.run)
			y, z := (c.m+c.run-1)/c.run, min(c.m, c.run)
			if c.run == 2 {
				y, z = c.m, 1
			}
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				q := block(b, r.Universe(), i%(1<<20), y, z)
				if _, err := r.Answer(context.Background(), q, 0.95); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(y*z)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melements/s")
		})
	}
}

// block is the query x AND y < ny AND z < nz.
func block(b testing.TB, u *query.Universe, x, ny, nz int64) query.Query {
	columns := u.Columns()
	return query.Conjunction(u, []query.Each{{Column: 0, Set: columns[0].Domain.Of(query.Int(x))},
		{Column: 1, Set: atMost(b, columns[1].Domain, ny-1)}, {Column: 2, Set: atMost(b, columns[2].Domain, nz-1)}})
}

func atMost(b testing.TB, d query.Domain, v int64) query.Set {
	s, err := d.Less(query.Int(v), true)
	if err != nil {
		b.Fatal(err)
	}
	return s
}
