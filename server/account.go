package server

import (
	"math"
	"sync"

	"dpsql/server/pgcatalog"
)

// accounts have about how many bytes the connections of each user make the server keep: what
// they prepared, bound and set, and rows that were not taken.
type accounts struct {
	mu   sync.Mutex
	held map[string]int
}

// move notes that a connection keeps so many bytes, if those of its user are then at most some
// bound. It returns whether they are.
func (a *accounts) move(c *conn, held, most int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.held[c.folded] + held - c.held
	if all > most {
		return false
	}
	if a.held == nil {
		a.held = make(map[string]int)
	}
	if a.held[c.folded], c.held = all, held; all == 0 {
		delete(a.held, c.folded)
	}
	return true
}

func (a *accounts) close(c *conn) { a.move(c, 0, math.MaxInt) }

// settle brings the account up to date.
func (c *conn) settle() { c.server.accounts.move(c, c.keeps(), math.MaxInt) }

// longestName is how many bytes a name of a statement, a portal or a savepoint may have, as in
// PostgreSQL.
const longestName = 63

// keep refuses to keep something of a name and a weight.
func (c *conn) keep(name string, weight int) error {
	most := c.server.config.Limits.Memory
	switch {
	case len(name) > longestName:
		return tooLong()
	case !c.server.accounts.move(c, c.keeps()+entry+weight, most):
		return failure("54000", "the connections of %s would keep more than %d bytes", c.user, most).
			withHint("take the rows of portals, close portals and statements, or DEALLOCATE ALL")
	}
	return nil
}

func tooLong() error { return failure("42622", "a name has more than %d bytes", longestName) }

// What is kept weighs at least what it takes.
const (
	entry   = 256 // bytes of an entry in a map, with its name
	perByte = 250 // bytes of a parsed statement with its tokens and trees, for each of its text, if it has many short expressions
	perText = 2 << 10

	perValue = 400 // of each value of an array that is an argument, with what the statement has of it
)

// keeps returns about how many bytes the connection keeps now.
func (c *conn) keeps() int {
	all := c.passing + entry*(len(c.statements)+len(c.portals)) + weightOf(c.settings.changed) + weightOf(c.settings.local)
	for _, s := range c.block.savepoints {
		all += s.bytes
	}
	for _, st := range c.statements {
		all += weight(st.text)
	}
	for _, p := range c.portals {
		all += p.weight()
	}
	return all
}

// weightOf returns about how many bytes settings take, with what a transaction began with in their place.
func weightOf(set map[string]string) (all int) {
	for _, value := range set {
		all += 2*entry + len(value)
	}
	return all
}

// weight returns about how many bytes a statement takes.
func weight(text string) int { return perText + perByte*len(text) }

// weight returns about how many bytes a portal takes.
func (p *portal) weight() int { return p.bytes + p.out.weight() }

// weight returns about how many bytes an output takes.
func (out *output) weight() int {
	if out == nil {
		return 0
	}
	if out.bytes == 0 {
		out.bytes = entry
		for _, row := range out.rows {
			out.bytes += rowWeight(row)
		}
	}
	return out.bytes
}

// rowWeight returns about how many bytes values take.
func rowWeight(row []any) int {
	all := 32
	for _, v := range row {
		switch v := v.(type) {
		case string:
			all += 32 + len(v)
		case []byte:
			all += 40 + len(v)
		case nil, int64, float64, bool:
			all += 24
		default: // such as an array: its elements have at least two characters each
			all += 64 + 16*len(pgcatalog.AppendText(nil, 0, v))
		}
	}
	return all
}
