package law

import "testing"

func BenchmarkTail(b *testing.B) {
	for _, text := range []string{"dlap(10)", "dgauss(17/3)", "dgauss(2500)", "dgauss(60000)", "dgauss(1000000)"} {
		b.Run(text, func(b *testing.B) {
			l := mustParse(b, text)
			for b.Loop() {
				l.Tail(20)
			}
		})
	}
}

func BenchmarkHalfWidth(b *testing.B) {
	for _, text := range []string{"dlap(10)", "dgauss(650)", "dgauss(1000000)", "dlap(1000000000000000)", "dgauss(1000000000000000000000000000000)"} {
		b.Run(text, func(b *testing.B) {
			l := mustParse(b, text)
			for b.Loop() {
				HalfWidth(l, 0.95)
			}
		})
	}
}
