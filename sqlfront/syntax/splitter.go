package syntax

import "strings"

// splitter follows a text byte by byte, knowing only quotes and comments, to
// find the semicolons that end statements. It is the lexer's view of the same
// text: what is a string or a comment to one is to the other.
type splitter struct {
	state byte // what the bytes now belong to
	last  byte // the byte before, where it can start a comment or end one
	begun bool // a token has been seen since the statement's start
}

// States of a splitter; the closing sign of a quoted token is its own state.
const (
	inCode    = byte(0)
	inLine    = byte('-') // a comment up to the end of the line
	inComment = byte('*') // a /* comment */
)

// role is what a byte turned out to be.
type role uint8

const (
	roleBlank   role = iota
	roleMaybe        // - or /, which can open a comment with the next byte
	roleComment      // part of a comment, which a roleMaybe opened
	roleCode         // part of a token
	roleEnd          // a semicolon that ends a statement
)

// next takes the next byte.
func (s *splitter) next(b byte) role {
	last := s.last
	s.last = 0
	r := s.role(b, last)
	maybe := last == '-' || last == '/'
	if r == roleCode || maybe && r != roleComment {
		s.begun = true // a sign that opened no comment is a token
	}
	return r
}

func (s *splitter) role(b, last byte) role {
	switch s.state {
	case inCode:
		return s.code(b, last)
	case inLine:
		if b == '\n' {
			s.state = inCode
		}
		return roleComment
	case inComment:
		switch {
		case last == '*' && b == '/':
			s.state = inCode
		case b == '*':
			s.last = b
		}
		return roleComment
	}
	if b == s.state {
		s.state = inCode // a doubled quote opens again at once
	}
	return roleCode
}

// code takes a byte outside quotes and comments.
func (s *splitter) code(b, last byte) role {
	switch {
	case b == '-' && last == '-':
		s.state = inLine
		return roleComment
	case b == '*' && last == '/':
		s.state = inComment
		return roleComment
	}
	switch b {
	case ';':
		return roleEnd
	case ' ', '\t', '\n', '\f', '\r':
		return roleBlank
	case '-', '/':
		s.last = b
		return roleMaybe
	case '\'', '"', '`':
		s.state = b
	case '[':
		s.state = ']'
	}
	return roleCode
}

// pending reports whether a statement has begun, or something is open that
// only a statement can have opened.
func (s *splitter) pending() bool {
	return s.begun || s.last == '-' || s.last == '/' || s.state != inCode && s.state != inLine
}

// Incomplete reports whether more text must follow before a shell can run what
// it has: a statement lacks its semicolon, or a string, quoted name or comment
// its end. A dot-command and a text without a statement are complete.
func Incomplete(text string) bool {
	if strings.HasPrefix(strings.TrimLeft(text, blanks), ".") {
		return false
	}
	var s splitter
	for i := range len(text) {
		if s.next(text[i]) == roleEnd {
			s.begun = false
		}
	}
	return s.pending()
}
