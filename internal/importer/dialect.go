package importer

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dpsql/sqlerr"
)

// Dialect says how a text is written. What is 0 is found out from the file.
type Dialect struct {
	Encoding string // a name such as windows-1252; UTF-8 if "". A byte order mark goes before it
	HasSkip  bool   // the names stand below the first Skip lines, whatever these look like
	Skip     int    // without HasSkip, the lines above the names that were left out
	SkipLast int    // the last lines that are no rows, blank ones not counted

	Comma   rune // between fields: in .tsv and .tab files a tab, else the one of , ; tab | that the first line has most of
	Quote   byte // around fields; ' if the first line quotes all names so, else "
	NoQuote bool // quotes are characters like others
	Decimal byte // '.' or ','; a comma if semicolons separate the fields and no column has fractions with a point

	Columns []string // those to load, of a Parquet file too; all if nil

	Dates []string // forms as d.m.Y and 'm/d/Y H:M'; "" leaves dates as they are. A column has the form that it alone can have, if Dates is nil

	Numbers bool // $1,250.00, 12% and (5) are the numbers 1250.00, 12 and -5

	Nulls []string // a field that reads so is NULL in every column; if nil, an empty field is NULL among numbers alone
}

// Set sets what a switch of .import says, by its name without dashes.
func (d *Dialect) Set(name, value string) error {
	switch name {
	case "numbers":
		d.Numbers = true
		return nil
	case "null":
		d.Nulls = append(d.Nulls, value)
		return nil
	case "date":
		d.Dates = append(d.Dates, value)
		return nil
	case "columns":
		d.Columns = append(d.Columns, strings.Split(value, ",")...)
		return nil
	case "encoding":
		d.Encoding = value
		return nil
	case "skip":
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return sqlerr.New(sqlerr.Invalid, "--skip takes a number of lines").WithHint("as in .import --skip 2 FILE TABLE")
		}
		d.Skip, d.HasSkip = int(n), true
		return nil
	case "skip-last":
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil {
			return sqlerr.New(sqlerr.Invalid, "--skip-last takes a number of lines, at most 65535").WithHint("as in .import --skip-last 1 FILE TABLE")
		}
		d.SkipLast = int(n)
		return nil
	}
	if name == "quote" && value == "" {
		d.NoQuote = true
		return nil
	}
	sign, size := utf8.DecodeRuneInString(value)
	if value == `\t` {
		sign, size = '\t', len(value)
	}
	switch {
	case size == 0 || size != len(value):
		return sqlerr.New(sqlerr.Invalid, "--%s takes one character", name).WithHint("as in .import --separator ';' FILE TABLE")
	case name == "separator":
		d.Comma = sign
	case sign >= utf8.RuneSelf:
		return sqlerr.New(sqlerr.Invalid, "--%s takes an ASCII character", name)
	case name == "quote":
		d.Quote = byte(sign)
	case name == "decimal":
		d.Decimal = byte(sign)
	default:
		return sqlerr.New(sqlerr.Invalid, "a file is not read by --%s", name)
	}
	return nil
}

// isNull reports whether a field is NULL whatever its column.
func (d *Dialect) isNull(field string) bool {
	return d.Nulls != nil && (slices.Contains(d.Nulls, field) || slices.Contains(d.Nulls, strings.TrimSpace(field)))
}

// unquoted stands for a quote that no UTF-8 text has.
const unquoted = 0xff

func (d Dialect) check() error {
	switch {
	case strings.ContainsRune("\"\r\n\ufffd", d.Comma) || !utf8.ValidRune(d.Comma):
		return sqlerr.New(sqlerr.Invalid, "the field separator must be one character other than a quote or a line end")
	case d.Quote >= utf8.RuneSelf, d.Quote != 0 && d.Quote < ' ', d.Quote != 0 && rune(d.Quote) == d.Comma:
		return sqlerr.New(sqlerr.Invalid, "the quote must be one ASCII character other than the field separator")
	case d.Decimal != 0 && d.Decimal != '.' && d.Decimal != ',':
		return sqlerr.New(sqlerr.Invalid, "the decimal mark must be a point or a comma")
	case d.Skip < 0 || d.SkipLast < 0:
		return sqlerr.New(sqlerr.Invalid, "a number of lines is not below 0")
	}
	return nil
}

// separators are those that are looked for, the likeliest first.
const separators = ",;\t|"

// sniff completes a dialect from the line of the names, but for the decimal mark.
func (d Dialect) sniff(line string) Dialect {
	if d.Quote == 0 {
		if d.Quote = '"'; strings.HasPrefix(line, "'") && strings.HasSuffix(line, "'") && len(line) > 1 && !strings.Contains(line, `"`) {
			d.Quote = '\''
		}
	}
	if d.Comma != 0 {
		return d
	}
	candidates := separators
	if d.Decimal == ',' {
		candidates = ";\t|,"
	}
	d.Comma = rune(candidates[0])
	for _, r := range candidates {
		if d.count(line, r) > d.count(line, d.Comma) && r != rune(d.Quote) {
			d.Comma = r
		}
	}
	return d
}

// count counts a separator outside quotes.
func (d Dialect) count(line string, separator rune) (n int) {
	quoted := false
	for _, r := range line {
		switch {
		case r == rune(d.Quote) && !d.NoQuote:
			quoted = !quoted
		case r == separator && !quoted:
			n++
		}
	}
	return n
}

// padded reports whether blanks stand between a separator and a quote.
func (d Dialect) padded(text string) bool {
	quoted, begins, blank := false, true, false
	for _, r := range text {
		switch {
		case r == rune(d.Quote) && !quoted && begins && blank && !d.NoQuote:
			return true
		case r == rune(d.Quote):
			quoted, begins = !quoted, false
		case r == d.Comma || r == '\n':
			begins, blank = !quoted, false
		case r == ' ':
			blank = begins
		default:
			begins = false
		}
	}
	return false
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
