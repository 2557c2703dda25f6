package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"dpsql/sqlerr"
)

// TestUsedUpMechanismsAreReplanned asks two mechanisms, good for five
// comparisons each, from many sessions at once: a plan that promised an error
// bar is made anew when the comparisons are gone, and nobody is told to wait.
func TestUsedUpMechanismsAreReplanned(t *testing.T) {
	t.Parallel()
	s := clinic(t)
	for _, name := range []string{"m1", "m2"} {
		must(t, s, `CREATE MECHANISM `+name+` ON admissions (sex, age) USING SMW WITH (epsilon = 0.5, queries = 5)`)
	}
	for _, unverified := range []string{"on", "off"} {
		var all sync.WaitGroup
		var mu sync.Mutex
		verified, without, refusals := 0, 0, 0
		for g := range 8 {
			all.Go(func() {
				own := s.DB().NewSession()
				own.Set("unverified", unverified)
				for i := range 5 {
					r, err := own.Exec(context.Background(), fmt.Sprintf(`SELECT COUNT(*) FROM admissions WHERE age BETWEEN %d AND %d`, g, 10+i), nil)
					mu.Lock()
					switch {
					case err == nil && r.Answer.Verified:
						verified++
					case err == nil:
						without++
					case sqlerr.CodeOf(err) == sqlerr.Uncovered:
						refusals++
					default:
						t.Error(err)
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if verified < 10 || unverified == "on" && refusals > 0 || unverified == "off" && without > 0 {
			t.Errorf("unverified = %s: %d verified, %d not, %d refused", unverified, verified, without, refusals)
		}
	}
}
