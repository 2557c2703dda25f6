package query_test

import (
	"testing"

	"dpsql/query"
	"dpsql/sqlerr"
)

// TestSwitch holds Switch and SwitchText to the same functions built with And
// and Or.
func TestSwitch(t *testing.T) {
	a, err := query.NewRange(0, 9, true)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "a", Domain: a}, {Name: "zip", Domain: query.Unbounded()}, {Name: "b", Domain: a}})
	if err != nil {
		t.Fatal(err)
	}
	one := query.Where(u, 2, a.SetOf(query.Int(1)))
	low, err := a.Less(query.Int(5), false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := query.Switch(u, 0, []query.Branch{{query.Range{1, 3}, one}, {query.Range{4, 5}, one}, {query.Range{7, 7}, query.None(u)}})
	want, err2 := query.Where(u, 0, low).And(one)
	if err != nil || err2 != nil || !got.Equal(want) {
		t.Errorf("Switch: got %v, %v; want %v, %v", got, err, want, err2)
	}
	text, err := query.SwitchText(u, 1, []query.Case{{query.Text("z"), one}, {query.Text("a"), one}, {query.Null(), query.None(u)}}, query.None(u))
	want, err2 = query.Where(u, 1, query.Unbounded().SetOf(query.Text("a"), query.Text("z"))).And(one)
	if err != nil || err2 != nil || !text.Equal(want) {
		t.Errorf("SwitchText: got %v, %v; want %v, %v", text, err, want, err2)
	}
	if w := query.Everywhere(u, 7); w.MaxWeight() != 7 || len(w.Columns()) != 0 {
		t.Errorf("Everywhere: %v", w)
	}
	if _, err := query.Switch(u, 2, []query.Branch{{query.Range{0, 1}, one}}); sqlerr.CodeOf(err) != sqlerr.Internal {
		t.Errorf("a branch to the same column: %v", err)
	}
	if _, err := query.SwitchText(u, 1, nil, text); sqlerr.CodeOf(err) != sqlerr.Internal {
		t.Errorf("a rest of the same column: %v", err)
	}
	if _, err := query.SwitchText(u, 1, []query.Case{{query.Null(), got}}, query.None(u)); sqlerr.CodeOf(err) != sqlerr.Internal {
		t.Errorf("a case to an earlier column: %v", err)
	}
}

// TestWork checks that combinations under a common limit are those without
// one, and end when they built too much.
func TestWork(t *testing.T) {
	d, err := query.NewRange(0, 99, false)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "a", Domain: d}, {Name: "b", Domain: d}, {Name: "c", Domain: d}})
	if err != nil {
		t.Fatal(err)
	}
	equal := func(x, y int) query.Query {
		q := query.None(u)
		for v := range d.Size() {
			both, err := query.Where(u, x, d.SetOf(d.Value(v))).And(query.Where(u, y, d.SetOf(d.Value(v))))
			if err != nil {
				t.Fatal(err)
			}
			if q, err = q.Or(both); err != nil {
				t.Fatal(err)
			}
		}
		return q
	}
	q, r := equal(0, 2), equal(1, 2)
	var w query.Work
	for name, f := range map[string][2]func() (query.Query, error){
		"And": {func() (query.Query, error) { return w.And(q, r) }, func() (query.Query, error) { return q.And(r) }},
		"Or":  {func() (query.Query, error) { return w.Or(q, r) }, func() (query.Query, error) { return q.Or(r) }},
		"Not": {func() (query.Query, error) { return w.Not(q) }, func() (query.Query, error) { return q.Not() }},
	} {
		got, err := f[0]()
		want, err2 := f[1]()
		if err != nil || err2 != nil || !got.Equal(want) {
			t.Errorf("%s: got %v, %v; want %v, %v", name, got, err, want, err2)
		}
	}
	w.SetBranches(query.MaxBranches * 3 / 4)
	for i := 0; ; i++ {
		if _, err = w.Or(q, r); err != nil {
			break
		}
		if i > query.MaxBranches {
			t.Fatal("no limit was reached")
		}
	}
	if sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("at the limit: %v", err)
	}
}
