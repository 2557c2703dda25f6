package exporter_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"dpsql/internal/answerjson"
	"dpsql/internal/exporter"
)

// TestJSONHidesNothing writes every character of Unicode as a name and as a value: what JSON has of it is visible, and
// reads back.
func TestJSONHidesNothing(t *testing.T) {
	for first := rune(0); first <= unicode.MaxRune; first += 1 << 12 {
		var all strings.Builder
		for r := first; r < first+1<<12; r++ {
			if r < 0xD800 || r > 0xDFFF {
				all.WriteRune(r)
			}
		}
		var b bytes.Buffer
		w, err := exporter.NewJSON(&b, []exporter.Column{{Name: "a" + all.String(), Kind: exporter.Texts}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write([]any{all.String()}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.String() {
			if answerjson.IsHidden(r) && r != '\n' {
				t.Errorf("%U is in the file", r)
			}
		}
		var got []map[string]string
		if err := json.Unmarshal(b.Bytes(), &got); err != nil || len(got) != 1 || got[0]["a"+all.String()] != all.String() {
			t.Errorf("from %U on: %v", first, err)
		}
	}
	for r := rune(0x7f); r <= 0x9f; r++ {
		if !answerjson.IsHidden(r) {
			t.Errorf("%U is not hidden", r)
		}
	}
}
