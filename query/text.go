package query

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

// String returns the canonical text of the query. Equal queries have equal
// texts, and Parse reads them back. A node is written as its column and, in
// braces, groups of values and where each leads. A number at the end of a path
// is a weight. Values that are not listed lead to 0. a..b means every value
// from a to b. A part that is used twice is named @1, @2, … at its first use:
//
//	sex{'F': age{30..34: 1}}
func (q Query) String() string {
	p := printer{u: q.u, between: "..", most: math.MaxInt, names: make(map[[32]byte]int)}
	p.count(q.root)
	p.node(q.root)
	return p.b.String()
}

type printer struct {
	u       *Universe
	shown   bool   // values are in the column's Form
	between string // the first and the last value of a range
	most    int    // bytes that are wanted
	b       strings.Builder
	shared  map[[32]byte]int
	names   map[[32]byte]int
}

// count finds the inner nodes that more than one group leads to.
func (p *printer) count(root *node) {
	p.shared = make(map[[32]byte]int)
	var walk func(n *node)
	walk = func(n *node) {
		p.shared[n.digest]++
		if p.shared[n.digest] > 1 {
			return
		}
		var led map[[32]byte]bool // the inner nodes that n leads to; its leaves can be many
		n.each(func(to *node) {
			if to.isLeaf() || led[to.digest] {
				return
			}
			if led == nil {
				led = make(map[[32]byte]bool)
			}
			led[to.digest] = true
			walk(to)
		})
	}
	walk(root)
}

// A group is the values of a node that lead to one child, or a ramp of leaves.
type group struct {
	to     *node
	values []string
	ramp   string // the first weight and the step; "" for one child
}

// groups returns the node's groups, ordered by their first values, or as many as are
// wanted. The rest of an unbounded column comes last.
func (p *printer) groups(n *node) []group {
	var out []group
	room := p.most
	index := make(map[[32]byte]int)
	add := func(to *node, texts func() []string) {
		i, ok := index[to.digest]
		switch {
		case !ok && room < 0:
			return
		case !ok:
			i = len(out)
			index[to.digest] = i
			out = append(out, group{to: to})
		case len(out[i].values) > p.most: // so have the bytes
			return
		}
		for _, text := range texts() {
			out[i].values = append(out[i].values, text)
			room -= len(text)
		}
	}
	c := p.u.columns[n.level]
	d := c.Domain
	if !p.shown {
		c.Form = Form{}
	}
	for i := 0; i < len(n.spans); {
		if k := ramp(n.spans[i:]); room >= 0 && k >= shortestRamp && !d.Value(n.spans[i].First).IsNull() {
			first, last := n.spans[i], n.spans[i+k-1]
			out = append(out, group{to: first.to, values: p.rangeTexts(c, Range{first.First, last.Last}),
				ramp: fmt.Sprintf("%d%+d", first.to.weight, n.spans[i+1].to.weight-first.to.weight)})
			i += k
			continue
		}
		add(n.spans[i].to, func() []string { return p.rangeTexts(c, n.spans[i].Range) })
		i++
	}
	for _, c := range n.cases {
		add(c.to, func() []string { return []string{c.value.String()} })
	}
	if n.rest != nil && !n.rest.isZero() {
		add(n.rest, func() []string { return []string{"else"} })
	}
	return out
}

// shortestRamp is the least number of values written as a ramp.
const shortestRamp = 4

// ramp returns the number of spans at the start that form a ramp: consecutive
// single values that lead to leaves whose weights grow by a constant step.
func ramp(spans []span) int {
	n := 1
	for n < len(spans) && continues(spans, n) {
		n++
	}
	if n < 2 || !single(spans[0]) {
		return 1
	}
	return n
}

// continues reports whether span n continues the ramp of the spans before it.
func continues(spans []span, n int) bool {
	s, before := spans[n], spans[n-1]
	if !single(s) || !single(before) || s.First != before.Last+1 {
		return false
	}
	return n == 1 || s.to.weight-before.to.weight == spans[1].to.weight-spans[0].to.weight
}

func single(s span) bool { return s.First == s.Last && s.to.isLeaf() }

// rangeTexts returns the texts of a range of ordinals. NULL has a text of its
// own.
func (p *printer) rangeTexts(c Column, r Range) []string {
	first := c.Domain.Value(r.First)
	if first.IsNull() && r.First < r.Last {
		return append([]string{"NULL"}, p.rangeTexts(c, Range{r.First + 1, r.Last})...)
	}
	text := valueText(c, first)
	if r.First < r.Last {
		text += p.between + valueText(c, c.Domain.Value(r.Last))
	}
	return []string{text}
}

// valueText returns the text of a canonical value as people write it. A step of a REAL is
// its lower bound.
func valueText(c Column, v Value) string {
	if s := c.Steps(); s != nil && v.IsInt() {
		return Decimal(s.Multiple(v.Int64()))
	}
	return c.Form.Shown(v).String()
}

func (p *printer) node(n *node) {
	if n.isLeaf() {
		fmt.Fprint(&p.b, n.weight)
		return
	}
	if p.shared[n.digest] > 1 {
		if name, ok := p.names[n.digest]; ok {
			fmt.Fprintf(&p.b, "@%d", name)
			return
		}
		p.names[n.digest] = len(p.names) + 1
		fmt.Fprintf(&p.b, "@%d=", len(p.names))
	}
	p.b.WriteString(quoteName(p.u.columns[n.level].Name))
	for i, g := range p.groups(n) {
		if p.b.Len() > p.most {
			return
		}
		p.b.WriteString([]string{"{", "; "}[min(i, 1)])
		p.b.WriteString(strings.Join(g.values, ", "))
		p.b.WriteString(": ")
		if g.ramp != "" {
			p.b.WriteString(g.ramp)
			continue
		}
		p.node(g.to)
	}
	p.b.WriteString("}")
}

// quoteName returns a column name, quoted unless it is a plain word.
func quoteName(name string) string {
	plain := name != ""
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		plain = plain && (letter || i > 0 && '0' <= r && r <= '9')
	}
	if plain {
		return name
	}
	return strconv.Quote(name)
}

// Parse reads a text that String wrote, over the same universe. Such texts come
// from stored state, so any other text is refused as corrupt.
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

// take removes a prefix of the remaining text, and reports whether it was
// there.
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

// node reads a node on a later column than above: a weight, a name, or a column
// and its groups.
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

// branches collects the groups of one node during parsing.
type branches struct {
	domain Domain
	spans  []span
	cases  []valueCase
	rest   *node
	other  bool // the group being read is "else"
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

// lead sets the child of the values read since the mark.
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

// climb turns the one range read since the mark into a ramp. The range leads to
// the first weight; the step comes next in the text.
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

// node returns the reduced node. It fails if values overlap.
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
