package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/engine"
	"dpsql/query"
	"dpsql/server/pgcatalog"
	"dpsql/sqlerr"
)

// statement is a prepared statement. It is of one of four kinds: a verb of PostgreSQL that
// this package obeys, a question about the catalog, a statement of the engine, or none of
// them, if it is empty.
type statement struct {
	text     string
	verb     *verb
	asked    *asked
	prepared *engine.Prepared
	types    []uint32 // of the parameters

	fingerprint string // see hash; "" before it is asked for
}

func (st *statement) empty() bool { return st.verb == nil && !st.query() }

// query reports whether a statement is not a verb: it can be prepared, declared and copied.
func (st *statement) query() bool { return st.asked != nil || st.prepared != nil }

// arguments are the values of a statement's parameters: those of the engine as it takes them, and
// those of a question about the catalog as the client sent them.
type arguments struct {
	values []query.Value
	sent   []any // nil, a string in text form or []byte in binary form
}

// arguments returns the arguments that a client sent.
func (st *statement) arguments(sent []any) (a arguments, err error) {
	if st.asked != nil {
		return arguments{sent: sent}, nil
	}
	a.values = make([]query.Value, len(sent))
	for i, v := range sent {
		if a.values[i], err = decode(st.types[i], v); err != nil {
			return a, failure("22P02", "parameter $%d: %v", i+1, err)
		}
	}
	return a, nil
}

// portal is a statement with its arguments. It runs when its first row is asked for, once.
type portal struct {
	name      string
	number    int // in the order in which the connection made them
	statement *statement
	args      arguments
	formats   []int16 // of the columns: none, one for all, or one each
	hold      bool    // a cursor that outlives its transaction
	cursor    bool    // declared by DECLARE: its rows can be taken again
	behind    bool    // a cursor that is behind its last row
	out       *output // nil until it has run
	bytes     int     // about what it takes before it has run, with its statement, which may be closed
	next      int     // the first row that was not sent
}

// open adds a portal.
func (c *conn) open(p *portal) {
	c.made++
	p.number = c.made
	c.portals[p.name] = p
}

// output is what a statement gave.
type output struct {
	columns []column
	rows    [][]any
	tag     string // of CommandComplete; rows are counted by whoever sends them if counted
	counted bool   // the tag ends with the number of rows
	notices []*pgproto3.NoticeResponse
	catalog *pgcatalog.Catalog // whose values the rows have; nil for values of the engine
	bytes   int                // see weight
	copied  *copyForm          // COPY … TO STDOUT
}

// newStatement parses a statement. types are those that the client gave for the parameters; 0
// is one that it left open. Nothing is executed. One that is refused is written to the log.
func (c *conn) newStatement(text string, types []uint32) (*statement, error) {
	var st *statement
	err := c.work(func(ctx context.Context) (err error) {
		st, err = c.readStatement(ctx, text, types)
		return err
	})
	if err != nil {
		c.audit(&statement{text: text}, new(engine.Result), err)
	}
	return st, err
}

func (c *conn) readStatement(ctx context.Context, text string, types []uint32) (*statement, error) {
	st := &statement{text: text}
	one, err := only(text)
	if err != nil || one == "" {
		return st, err
	}
	if st.verb, err = parseVerb(one); err != nil || st.verb != nil {
		return st, err
	}
	if asks := pgcatalog.Asks(one); asks || pgcatalog.Alone(one) {
		if st.asked, err = c.ask(ctx, one, types); err == nil {
			st.types = st.asked.statement.Parameters
		}
		if asks || err == nil {
			return st, err
		}
	}
	if table := emptyOf(one); table != "" {
		if columns, err := c.emptyColumns(ctx, table); err == nil && columns != nil {
			st.verb = &verb{word: "SELECT", name: table}
			return st, nil
		}
	}
	if st.prepared, err = engine.Prepare(one); err != nil {
		return nil, unknownSetting(one, err)
	}
	inferred, err := c.session.ParameterTypes(ctx, st.prepared)
	if err != nil {
		return nil, err
	}
	st.types = make([]uint32, len(inferred))
	if len(types) > len(st.types) {
		return nil, failure("08P01", "types are given for %d parameters, and the statement has %d", len(types), len(st.types))
	}
	for i := range st.types {
		if st.types[i] = oids[inferred[i]]; i < len(types) && types[i] != 0 && types[i] != oidUnknown {
			st.types[i] = types[i]
		}
		if !known(st.types[i]) {
			return nil, failure("0A000", "parameter $%d has type %d, which is not taken", i+1, st.types[i]).
				withHint("the types are int2, int4, int8, float4, float8, numeric, text, varchar, bool, date and timestamp")
		}
	}
	return st, nil
}

// unknownSetting returns the error for SHOW of what is neither a setting nor a list.
func unknownSetting(text string, err error) error {
	var e *sqlerr.Error
	if words := firstWords(text, 2); len(words) == 2 && words[0] == "SHOW" && errors.As(err, &e) {
		return failure("42704", "unrecognized configuration parameter %q", strings.ToLower(words[1])).withHint(e.Hint)
	}
	return err
}

// only returns the one statement of a text, "" if it has none.
func only(text string) (string, error) {
	scanner := engine.NewScanner(strings.NewReader(text))
	first, err := scanner.Next()
	switch {
	case errors.Is(err, io.EOF):
		return "", nil
	case err != nil:
		return "", err
	case first.Command:
		return "", dotted(1)
	}
	if _, err := scanner.Next(); !errors.Is(err, io.EOF) {
		return "", failure("42601", "a prepared statement cannot have several statements")
	}
	return text, nil
}

func dotted(position int) error {
	return failure("42601", `syntax error at "."`).at(position).withHint("commands that begin with a point belong to the dpsql shell")
}

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
	if err := c.keep(m.Name, weight(m.Query)); err != nil {
		return err
	}
	st, err := c.newStatement(m.Query, m.ParameterOIDs)
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

// admitted refuses all but the end of a transaction that failed.
func (c *conn) admitted(st *statement) error {
	if c.block.aborted && !st.empty() && (st.verb == nil || !st.verb.endsBlock()) {
		return failure("25P02", "the transaction is aborted: statements are ignored until ROLLBACK")
	}
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
	p.bytes = weight(st.text) + 2*len(p.formats) + 2*rowWeight(sent) // sent and decoded
	if err := c.keep(p.name, p.bytes); err != nil {
		return err
	}
	c.open(p)
	c.send(&pgproto3.BindComplete{})
	return nil
}

// formatOf returns the format of value i: there are none, one for all, or one each.
func formatOf(formats []int16, i int) (int16, error) {
	switch {
	case len(formats) == 0:
		return pgproto3.TextFormat, nil
	case len(formats) == 1:
		return formats[0], nil
	case i < len(formats):
		return formats[i], nil
	}
	return 0, failure("08P01", "there are %d formats for more values", len(formats))
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
	columns, err := c.columnsOf(st, nil)
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
	columns, err := c.columnsOf(p.statement, p.args.values)
	if err != nil {
		return err
	}
	return c.sendColumns(columns, p.formats)
}

// columnsOf returns the columns that a statement will have, none if it has no rows.
func (c *conn) columnsOf(st *statement, args []query.Value) ([]column, error) {
	switch {
	case st.empty():
		return nil, nil
	case st.verb != nil:
		return c.verbColumns(st.verb)
	case st.asked != nil:
		return st.asked.columns(), nil
	}
	var columns []engine.Column
	err := c.work(func(ctx context.Context) (err error) {
		columns, err = c.session.Columns(ctx, st.prepared, args)
		return err
	})
	return columnsFor(columns), err
}

func (c *conn) sendColumns(columns []column, formats []int16) error {
	if len(columns) == 0 {
		c.send(&pgproto3.NoData{})
		return nil
	}
	fields := make([]pgproto3.FieldDescription, len(columns))
	for i, col := range columns {
		format, err := formatOf(formats, i)
		if err != nil {
			return err
		}
		fields[i] = pgproto3.FieldDescription{Name: []byte(col.name), DataTypeOID: col.oid, DataTypeSize: col.size, TypeModifier: -1, Format: format}
	}
	c.send(&pgproto3.RowDescription{Fields: fields})
	return nil
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

// complete ends a statement's output.
func (c *conn) complete(out *output, rows int) {
	tag := []byte(out.tag)
	if out.counted {
		tag = strconv.AppendInt(append(tag, ' '), int64(rows), 10)
	}
	c.send(&pgproto3.CommandComplete{CommandTag: tag})
}

func (c *conn) notify(out *output) {
	for _, n := range out.notices {
		c.send(n)
	}
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

// dropPortals forgets portals, as at the end of a transaction: all of them, or those that do
// not outlive it.
func (c *conn) dropPortals(all bool) {
	for name, p := range c.portals {
		if all || !p.hold {
			delete(c.portals, name)
		}
	}
}

// query answers a message of the simple protocol. Its statements run in order, and those
// after one that fails do not.
func (c *conn) query(text string) error {
	c.dropUnnamed()
	if err := c.queries(text); err != nil {
		return err
	}
	return c.turnOver()
}

func (c *conn) dropUnnamed() {
	delete(c.statements, "")
	delete(c.portals, "")
}

// queries runs the statements of a text, none of them if one is malformed. An error of theirs
// goes to the client; one that is returned ends the connection.
func (c *conn) queries(text string) error {
	defer func() { c.several, c.passing = false, 0 }()
	all, err := c.parseAll(text)
	if err != nil {
		c.failed(err.error, err.at)
		return nil
	}
	if len(all) == 0 {
		c.send(&pgproto3.EmptyQueryResponse{})
	}
	c.several = len(all) > 1
	for _, one := range all {
		if err := c.simple(one.statement); err != nil && c.lost == nil {
			c.failed(err, one.at)
			return nil
		}
		if c.lost != nil {
			return c.lost
		}
	}
	return nil
}

// mostStatements bounds the statements of a text, which is parsed whole.
const mostStatements = 1000

// parsed is one statement of a text.
type parsed struct {
	statement *statement
	at        func(position int) int // where a position in it is in the text
}

// misplaced is an error in a text.
type misplaced struct {
	error
	at func(position int) int
}

// parseAll parses the statements of a text.
func (c *conn) parseAll(text string) ([]parsed, *misplaced) {
	if !utf8.ValidString(text) {
		return nil, &misplaced{error: failure("22021", "the statement is not UTF-8")}
	}
	var all []parsed
	for scanner := engine.NewScanner(strings.NewReader(text)); ; {
		in, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		at := func(position int) int { return place(text, in, position) }
		var st *statement
		switch {
		case err != nil:
		case in.Command:
			err = dotted(1)
		default:
			c.passing += weight(in.Text)
			if err = c.keep("", 0); err == nil {
				st, err = c.newStatement(in.Text, nil)
			}
		}
		if err == nil && len(st.types) > 0 {
			err = failure("42P02", "there is no parameter $1").withHint("prepare the statement, and give its arguments")
		}
		if err != nil {
			return nil, &misplaced{err, at}
		}
		if !st.empty() {
			all = append(all, parsed{st, at})
		}
		if len(all) > mostStatements {
			return nil, &misplaced{failure("54000", "a text has more than %d statements", mostStatements).withHint("send them one by one"), nil}
		}
	}
}

// place returns the character of a text at which a position of one of its statements is.
func place(text string, in engine.Input, position int) int {
	line, column := in.Locate(position)
	for line > 1 {
		_, after, ok := strings.Cut(text, "\n")
		if !ok {
			break
		}
		column += utf8.RuneCountInString(text[:len(text)-len(after)])
		text, line = after, line-1
	}
	return column
}

// simple runs a statement in the simple protocol.
func (c *conn) simple(st *statement) error {
	if err := c.admitted(st); err != nil {
		return err
	}
	out, err := c.run(st, arguments{})
	if err != nil {
		return err
	}
	passing := c.passing
	defer func() { c.passing = passing }()
	c.passing += out.weight()
	c.settle()
	c.notify(out)
	if out.copied != nil {
		return c.sendCopy(out)
	}
	if len(out.columns) > 0 {
		if err := c.sendColumns(out.columns, nil); err != nil {
			return err
		}
	}
	if err := c.sendRows(out, nil, 0, len(out.rows)); err != nil {
		return err
	}
	c.complete(out, len(out.rows))
	return nil
}
