package query

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// A node is one vertex of a reduced ordered decision diagram. It is immutable
// and canonical: equal functions have equal digests, whatever built them.
//
// A leaf has level leafLevel and a weight. An inner node branches on the column
// numbered level: over a finite domain by spans (sorted, neighbours with the
// same child merged, gaps lead to the zero leaf), over an unbounded one by
// cases (sorted, those that agree with rest left out) and rest. No node has a
// single child for its whole domain.
type node struct {
	level  int
	weight int64
	spans  []span
	cases  []valueCase
	rest   *node
	digest [sha256.Size]byte
}

type span struct {
	Range
	to *node
}

type valueCase struct {
	value Value
	to    *node
}

const leafLevel = int(^uint(0) >> 1) // below every column

// zero is the leaf of the elements outside a query's support.
var zero = leaf(0)

// one is the leaf of the elements within the support of a 0/1 query.
var one = leaf(1)

func leaf(weight int64) *node {
	n := leafNode(weight)
	return &n
}

func leafNode(weight int64) node {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], 'L')
	binary.BigEndian.PutUint64(b[8:], uint64(weight))
	return node{level: leafLevel, weight: weight, digest: sha256.Sum256(b[:])}
}

func (n *node) isLeaf() bool { return n.level == leafLevel }

func (n *node) isZero() bool { return n.isLeaf() && n.weight == 0 }

func (n *node) isOne() bool { return n.isLeaf() && n.weight == 1 }

func (n *node) equals(m *node) bool { return n.digest == m.digest }

// newSpans returns the reduced node that branches by spans, which are sorted
// and disjoint, over a finite domain.
func newSpans(level int, d Domain, spans []span) *node {
	merged := spans[:0]
	for _, s := range spans {
		k := len(merged)
		switch {
		case s.to.isZero():
		case k > 0 && merged[k-1].Last+1 == s.First && merged[k-1].to.equals(s.to):
			merged[k-1].Last = s.Last
		default:
			merged = append(merged, s)
		}
	}
	if len(merged) == 0 {
		return zero
	}
	if len(merged) == 1 && merged[0].First == 0 && merged[0].Last == d.Size()-1 {
		return merged[0].to
	}
	n := &node{level: level, spans: merged}
	n.seal()
	return n
}

// newCases returns the reduced node that branches by cases, which are sorted
// and distinct, over an unbounded domain.
func newCases(level int, cases []valueCase, rest *node) *node {
	kept := cases[:0]
	for _, c := range cases {
		if !c.to.equals(rest) {
			kept = append(kept, c)
		}
	}
	if len(kept) == 0 {
		return rest
	}
	n := &node{level: level, cases: kept, rest: rest}
	n.seal()
	return n
}

// seal computes the digest, which names the function the node stands for:
// SHA-256 is collision resistant, so equal digests mean equal diagrams.
func (n *node) seal() {
	var room [512]byte
	b := append(room[:0], 0, 0, 0, 0, 0, 0, 0, 'N')
	b = binary.BigEndian.AppendUint64(b, uint64(n.level))
	b = binary.BigEndian.AppendUint64(b, uint64(len(n.spans)))
	for _, s := range n.spans {
		b = binary.BigEndian.AppendUint64(b, s.First)
		b = binary.BigEndian.AppendUint64(b, s.Last)
		b = append(b, s.to.digest[:]...)
	}
	for _, c := range n.cases {
		b = appendValue(b, c.value)
		b = append(b, c.to.digest[:]...)
	}
	if n.rest != nil {
		b = append(b, n.rest.digest[:]...)
	}
	n.digest = sha256.Sum256(b)
}

func appendValue(b []byte, v Value) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(v.kind))
	b = binary.BigEndian.AppendUint64(b, uint64(v.n))
	b = binary.BigEndian.AppendUint64(b, uint64(len(v.s)))
	return append(b, v.s...)
}

// child returns where v leads at an inner node over domain d.
func (n *node) child(d Domain, v Value) *node {
	if n.rest != nil {
		if i, ok := searchCase(n.cases, v); ok {
			return n.cases[i].to
		}
		return n.rest
	}
	o, ok := d.Ordinal(v)
	if !ok {
		return zero
	}
	return n.childAt(o)
}

// childAt returns where an ordinal leads at a node over a finite domain.
func (n *node) childAt(o uint64) *node {
	lo, hi := 0, len(n.spans)
	for lo < hi {
		mid := (lo + hi) / 2
		if n.spans[mid].Last < o {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(n.spans) && n.spans[lo].First <= o {
		return n.spans[lo].to
	}
	return zero
}

func sortSpans(spans []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.First, b.First) })
}

func sortCases(cases []valueCase) {
	slices.SortFunc(cases, func(a, b valueCase) int { return a.value.Compare(b.value) })
}
