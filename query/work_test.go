package query

import (
	"testing"

	"dpsql/sqlerr"
)

// TestSwitch holds Switch and SwitchText to the same functions built with And
// and Or.
func TestSwitch(t *testing.T) {
	a, err := NewRange(0, 9, true)
	if err != nil {
		t.Fatal(err)
	}
	u, err := NewUniverse([]Column{{"a", a}, {"zip", Unbounded()}, {"b", a}})
	if err != nil {
		t.Fatal(err)
	}
	one := Where(u, 2, a.SetOf(Int(1)))
	low, err := a.Less(Int(5), false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Switch(u, 0, []Branch{{Range{1, 3}, one}, {Range{4, 5}, one}, {Range{7, 7}, None(u)}})
	want, err2 := Where(u, 0, low).And(one)
	if err != nil || err2 != nil || !got.Equal(want) {
		t.Errorf("Switch: got %v, %v; want %v, %v", got, err, want, err2)
	}
	text, err := SwitchText(u, 1, []Case{{Text("z"), one}, {Text("a"), one}, {Null(), None(u)}}, None(u))
	want, err2 = Where(u, 1, Unbounded().SetOf(Text("a"), Text("z"))).And(one)
	if err != nil || err2 != nil || !text.Equal(want) {
		t.Errorf("SwitchText: got %v, %v; want %v, %v", text, err, want, err2)
	}
	if w := Everywhere(u, 7); w.MaxWeight() != 7 || len(w.Columns()) != 0 {
		t.Errorf("Everywhere: %v", w)
	}
	if _, err := Switch(u, 2, []Branch{{Range{0, 1}, one}}); sqlerr.CodeOf(err) != sqlerr.Internal {
		t.Errorf("a branch to the same column: %v", err)
	}
	if _, err := SwitchText(u, 1, nil, text); sqlerr.CodeOf(err) != sqlerr.Internal {
		t.Errorf("a rest of the same column: %v", err)
	}
	if _, err := SwitchText(u, 1, []Case{{Null(), got}}, None(u)); sqlerr.CodeOf(err) != sqlerr.Internal {
		t.Errorf("a case to an earlier column: %v", err)
	}
}

// TestWork checks that combinations under a common limit are those without
// one, and end when they built too much.
func TestWork(t *testing.T) {
	d, err := NewRange(0, 99, false)
	if err != nil {
		t.Fatal(err)
	}
	u, err := NewUniverse([]Column{{"a", d}, {"b", d}, {"c", d}})
	if err != nil {
		t.Fatal(err)
	}
	equal := func(x, y int) Query {
		q := None(u)
		for v := range d.Size() {
			both, err := Where(u, x, d.SetOf(d.Value(v))).And(Where(u, y, d.SetOf(d.Value(v))))
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
	var w Work
	for name, f := range map[string][2]func() (Query, error){
		"And": {func() (Query, error) { return w.And(q, r) }, func() (Query, error) { return q.And(r) }},
		"Or":  {func() (Query, error) { return w.Or(q, r) }, func() (Query, error) { return q.Or(r) }},
		"Not": {func() (Query, error) { return w.Not(q) }, func() (Query, error) { return q.Not() }},
	} {
		got, err := f[0]()
		want, err2 := f[1]()
		if err != nil || err2 != nil || !got.Equal(want) {
			t.Errorf("%s: got %v, %v; want %v, %v", name, got, err, want, err2)
		}
	}
	w.branches = maxBranches * 3 / 4
	for i := 0; ; i++ {
		if _, err = w.Or(q, r); err != nil {
			break
		}
		if i > maxBranches {
			t.Fatal("no limit was reached")
		}
	}
	if sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("at the limit: %v", err)
	}
}
