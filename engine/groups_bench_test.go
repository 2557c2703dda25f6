package engine_test

import (
	"context"
	"testing"
)

// BenchmarkGroups answers statements of many groups, SQL text to rows.
func BenchmarkGroups(b *testing.B) {
	for _, transform := range []string{"identity", "sparse"} {
		s := million(b, transform)
		for _, c := range []struct{ name, text string }{
			{"1024", `SELECT a, b, COUNT(*) FROM t GROUP BY a, b`},
			{"10000", `SELECT a, c, COUNT(*) FROM t WHERE c < 313 GROUP BY a, c ORDER BY 3 DESC LIMIT 10`},
			{"10000/mean", `SELECT a, c, AVG(b), COUNT(*) FROM t WHERE c < 313 GROUP BY a, c`},
		} {
			b.Run(transform+"/"+c.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Exec(context.Background(), c.text, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
