package sqlfront

import (
	"sync"

	"github.com/xwb1989/sqlparser"
)

// Parser parses statements and remembers the syntax of SELECTs by their shape,
// the text in which names and literals are numbered: statements that differ in
// those only have one syntax. The zero value is ready, and good for several
// goroutines at once.
type Parser struct {
	mu    sync.RWMutex
	known map[string]sqlparser.Statement // never changed once it is parsed
}

const (
	maxShapes = 1024 // remembered; past it, a Parser starts anew
	maxShape  = 4096 // bytes of one that is
)

// syntax returns the syntax of a guarded SELECT.
func (p *Parser) syntax(g *guarded) (sqlparser.Statement, error) {
	shape := g.text.String()
	p.mu.RLock()
	node, ok := p.known[shape]
	p.mu.RUnlock()
	if ok {
		return node, nil
	}
	node, err := g.parse()
	if err != nil || len(shape) > maxShape {
		return node, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxShapes {
		p.known = make(map[string]sqlparser.Statement)
	}
	p.known[shape] = node
	return node, nil
}
