package importer_test

import (
	"os"
	"strings"
	"testing"

	"dpsql/internal/importer"
)

// TestProgress checks that progress never goes back and ends with the second reading.
func TestProgress(t *testing.T) {
	path := write(t, "people.csv", "age,sex\n"+strings.Repeat("40,F\n", 30_000))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var calls int
	var last int64
	imported(t, memory(t), importer.Options{Path: path, Table: "people", Progress: func(done, all int64) {
		if calls++; done <= last || all != 2*info.Size() {
			t.Fatalf("%d of %d after %d, of a file of %d", done, all, last, info.Size())
		}
		last = done
	}})
	if calls < 4 || last != 2*info.Size() {
		t.Errorf("%d calls up to %d of %d", calls, last, 2*info.Size())
	}
}
