package server

import (
	"math"

	"dpsql/internal/places"
	"dpsql/server/pgcatalog"
)

// hold notes how many bytes the connection keeps, if all that is kept for its user is then at most some bound. It
// returns whether it is.
func (c *conn) hold(bytes, most int) bool {
	ok := c.server.config.Shares.Hold(c.folded, bytes-c.held, most)
	if ok {
		c.held = bytes
	}
	return ok
}

// settle brings the account up to date.
func (c *conn) settle() { c.hold(c.keeps(), math.MaxInt) }

// longestName is how many bytes a name of a statement, a portal or a savepoint may have, as in
// PostgreSQL.
const longestName = 63

// keep refuses to keep something of a name and a weight.
func (c *conn) keep(name string, weight int) error {
	most := c.server.config.Limits.Memory
	switch {
	case len(name) > longestName:
		return tooLong()
	case !c.hold(c.keeps()+entry+weight, most):
		return failure("54000", "the connections of %s would keep more than %d bytes", c.user, most).
			withHint("take the rows of portals, close portals and statements, or DEALLOCATE ALL")
	}
	return nil
}

func tooLong() error { return failure("42622", "a name has more than %d bytes", longestName) }

// What is kept weighs at least what it takes.
const (
	entry    = 256 // bytes of an entry in a map, with its name
	perValue = 400 // of each value of an array that is an argument, with what the statement has of it
)

// keeps returns about how many bytes the connection keeps now.
func (c *conn) keeps() int {
	all := c.passing + entry*(len(c.statements)+len(c.portals)) + weightOf(c.settings.changed) + weightOf(c.settings.local)
	for _, s := range c.block.savepoints {
		all += s.bytes
	}
	for _, st := range c.statements {
		all += places.Statement(len(st.text))
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
