package catalog_test

import (
	"math"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/query"
	"dpsql/sqlerr"
)

func TestDomainsRoundTrip(t *testing.T) {
	ints := func(n ...int64) (v []query.Value) {
		for _, i := range n {
			v = append(v, query.Int(i))
		}
		return v
	}
	texts := []query.Value{query.Text(""), query.Text("it's"), query.Text("nul\x00in"), query.Text("\xff\xfe not UTF-8"),
		query.Text("\u2028<&>\"\\"), query.Text("語"), query.Text("null"), query.Text("1"), query.Text("\ufffd")}
	many := make([]query.Value, 5000)
	for i := range many {
		many[i] = query.Text(strings.Repeat("k", i%7) + string(rune('一'+i)))
	}
	for _, d := range []query.Domain{
		query.Unbounded(),
		domain(query.NewRange(0, 120, false)),
		domain(query.NewRange(-5, -5, true)),
		domain(query.NewRange(math.MinInt64, math.MinInt64+1000, false)),
		domain(query.NewRange(math.MaxInt64-1, math.MaxInt64, true)),
		domain(query.NewRange(-1<<59, 1<<59, true)),
		domain(query.NewList(query.TypeInteger, ints(1, 2, 3))), // not a range: declared as a list
		domain(query.NewList(query.TypeInteger, append(ints(math.MinInt64, -1, 0, math.MaxInt64, 1<<53+1), query.Null()))),
		domain(query.NewList(query.TypeInteger, []query.Value{query.Null()})),
		domain(query.NewList(query.TypeText, []query.Value{query.Null()})),
		domain(query.NewList(query.TypeText, texts)),
		domain(query.NewList(query.TypeText, append(texts, query.Null()))),
		domain(query.NewList(query.TypeText, many)),
	} {
		text, err := catalog.EncodeDomain(d)
		if err != nil {
			t.Fatal(err)
		}
		back, err := catalog.DecodeDomain(d.Type().String(), text)
		if err != nil {
			t.Fatalf("%.80s: %v", text, err)
		}
		if back.String() != d.String() || back.Type() != d.Type() || back.Finite() != d.Finite() ||
			back.IsRange() != d.IsRange() || back.HasNull() != d.HasNull() || back.Size() != d.Size() {
			t.Errorf("%.80s came back as %.80s", d, back)
		}
		for i := uint64(0); !d.IsRange() && i < d.Size(); i++ {
			if d.Value(i) != back.Value(i) {
				t.Errorf("value %d: %v came back as %v", i, d.Value(i), back.Value(i))
			}
		}
	}
	for _, bad := range [][2]string{{"TEXT", `{"range":[1,2]}`}, {"INTEGER", `{}`}, {"INTEGER", `{"values":["x"]}`}, {"INTEGER", `{"range":[2,1]}`},
		{"TEXT", `{"values":[1]}`}, {"TEXT", `{`}, {"TEXT", `{"values":[]}`}, {"INTEGER", `{"values":[1.5]}`}, {"INTEGER", `{"values":[1,1]}`}} {
		_, err := catalog.DecodeDomain(bad[0], bad[1])
		if sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("%s %s: %v", bad[0], bad[1], err)
		}
	}
}
