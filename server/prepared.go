package server

import (
	"strconv"
	"strings"

	"dpsql/internal/places"
	"dpsql/sqlfront/syntax"
)

func parsePrepare(p *verbParser, v *verb) {
	if p.at("TRANSACTION") {
		parseRefused(p, v)
		return
	}
	v.name = p.identifier()
	for more := p.accept("("); more && p.err == nil; {
		name := p.next
		if !isName(name) || typeNames[valueOf(name)] == 0 {
			p.unexpected()
		}
		p.take()
		v.types = append(v.types, typeNames[valueOf(name)])
		if name.Matches("DOUBLE") {
			p.expect("PRECISION")
		}
		if more = !p.accept(")"); more {
			p.expect(",")
		}
	}
	p.expect("AS")
	p.rest(v)
}

func parseExecute(p *verbParser, v *verb) {
	if v.name = p.identifier(); !p.accept("(") {
		return
	}
	for !p.accept(")") && p.err == nil {
		if len(v.args) > 0 {
			p.expect(",")
		}
		v.args = append(v.args, p.literal())
	}
}

// literal reads a constant, as a text or nil.
func (p *verbParser) literal() any {
	sign := ""
	if p.accept("-") {
		sign = "-"
	}
	switch {
	case p.next.Kind == syntax.KindInteger, p.next.Kind == syntax.KindDecimal:
		if _, err := strconv.ParseFloat(valueOf(p.next), 64); err == nil {
			return sign + valueOf(p.take())
		}
	case sign != "":
	case p.next.Kind == syntax.KindString, p.at("TRUE", "FALSE"):
		return valueOf(p.take())
	case p.accept("NULL"):
		return nil
	}
	p.unexpected()
	return nil
}

func parseDeallocate(p *verbParser, v *verb) {
	p.accept("PREPARE")
	parseAllOrName(p, v)
}

func (c *conn) prepare(v *verb) (*output, error) {
	if c.statements[v.name] != nil {
		return nil, failure("42P05", "prepared statement %q already exists", v.name)
	}
	if len(c.statements) >= c.server.config.Limits.Prepared {
		return nil, failure("54000", "there are %d prepared statements, the most that a connection may have", len(c.statements))
	}
	if err := c.keep(v.name, places.Statement(len(v.inner))); err != nil {
		return nil, err
	}
	st, err := c.newStatement(strings.Clone(v.inner), v.types)
	if err != nil {
		return nil, moved(err, v)
	}
	if !st.query() {
		return nil, failure("42601", "only a query can be prepared")
	}
	c.statements[v.name] = st
	return v.done(), nil
}

func (c *conn) executeNamed(v *verb) (*output, error) {
	st := c.statements[v.name]
	switch {
	case st == nil:
		return nil, failure("26000", "prepared statement %q does not exist", v.name)
	case len(v.args) != len(st.types) && len(st.types) > 0: // else they are ignored, as in PostgreSQL
		return nil, failure("42601", "the statement has %d parameters, and %d values are given", len(st.types), len(v.args))
	case st.empty():
		return v.done(), nil
	case st.verb != nil:
		return nil, failure("42601", "only a query can be executed by name")
	}
	args, err := st.arguments(v.args[:len(st.types)])
	if err != nil {
		return nil, err
	}
	return c.run(st, args)
}

// namedColumns returns the columns of what EXECUTE executes.
func (c *conn) namedColumns(v *verb) ([]column, error) {
	if st := c.statements[v.name]; st != nil {
		return c.columnsOf(st, arguments{})
	}
	return nil, nil
}

func (c *conn) deallocate(v *verb) (*output, error) {
	switch {
	case v.name == "":
		clear(c.statements)
		return &output{tag: v.word + " ALL"}, nil
	case c.statements[v.name] == nil:
		return nil, failure("26000", "prepared statement %q does not exist", v.name)
	}
	delete(c.statements, v.name)
	return v.done(), nil
}
