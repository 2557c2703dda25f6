package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"dpsql/internal/complete"
	"dpsql/internal/released"
	"dpsql/sqlerr"
)

// Format is what a page says it is. A page with other fields or another digest has another one.
const Format = "dpsql page 1"

// Card says what is in a page: its Picture, and what people and programs read of it.
type Card struct {
	Format    string    `json:"format"`
	Title     string    `json:"title"`
	About     string    `json:"about,omitempty"`
	Cite      string    `json:"cite,omitempty"`
	Citation  string    `json:"citation"` // as text, see Sealed
	DOI       string    `json:"doi,omitempty"`
	Publisher string    `json:"publisher,omitempty"`
	Contact   string    `json:"contact,omitempty"`
	Licence   string    `json:"licence,omitempty"`
	Version   string    `json:"version"` // of dpsql
	Made      string    `json:"made"`    // a date
	Examples  []string  `json:"examples,omitempty"`
	Digest    string    `json:"digest"` // SHA-256, see Sealed
	Payloads  []Payload `json:"payloads"`
	Picture
}

// Payload describes the bytes of a release or public table.
type Payload struct {
	Name   string `json:"name"` // "release-0", …
	Length int    `json:"length"`
	SHA256 string `json:"sha256"`
}

// Damaged is the code of a page that is not what was written.
const Damaged sqlerr.Code = "damaged"

// Sealed returns the text of a card over payloads, with their sums and the digest: SHA-256 of the format, the card with
// "digest":"", and the name, length and SHA-256 of each payload, a line each. In the text, every < is escaped.
func Sealed(c Card, payloads [][]byte) ([]byte, error) {
	c.Format, c.Digest, c.Payloads, c.Citation = Format, "", nil, c.cited()
	for i, p := range payloads {
		c.Payloads = append(c.Payloads, payloadOf(c.payloadName(i), p))
	}
	text, err := json.Marshal(c)
	if err == nil { // what is no UTF-8 becomes U+FFFD, which is written otherwise the second time
		var read Card
		if err = json.Unmarshal(text, &read); err == nil {
			text, err = json.Marshal(read)
		}
	}
	if err != nil {
		return nil, err
	}
	return bytes.Replace(text, digested(""), digested(digest(text, c.Payloads)), 1), nil
}

// cited returns how the page is cited.
func (c *Card) cited() string {
	text := c.Cite
	if text == "" {
		text = strings.TrimPrefix(fmt.Sprintf("%s: %s, %s", c.Publisher, c.Title, c.Made), ": ")
	}
	if c.DOI != "" {
		text += ". https://doi.org/" + c.DOI
	}
	return text
}

// payloadName names payload i: releases come first, then public tables.
func (c *Card) payloadName(i int) string {
	if n := len(c.Releases); i >= n {
		return fmt.Sprintf("public-%d", i-n)
	}
	return fmt.Sprintf("release-%d", i)
}

func payloadOf(name string, p []byte) Payload {
	sum := sha256.Sum256(p)
	return Payload{name, len(p), hex.EncodeToString(sum[:])}
}

// digested is the digest's place in the text of a card.
func digested(digest string) []byte { return fmt.Appendf(nil, `"digest":"%s"`, digest) }

// digest returns the digest of a card whose digest is empty.
func digest(text []byte, payloads []Payload) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", Format, text)
	for _, p := range payloads {
		fmt.Fprintf(h, "%s %d %s\n", p.Name, p.Length, p.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ReadCard reads the text of a card, and holds it and payloads to the digest. Errors: Damaged.
func ReadCard(text []byte, payloads [][]byte) (c Card, err error) {
	if err := json.Unmarshal(text, &c); err != nil {
		return c, sqlerr.New(Damaged, "the card cannot be read")
	}
	if c.Format != Format {
		return c, sqlerr.New(Damaged, "the page is no %s", Format)
	}
	var found []Payload
	for i, p := range payloads {
		found = append(found, payloadOf(c.payloadName(i), p))
	}
	place := digested(c.Digest)
	if bytes.Count(text, place) != 1 || digest(bytes.Replace(text, place, digested(""), 1), found) != c.Digest {
		return c, sqlerr.New(Damaged, "the digest is another one: something was changed after the page was written")
	}
	return c, nil
}

// Read opens the page of a card, see ReadCard and Open.
func Read(text []byte, payloads [][]byte) (*Desk, Card, error) {
	c, err := ReadCard(text, payloads)
	if err != nil {
		return nil, c, err
	}
	d, err := Open(c.Picture, payloads)
	return d, c, err
}

// Vocabulary returns the names and values that statements can use.
func (p Picture) Vocabulary() (v complete.Vocabulary) {
	for _, t := range p.Tables {
		words := complete.Table{Name: t.Name}
		for _, stored := range t.Columns {
			if c, ok := stored.Column(); ok {
				words.Columns = append(words.Columns, complete.ColumnOf(c))
			}
		}
		v.Tables = append(v.Tables, words)
	}
	for _, r := range p.Releases {
		v.Releases = released.AppendNew(v.Releases, cmp.Or(r.Part, r.Name))
	}
	for _, p := range p.Publics {
		v.Publics = append(v.Publics, p.Name)
	}
	return v
}
