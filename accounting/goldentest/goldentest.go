// Package goldentest holds packages to the facts in testdata/golden: their tests
// import it, and nothing that is shipped does.
//
// A fact is a row of accounting.csv: a quantity, its inputs, and what it comes to.
// kinds.csv says of each quantity which package's test computes it, or why none
// does. So a new quantity is noticed, and one that is no longer computed.
package goldentest

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Inputs are a fact's inputs by name. Its methods panic on a malformed fact; Run
// reports that as a failure of the fact.
type Inputs map[string]string

// Number returns an input, a number or one of the expressions that the file has.
func (in Inputs) Number(name string) float64 {
	text, ok := in[name]
	if !ok {
		panic("no input " + name)
	}
	return Number(text)
}

// Or returns an input, or another number where there is none.
func (in Inputs) Or(name string, otherwise float64) float64 {
	if _, ok := in[name]; !ok {
		return otherwise
	}
	return in.Number(name)
}

// Number reads a decimal, inf, √ and ln of integers, and quotients and products. It
// panics on what is none of it.
func Number(text string) float64 {
	if text == "sqrt(2 ln(1.25/0.1))/8" {
		return math.Sqrt(2*math.Log(12.5)) / 8
	}
	if left, right, ok := strings.Cut(text, "*"); ok {
		return Number(left) * Number(right)
	}
	if left, right, ok := strings.Cut(text, "/"); ok {
		return Number(left) / Number(right)
	}
	for prefix, f := range map[string]func(float64) float64{"ln": math.Log, "sqrt": math.Sqrt} {
		if inner, ok := strings.CutPrefix(text, prefix); ok {
			return f(Number(strings.Trim(inner, "()")))
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(x, 0) && x != 0 {
		panic(err)
	}
	return x
}

// A Check computes a quantity. The fact's own tolerance holds, unless Rule is
// given, in the file's notation: "ge" and "le" for what bounds the quantity.
type Check struct {
	Get  func(Inputs) float64
	Rule string
}

// Exact is a check at the facts' own tolerances.
func Exact(get func(Inputs) float64) Check { return Check{Get: get} }

// Above is a check that what the package computes is at least the fact's figure.
func Above(get func(Inputs) float64) Check { return Check{get, "ge"} }

// Below is a check that what the package computes is at most the fact's figure.
func Below(get func(Inputs) float64) Check { return Check{get, "le"} }

// Run makes the checks on all facts that kinds.csv gives to the package, and fails
// unless these are the quantities that it gives to it.
func Run(t *testing.T, pkg string, checks map[string]Check) {
	t.Helper()
	kinds := Kinds(t)
	for quantity := range checks {
		if kinds[quantity].Package != pkg {
			t.Errorf("kinds.csv does not give %s to %s", quantity, pkg)
		}
	}
	for quantity, k := range kinds {
		if _, ok := checks[quantity]; k.Package == pkg && !ok {
			t.Errorf("no check of %s, which kinds.csv gives to %s", quantity, pkg)
		}
	}
	made := 0
	for _, f := range Facts(t) {
		check, ok := checks[f.Quantity]
		if !ok || slices.Contains(kinds[f.Quantity].Without, f.ID) {
			continue
		}
		made++
		if err := f.holds(check); err != nil {
			t.Errorf("%s: %s(%s): %v", f.ID, f.Quantity, f.Inputs, err)
		}
	}
	t.Logf("%d facts of %d quantities", made, len(checks))
}

// A Fact is a row of accounting.csv.
type Fact struct{ ID, Quantity, Inputs, Expected, Tolerance string }

// Facts reads accounting.csv.
func Facts(t *testing.T) (all []Fact) {
	t.Helper()
	for _, row := range read(t, "accounting.csv") {
		all = append(all, Fact{row[0], row[1], row[2], row[3], row[4]})
	}
	return all
}

// A Kind is a row of kinds.csv: whose test computes a quantity, empty for nobody's,
// the ids of the facts that it leaves out, and why.
type Kind struct {
	Package string
	Without []string
	Why     string
}

// Kinds reads kinds.csv, by quantity.
func Kinds(t *testing.T) map[string]Kind {
	t.Helper()
	kinds := make(map[string]Kind)
	for _, row := range read(t, "kinds.csv") {
		if _, twice := kinds[row[0]]; twice {
			t.Errorf("kinds.csv has %s twice", row[0])
		}
		kinds[row[0]] = Kind{row[1], strings.Fields(row[2]), row[3]}
	}
	return kinds
}

// read returns the rows below a file's header.
func read(t *testing.T, name string) [][]string {
	t.Helper()
	dir := "."
	for range 4 { // a package is at most so deep
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Join("..", dir)
	}
	file, err := os.Open(filepath.Join(dir, "testdata/golden", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

func (f Fact) holds(check Check) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cannot be computed: %v", r)
		}
	}()
	in := Inputs{}
	for _, pair := range strings.Split(f.Inputs, ";") {
		name, value, _ := strings.Cut(pair, "=")
		value, _, _ = strings.Cut(value, " (") // a remark
		in[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	rule := check.Rule
	if rule == "" {
		rule = f.Tolerance
	}
	if got, want := check.Get(in), Number(f.Expected); !within(got, want, rule) {
		return fmt.Errorf("got %.17g, want %.17g (%s)", got, want, rule)
	}
	return nil
}

func within(got, want float64, rule string) bool {
	kind, size, _ := strings.Cut(rule, ":")
	switch kind {
	case "exact":
		return got == want
	case "abs":
		return math.Abs(got-want) <= Number(size)
	case "rel":
		return math.Abs(got-want) <= Number(size)*math.Abs(want)
	case "le":
		return got <= want
	case "ge":
		return got >= want
	}
	panic("unknown tolerance " + rule)
}
