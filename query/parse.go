package query

import (
	"math"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

// Parse reads the text that String writes, over the same universe. Any other
// text is refused as corrupt: such texts come from stored state.
func Parse(u *Universe, text string) (Query, error) {
	p := &parser{u: u, rest: text, named: make(map[string]*node)}
	n := p.node(-1)
	if p.failed || p.rest != "" {
		return Query{}, sqlerr.New(sqlerr.Corrupt, "a stored query cannot be read")
	}
	return Query{u, n}, nil
}

type parser struct {
	u      *Universe
	rest   string
	named  map[string]*node
	failed bool
}

func (p *parser) fail() *node {
	p.failed = true
	p.rest = ""
	return zero
}

// take removes a prefix, if it stands next.
func (p *parser) take(prefix string) bool {
	after, ok := strings.CutPrefix(p.rest, prefix)
	if ok {
		p.rest = after
	}
	return ok
}

// word removes the longest prefix of bytes that ok accepts.
func (p *parser) word(ok func(c byte) bool) string {
	i := 0
	for i < len(p.rest) && ok(p.rest[i]) {
		i++
	}
	w := p.rest[:i]
	p.rest = p.rest[i:]
	return w
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool {
	return c == '_' || isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// node reads a node below a level: a weight, a name, or a column and groups.
func (p *parser) node(above int) *node {
	if p.rest == "" {
		return p.fail()
	}
	if isDigit(p.rest[0]) {
		w, err := strconv.ParseInt(p.word(isDigit), 10, 64)
		if err != nil {
			return p.fail()
		}
		return leaf(w)
	}
	if !p.take("@") {
		return p.inner(above)
	}
	name := p.word(isDigit)
	if p.take("=") {
		n := p.inner(above)
		p.named[name] = n
		return n
	}
	n, ok := p.named[name]
	if !ok || n.level <= above {
		return p.fail()
	}
	return n
}

func (p *parser) column() (int, bool) {
	if !strings.HasPrefix(p.rest, `"`) {
		return p.u.Index(p.word(isWord))
	}
	quoted, err := strconv.QuotedPrefix(p.rest)
	if err != nil {
		return 0, false
	}
	p.rest = p.rest[len(quoted):]
	name, err := strconv.Unquote(quoted)
	i, ok := p.u.Index(name)
	return i, ok && err == nil
}

func (p *parser) inner(above int) *node {
	level, ok := p.column()
	if !ok || level <= above || !p.take("{") {
		return p.fail()
	}
	d := p.u.columns[level].Domain
	b := branches{domain: d, rest: zero}
	for !p.failed {
		from := b.mark()
		for !p.failed {
			b.add(p)
			if !p.take(", ") {
				break
			}
		}
		if !p.take(": ") {
			return p.fail()
		}
		b.lead(from, p.node(level))
		if p.rest != "" && (p.rest[0] == '+' || p.rest[0] == '-') {
			b.climb(from, p)
		}
		if p.take("}") {
			return b.node(level, p)
		}
		if !p.take("; ") {
			return p.fail()
		}
	}
	return zero
}

// value reads an SQL literal.
func (p *parser) value() Value {
	switch {
	case p.take("NULL"):
		return Null()
	case p.take("'"):
		var b strings.Builder
		for {
			b.WriteString(p.word(func(c byte) bool { return c != '\'' }))
			if !p.take("'") {
				p.fail()
				return Null()
			}
			if !p.take("'") {
				return Text(b.String())
			}
			b.WriteByte('\'')
		}
	}
	n, err := strconv.ParseInt(p.word(func(c byte) bool { return c == '-' || isDigit(c) }), 10, 64)
	if err != nil {
		p.fail()
	}
	return Int(n)
}

// branches collects the groups of one node as they are read.
type branches struct {
	domain Domain
	spans  []span
	cases  []valueCase
	rest   *node
	other  bool // the group being read is that of every other value
}

type mark struct{ spans, cases int }

func (b *branches) mark() mark {
	b.other = false
	return mark{len(b.spans), len(b.cases)}
}

// add reads one value, range or "else".
func (b *branches) add(p *parser) {
	if !b.domain.Finite() {
		if p.take("else") {
			b.other = true
		} else {
			b.cases = append(b.cases, valueCase{value: p.value()})
		}
		return
	}
	first := p.value()
	last := first
	if p.take("..") {
		last = p.value()
	}
	lo, ok := b.domain.Ordinal(first)
	hi, ok2 := b.domain.Ordinal(last)
	if !ok || !ok2 || lo > hi {
		p.fail()
		return
	}
	b.spans = append(b.spans, span{Range: Range{lo, hi}})
}

// lead sets where the values read since the mark lead.
func (b *branches) lead(from mark, to *node) {
	for i := from.spans; i < len(b.spans); i++ {
		b.spans[i].to = to
	}
	for i := from.cases; i < len(b.cases); i++ {
		b.cases[i].to = to
	}
	if b.other {
		b.rest = to
	}
}

// climb makes a ramp of the one range read since the mark, which leads to its
// first weight: the step follows.
func (b *branches) climb(from mark, p *parser) {
	sign := p.rest[:1]
	p.rest = p.rest[1:]
	step, err := strconv.ParseInt(sign+p.word(isDigit), 10, 64)
	if err != nil || len(b.spans) != from.spans+1 || !b.spans[from.spans].to.isLeaf() {
		p.fail()
		return
	}
	r, weight := b.spans[from.spans].Range, b.spans[from.spans].to.weight
	if r.Last-r.First >= maxSummed {
		p.fail()
		return
	}
	b.spans = b.spans[:from.spans]
	for o := r.First; ; o++ {
		b.spans = append(b.spans, span{Range{o, o}, leaf(weight)})
		if o == r.Last {
			return
		}
		if step > 0 && weight > math.MaxInt64-step || weight+step < 0 {
			p.fail()
			return
		}
		weight += step
	}
}

// node returns the reduced node, or fails where values overlap.
func (b *branches) node(level int, p *parser) *node {
	if !b.domain.Finite() {
		sortCases(b.cases)
		for i := 1; i < len(b.cases); i++ {
			if b.cases[i].value == b.cases[i-1].value {
				return p.fail()
			}
		}
		return newCases(level, b.cases, b.rest)
	}
	sortSpans(b.spans)
	end := uint64(math.MaxUint64)
	for _, s := range b.spans {
		if end != math.MaxUint64 && s.First <= end {
			return p.fail()
		}
		end = s.Last
	}
	return newSpans(level, b.domain, b.spans)
}
