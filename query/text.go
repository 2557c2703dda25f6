package query

import (
	"fmt"
	"strconv"
	"strings"
)

// String returns the canonical text of the query: equal queries have equal
// texts, and Parse reads it back. A node is written as its column and, in
// braces, groups of values with where they lead; 1 is the weight at the end of
// a path, values not named lead to 0, a..b is every value from a to b, and a
// part that is used twice is named @1, @2, … where it first stands:
//
//	sex{'F': age{30..34: 1}}
func (q Query) String() string {
	p := printer{u: q.u, names: make(map[[32]byte]int)}
	p.count(q.root)
	p.node(q.root)
	return p.b.String()
}

type printer struct {
	u      *Universe
	b      strings.Builder
	shared map[[32]byte]int
	names  map[[32]byte]int
}

// count finds the inner nodes that more than one group of values leads to.
func (p *printer) count(root *node) {
	p.shared = make(map[[32]byte]int)
	var walk func(n *node)
	walk = func(n *node) {
		if n.isLeaf() {
			return
		}
		p.shared[n.digest]++
		if p.shared[n.digest] > 1 {
			return
		}
		for _, g := range p.groups(n) {
			walk(g.to)
		}
	}
	walk(root)
}

// A group is the values of a node that lead to one child, or a ramp of leaves.
type group struct {
	to     *node
	values []string
	ramp   string // the first weight and the step; "" for one child
}

// groups returns the node's groups in the order of their first values, the
// rest of an unbounded column last.
func (p *printer) groups(n *node) []group {
	var out []group
	index := make(map[[32]byte]int)
	add := func(to *node, text ...string) {
		i, ok := index[to.digest]
		if !ok {
			i = len(out)
			index[to.digest] = i
			out = append(out, group{to: to})
		}
		out[i].values = append(out[i].values, text...)
	}
	d := p.u.columns[n.level].Domain
	for i := 0; i < len(n.spans); {
		if k := ramp(n.spans[i:]); k >= shortestRamp && !d.Value(n.spans[i].First).IsNull() {
			first, last := n.spans[i], n.spans[i+k-1]
			out = append(out, group{to: first.to, values: rangeTexts(d, Range{first.First, last.Last}),
				ramp: fmt.Sprintf("%d%+d", first.to.weight, n.spans[i+1].to.weight-first.to.weight)})
			i += k
			continue
		}
		add(n.spans[i].to, rangeTexts(d, n.spans[i].Range)...)
		i++
	}
	for _, c := range n.cases {
		add(c.to, c.value.String())
	}
	if n.rest != nil && !n.rest.isZero() {
		add(n.rest, "else")
	}
	return out
}

// shortestRamp is the least number of values that are written as a ramp.
const shortestRamp = 4

// ramp returns how many spans from the first on are single values in a row that
// lead to leaves whose weights grow by one step.
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

// continues reports whether span n goes on where a ramp of those before it ends.
func continues(spans []span, n int) bool {
	s, before := spans[n], spans[n-1]
	if !single(s) || !single(before) || s.First != before.Last+1 {
		return false
	}
	return n == 1 || s.to.weight-before.to.weight == spans[1].to.weight-spans[0].to.weight
}

func single(s span) bool { return s.First == s.Last && s.to.isLeaf() }

// rangeTexts writes a range of ordinals, NULL apart from the integers.
func rangeTexts(d Domain, r Range) []string {
	first := d.Value(r.First)
	if first.IsNull() && r.First < r.Last {
		return append([]string{"NULL"}, rangeTexts(d, Range{r.First + 1, r.Last})...)
	}
	if r.First == r.Last {
		return []string{first.String()}
	}
	return []string{first.String() + ".." + d.Value(r.Last).String()}
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
