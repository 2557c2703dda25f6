package answer

import (
	"testing"

	"dpsql/catalog"
	"dpsql/engine/internal/view"
	"dpsql/query"
)

// TestAnswersAreFoundWhileTheyAreStored gives a lease back while a statement runs that found nothing in the store. It
// finds what was remembered then; a statement that reads the store finds nothing a second time.
func TestAnswersAreFoundWhileTheyAreStored(t *testing.T) {
	d, err := query.NewRange(0, 9, false)
	if err != nil {
		t.Fatal(err)
	}
	u, err := query.NewUniverse([]query.Column{{Name: "x", Domain: d}})
	if err != nil {
		t.Fatal(err)
	}
	var m answerMemory
	before := Request{Table: &view.Table{Universe: u}, Query: query.All(u), fresh: true}
	later := before
	later.fresh = false
	for range 2 {
		m.put(before, catalog.Answer{Estimate: 7})
		for _, r := range []Request{before, later} {
			if found := m.find(r); found[len(found)-1].Estimate != 7 {
				t.Errorf("in the lease: %v", found)
			}
		}
		m.stored()
		if found := m.find(before); len(found) != 1 || found[0].Estimate != 7 || len(m.find(later)) != 0 || len(m.all()) != 0 {
			t.Errorf("after it: %v, %v", found, m.find(later))
		}
	}
}
