package sqlfront

import (
	"sync"

	"github.com/xwb1989/sqlparser"
)

// Parser parses statements and remembers the syntax of SELECTs by their shape:
// statements that differ in literals and quoted names only have one syntax. The zero value is ready, and good for several
// goroutines at once.
type Parser struct {
	mu    sync.RWMutex
	known map[string]syntax
}

// syntax is a SELECT without its literals, never changed once it is parsed.
type syntax struct {
	node  sqlparser.Statement
	plain *plain // nil where it is not
}

const (
	maxShapes = 1024 // remembered; past it, a Parser starts anew
	maxShape  = 4096 // bytes of one that is
)

// syntax returns the syntax of the tokens of a SELECT.
func (p *Parser) syntax(g *guarded) (syntax, error) {
	var room [256]byte
	shape := appendShape(room[:0], g.tokens)
	p.mu.RLock()
	s, ok := p.known[string(shape)]
	p.mu.RUnlock()
	if ok {
		return s, nil
	}
	d, err := g.disguised()
	if err != nil {
		return syntax{}, err
	}
	s.node, err = d.parse()
	if err != nil {
		return syntax{}, err
	}
	s.plain = g.plainOf(s.node)
	if len(shape) > maxShape {
		return s, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxShapes {
		p.known = make(map[string]syntax)
	}
	p.known[string(shape)] = s
	return s, nil
}

// appendShape appends all that disguising and parsing the tokens depend on: of
// each its kind, and of words and operators the text.
func appendShape(shape []byte, tokens []token) []byte {
	for i := range tokens {
		t := &tokens[i]
		shape = append(shape, byte(t.kind))
		switch t.kind {
		case kindWord:
			shape = append(append(shape, t.upper...), 0)
		case kindOperator:
			shape = append(append(shape, t.text...), 0)
		}
	}
	return shape
}
