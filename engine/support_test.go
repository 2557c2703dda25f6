package engine_test

import (
	"math/big"
	"testing"

	"dpsql/engine/internal/view"
)

func TestSupportRanges(t *testing.T) {
	t.Parallel()
	infinite, huge := view.SupportSize{Infinite: true}, view.SupportSize{M: new(big.Int).Lsh(big.NewInt(1), 70)}
	for _, c := range []struct {
		sizes []view.SupportSize
		want  string
	}{
		{nil, ""}, {[]view.SupportSize{{}}, ""}, {[]view.SupportSize{view.FiniteSupport(7)}, "7"}, {[]view.SupportSize{view.FiniteSupport(7), view.FiniteSupport(7)}, "7"},
		{[]view.SupportSize{view.FiniteSupport(10), view.FiniteSupport(9), {}}, "9 to 10"}, {[]view.SupportSize{infinite}, "infinite"},
		{[]view.SupportSize{infinite, infinite}, "infinite"}, {[]view.SupportSize{infinite, view.FiniteSupport(0)}, "0 to infinite"},
		{[]view.SupportSize{view.FiniteSupport(3), infinite, huge}, "3 to infinite"}, {[]view.SupportSize{huge, view.FiniteSupport(99)}, "99 to 1180591620717411303424"},
	} {
		var r view.SupportRange
		for _, s := range c.sizes {
			r.Add(s)
		}
		if got := r.String(); got != c.want {
			t.Errorf("%v: %q, want %q", c.sizes, got, c.want)
		}
	}
}
