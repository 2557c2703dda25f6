package server

import (
	"maps"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"
)

// now returns what a savepoint made now is rolled back to.
func (c *conn) now(name string) savepoint {
	s := &c.settings
	return savepoint{name, c.block.readOnly, maps.Clone(s.changed), maps.Clone(s.local), maps.Clone(s.displaced), c.session.Settings(), c.made,
		entry + weightOf(s.changed) + weightOf(s.local) + weightOf(s.displaced)}
}

// rollBack undoes what was SET, made read-write and declared since a savepoint, and no charge.
func (c *conn) rollBack(to savepoint) {
	c.block.readOnly = to.readOnly
	maps.DeleteFunc(c.portals, func(_ string, p *portal) bool { return p.number > to.portals })
	c.settings.restore(c, maps.Clone(to.changed), maps.Clone(to.local), maps.Clone(to.displaced))
	c.restoreEngine(to.engine)
}

// admitted refuses all but the end of a transaction that failed.
func (c *conn) admitted(st *statement) error {
	if c.block.aborted && !st.empty() && (st.verb == nil || !st.verb.ends) {
		return failure("25P02", "the transaction is aborted: statements are ignored until ROLLBACK")
	}
	return nil
}

// beginBlock begins a transaction block.
func (c *conn) beginBlock(v *verb) (*output, error) {
	out := v.done()
	if c.block.begun {
		out.notices = c.notice("WARNING", "25001", "there is already a transaction in progress")
		return out, nil
	}
	c.begin(v)
	return out, nil
}

func (c *conn) begin(v *verb) {
	c.block = block{begun: true, readOnly: c.settings.readOnly(), start: *c.implicit}
	c.implicit = nil
	if v.readOnly != nil {
		c.block.readOnly = *v.readOnly
	}
	if v.level != "" {
		c.settings.set(c, "transaction_isolation", v.level, true) // one of the four, so accepted
	}
}

// endBlock ends a transaction. What it bought stays bought, also by ROLLBACK.
func (c *conn) endBlock(v *verb) (*output, error) {
	out := &output{tag: v.word}
	if !c.block.begun {
		if v.chain {
			return nil, failure("25P01", "%s AND CHAIN can only be used in transaction blocks", v.word)
		}
		if v.word == "ROLLBACK" {
			c.rollBack(*c.implicit)
		}
		c.implicit = nil
		out.notices = c.notice("WARNING", "25P01", "there is no transaction in progress")
		return out, nil
	}
	if c.block.aborted {
		out.tag = "ROLLBACK"
	}
	ended := c.block
	level, _ := c.settings.get("transaction_isolation")
	c.block = block{}
	c.dropPortals(false)
	c.settings.endBlock(c)
	if out.tag == "ROLLBACK" { // what was SET is undone, as in PostgreSQL; no charge is
		c.settings.restore(c, ended.start.changed, nil, nil)
		c.restoreEngine(ended.start.engine)
	}
	if v.chain {
		c.implicit = new(c.now(""))
		c.begin(&verb{readOnly: &ended.readOnly, level: level})
	}
	return out, nil
}

// rollBackBlock ends a transaction, or undoes what was done since a savepoint.
func (c *conn) rollBackBlock(v *verb) (*output, error) {
	if !v.to {
		return c.endBlock(v)
	}
	at, err := c.savepointOf(v)
	if err != nil {
		return nil, err
	}
	b := &c.block
	c.rollBack(b.savepoints[at])
	b.savepoints, b.aborted = b.savepoints[:at+1], false
	return &output{tag: "ROLLBACK"}, nil
}

func (c *conn) addSavepoint(v *verb) (*output, error) {
	switch {
	case !c.block.begun:
		return nil, outsideBlock(v)
	case len(c.block.savepoints) >= 1000:
		return nil, failure("54000", "there are too many savepoints")
	}
	s := c.now(v.name)
	if err := c.keep(v.name, s.bytes); err != nil {
		return nil, err
	}
	c.block.savepoints = append(c.block.savepoints, s)
	return v.done(), nil
}

func (c *conn) releaseSavepoint(v *verb) (*output, error) {
	at, err := c.savepointOf(v)
	if err != nil {
		return nil, err
	}
	c.block.savepoints = c.block.savepoints[:at]
	return v.done(), nil
}

// savepointOf returns the index of the last savepoint of the name that a verb has.
func (c *conn) savepointOf(v *verb) (int, error) {
	if !c.block.begun {
		return 0, outsideBlock(v)
	}
	for at, s := range slices.Backward(c.block.savepoints) {
		if s.name == v.name {
			return at, nil
		}
	}
	return 0, failure("3B001", "savepoint %q does not exist", v.name)
}

func outsideBlock(v *verb) error {
	return failure("25P01", "%s can only be used in transaction blocks", v.word)
}

func parseBegin(p *verbParser, v *verb) {
	p.accept("WORK", "TRANSACTION")
	p.modes(v)
}

func parseStart(p *verbParser, v *verb) {
	p.expect("TRANSACTION")
	p.modes(v)
}

// modes reads the modes of a transaction.
func (p *verbParser) modes(v *verb) {
	for {
		switch {
		case p.accept("ISOLATION"):
			p.expect("LEVEL")
			p.level(v)
		case p.accept("READ"):
			only := p.at("ONLY")
			p.expect("ONLY", "WRITE")
			v.readOnly = &only
		case p.accept("NOT"):
			p.expect("DEFERRABLE")
		case p.accept("DEFERRABLE"):
		default:
			return
		}
		p.accept(",")
	}
}

// level reads a level of isolation.
func (p *verbParser) level(v *verb) {
	first := p.next
	p.expect("SERIALIZABLE", "REPEATABLE", "READ")
	second := p.next
	switch {
	case first.Matches("SERIALIZABLE"):
		v.level = "serializable"
	case first.Matches("READ") && p.accept("COMMITTED", "UNCOMMITTED"),
		first.Matches("REPEATABLE") && p.accept("READ"):
		v.level = valueOf(first) + " " + valueOf(second)
	default:
		p.unexpected()
	}
}

// chained reads AND [NO] CHAIN.
func (p *verbParser) chained(v *verb) {
	if p.accept("AND") {
		v.chain = !p.accept("NO")
		p.expect("CHAIN")
	}
}

func parseCommit(p *verbParser, v *verb) {
	if p.at("PREPARED") {
		parseRefused(p, v)
		return
	}
	p.accept("WORK", "TRANSACTION")
	p.chained(v)
}

func parseRollback(p *verbParser, v *verb) {
	if p.at("PREPARED") {
		parseRefused(p, v)
		return
	}
	p.accept("WORK", "TRANSACTION")
	if v.to = p.accept("TO"); v.to {
		v.word = "ROLLBACK TO"
		parseRelease(p, v)
		return
	}
	p.chained(v)
}

func parseRelease(p *verbParser, v *verb) {
	p.accept("SAVEPOINT")
	parseName(p, v)
}

// failed tells the client of an error, which ends a transaction outside a block.
func (c *conn) failed(err error, at func(int) int) {
	c.block.fail()
	if c.implicit != nil {
		c.rollBack(*c.implicit)
		c.implicit = nil
	}
	c.server.counts.Errors.Add(1)
	c.send(response(err, at))
}

// turnOver tells the client that it is its turn. Outside a block that ends a transaction.
func (c *conn) turnOver() error {
	if !c.block.open() {
		c.dropPortals(false)
		c.settings.endBlock(c)
		c.implicit = nil
	}
	c.settle()
	c.ready()
	return c.flush()
}

func (c *conn) ready() { c.send(&pgproto3.ReadyForQuery{TxStatus: c.block.status()}) }
