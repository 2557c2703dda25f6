package sqlfront

import (
	"unicode/utf8"

	"github.com/xwb1989/sqlparser"

	"dpsql/sqlerr"
)

// maxPattern is SQLite's limit on the bytes of a pattern.
const maxPattern = 50_000

// patternPart is the number of characters of a pattern that count as one step.
const patternPart = 16

// likeExpr compiles x LIKE pattern [ESCAPE sign].
func (b *binder) likeExpr(e *sqlparser.ComparisonExpr) (*expr, error) {
	escape := rune(-1)
	if e.Escape != nil {
		o, ok, err := b.operand(e.Escape)
		switch {
		case err != nil:
			return nil, err
		case !ok || o.isColumn:
			return nil, b.g.StartToken(e.Escape).Unsupported("an ESCAPE that is no literal").
				WithHint("write one character in single quotes")
		case o.constant.isNull():
			return constantOf(exactly(scalar{})), nil
		}
		s, _ := o.constant.scalar().text()
		r, n := utf8.DecodeRuneInString(s)
		if n == 0 || n < len(s) || r == utf8.RuneError || r == 0 {
			return nil, sqlerr.New(sqlerr.Invalid, "the text behind ESCAPE is not one character").
				WithHint(`write ESCAPE '\'`).At(b.g.StartToken(e.Escape).Position)
		}
		escape = r
	}
	return b.matchExpr("LIKE", e, func(text string) pattern { return likePattern(text, escape) })
}

// globExpr compiles x GLOB pattern.
func (b *binder) globExpr(e *sqlparser.ComparisonExpr) (*expr, error) {
	return b.matchExpr("GLOB", e, globPattern)
}

// matchExpr compiles the match of a value, as a text, with a pattern.
func (b *binder) matchExpr(what string, e *sqlparser.ComparisonExpr, read func(string) pattern) (*expr, error) {
	if err := b.refuseReading(e); err != nil {
		return nil, err
	}
	x, y, err := b.both(e.Left, e.Right)
	if err != nil {
		return nil, err
	}
	rest := constantBounds(integersBetween(0, 1, true))
	if y.isConstant() && !y.full.lo.isNull() {
		s, ok := y.full.lo.text()
		if !ok || len(s) > maxPattern || !plainText(s) {
			return nil, b.g.StartToken(e.Right).Unsupported("this pattern of "+what).
				WithHint("write a text of at most %d bytes in single quotes", maxPattern)
		}
		p := read(s)
		x = apply(valueOperation(what, rest, func(args []scalar) scalar { return p.matches(args[0]) }), x)
		x.cost = len(s) / patternPart
		return x, nil
	}
	return apply(valueOperation(what, rest, func(args []scalar) scalar {
		return onText(args[1], func(s string) scalar {
			if len(s) > maxPattern {
				return refused("a pattern this long")
			}
			return read(s).matches(args[0])
		})
	}), x, y), nil
}

// pattern is a sequence of elements. One that can match nothing is dead.
type pattern struct {
	elements []element
	dead     bool
}

// element matches one character, or any number of them.
type element struct {
	any   bool            // any number of any characters
	match func(rune) bool // else one of these
}

func oneOf(c rune) element { return element{match: func(r rune) bool { return r == c }} }

func anyOne(rune) bool { return true }

// likePattern reads a pattern of LIKE: % stands for any characters, _ for one;
// ASCII letters match in either case.
func likePattern(text string, escape rune) pattern {
	var p pattern
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			p.elements, escaped = append(p.elements, eitherCase(r)), false
		case r == escape:
			escaped = true
		case r == '%':
			p.elements = append(p.elements, element{any: true})
		case r == '_':
			p.elements = append(p.elements, element{match: anyOne})
		default:
			p.elements = append(p.elements, eitherCase(r))
		}
	}
	p.dead = escaped
	return p
}

// eitherCase matches a character; an ASCII letter in either case.
func eitherCase(c rune) element {
	c = lowerRune(c)
	return element{match: func(r rune) bool { return lowerRune(r) == c }}
}

func lowerRune(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + ('a' - 'A')
	}
	return r
}

// matches returns 1 or 0, and NULL for NULL.
func (p pattern) matches(x scalar) scalar {
	return onText(x, func(s string) scalar {
		if !p.dead && p.match([]rune(s)) {
			return integerOf(1)
		}
		return integerOf(0)
	})
}

// match goes back only to the last "any". Whatever an earlier one could take, the
// last can take too.
func (p pattern) match(text []rune) bool {
	at, back, from := 0, -1, 0
	for i := 0; i < len(text); {
		switch {
		case at < len(p.elements) && p.elements[at].any:
			back, from = at, i
			at++
		case at < len(p.elements) && p.elements[at].match(text[i]):
			at++
			i++
		case back >= 0:
			from++
			at, i = back+1, from
		default:
			return false
		}
	}
	for at < len(p.elements) && p.elements[at].any {
		at++
	}
	return at == len(p.elements)
}

// globPattern reads a pattern of GLOB: * stands for any characters, ? for one,
// [a-z] for one of those named and [^a-z] for one of the others.
func globPattern(text string) pattern {
	var p pattern
	for in := []rune(text); len(in) > 0; {
		r := in[0]
		in = in[1:]
		switch r {
		case '*':
			p.elements = append(p.elements, element{any: true})
		case '?':
			p.elements = append(p.elements, element{match: anyOne})
		case '[':
			set, n := globSet(in)
			if n < 0 {
				return pattern{dead: true}
			}
			p.elements = append(p.elements, element{match: set})
			in = in[n:]
		default:
			p.elements = append(p.elements, oneOf(r))
		}
	}
	return p
}

// globSet reads a set up to its closing bracket and returns its length, or -1 if
// the bracket is missing. A bracket that comes first is a member of the set, and so
// is a hyphen that comes first or last.
func globSet(in []rune) (func(rune) bool, int) {
	at, inverted := 0, false
	next := func() rune {
		if at == len(in) {
			return 0
		}
		at++
		return in[at-1]
	}
	var spans [][2]rune
	c := next()
	if c == '^' {
		inverted = true
		c = next()
	}
	if c == ']' {
		spans = append(spans, [2]rune{']', ']'})
		c = next()
	}
	for prior := rune(0); c != 0 && c != ']'; c = next() {
		if c == '-' && at < len(in) && in[at] != ']' && prior > 0 {
			spans = append(spans, [2]rune{prior, next()})
			prior = 0
			continue
		}
		spans = append(spans, [2]rune{c, c})
		prior = c
	}
	if c == 0 {
		return nil, -1
	}
	return func(r rune) bool {
		for _, s := range spans {
			if s[0] <= r && r <= s[1] {
				return !inverted
			}
		}
		return inverted
	}, at
}
