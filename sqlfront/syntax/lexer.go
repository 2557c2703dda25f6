package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"dpsql/sqlerr"
)

// maxStatement is the largest statement in bytes.
const maxStatement = 256 << 10

func errTooLong() *sqlerr.Error {
	return sqlerr.New(sqlerr.Unsupported, "a statement of more than %d KiB is outside the dialect", maxStatement>>10).
		WithHint("load a long list into a table, declare it with CREATE PUBLIC TABLE, and write IN (SELECT code FROM list), or JOIN list ON t.code = list.code")
}

// lexer cuts a statement into tokens.
type lexer struct {
	text     string
	at       int  // byte offset of the next token
	position int  // 1-based character at that offset
	ascii    bool // the text is, so that a character is a byte
}

// lex returns the tokens of a text, with parameters numbered. The last token
// is the end, placed at the last character that is not blank.
func Lex(text string) ([]Token, error) {
	ascii, err := checkText(text)
	if err != nil {
		return nil, err
	}
	l := &lexer{text: text, position: 1, ascii: ascii}
	tokens := make([]Token, 0, len(text)/3+2)
	for {
		if err := l.skip(); err != nil {
			return nil, err
		}
		if l.at == len(text) {
			break
		}
		t, err := l.token()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
	}
	last := strings.TrimRight(text, blanks)
	tokens = append(tokens, Token{Kind: KindEnd, Position: max(utf8.RuneCountInString(last), 1)})
	return tokens, numberParameters(tokens)
}

// isASCII reports whether a text is of ASCII characters other than NUL.
func isASCII(text string) bool {
	for i := range len(text) {
		if c := text[i]; c == 0 || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// checkText refuses texts that are too long or are not text, and reports whether
// a text is ASCII.
func checkText(text string) (ascii bool, err error) {
	if len(text) > maxStatement {
		return false, errTooLong()
	}
	if isASCII(text) {
		return true, nil
	}
	position := 1
	for i, r := range text {
		if r == 0 {
			return false, sqlerr.New(sqlerr.Malformed, "the statement contains a NUL byte").At(position)
		}
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			return false, sqlerr.New(sqlerr.Malformed, "the statement is not valid UTF-8").At(position)
		}
		position++
	}
	return false, nil
}

const blanks = " \t\n\f\r"

// skip passes blanks and comments.
func (l *lexer) skip() error {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch {
		case strings.IndexByte(blanks, rest[0]) >= 0:
			l.advance(1)
		case strings.HasPrefix(rest, "--"):
			l.advance(lengthTo(rest, "\n", 2))
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return sqlerr.New(sqlerr.Malformed, "unterminated comment").At(l.position)
			}
			l.advance(n + 4)
		default:
			return nil
		}
	}
	return nil
}

// lengthTo returns the length of the text up to the end mark, searched from an
// offset on, or all of it.
func lengthTo(text, end string, from int) int {
	if i := strings.Index(text[from:], end); i >= 0 {
		return from + i
	}
	return len(text)
}

func (l *lexer) advance(n int) {
	if l.ascii {
		l.position += n
	} else {
		l.position += utf8.RuneCountInString(l.text[l.at : l.at+n])
	}
	l.at += n
}

// token reads one token.
func (l *lexer) token() (Token, error) {
	rest := l.text[l.at:]
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case (r == 'x' || r == 'X') && strings.HasPrefix(rest[1:], "'"):
		return l.quoted(KindBlob, 1, '\'')
	case isLetter(r):
		return l.word()
	case isDigit(r), r == '.' && len(rest) > 1 && isDigit(rune(rest[1])):
		return l.number()
	case r == '\'':
		return l.quoted(KindString, 0, '\'')
	case r == '"', r == '`':
		return l.quoted(KindQuoted, 0, byte(r))
	case r == '[':
		return l.quoted(KindQuoted, 0, ']')
	case r == '?', r == ':', r == '@', r == '$':
		return l.parameter()
	}
	return l.operator()
}

// take cuts the next n bytes off as a token.
func (l *lexer) take(k Kind, n int) Token {
	text := l.text[l.at : l.at+n]
	t := Token{Kind: k, Text: text, Value: text, Position: l.position}
	l.advance(n)
	return t
}

func (l *lexer) word() (Token, error) {
	t := l.take(KindWord, spanOf(l.text[l.at:], isNamePart))
	t.Upper = UpperASCII(t.Text)
	return t, nil
}

// spanOf returns the length of the longest prefix of accepted characters.
func spanOf(text string, accept func(rune) bool) int {
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[i:])
		}
		if !accept(r) {
			return i
		}
		i += n
	}
	return len(text)
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// isLetter accepts what starts a name: ASCII letters, the underscore and, of
// the characters beyond ASCII (all of which SQLite accepts), the letters, so
// that a typographic quote or space is not silently part of a name.
func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return unicode.IsLetter(r)
}

func isNamePart(r rune) bool {
	return isLetter(r) || isDigit(r) || r == '$' || r > unicode.MaxASCII && (unicode.IsMark(r) || unicode.IsNumber(r))
}

// single are the operators of one character that no other starts with.
const single = "(),;.+*/%~"

// operators are the others, in the order they are tried: longer ones first.
var operators = []string{
	"->>", "->", "==", "=", "<>", "!=", "<=", "<<", "<", ">=", ">>", ">", "||", "|", "&&", "&", "-",
}

func (l *lexer) operator() (Token, error) {
	rest := l.text[l.at:]
	if strings.IndexByte(single, rest[0]) >= 0 {
		return l.take(KindOperator, 1), nil
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			return l.take(KindOperator, len(op)), nil
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	err := sqlerr.New(sqlerr.Malformed, "unexpected character %s", describeRune(r)).At(l.position)
	if strings.ContainsRune("‘’“”«»", r) {
		err = err.WithHint("quote texts with ' and names with \"")
	}
	return Token{}, err
}

// describeRune shows a character, or its code point where it has no shape.
func describeRune(r rune) string {
	if unicode.IsGraphic(r) && !unicode.IsSpace(r) {
		return string(r)
	}
	const hex = "0123456789ABCDEF"
	code := ""
	for ; r > 0 || len(code) < 4; r >>= 4 {
		code = string(hex[r&15]) + code
	}
	return "U+" + code
}
