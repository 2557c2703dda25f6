package syntax

import (
	"math/big"
	"strconv"
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

// Dialect says whose SQL a text is.
type Dialect uint8

const (
	// Native is SQLite's, with the forms of other systems that docs/sql/forms.md lists.
	Native Dialect = iota
	// Postgres is PostgreSQL's, as far as its clients ask about the catalog.
	Postgres
)

// lexer cuts a statement into tokens.
type lexer struct {
	text     string
	dialect  Dialect
	open     int  // the number of arrays that are open
	offset   int  // byte offset of the next token
	position int  // 1-based character at that offset
	ascii    bool // the text is ASCII, so that a character is a byte
	tokens   []Token
	hints    []hint
}

// Lex returns the tokens of a text, with parameters numbered. The last token
// is the end, placed at the last character that is not blank.
func Lex(text string) ([]Token, error) {
	tokens, _, err := lex(text)
	return tokens, err
}

// lex is Lex, and returns the comments that have settings.
func lex(text string) ([]Token, []hint, error) {
	l := &lexer{text: text}
	err := l.run()
	if err == nil {
		l.endsAtText()
		err = numberParameters(l.tokens)
	}
	if err != nil {
		return nil, nil, masked(text, err)
	}
	return l.tokens, l.hints, nil
}

// Lex returns the tokens of a query in the dialect, as Parse takes them. The last token is the
// end, placed behind the last character.
func (d Dialect) Lex(text string) ([]Token, error) {
	l := &lexer{text: text, dialect: d}
	if err := l.run(); err != nil {
		return nil, err
	}
	l.end(l.position)
	if d == Postgres {
		return l.tokens, nil
	}
	return l.tokens, numberParameters(l.tokens)
}

// run cuts the whole text.
func (l *lexer) run() (err error) {
	if l.ascii, err = checkText(l.text); err != nil {
		return err
	}
	l.position = 1
	l.tokens = make([]Token, 0, len(l.text)/3+2)
	for {
		if err := l.skip(); err != nil {
			return err
		}
		if l.offset == len(l.text) {
			return nil
		}
		t, err := l.token()
		if err != nil {
			return err
		}
		l.tokens = append(l.tokens, t)
	}
}

// endsAtText adds the end, at the last character that is not blank.
func (l *lexer) endsAtText() {
	l.end(max(utf8.RuneCountInString(strings.TrimRight(l.text, blanks)), 1))
}

func (l *lexer) end(position int) {
	l.tokens = append(l.tokens, Token{Kind: KindEnd, Position: position, End: position})
}

// hintMark begins a comment that has settings of its statement.
const hintMark = "/*+"

// hint is what such a comment says.
type hint struct {
	text     string
	position int
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
	for l.offset < len(l.text) {
		rest := l.text[l.offset:]
		switch {
		case strings.IndexByte(blanks, rest[0]) >= 0, rest[0] == '\v' && l.dialect == Postgres:
			l.advance(1)
		case strings.HasPrefix(rest, "--"):
			l.advance(lengthTo(rest, "\n", 2))
		case strings.HasPrefix(rest, "/*") && l.dialect == Postgres:
			n := nestedComment(rest)
			if n < 0 {
				return sqlerr.New(sqlerr.Malformed, "unterminated comment").At(l.position)
			}
			l.advance(n)
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return sqlerr.New(sqlerr.Malformed, "unterminated comment").At(l.position)
			}
			if strings.HasPrefix(rest, hintMark) && n > 0 {
				l.hints = append(l.hints, hint{rest[len(hintMark) : n+2], l.position + len(hintMark)})
			}
			l.advance(n + 4)
		default:
			return nil
		}
	}
	return nil
}

// lengthTo returns the length of the text before the first end mark at or after an
// offset, or of the whole text if there is none.
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
		l.position += utf8.RuneCountInString(l.text[l.offset : l.offset+n])
	}
	l.offset += n
}

// token reads one token.
func (l *lexer) token() (Token, error) {
	rest := l.text[l.offset:]
	r, _ := utf8.DecodeRuneInString(rest)
	if l.dialect == Postgres {
		return l.postgresToken(r)
	}
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
	case r == '[', r == ']':
		return l.bracket(r == '[')
	case strings.HasPrefix(rest, "::"):
		return l.take(KindOperator, 2), nil
	case r == '?', r == ':', r == '@', r == '$':
		return l.parameter()
	}
	return l.operator()
}

// take cuts the next n bytes off as a token.
func (l *lexer) take(k Kind, n int) Token {
	text := l.text[l.offset : l.offset+n]
	t := Token{Kind: k, Text: text, Value: text, Position: l.position}
	l.advance(n)
	t.End = l.position
	return t
}

func (l *lexer) word() (Token, error) {
	t := l.take(KindWord, spanOf(l.text[l.offset:], isNamePart))
	t.Upper = UpperASCII(t.Text)
	return t, nil
}

// bracket reads a bracket of an array, which stands behind ARRAY and inside another, or the two of an array's type; else a name.
func (l *lexer) bracket(open bool) (Token, error) {
	switch {
	case !open && l.open > 0:
		l.open--
	case open && (l.open > 0 || strings.HasPrefix(l.text[l.offset:], "[]") || len(l.tokens) > 0 && l.tokens[len(l.tokens)-1].Matches("ARRAY")):
		l.open++
	case open:
		return l.quoted(KindQuoted, 0, ']')
	default:
		return l.operator()
	}
	return l.take(KindOperator, 1), nil
}

func (l *lexer) operator() (Token, error) {
	rest := l.text[l.offset:]
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
	switch {
	case strings.ContainsRune("‘’“”«»", r):
		err = err.WithHint("quote texts with ' and names with \"")
	case r == '^':
		err = err.WithHint("a power is POWER(x, 2)")
	case strings.HasPrefix(rest, "!~"):
		err = err.WithHint("write NOT x ~ '^a', or NOT LIKE")
	}
	return Token{}, err
}

// describeRune shows a character, or its code point if the character is invisible.
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

// quoted reads a token in quotes. The quote sign is doubled inside, except in
// brackets; a backslash is an ordinary character. prefix is the number of
// bytes before the opening quote.
func (l *lexer) quoted(k Kind, prefix int, end byte) (Token, error) {
	rest := l.text[l.offset:]
	n := prefix + 1
	for {
		i := strings.IndexByte(rest[n:], end)
		if i < 0 {
			return Token{}, l.unterminated(k)
		}
		n += i + 1
		if end == ']' || n == len(rest) || rest[n] != end {
			break
		}
		n++
	}
	inner := rest[prefix+1 : n-1]
	t := l.take(k, n)
	t.Value = inner
	if end != ']' {
		t.Value = strings.ReplaceAll(inner, string([]byte{end, end}), string(end))
	}
	return t, nil
}

func (l *lexer) unterminated(k Kind) error {
	what, hint := "string", "a quote inside a string is doubled: ''"
	if k == KindQuoted {
		what, hint = "quoted name", "close it with the same sign"
	}
	return sqlerr.New(sqlerr.Malformed, "unterminated %s", what).WithHint("%s", hint).At(l.position)
}

// number reads an integer or a decimal.
func (l *lexer) number() (Token, error) {
	rest := l.text[l.offset:]
	n := spanOf(rest, isDigit)
	k := KindInteger
	if n < len(rest) && rest[n] == '.' {
		k = KindDecimal
		n++
		n += spanOf(rest[n:], isDigit)
	}
	if e := exponent(rest[n:]); e > 0 {
		k = KindDecimal
		n += e
	}
	if tail := spanOf(rest[n:], isNamePart); tail > 0 {
		return Token{}, l.badNumber(rest[:n], rest[n:n+tail])
	}
	return l.take(k, n), nil
}

// badNumber refuses a number with a name character directly after it.
func (l *lexer) badNumber(digits, tail string) error {
	switch {
	case digits == "0" && (tail[0] == 'x' || tail[0] == 'X'):
		return sqlerr.New(sqlerr.Unsupported, "a hexadecimal number is outside the dialect").
			WithHint("write it in decimal digits").At(l.position)
	case tail[0] == '_' && len(tail) > 1 && isDigit(rune(tail[1])):
		return sqlerr.New(sqlerr.Unsupported, "a digit separator is outside the dialect").
			WithHint("write the number without _").At(l.position)
	}
	return sqlerr.New(sqlerr.Malformed, "unexpected %s", Excerpt(digits+tail, 40)).
		WithHint("a name that starts with a digit is quoted: \"%s\"", Excerpt(digits+tail, 40)).At(l.position)
}

// maxExponent bounds a number's exponent. Beyond it a number has thousands of
// digits, and SQLite takes it as infinite or 0.
const maxExponent = 1000

// Rational returns the exact value of a number's text.
func Rational(text string) (*big.Rat, *sqlerr.Error) {
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if e, err := strconv.Atoi(text[i+1:]); err != nil || e < -maxExponent || e > maxExponent {
			return nil, sqlerr.New(sqlerr.Unsupported, "a number with an exponent beyond %d is outside the dialect", maxExponent)
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, sqlerr.New(sqlerr.Malformed, "%s is not a number", Excerpt(text, 40))
	}
	return r, nil
}

// IsNumber reports whether a text is a number with or without a sign.
func IsNumber(text string) bool {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	n := spanOf(digits, isDigit)
	some := n > 0
	if n < len(digits) && digits[n] == '.' {
		fraction := spanOf(digits[n+1:], isDigit)
		some = some || fraction > 0
		n += 1 + fraction
	}
	n += exponent(digits[n:])
	return some && n == len(digits) && len(text)-len(digits) <= 1
}

// Parameters returns the names of a statement's arguments in order, without their
// signs: age for :age, @age and $age. An argument known only by its number has the
// name "".
func Parameters(text string) ([]string, error) {
	tokens, _, err := lexOne(text)
	return parameterNames(tokens), err
}

func parameterNames(tokens []Token) []string {
	names := make([]string, countParameters(tokens))
	for _, t := range tokens {
		if t.Parameter > 0 && len(t.Text) > 1 && spanOf(t.Text[1:], isDigit) < len(t.Text)-1 {
			names[t.Parameter-1] = strings.Trim(t.Text[1:], `"`)
		}
	}
	return names
}

func countParameters(tokens []Token) int {
	n := 0
	for i := range tokens {
		n = max(n, tokens[i].Parameter)
	}
	return n
}

// parameter reads ?, ?N, $N, :name, @name or $name, or :"name", which stands for an identifier.
func (l *lexer) parameter() (Token, error) {
	rest := l.text[l.offset:]
	n := spanOf(rest[1:], isNamePart)
	if name, ok := strings.CutPrefix(rest, `:"`); ok && spanOf(name, isNamePart) > 0 && strings.HasPrefix(name[spanOf(name, isNamePart):], `"`) {
		n = spanOf(name, isNamePart) + 2
	} else if rest[0] == '?' {
		n = spanOf(rest[1:], isDigit)
	} else if n == 0 {
		hint := "a named parameter is written :name"
		if strings.HasPrefix(rest, "@>") || l.offset > 0 && l.text[l.offset-1] == '<' {
			hint = "of a range of values write x >= lowest AND x < highest, of a list x IN (3, 4)"
		}
		return Token{}, sqlerr.New(sqlerr.Malformed, "unexpected character %c", rest[0]).WithHint("%s", hint).At(l.position)
	}
	return l.take(KindParameter, 1+n), nil
}

// maxParameter is the largest number a parameter can have.
const maxParameter = 1 << 18

// numberParameters gives each parameter its number as SQLite does. ?N has the number
// N, and so has $N, as in PostgreSQL. A name used before keeps its number. Anything
// else is one more than the largest so far.
func numberParameters(tokens []Token) error {
	largest := 0
	var named map[string]int
	for i := range tokens {
		t := &tokens[i]
		if t.Kind != KindParameter {
			continue
		}
		n, err := parameterNumber(*t, named)
		if err != nil {
			return err
		}
		if n == 0 {
			n = largest + 1
			if len(t.Text) > 1 {
				if named == nil {
					named = make(map[string]int)
				}
				named[t.Text] = n
			}
		}
		t.Parameter = n
		largest = max(largest, n)
	}
	return nil
}

// parameterNumber returns the number that the token states, or that its name
// already has. It is 0 if there is none yet.
func parameterNumber(t Token, named map[string]int) (int, error) {
	digits := t.Text[1:]
	if digits == "" || t.Text[0] != '?' && (t.Text[0] != '$' || spanOf(digits, isDigit) < len(digits)) {
		return named[t.Text], nil
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > maxParameter {
		return 0, sqlerr.New(sqlerr.Invalid, "a parameter's number lies between 1 and %d", maxParameter).At(t.Position)
	}
	return n, nil
}

// lexOne returns the tokens of the one statement in the text, without its
// semicolon, and the comments that have settings.
func lexOne(text string) ([]Token, []hint, error) {
	tokens, hints, err := lex(text)
	if err != nil {
		return nil, nil, err
	}
	for len(tokens) > 1 && tokens[0].Matches(";") {
		tokens = tokens[1:]
	}
	for i := range tokens {
		if tokens[i].Kind == KindOperator && tokens[i].Text == ";" {
			tokens, err = cut(tokens, i)
			break
		}
	}
	return tokens, hints, err
}

// cut ends the tokens at the semicolon with index i. Only more semicolons may follow
// it.
func cut(tokens []Token, i int) ([]Token, error) {
	for _, t := range tokens[i:] {
		if !t.Matches(";") && t.Kind != KindEnd {
			return nil, sqlerr.New(sqlerr.Unsupported, "more than one statement at a time is outside the dialect").
				WithHint("send the statements one by one").At(t.Position)
		}
	}
	end := Token{Kind: KindEnd, Position: tokens[i].Position}
	return append(tokens[:i:i], end), nil
}
