package main

import (
	"os"
	"strings"
	"testing"
)

// TestListIsFound finds each listed mutant in the sources as they are, and each of the packages
// whose promises need one.
func TestListIsFound(t *testing.T) {
	t.Chdir("../..")
	list, _, err := readList(listed)
	if err != nil {
		t.Fatal(err)
	}
	if err := find(list); err != nil {
		t.Error(err)
	}
	if len(list) < 200 {
		t.Errorf("%d mutants are listed", len(list))
	}
	packages, seen := map[string]bool{}, map[string]bool{}
	for _, m := range list {
		packages[m.pkg] = true
		if seen[m.id()] {
			t.Errorf("%s is listed twice", m.id())
		}
		seen[m.id()] = true
	}
	for _, p := range []string{"accounting", "catalog/internal/ledger", "engine/internal/answer", "engine/internal/pay", "engine/internal/rows",
		"engine/internal/slots", "mechanisms/direct", "mechanisms/marginals", "mechanisms/projection", "mechanisms/smw", "noise", "internal/period", "sqlfront/post", "internal/scram",
		"server", "sqlfront/around"} {
		if !packages[p] {
			t.Errorf("no mutant of %s is listed", p)
		}
	}
}

// TestMutants makes all mutants of a function.
func TestMutants(t *testing.T) {
	dir := t.TempDir()
	const before = `package p

func (s *S) f(a []int) (n int) {
	for i, v := range a {
		if v > 2 && !s.open {
			n += max(v, i*s.w) - 1
		}
		s.note(v)
	}
	return n
}
`
	if err := os.WriteFile(dir+"/p.go", []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := mutantsOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range all {
		if m.function != "(*S).f" {
			t.Errorf("%s is said to be in %s", m.source, m.function)
		}
		got[m.operator+": "+m.source] = changed(before, string(m.content()))
	}
	for id, want := range map[string]string{
		"skip first: for i, v := range a { if v > 2 && !s.open { n += max(v, i*s.w) - 1 } s.note(v) }": "for i, v := range a { if i == 0 { continue };",
		"never: if v > 2 && !s.open { n += max(v, i*s.w) - 1 }":                                        "if false {",
		"&& to ||: v > 2 && !s.open":       "if v > 2 || !s.open {",
		"> to >=: v > 2":                   "if v >= 2 && !s.open {",
		"2 to 3: 2":                        "if v > 3 && !s.open {",
		"drop !: !s.open":                  "if v > 2 && s.open {",
		"+= to -=: n += max(v, i*s.w) - 1": "n -= max(v, i*s.w) - 1",
		"drop: n += max(v, i*s.w) - 1":     "",
		"max to min: max(v, i*s.w)":        "n += min(v, i*s.w) - 1",
		"* to /: i*s.w":                    "n += max(v, i/s.w) - 1",
		"drop right: i*s.w":                "n += max(v, i) - 1",
		"drop left: i*s.w":                 "n += max(v, s.w) - 1",
		"- to +: max(v, i*s.w) - 1":        "n += max(v, i*s.w) + 1",
		"drop right: max(v, i*s.w) - 1":    "n += max(v, i*s.w)",
		"1 to 2: 1":                        "n += max(v, i*s.w) - 2",
		"drop: s.note(v)":                  "",
	} {
		if line, ok := got[id]; !ok || line != want {
			t.Errorf("%s: the line is %q, want %q; made: %v", id, line, want, ok)
		}
		delete(got, id)
	}
	if len(got) > 0 {
		t.Errorf("also made: %v", got)
	}
}

// changed returns the line of after that before has not.
func changed(before, after string) string {
	old := strings.Split(before, "\n")
	for i, line := range strings.Split(after, "\n") {
		if line != old[i] {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
