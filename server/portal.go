package server

import (
	"bytes"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/engine"
	"dpsql/internal/places"
)

func (c *conn) parse(m *pgproto3.Parse) error {
	if _, exists := c.statements[m.Name]; exists && m.Name != "" {
		return failure("42P05", "prepared statement %q already exists", m.Name)
	}
	if len(c.statements) >= c.server.config.Limits.Prepared {
		return failure("54000", "there are %d prepared statements, the most that a connection may have", len(c.statements)).withHint("close some, or DEALLOCATE ALL")
	}
	if !utf8.ValidString(m.Query) {
		return failure("22021", "the statement is not UTF-8")
	}
	if m.Name == "" {
		delete(c.statements, "")
	}
	if err := c.keep(m.Name, places.Statement(len(m.Query))); err != nil {
		return err
	}
	one, err := oneStatement(m.Query)
	if err != nil {
		c.audit(&statement{text: m.Query}, new(engine.Result), err)
		return err
	}
	st, err := c.newStatement(one, m.ParameterOIDs)
	if err != nil {
		return err
	}
	if err := c.admitted(st); err != nil {
		return err
	}
	c.statements[m.Name] = st
	c.send(&pgproto3.ParseComplete{})
	return nil
}

func (c *conn) bind(m *pgproto3.Bind) error {
	st := c.statements[m.PreparedStatement]
	if st == nil {
		return failure("26000", "prepared statement %q does not exist", m.PreparedStatement)
	}
	if err := c.admitted(st); err != nil {
		return err
	}
	if m.DestinationPortal != "" {
		if c.portals[m.DestinationPortal] != nil {
			return failure("42P03", "cursor %q already exists", m.DestinationPortal)
		}
		if len(c.portals) >= c.server.config.Limits.Prepared {
			return failure("54000", "there are %d portals, the most that a connection may have", len(c.portals))
		}
	}
	if len(m.Parameters) != len(st.types) {
		return failure("08P01", "the message has %d parameters, and the statement %d", len(m.Parameters), len(st.types))
	}
	p := &portal{name: m.DestinationPortal, statement: st, formats: m.ResultFormatCodes}
	for _, f := range p.formats {
		if f != pgproto3.TextFormat && f != pgproto3.BinaryFormat {
			return failure("22023", "there is no format %d", f)
		}
	}
	sent := make([]any, len(m.Parameters))
	for i, raw := range m.Parameters {
		format, err := formatOf(m.ParameterFormatCodes, i)
		switch {
		case err != nil:
			return err
		case raw == nil:
		case format == pgproto3.TextFormat:
			sent[i] = string(raw)
		case format == pgproto3.BinaryFormat:
			sent[i] = bytes.Clone(raw)
		default:
			return failure("22023", "there is no format %d", format)
		}
	}
	var err error
	if p.args, err = st.arguments(sent); err != nil {
		return err
	}
	p.bytes = places.Statement(len(st.text)) + 2*len(p.formats) + 2*rowWeight(sent) // sent and decoded
	if st.shaped() {
		p.bytes += places.Statement(len(st.text)) + perValue*len(p.args.values) // read again
	}
	if err := c.keep(p.name, p.bytes); err != nil {
		return err
	}
	c.open(p)
	c.send(&pgproto3.BindComplete{})
	return nil
}

func (c *conn) describe(m *pgproto3.Describe) error {
	if m.ObjectType == 'P' {
		p := c.portals[m.Name]
		if p == nil {
			return failure("34000", "portal %q does not exist", m.Name)
		}
		c.described = p // most clients execute it next: the columns come with its rows
		return nil
	}
	st := c.statements[m.Name]
	if st == nil {
		return failure("26000", "prepared statement %q does not exist", m.Name)
	}
	if err := c.admitted(st); err != nil {
		return err
	}
	columns, err := c.columnsOf(st, arguments{})
	if err != nil {
		return err
	}
	c.send(&pgproto3.ParameterDescription{ParameterOIDs: st.types})
	return c.sendColumns(columns, nil)
}

// describeNow sends the columns of the portal that was described, without executing it.
func (c *conn) describeNow() error {
	p := c.described
	c.described = nil
	if p.out != nil {
		return c.sendColumns(p.out.columns, p.formats)
	}
	if err := c.admitted(p.statement); err != nil {
		return err
	}
	columns, err := c.columnsOf(p.statement, p.args)
	if err != nil {
		return err
	}
	return c.sendColumns(columns, p.formats)
}

func (c *conn) execute(m *pgproto3.Execute) error {
	p := c.portals[m.Portal]
	if p == nil {
		return failure("34000", "portal %q does not exist", m.Portal)
	}
	if err := c.admitted(p.statement); err != nil {
		return err
	}
	if p.statement.empty() {
		if c.described == p {
			c.described = nil
			c.send(&pgproto3.NoData{})
		}
		c.send(&pgproto3.EmptyQueryResponse{})
		return nil
	}
	fresh := p.out == nil
	if fresh {
		out, err := c.run(p.statement, p.args)
		if err != nil {
			return err
		}
		p.out = out
		c.settle()
	}
	if c.described == p {
		c.described = nil
		if err := c.sendColumns(p.out.columns, p.formats); err != nil {
			return err
		}
	}
	if fresh {
		c.notify(p.out)
	}
	if p.out.copied != nil {
		return c.sendCopy(p.out)
	}
	n := len(p.out.rows) - p.next
	if limit := int(m.MaxRows); limit > 0 && limit < n {
		n = limit
	}
	if err := c.sendRows(p.out, p.formats, p.next, n); err != nil {
		return err
	}
	p.next += n
	if p.next < len(p.out.rows) || m.MaxRows > 0 && n == int(m.MaxRows) {
		c.send(&pgproto3.PortalSuspended{})
		return nil
	}
	c.complete(p.out, n)
	if !p.cursor {
		p.out.rows, p.out.bytes, p.next = nil, 0, 0 // all were taken
	}
	return nil
}

func (c *conn) close(m *pgproto3.Close) error {
	if m.ObjectType == 'P' {
		delete(c.portals, m.Name)
	} else {
		delete(c.statements, m.Name)
	}
	c.send(&pgproto3.CloseComplete{})
	return nil
}
