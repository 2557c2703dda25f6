package workload

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const adultFile = "../../testdata/adult/adult.csv"

// digest is how the workloads' definition names a list of items.
func digest(items []string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(items, "\n"))))[:16]
}

func (w *Workload) answers() (texts []string) {
	for _, q := range w.Queries {
		texts = append(texts, fmt.Sprint(q.Count))
	}
	return texts
}

func TestSplitmix(t *testing.T) {
	r := NewSplitmix(0)
	if a, b := r.Next(), r.Next(); a != 0xe220a8397b1dcdaf || b != 0x6e789e6aa1b965f4 {
		t.Errorf("seed 0 gives %x, %x", a, b)
	}
}

// TestAdultConjunctions checks that the workload is the one on which peers were
// measured: its published first query, first answers and hash of all answers.
func TestAdultConjunctions(t *testing.T) {
	w, err := AdultConjunctions(adultFile)
	if err != nil {
		t.Fatal(err)
	}
	if w.Table.Size() != 13440 || w.Table.Rows != 48842 || len(w.Table.Cells) != 1911 {
		t.Errorf("%d cells, %d rows, %d occupied", w.Table.Size(), w.Table.Rows, len(w.Table.Cells))
	}
	if first := randomConjunction(w.Table, NewSplitmix(20240607)).String(); first != "0:0;2:4,5,12;3:0,4,5;5:1" {
		t.Errorf("first query %s", first)
	}
	answers := w.answers()
	if !slices.Equal(answers[:5], []string{"343", "8837", "41", "10", "1130"}) || digest(answers) != "7febd9a0d10cb19b" {
		t.Errorf("answers %v …, hash %s", answers[:5], digest(answers))
	}
}

func TestCovid(t *testing.T) {
	var rows []string
	positive := 0
	for r := range covidRows() {
		rows = append(rows, fmt.Sprintf("%d,%d,%d,%d", r[0], r[1], r[2], r[3]))
		positive += int(r[0])
	}
	if digest(rows) != "c59a5d145f8b7c47" || positive != 3982 {
		t.Errorf("rows hash %s, %d positive", digest(rows), positive)
	}
	w, err := Covid()
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Queries) != 34425 || digest(w.answers()) != "5cce4cef4711a8b1" {
		t.Errorf("%d queries, answers hash %s", len(w.Queries), digest(w.answers()))
	}
}

// TestBlind checks that every record of the tables is within its domains, which reading
// refuses otherwise, and that none is missing.
func TestBlind(t *testing.T) {
	tables, err := Blind("../../testdata/blind")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ rows, cells, occupied int }{{53940, 700_000, 15_890}, {20190, 151_200, 3373}, {10000, 311_040, 5077}} {
		if u := tables[i]; int(u.Rows) != want.rows || int(u.Size()) != want.cells || len(u.Cells) != want.occupied {
			t.Errorf("%s: %d rows, %d cells, %d occupied", u.Name, u.Rows, u.Size(), len(u.Cells))
		}
	}
}
