package syntax

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Kind classifies a token.
type Kind uint8

const (
	KindEnd       Kind = iota // the end of the statement
	KindWord                  // an unquoted identifier or keyword
	KindQuoted                // an identifier in "…", `…` or […]
	KindString                // '…'
	KindInteger               // decimal digits
	KindDecimal               // a number with a point or an exponent
	KindBlob                  // x'…'
	KindParameter             // ?, ?N, $N, :name, @name, $name
	KindOperator              // operators and punctuation
)

// Token is one token of a statement.
type Token struct {
	Kind      Kind
	Text      string // as written
	Value     string // a string's or identifier's value; else text
	Upper     string // a word in ASCII upper case, to compare with keywords
	Position  int    // 1-based character in the statement
	End       int    // the character behind it
	Parameter int    // 1-based number of a parameter
}

// indexAt returns the index of the token at a position, or of the first behind it, and whether one is
// there.
func indexAt(tokens []Token, position int) (int, bool) {
	return slices.BinarySearchFunc(tokens, position, func(t Token, p int) int { return t.Position - p })
}

// Matches reports whether the token is the given keyword or operator.
func (t Token) Matches(s string) bool {
	return t.Kind == KindWord && t.Upper == s || t.Kind == KindOperator && t.Text == s
}

// isName reports whether the token can be an identifier.
func (t Token) isName() bool {
	return t.Kind == KindQuoted || t.Kind == KindWord && !reserved[t.Upper]
}

// startsOperand reports whether an expression can start with the token.
func (t Token) startsOperand() bool {
	switch t.Kind {
	case KindEnd:
		return false
	case KindOperator:
		return t.Text == "(" || t.Text == "-" || t.Text == "+" || t.Text == "~"
	case KindWord:
		return !reserved[t.Upper] || t.Upper == "NULL" || t.Upper == "CASE"
	}
	return true
}

// endsOperand reports whether an expression can end with the token.
func (t Token) endsOperand() bool {
	switch t.Kind {
	case KindEnd:
		return false
	case KindOperator:
		return t.Text == ")"
	case KindWord:
		return !keywords[t.Upper] && !reserved[t.Upper] || t.Upper == "NULL" || t.Upper == "END"
	}
	return true
}

// describe names the token in an error message.
func (t Token) describe() string {
	if t.Kind == KindEnd {
		return "the end of the statement"
	}
	return Excerpt(t.Text, 40)
}

// Malformed returns a syntax error at the token.
func (t Token) Malformed(format string, args ...any) *sqlerr.Error {
	return sqlerr.New(sqlerr.Malformed, format, args...).At(t.Position)
}

// Unsupported returns a refusal of the named construct at the token.
func (t Token) Unsupported(construct string) *sqlerr.Error {
	return sqlerr.New(sqlerr.Unsupported, "%s is outside the dialect", construct).At(t.Position)
}

// Excerpt shortens a text to n characters.
func Excerpt(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	at := 0
	for range n - 1 {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return s[:at] + "…"
}

// UpperASCII folds as SQLite does: ASCII letters only.
func UpperASCII(s string) string {
	i := 0
	for i < len(s) && upper(s[i]) == s[i] {
		i++
	}
	if i == len(s) {
		return s
	}
	b := []byte(s)
	for ; i < len(b); i++ {
		b[i] = upper(b[i])
	}
	return string(b)
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

// words returns the set of the words in a text.
func words(text string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// wordsOnce returns the set of the words in a text, which is made when it is first asked for.
func wordsOnce(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool { return words(text) })
}

// reserved are the keywords that SQLite accepts as a name only when quoted.
var reserved = words(`ADD ALL ALTER AND AS AUTOINCREMENT BETWEEN CASE CHECK COLLATE COMMIT CONSTRAINT
	CREATE DEFAULT DEFERRABLE DELETE DISTINCT DROP ELSE ESCAPE EXISTS FOREIGN FROM GROUP HAVING IN INDEX
	INSERT INTERSECT INTO IS ISNULL JOIN LIMIT NOT NOTHING NOTNULL NULL ON OR ORDER PRIMARY REFERENCES
	RETURNING SELECT SET TABLE THEN TO TRANSACTION UNION UNIQUE UPDATE USING VALUES WHEN WHERE`)

// keywords are the words that reach the SELECT parser as keywords; every other
// word reaches it as an identifier, so that its own keywords (key, status,
// year, …) are ordinary names.
var keywords = words(`SELECT DISTINCT FROM WHERE AND OR NOT IN IS BETWEEN LIKE ESCAPE AS CASE WHEN THEN
	ELSE END GROUP BY HAVING ORDER ASC DESC LIMIT OFFSET UNION ALL JOIN LEFT RIGHT INNER OUTER CROSS
	NATURAL ON USING EXISTS COLLATE`)

// foreign are the first words of SQLite's statements that have no place here,
// with what to do instead.
var foreign = map[string]string{
	"ALTER":     "ALTER PRIVATE TABLE changes what SELECTs may take; change the schema with another SQLite client",
	"ANALYZE":   "",
	"ATTACH":    "rows of a PostgreSQL database are reached by CREATE SOURCE",
	"BEGIN":     "every statement is a transaction of its own",
	"COMMIT":    "every statement is a transaction of its own",
	"DELETE":    "change rows with another SQLite client",
	"DETACH":    "rows of a PostgreSQL database are reached by CREATE SOURCE",
	"END":       "every statement is a transaction of its own",
	"INSERT":    "load rows with .import or another SQLite client",
	"PRAGMA":    "settings are read by SHOW SETTINGS and written by SET name = value",
	"REINDEX":   "",
	"RELEASE":   "releases are made by CREATE RELEASE and dropped by DROP RELEASE",
	"REPLACE":   "load rows with .import or another SQLite client",
	"ROLLBACK":  "every statement is a transaction of its own",
	"SAVEPOINT": "every statement is a transaction of its own",
	"UPDATE":    "change rows with another SQLite client",
	"VACUUM":    "",
	"VALUES":    "write SELECT COUNT(*) FROM table WHERE …",
}

// native are the first words of the dialect's own statements.
var native = []string{"SELECT", "WITH", "EXPLAIN", "CREATE", "REFRESH", "RETIRE", "ALTER", "DROP", "SHOW", "DESCRIBE", "SET", "EXPORT", "ADVISE", "GRANT", "REVOKE"}

// meant are words that are names in some places and something else in others.
var meant = words("FALSE INDEXED TRUE")

// WriteName returns a name as a statement may write it: in quotes unless it is a word
// that is a name wherever one can stand.
func WriteName(name string) string {
	first, _ := utf8.DecodeRuneInString(name)
	upper := UpperASCII(name)
	if !isLetter(first) || spanOf(name, isNamePart) < len(name) || reserved[upper] || keywords[upper] || meant[upper] {
		return query.Quoted(name)
	}
	return name
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

// isLetter reports whether a name can start with a character: a letter or the
// underscore. SQLite accepts every character beyond ASCII; here a typographic quote
// or space is not silently part of a name.
func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return unicode.IsLetter(r)
}

func isNamePart(r rune) bool {
	return isLetter(r) || isDigit(r) || r == '$' || r > unicode.MaxASCII && (unicode.IsMark(r) || unicode.IsNumber(r))
}

func LowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, s)
}

// single are the operators of one character that no other starts with.
const single = "(),;.+*/%~"

// operators are the other operators, longer ones first.
var operators = []string{
	"->>", "->", "==", "=", "<>", "!=", "<=", "<<", "<", ">=", ">>", ">", "||", "|", "&&", "&", "-",
}

// exponent returns the length of an exponent at the start of the text, or 0.
func exponent(text string) int {
	if text == "" || text[0] != 'e' && text[0] != 'E' {
		return 0
	}
	n := 1
	if n < len(text) && (text[n] == '+' || text[n] == '-') {
		n++
	}
	digits := spanOf(text[n:], isDigit)
	if digits == 0 {
		return 0
	}
	return n + digits
}
