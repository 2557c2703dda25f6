package pgcatalog

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"dpsql/sqlerr"
)

// tokenKind tells tokens apart.
type tokenKind uint8

const (
	end       tokenKind = iota
	word                // an unquoted name or keyword, in lower case
	quoted              // "a name"
	text                // 'a text', E'a text', $$a text$$
	number              // 1, 1.5, 1e3
	parameter           // $1: its text is the number
	operator            // =, <>, ||, !~, and ::
	mark                // ( ) [ ] , ; .
)

// token is a token of a statement. Its position is that of its first character, from 1.
type token struct {
	kind     tokenKind
	text     string
	position int
}

// lexer cuts a statement into tokens as PostgreSQL does, and refuses what PostgreSQL would. The
// lexer of package server is another one because it accepts any text, and reads of most
// statements the first word alone.
type lexer struct {
	sql       string
	at        int // byte
	counted   int // byte up to which characters are counted
	character int // number of characters before counted
}

// tokens returns the tokens of a statement, the last of kind end.
func tokens(sql string) []token {
	l := lexer{sql: sql}
	out := make([]token, 0, len(sql)/5+2)
	for {
		t := l.next()
		if out = append(out, t); t.kind == end {
			return out
		}
	}
}

func (l *lexer) position() int {
	l.character += utf8.RuneCountInString(l.sql[l.counted:l.at])
	l.counted = l.at
	return l.character + 1
}

func (l *lexer) peek(n int) byte {
	if l.at+n < len(l.sql) {
		return l.sql[l.at+n]
	}
	return 0
}

func (l *lexer) next() token {
	l.skip()
	t := token{position: l.position()}
	c := l.peek(0)
	switch {
	case l.at >= len(l.sql):
		return t
	case (c == 'e' || c == 'E') && l.peek(1) == '\'':
		l.at++
		t.kind, t.text = text, unescaped(l.enclosed('\'', true, t), t)
	case (c == 'n' || c == 'N') && l.peek(1) == '\'':
		l.at++
		t.kind, t.text = text, l.enclosed('\'', false, t)
	case (c == 'b' || c == 'B' || c == 'x' || c == 'X') && l.peek(1) == '\'', (c == 'u' || c == 'U') && l.peek(1) == '&' && (l.peek(2) == '\'' || l.peek(2) == '"'):
		unsupported(t.position, "a constant that begins with %s", l.sql[l.at:l.at+2])
	case letter(c):
		from := l.at
		for l.at++; letter(l.peek(0)) || digit(l.peek(0)) || l.peek(0) == '$'; l.at++ {
		}
		t.kind, t.text = word, lowered(l.sql[from:l.at])
	case digit(c), c == '.' && digit(l.peek(1)):
		t.kind, t.text = number, l.number()
	case c == '\'':
		t.kind, t.text = text, l.enclosed('\'', false, t)
	case c == '"':
		t.kind, t.text = quoted, l.enclosed('"', false, t)
	case c == '$' && digit(l.peek(1)):
		from := l.at + 1
		for l.at++; digit(l.peek(0)); l.at++ {
		}
		t.kind, t.text = parameter, l.sql[from:l.at]
	case c == '$':
		t.kind, t.text = text, l.dollars(t)
	case strings.IndexByte("()[],;.", c) >= 0:
		l.at++
		t.kind, t.text = mark, string(c)
	case c == ':' && l.peek(1) == ':':
		l.at += 2
		t.kind, t.text = operator, "::"
	case c == ':':
		l.at++
		t.kind, t.text = mark, ":"
	case isOperator(c):
		t.kind, t.text = operator, l.operator()
	default:
		fail(sqlerr.New(sqlerr.Malformed, "syntax error at %s", strconv.Quote(firstRune(l.sql[l.at:]))).At(t.position))
	}
	return t
}

func firstRune(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

// lowered returns a name in lower case, as PostgreSQL folds it: letters of ASCII only.
func lowered(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
func digit(c byte) bool      { return c >= '0' && c <= '9' }
func isOperator(c byte) bool { return c != 0 && strings.IndexByte("+-*/<>=~!@#%^&|`?", c) >= 0 }

// skip passes over white space and comments.
func (l *lexer) skip() {
	for l.at < len(l.sql) {
		switch c := l.peek(0); {
		case c == ' ' || c >= '\t' && c <= '\r':
			l.at++
		case c == '-' && l.peek(1) == '-':
			for l.at < len(l.sql) && l.sql[l.at] != '\n' {
				l.at++
			}
		case c == '/' && l.peek(1) == '*':
			l.comment()
		default:
			return
		}
	}
}

// comment passes over a comment, in which others may be nested.
func (l *lexer) comment() {
	begin, depth := l.position(), 0
	for l.at < len(l.sql) {
		switch {
		case l.peek(0) == '/' && l.peek(1) == '*':
			depth++
			l.at += 2
		case l.peek(0) == '*' && l.peek(1) == '/':
			l.at += 2
			if depth--; depth == 0 {
				return
			}
		default:
			l.at++
		}
	}
	fail(sqlerr.New(sqlerr.Malformed, "a comment does not end").At(begin))
}

// enclosed returns the text up to the next quote, in which a doubled quote is one. With
// escapes, a backslash keeps a quote from ending the text, and both are returned.
func (l *lexer) enclosed(quote byte, escapes bool, t token) string {
	var b strings.Builder
	for l.at++; l.at < len(l.sql); l.at++ {
		switch c := l.sql[l.at]; {
		case c == quote && l.peek(1) == quote:
			b.WriteByte(quote)
			l.at++
		case c == quote:
			l.at++
			return b.String()
		case c == '\\' && escapes && l.at+1 < len(l.sql):
			b.WriteString(l.sql[l.at : l.at+2])
			l.at++
		default:
			b.WriteByte(c)
		}
	}
	fail(sqlerr.New(sqlerr.Malformed, "a %c does not end", quote).At(t.position))
	return ""
}

// unescaped returns a text of the form E'…' with its escapes resolved.
func unescaped(s string, t token) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'u', 'U', 'x', '0', '1', '2', '3', '4', '5', '6', '7':
			unsupported(t.position, `the escape \%c`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// dollars returns the text between $tag$ and $tag$.
func (l *lexer) dollars(t token) string {
	tag := strings.IndexByte(l.sql[l.at+1:], '$')
	if tag >= 0 {
		mark := l.sql[l.at : l.at+tag+2]
		body := l.sql[l.at+len(mark):]
		if n := strings.Index(body, mark); n >= 0 && !strings.ContainsAny(mark, " \t\n'\"(),;") {
			l.at += len(mark)*2 + n
			return body[:n]
		}
	}
	fail(sqlerr.New(sqlerr.Malformed, "syntax error at \"$\"").At(t.position))
	return ""
}

func (l *lexer) number() string {
	from := l.at
	for digit(l.peek(0)) || l.peek(0) == '.' {
		l.at++
	}
	if c := l.peek(0); c == 'e' || c == 'E' {
		n := 1
		if l.peek(1) == '+' || l.peek(1) == '-' {
			n = 2
		}
		if digit(l.peek(n)) {
			for l.at += n; digit(l.peek(0)); l.at++ {
			}
		}
	}
	return l.sql[from:l.at]
}

// operator returns the longest operator. One of several characters ends with + or - only
// if it has a character that standard SQL has not, and a comment ends it.
func (l *lexer) operator() string {
	from := l.at
	for isOperator(l.peek(0)) {
		if next := l.sql[l.at:]; l.at > from && (strings.HasPrefix(next, "--") || strings.HasPrefix(next, "/*")) {
			break
		}
		l.at++
	}
	s := l.sql[from:l.at]
	for len(s) > 1 && (s[len(s)-1] == '+' || s[len(s)-1] == '-') && !strings.ContainsAny(s, "~!@#%^&|`?") {
		s = s[:len(s)-1]
	}
	l.at = from + len(s)
	return s
}
