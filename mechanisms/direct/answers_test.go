package direct_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"dpsql/mechanisms/direct"
	"dpsql/noise"
)

// TestAnswersAreAnswers: several counts get the noise that each gets alone, from a source of its own, and
// none where there is no source.
func TestAnswersAreAnswers(t *testing.T) {
	p, ok := direct.PlanFor(direct.Request{Accuracy: 9, Confidence: 0.95, Sensitivity: 1, Answers: 1})
	if !ok {
		t.Fatal("no plan")
	}
	stream := func(i int) *noise.Source { return noise.NewSourceFrom(rand.NewChaCha8([32]byte{byte(i)})) }
	counts, drawn := []int64{5, 0, 70, 12}, 0
	err := p.Answers(counts, func() (*noise.Source, error) { drawn++; return stream(drawn), nil })
	if err != nil || drawn != len(counts) {
		t.Fatalf("%d sources, %v", drawn, err)
	}
	for i, n := range []int64{5, 0, 70, 12} {
		if want, err := p.Answer(n, stream(i+1)); err != nil || counts[i] != want {
			t.Errorf("count %d is %d, want %d (%v)", i, counts[i], want, err)
		}
	}
	none := errors.New("none")
	if err := p.Answers(counts, func() (*noise.Source, error) { return nil, none }); err != none {
		t.Errorf("without a source: %v", err)
	}
}
