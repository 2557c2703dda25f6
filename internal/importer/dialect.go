package importer

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"

	"dpsql/sqlerr"
)

// Dialect says how a text is written. What is 0 is found out from the file.
type Dialect struct {
	Comma   rune // between fields: in .tsv and .tab files a tab, else the one of , ; tab | that the first line has most of
	Quote   byte // around fields; ' if the first line quotes all names so, else "
	Decimal byte // '.' or ','; a comma if semicolons separate the fields and no column has fractions with a point

	HasNull bool   // a field that reads Null is NULL in every column
	Null    string // without HasNull empty fields are NULL, in INTEGER and REAL columns alone
}

// isNull reports whether a field is NULL whatever its column.
func (d Dialect) isNull(field string) bool { return d.HasNull && field == d.Null }

func (d Dialect) check() error {
	switch {
	case strings.ContainsRune("\"\r\n\ufffd", d.Comma) || !utf8.ValidRune(d.Comma):
		return sqlerr.New(sqlerr.Invalid, "the field separator must be one character other than a quote or a line end")
	case d.Quote >= utf8.RuneSelf, d.Quote != 0 && d.Quote < ' ', d.Quote != 0 && rune(d.Quote) == d.Comma:
		return sqlerr.New(sqlerr.Invalid, "the quote must be one ASCII character other than the field separator")
	case d.Decimal != 0 && d.Decimal != '.' && d.Decimal != ',':
		return sqlerr.New(sqlerr.Invalid, "the decimal mark must be a point or a comma")
	case d.Decimal == ',' && d.Comma == ',':
		return sqlerr.New(sqlerr.Invalid, "fields and fractions cannot both have commas").WithHint("name the field separator, too")
	}
	return nil
}

// separators are those that are looked for, the likeliest first.
const separators = ",;\t|"

// mostNames bounds the part of the first line that is looked at.
const mostNames = 1 << 16

// sniff completes a dialect from the first line of a text, but for the decimal mark.
func (d Dialect) sniff(text io.Reader) Dialect {
	line, _ := bufio.NewReader(io.LimitReader(text, mostNames)).ReadString('\n')
	line = strings.TrimRight(strings.TrimPrefix(line, "\ufeff"), "\r\n")
	if d.Quote == 0 {
		if d.Quote = '"'; strings.HasPrefix(line, "'") && strings.HasSuffix(line, "'") && len(line) > 1 && !strings.Contains(line, `"`) {
			d.Quote = '\''
		}
	}
	if d.Comma != 0 {
		return d
	}
	counts, quoted := make(map[rune]int), false
	for _, r := range line {
		if r == rune(d.Quote) {
			quoted = !quoted
		} else if !quoted {
			counts[r]++
		}
	}
	candidates := separators
	if d.Decimal == ',' {
		candidates = candidates[1:]
	}
	d.Comma = rune(candidates[0])
	for _, r := range candidates {
		if counts[r] > counts[d.Comma] && r != rune(d.Quote) {
			d.Comma = r
		}
	}
	return d
}

// swapped exchanges a quote with ", which is the one that encoding/csv knows.
type swapped struct {
	text  io.Reader
	quote byte
}

func (s swapped) Read(p []byte) (int, error) {
	n, err := s.text.Read(p)
	for i, c := range p[:n] {
		p[i] = swap(c, s.quote)
	}
	return n, err
}

func swap(c, quote byte) byte {
	switch c {
	case quote:
		return '"'
	case '"':
		return quote
	}
	return c
}

// swapBack exchanges the quotes of a field again.
func swapBack(field string, quote byte) string {
	if strings.IndexByte(field, quote) < 0 && strings.IndexByte(field, '"') < 0 {
		return field
	}
	b := []byte(field)
	for i, c := range b {
		b[i] = swap(c, quote)
	}
	return string(b)
}
