package server

import (
	"strconv"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/internal/places"
	"dpsql/sqlfront/syntax"
)

func parseDeclare(p *verbParser, v *verb) {
	v.name = p.identifier()
	for p.accept("BINARY", "INSENSITIVE", "ASENSITIVE", "NO", "SCROLL") {
	}
	p.expect("CURSOR")
	if p.at("WITH", "WITHOUT") {
		v.hold = p.take().Matches("WITH")
		p.expect("HOLD")
	}
	p.expect("FOR")
	p.rest(v)
}

func parseFetch(p *verbParser, v *verb) {
	s := &v.scroll
	s.kind, s.count = "forward", 1
	switch {
	case p.accept("NEXT"):
	case p.accept("PRIOR"):
		s.kind = "backward"
	case p.accept("FIRST"):
		s.kind = "absolute"
	case p.accept("LAST"):
		s.kind, s.count = "absolute", -1
	case p.at("ABSOLUTE", "RELATIVE"):
		s.kind = valueOf(p.take())
		s.count = p.integer()
	case p.accept("ALL"):
		s.all = true
	default:
		if p.at("FORWARD", "BACKWARD") {
			s.kind = valueOf(p.take())
			s.all = p.accept("ALL")
		}
		if !s.all && (p.next.Kind == syntax.KindInteger || p.next.Kind == syntax.KindDecimal || p.at("-")) {
			s.count = p.integer()
		}
	}
	p.accept("FROM", "IN")
	parseName(p, v)
}

func (p *verbParser) integer() int {
	sign := ""
	if p.accept("-") {
		sign = "-"
	}
	n, err := strconv.ParseInt(sign+valueOf(p.next), 10, 32)
	if err != nil {
		p.unexpected()
	}
	p.take()
	return int(n)
}

// declare declares a cursor. Its statement runs when rows are first asked for.
func (c *conn) declare(v *verb) (*output, error) {
	switch {
	case !c.block.begun && !v.hold:
		return nil, failure("25P01", "DECLARE CURSOR can only be used in transaction blocks").withHint("BEGIN one, or declare the cursor WITH HOLD")
	case c.portals[v.name] != nil:
		return nil, failure("42P03", "cursor %q already exists", v.name)
	case len(c.portals) >= c.server.config.Limits.Prepared:
		return nil, failure("54000", "there are %d portals, the most that a connection may have", len(c.portals))
	}
	if err := c.keep(v.name, places.Statement(len(v.inner))); err != nil {
		return nil, err
	}
	st, err := c.queryIn(v, "a cursor")
	if err != nil {
		return nil, moved(err, v)
	}
	c.open(&portal{name: v.name, statement: st, hold: v.hold, cursor: true, bytes: places.Statement(len(st.text))})
	return v.done(), nil
}

// fetch takes rows of a cursor, and runs its statement if none were taken yet.
func (c *conn) fetch(v *verb) (*output, error) {
	p, notices, err := c.cursor(v)
	if err != nil {
		return nil, err
	}
	rows := p.scrolled(v.scroll)
	return &output{columns: p.out.columns, rows: rows, tag: v.word, counted: true, notices: notices}, nil
}

// move moves a cursor as fetch does, and takes no rows.
func (c *conn) move(v *verb) (*output, error) {
	p, notices, err := c.cursor(v)
	if err != nil {
		return nil, err
	}
	return &output{tag: v.word + " " + strconv.Itoa(len(p.scrolled(v.scroll))), notices: notices}, nil
}

// cursor returns a cursor that has run, and the notices if it runs now.
func (c *conn) cursor(v *verb) (*portal, []*pgproto3.NoticeResponse, error) {
	p := c.portals[v.name]
	switch {
	case p == nil:
		return nil, nil, failure("34000", "cursor %q does not exist", v.name)
	case p.out != nil:
		return p, nil, nil
	}
	out, err := c.run(p.statement, p.args)
	if err != nil {
		return nil, nil, err
	}
	p.out = out
	c.settle()
	return p, out.notices, nil
}

// cursorColumns returns the columns of a cursor that has run.
func (c *conn) cursorColumns(v *verb) ([]column, error) {
	if p := c.portals[v.name]; p != nil && p.out != nil {
		return p.out.columns, nil
	}
	return nil, nil
}

func (c *conn) closeCursor(v *verb) (*output, error) {
	switch {
	case v.name == "":
		c.dropPortals(true)
		return &output{tag: "CLOSE CURSOR ALL"}, nil
	case c.portals[v.name] == nil:
		return nil, failure("34000", "cursor %q does not exist", v.name)
	}
	delete(c.portals, v.name)
	return v.done(), nil
}

// scrolled moves a cursor and returns the rows that it passes, or comes to. next is the row
// behind the cursor's place; the place is before the first row, on a row or behind the last.
func (p *portal) scrolled(s scroll) [][]any {
	all := p.out.rows
	on := p.next - 1 // the row that the cursor is on: -1 before the first, len(all) behind the last
	if p.behind {
		on = len(all)
	}
	place := func(to int) {
		to = max(-1, min(to, len(all)))
		p.next, p.behind = min(to+1, len(all)), to == len(all)
	}
	forward, n := s.kind == "forward", s.count
	switch s.kind {
	case "absolute", "relative":
		to := on + n
		if s.kind == "absolute" {
			if to = n - 1; n < 0 {
				to = len(all) + n
			}
		}
		place(to)
		if to < 0 || to >= len(all) {
			return nil
		}
		return all[to : to+1]
	}
	if n < 0 {
		forward, n = !forward, -n
	}
	if s.all {
		n = len(all) + 1
	}
	if n == 0 {
		if on < 0 || on >= len(all) {
			return nil
		}
		return all[on : on+1]
	}
	if forward {
		first := on + 1
		last := min(on+n, len(all)-1)
		place(on + n)
		if first > last {
			return nil
		}
		return all[first : last+1]
	}
	first, last := on-1, max(on-n, 0)
	place(on - n)
	var rows [][]any
	for i := first; i >= last; i-- {
		rows = append(rows, all[i])
	}
	return rows
}
