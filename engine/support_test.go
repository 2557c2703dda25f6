package engine

import (
	"math/big"
	"testing"
)

func TestSupportRanges(t *testing.T) {
	infinite, huge := supportSize{infinite: true}, supportSize{m: new(big.Int).Lsh(big.NewInt(1), 70)}
	for _, c := range []struct {
		sizes []supportSize
		want  string
	}{
		{nil, ""}, {[]supportSize{{}}, ""}, {[]supportSize{finiteSupport(7)}, "7"}, {[]supportSize{finiteSupport(7), finiteSupport(7)}, "7"},
		{[]supportSize{finiteSupport(10), finiteSupport(9), {}}, "9 to 10"}, {[]supportSize{infinite}, "infinite"},
		{[]supportSize{infinite, infinite}, "infinite"}, {[]supportSize{infinite, finiteSupport(0)}, "0 to infinite"},
		{[]supportSize{finiteSupport(3), infinite, huge}, "3 to infinite"}, {[]supportSize{huge, finiteSupport(99)}, "99 to 1180591620717411303424"},
	} {
		var r supportRange
		for _, s := range c.sizes {
			r.add(s)
		}
		if got := r.String(); got != c.want {
			t.Errorf("%v: %q, want %q", c.sizes, got, c.want)
		}
	}
}
