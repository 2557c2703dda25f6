package importer

import (
	"bufio"
	"io"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"dpsql/sqlerr"
)

// charsetOf returns the encoding of a name, as the web or IANA's list has it.
func charsetOf(name string) (encoding.Encoding, error) {
	if name == "" {
		return nil, nil
	}
	found, err := htmlindex.Get(name)
	if err != nil {
		found, err = ianaindex.IANA.Encoding(name)
	}
	if err != nil || found == nil {
		return nil, sqlerr.New(sqlerr.Invalid, "no encoding is named %s", name).
			WithHint("names are windows-1252, iso-8859-2, macintosh, cp850, utf-16le, shift_jis and others of IANA's list")
	}
	if found == unicode.UTF8 {
		return nil, nil // its bytes are checked, not replaced
	}
	return found, nil
}

// decoded returns a reader of the text in UTF-8. The text is in UTF-16 or UTF-8 if a mark
// says so, else in the given encoding.
func decoded(text *bufio.Reader, charset encoding.Encoding) io.Reader {
	if mark, _ := text.Peek(3); string(mark) == "\ufeff" {
		text.Discard(3)
		return text
	}
	fallback := transform.Transformer(encoding.Nop.NewDecoder())
	if charset != nil {
		fallback = charset.NewDecoder()
	} else if !marked(text) {
		return text
	}
	return transform.NewReader(text, unicode.BOMOverride(fallback))
}

// marked reports whether a text begins with the mark of UTF-16.
func marked(text *bufio.Reader) bool {
	mark, _ := text.Peek(2)
	return string(mark) == "\xff\xfe" || string(mark) == "\xfe\xff"
}
