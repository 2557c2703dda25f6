package sqlfront_test

import (
	"fmt"
	"sync"
	"testing"

	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// TestSharedStatement binds each example in several goroutines at once: binding
// leaves a parsed statement as it was.
func TestSharedStatement(t *testing.T) {
	var table declared
	for _, e := range examples(t) {
		if e.want == "table" {
			table = declare(t, e.text)
			continue
		}
		s, err := syntax.Parse(e.text)
		if ex, ok := s.(*syntax.Explain); ok {
			s = ex.Select
		}
		sel, ok := s.(*syntax.Select)
		if err != nil || !ok {
			continue
		}
		bind := func() string {
			b, err := sqlfront.Bind(sel, table, nil)
			if err != nil {
				return err.Error()
			}
			return fmt.Sprintf("%+v", *b)
		}
		want := bind()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if got := bind(); got != want {
					t.Errorf("%s\nbound once: %s\nbound again: %s", e.text, want, got)
				}
			})
		}
		all.Wait()
	}
}
