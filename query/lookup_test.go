package query_test

import (
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
)

// TestResolve looks the columns up record by record.
func TestResolve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := small(t)
		key := rapid.IntRange(0, len(base.Columns())-1).Draw(t, "key")
		attributes := []query.Domain{must(query.NewRange(0, 2, false)), must(query.NewList(query.TypeText, []query.Value{query.Text("x"), query.Text("y"), query.Null()}))}
		u := must(query.NewUniverse(append(append([]query.Column{}, base.Columns()...), query.Column{Name: "one", Domain: attributes[0]}, query.Column{Name: "two", Domain: attributes[1]})))
		n := len(base.Columns())
		l := query.Lookup{Key: key, Columns: []int{n, n + 1}}
		rows := make(map[query.Value][]query.Value)
		for _, v := range values(base.Columns()[key].Domain) {
			if v.IsNull() || rapid.IntRange(0, 3).Draw(t, "missing") == 0 {
				continue
			}
			rows[v] = []query.Value{rapid.SampledFrom(values(attributes[0])).Draw(t, "one"), rapid.SampledFrom(values(attributes[1])).Draw(t, "two")}
			l.Rows = append(l.Rows, query.LookupRow{v, rows[v]})
		}
		q, holds := predicate(t, u, 3)
		resolved, ok := must(q.Resolve(l)).OverPrefix(base)
		if !ok {
			t.Fatalf("%v still depends on what is looked up", q)
		}
		needed := len(l.Used(q)) > 0
		for _, x := range tuples(base) {
			row, joined := rows[x[key]]
			want := joined && holds(append(append([]query.Value{}, x...), row...))
			if !needed {
				want = holds(append(append([]query.Value{}, x...), query.Int(0), query.Null()))
			}
			if got := resolved.Weight(x) == 1; got != want {
				t.Fatalf("%v with %v: %v is %v, want %v", q, l, x, got, want)
			}
		}
	})
}
