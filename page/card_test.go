package page_test

import (
	"bytes"
	"strings"
	"testing"

	"dpsql/page"
)

// TestDigest: a card and payloads are read as they were sealed, and with any byte changed they are damaged.
func TestDigest(t *testing.T) {
	payloads := [][]byte{[]byte("one"), []byte("another")}
	card := page.Card{Title: `</script> "digest":"" é`, Examples: []string{"SELECT 1 < 2"},
		Picture: page.Picture{Tables: []page.Table{}, Releases: []page.Release{{Name: "r"}}}}
	text, err := page.Sealed(card, payloads)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(text, "<>") {
		t.Errorf("%s has markup", text)
	}
	got, err := page.ReadCard(text, payloads)
	if err != nil || got.Title != card.Title || got.Payloads[0].Name != "release-0" || got.Payloads[1].Name != "public-0" {
		t.Errorf("%+v, %v", got, err)
	}
	again, err := page.Sealed(got, payloads)
	if err != nil || !bytes.Equal(again, text) {
		t.Errorf("%v: %s, want %s", err, again, text)
	}
	for i := range text {
		changed := bytes.Clone(text)
		changed[i] ^= 1
		if _, err := page.ReadCard(changed, payloads); codeOf(t, err) != page.Damaged {
			t.Fatalf("%v with another byte at %s", err, changed[i:])
		}
	}
	for what, changed := range map[string][][]byte{"another": {[]byte("ons"), payloads[1]}, "swapped": {payloads[1], payloads[0]},
		"one": payloads[:1], "more": append(payloads, nil), "moved": {[]byte("onea"), []byte("nother")}} {
		if _, err := page.ReadCard(text, changed); codeOf(t, err) != page.Damaged {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := page.ReadCard([]byte(strings.Replace(string(text), "page 1", "page 2", 1)), payloads); codeOf(t, err) != page.Damaged {
		t.Errorf("another format: %v", err)
	}
}
