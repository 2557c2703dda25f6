package sqlfront_test

import (
	"testing"

	"dpsql/sqlerr"
)

// FuzzPredicates holds a condition and a table, both drawn by the bytes, to the
// rows that SQLite selects: whatever is not refused must agree.
func FuzzPredicates(f *testing.F) {
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := checkPredicate(t, func(n int) int {
			drawn := 0
			for range (n + 254) / 255 {
				if len(data) > 0 {
					drawn = drawn<<8 | int(data[0])
					data = data[1:]
				}
			}
			return drawn % n
		}, anyRows(len(data)))
		switch code := sqlerr.CodeOf(err); {
		case err != nil && code != sqlerr.Unsupported && code != sqlerr.Invalid && code != sqlerr.Malformed:
			t.Fatalf("%s: %v", text, err)
		}
	})
}
