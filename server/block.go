package server

import "maps"

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
	if c.block.aborted && !st.empty() && (st.verb == nil || !st.verb.endsBlock()) {
		return failure("25P02", "the transaction is aborted: statements are ignored until ROLLBACK")
	}
	return nil
}

// endsBlock reports whether a verb is obeyed in a transaction that failed.
func (v *verb) endsBlock() bool {
	switch v.word {
	case "COMMIT", "ROLLBACK", "ROLLBACK TO":
		return true
	}
	return false
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

func (c *conn) savepoint(v *verb) (*output, error) {
	out := &output{tag: v.word}
	b := &c.block
	if !b.begun {
		return nil, failure("25P01", "%s can only be used in transaction blocks", v.word)
	}
	if v.word == "SAVEPOINT" {
		if len(b.savepoints) >= 1000 {
			return nil, failure("54000", "there are too many savepoints")
		}
		s := c.now(v.name)
		if err := c.keep(v.name, s.bytes); err != nil {
			return nil, err
		}
		b.savepoints = append(b.savepoints, s)
		return out, nil
	}
	at := len(b.savepoints) - 1
	for at >= 0 && b.savepoints[at].name != v.name {
		at--
	}
	if at < 0 {
		return nil, failure("3B001", "savepoint %q does not exist", v.name)
	}
	if v.word == "RELEASE" {
		b.savepoints = b.savepoints[:at]
		return out, nil
	}
	c.rollBack(b.savepoints[at])
	b.savepoints, b.aborted = b.savepoints[:at+1], false
	out.tag = "ROLLBACK"
	return out, nil
}

// modes reads the modes of a transaction.
func (p *verbParser) modes(v *verb) bool {
	for {
		switch {
		case p.accept("isolation"):
			p.expect("level")
			first := p.next.value
			p.expect("serializable", "repeatable", "read")
			switch second := p.next.value; {
			case first == "serializable":
				v.level = first
			case first == "read" && !p.accept("committed", "uncommitted"), first == "repeatable" && !p.accept("read"):
				p.unexpected()
			default:
				v.level = first + " " + second
			}
		case p.accept("read"):
			only := p.next.is("only")
			p.expect("only", "write")
			v.readOnly = &only
		case p.accept("not"):
			p.expect("deferrable")
		case p.accept("deferrable"):
		default:
			return true
		}
		p.accept(",")
	}
}

func parseStart(p *verbParser, v *verb) bool {
	v.word, v.tag = "BEGIN", "START TRANSACTION"
	p.expect("transaction")
	return p.modes(v)
}

// chained reads AND [NO] CHAIN.
func (p *verbParser) chained(v *verb) bool {
	if p.accept("and") {
		v.chain = !p.accept("no")
		p.expect("chain")
	}
	return true
}

func parseCommit(p *verbParser, v *verb) bool {
	v.word = "COMMIT"
	if p.next.is("prepared") {
		return parseRefused(p, v)
	}
	p.accept("work", "transaction")
	return p.chained(v)
}

func parseRollback(p *verbParser, v *verb) bool {
	v.word = "ROLLBACK"
	if p.next.is("prepared") {
		return parseRefused(p, v)
	}
	p.accept("work", "transaction")
	if p.accept("to") {
		p.accept("savepoint")
		v.word = "ROLLBACK TO"
		return parseName(p, v)
	}
	return p.chained(v)
}
