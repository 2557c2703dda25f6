package server

import (
	"strconv"
	"strings"
)

func parsePrepare(p *verbParser, v *verb) bool {
	if p.next.is("transaction") {
		return parseRefused(p, v)
	}
	v.name = p.identifier()
	for more := p.accept("("); more && p.err == nil; {
		name := p.next
		if !name.named() || typeNames[name.value] == 0 {
			p.unexpected()
		}
		p.take()
		v.types = append(v.types, typeNames[name.value])
		if name.is("double") {
			p.expect("precision")
		}
		if more = !p.accept(")"); more {
			p.expect(",")
		}
	}
	p.expect("as")
	p.rest(v)
	return true
}

func parseExecute(p *verbParser, v *verb) bool {
	if v.name = p.identifier(); !p.accept("(") {
		return true
	}
	for !p.accept(")") && p.err == nil {
		if len(v.args) > 0 {
			p.expect(",")
		}
		v.args = append(v.args, p.literal())
	}
	return true
}

// literal reads a constant, as a text or nil.
func (p *verbParser) literal() any {
	sign := ""
	if p.accept("-") {
		sign = "-"
	}
	switch {
	case p.next.kind == kindNumber:
		if _, err := strconv.ParseFloat(p.next.value, 64); err == nil {
			return sign + p.take().value
		}
	case sign != "":
	case p.next.kind == kindText, p.next.is("true", "false"):
		return p.take().value
	case p.accept("null"):
		return nil
	}
	p.unexpected()
	return nil
}

func (c *conn) prepare(v *verb) error {
	if c.statements[v.name] != nil {
		return failure("42P05", "prepared statement %q already exists", v.name)
	}
	if len(c.statements) >= c.server.config.Limits.Prepared {
		return failure("54000", "there are %d prepared statements, the most that a connection may have", len(c.statements))
	}
	if err := c.keep(v.name, weight(v.inner)); err != nil {
		return err
	}
	st, err := c.newStatement(strings.Clone(v.inner), v.types)
	if err != nil {
		return moved(err, v)
	}
	if !st.query() {
		return failure("42601", "only a query can be prepared")
	}
	c.statements[v.name] = st
	return nil
}

func (c *conn) executeNamed(v *verb) (*output, error) {
	st := c.statements[v.name]
	switch {
	case st == nil:
		return nil, failure("26000", "prepared statement %q does not exist", v.name)
	case len(v.args) != len(st.types) && len(st.types) > 0: // else they are ignored, as in PostgreSQL
		return nil, failure("42601", "the statement has %d parameters, and %d values are given", len(st.types), len(v.args))
	case st.empty():
		return &output{tag: "EXECUTE"}, nil
	case st.verb != nil:
		return nil, failure("42601", "only a query can be executed by name")
	}
	args, err := st.arguments(v.args[:len(st.types)])
	if err != nil {
		return nil, err
	}
	return c.run(st, args)
}
