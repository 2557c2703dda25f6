package syntax

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"

	"dpsql/sqlerr"
)

// Input is one statement or dot-command of a script.
type Input struct {
	Text    string // from its first character through its semicolon, if it has one
	Command bool   // it is a dot-command: a line that starts with a point, or with a backslash as psql's do
	Line    int    // 1-based line of the first character
	Column  int    // 1-based character in that line
}

// Locate converts a 1-based character position in the text, as errors state it, to a
// line and column of the script. A position of 0 is the place of the text itself.
func (in Input) Locate(position int) (line, column int) {
	line, column = in.Line, in.Column
	for i := range in.Text {
		if position--; position <= 0 {
			break
		}
		if column++; in.Text[i] == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column
}

// Scanner reads a script statement by statement as it arrives: it asks its
// reader for more only when it holds no complete statement.
type Scanner struct {
	r      *bufio.Reader
	split  splitter
	in     Input  // the place of the statement being read
	text   []byte // its bytes so far
	line   int
	column int
	fresh  bool // nothing but blanks so far in this line
	failed error
}

// NewScanner returns a scanner of the script that r delivers.
func NewScanner(r io.Reader) *Scanner {
	return &Scanner{r: bufio.NewReader(r), line: 1, column: 1, fresh: true}
}

// Next returns the next statement or dot-command, and io.EOF after the last. It skips
// a first line that begins with #!, empty statements, and comments and blanks between statements. The last statement
// needs no semicolon. An unreadable script is an IO error and an overlong statement
// an Unsupported one, with the Input's place. Both end the scan.
func (s *Scanner) Next() (Input, error) {
	for s.failed == nil {
		b, err := s.r.ReadByte()
		if err != nil {
			return s.finish(err)
		}
		if s.startsCommand(b) {
			return s.command(b)
		}
		if s.take(b) {
			return s.statement(), nil
		}
		if len(s.text) > maxStatement {
			s.failed = errTooLong()
			return s.in, s.failed
		}
	}
	return Input{}, s.failed
}

func (s *Scanner) startsCommand(b byte) bool {
	return beginsCommand(b) && s.fresh && s.split == (splitter{})
}

// beginsCommand reports whether a line that starts with the character is a command.
func beginsCommand(b byte) bool { return b == '.' || b == '\\' }

// take adds one byte and reports whether it completes a statement.
func (s *Scanner) take(b byte) bool {
	if s.line == 1 && s.column == 1 && (b == 0xEF && s.skipMark() || b == '#' && s.skipInterpreter()) {
		return false
	}
	r := s.split.next(b)
	if len(s.text) == 0 {
		s.in = Input{Line: s.line, Column: s.column}
	}
	s.keep(b, r)
	s.move(b)
	return r == roleEnd && s.split.begun
}

// keep stores a byte that belongs to a statement. Before the first token only
// the opening of a comment is stored, and dropped when the comment closes. A comment that
// has settings belongs to the statement behind it, with what stands between them.
func (s *Scanner) keep(b byte, r role) {
	hinted := strings.HasPrefix(string(s.text[:min(len(s.text), len(hintMark))]), hintMark)
	switch {
	case s.split.begun, hinted, r == roleMaybe, r == roleComment && (len(s.text) < 2 || len(s.text) == 2 && b == '+'):
		s.text = append(s.text, b)
	}
	if r == roleComment && !hinted && !s.split.begun && s.split.state == inCode {
		s.text = s.text[:0]
	}
}

// skipMark passes the rest of a byte order mark.
func (s *Scanner) skipMark() bool {
	rest, _ := s.r.Peek(2)
	if string(rest) != "\xBB\xBF" {
		return false
	}
	n, err := s.r.Discard(2)
	return n == 2 && err == nil
}

// skipInterpreter passes the rest of a line that names the program to run a script with.
func (s *Scanner) skipInterpreter() bool {
	if next, _ := s.r.Peek(1); string(next) != "!" {
		return false
	}
	for b := byte(0); b != '\n'; {
		var err error
		if b, err = s.r.ReadByte(); err != nil {
			return true
		}
	}
	s.move('\n')
	return true
}

// move counts the byte into the line and column.
func (s *Scanner) move(b byte) {
	switch {
	case b == '\n':
		s.line, s.column, s.fresh = s.line+1, 1, true
		return
	case strings.IndexByte(blanks, b) < 0:
		s.fresh = false
	}
	if utf8.RuneStart(b) {
		s.column++
	}
}

// statement returns the stored text and forgets it.
func (s *Scanner) statement() Input {
	s.in.Text = string(s.text)
	s.text, s.split = s.text[:0], splitter{}
	return s.in
}

// command reads a dot-command, of which it is given the first character, to the end of its line.
func (s *Scanner) command(first byte) (Input, error) {
	s.in = Input{Command: true, Line: s.line, Column: s.column}
	s.text = append(s.text[:0], first)
	for {
		b, err := s.r.ReadByte()
		if err != nil && err != io.EOF {
			return s.finish(err)
		}
		if err != nil || b == '\n' {
			s.move('\n')
			break
		}
		if s.text = append(s.text, b); len(s.text) > maxStatement {
			s.failed = errTooLong()
			return s.in, s.failed
		}
	}
	in := s.statement()
	in.Text = strings.TrimRight(in.Text, blanks)
	return in, nil
}

// finish returns the statement that is left at the end of the script, if any.
func (s *Scanner) finish(err error) (Input, error) {
	s.failed = err
	if err != io.EOF {
		s.failed = sqlerr.New(sqlerr.IO, "cannot read the statements: %v", err)
		return s.in, s.failed
	}
	if !s.split.pending() {
		return Input{}, io.EOF
	}
	in := s.statement()
	in.Text = strings.TrimRight(in.Text, blanks)
	return in, nil
}

// splitter follows a text byte by byte, knowing only quotes and comments, to
// find the semicolons that end statements. It agrees with the lexer on where
// strings and comments begin and end.
type splitter struct {
	state byte // the quote or comment that is open
	last  byte // the byte before, if it can start a comment or end one
	begun bool // a token has been seen since the statement's start
}

// States of a splitter; the closing sign of a quoted token is its own state.
const (
	inCode    = byte(0)
	inLine    = byte('-') // a comment up to the end of the line
	inComment = byte('*') // a /* comment */
)

// role classifies a byte.
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

// pending reports whether a statement has begun, or a quote or comment is open that
// only a statement can have opened.
func (s *splitter) pending() bool {
	return s.begun || s.last == '-' || s.last == '/' || s.state != inCode && s.state != inLine
}

// Incomplete reports whether more text must follow before a shell can run what
// it has: a statement lacks its semicolon, or a string, quoted name or comment
// its end. A dot-command and a text without a statement are complete.
func Incomplete(text string) bool {
	if first := strings.TrimLeft(text, blanks); first != "" && beginsCommand(first[0]) {
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
