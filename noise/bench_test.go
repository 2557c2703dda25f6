package noise

import (
	"testing"
)

// BenchmarkDraw is the exact sampler over crypto/rand, a draw an operation.
func BenchmarkDraw(b *testing.B) {
	for _, text := range []string{
		"dlap(1)", "dlap(10)", "dlap(12345677/1000)", "dlap(100000000000000000000001/10000000000000000000000)",
		"dgauss(1)", "dgauss(100)", "dgauss(10007/100)", "dgauss(1700000000000000000000003/3)",
	} {
		b.Run(text, func(b *testing.B) {
			each, s := Of(mustParse(b, text)), NewSource()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := each.Draw(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFill is the table sampler over crypto/rand, a draw an operation.
func BenchmarkFill(b *testing.B) {
	for _, text := range []string{"dlap(1)", "dlap(5/2)", "dlap(10)", "dlap(1000)", "dgauss(17/3)", "dgauss(100)", "dgauss(1000000)"} {
		b.Run(text, func(b *testing.B) {
			table, s := mustTable(b, text), NewSource()
			dst := make([]int64, 8192)
			b.ReportAllocs()
			b.ResetTimer()
			for left := b.N; left > 0; left -= len(dst) {
				if err := table.Fill(dst[:min(left, len(dst))], s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNewTable(b *testing.B) {
	for _, text := range []string{"dlap(1)", "dlap(10)", "dlap(1000)", "dgauss(17/3)", "dgauss(1000000)"} {
		b.Run(text, func(b *testing.B) {
			l := mustParse(b, text)
			for b.Loop() {
				if _, err := NewTable(l); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
