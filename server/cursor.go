package server

import "strconv"

func parseDeclare(p *verbParser, v *verb) bool {
	v.name = p.identifier()
	for p.accept("binary", "insensitive", "asensitive", "no", "scroll") {
	}
	p.expect("cursor")
	if p.next.is("with", "without") {
		v.hold = p.take().is("with")
		p.expect("hold")
	}
	p.expect("for")
	p.rest(v)
	return true
}

func parseFetch(p *verbParser, v *verb) bool {
	s := &v.scroll
	s.kind, s.count = "forward", 1
	switch {
	case p.accept("next"):
	case p.accept("prior"):
		s.kind = "backward"
	case p.accept("first"):
		s.kind = "absolute"
	case p.accept("last"):
		s.kind, s.count = "absolute", -1
	case p.next.is("absolute", "relative"):
		s.kind = p.take().value
		s.count = p.integer()
	case p.accept("all"):
		s.all = true
	default:
		if p.next.is("forward", "backward") {
			s.kind = p.take().value
			s.all = p.accept("all")
		}
		if !s.all && (p.next.kind == kindNumber || p.next.is("-")) {
			s.count = p.integer()
		}
	}
	p.accept("from", "in")
	return parseName(p, v)
}

func (p *verbParser) integer() int {
	sign := ""
	if p.accept("-") {
		sign = "-"
	}
	n, err := strconv.ParseInt(sign+p.next.value, 10, 32)
	if err != nil {
		p.unexpected()
	}
	p.take()
	return int(n)
}

// declare declares a cursor. Its statement runs when rows are first asked for.
func (c *conn) declare(v *verb) error {
	switch {
	case !c.block.begun && !v.hold:
		return failure("25P01", "DECLARE CURSOR can only be used in transaction blocks").withHint("BEGIN one, or declare the cursor WITH HOLD")
	case c.portals[v.name] != nil:
		return failure("42P03", "cursor %q already exists", v.name)
	case len(c.portals) >= c.server.config.Limits.Prepared:
		return failure("54000", "there are %d portals, the most that a connection may have", len(c.portals))
	}
	if err := c.keep(v.name, weight(v.inner)); err != nil {
		return err
	}
	st, err := c.queryIn(v, "a cursor")
	if err != nil {
		return moved(err, v)
	}
	c.open(&portal{name: v.name, statement: st, hold: v.hold, cursor: true, bytes: weight(st.text)})
	return nil
}

// fetch takes rows of a cursor, and runs its statement if none were taken yet.
func (c *conn) fetch(v *verb) (*output, error) {
	p := c.portals[v.name]
	if p == nil {
		return nil, failure("34000", "cursor %q does not exist", v.name)
	}
	out := &output{tag: v.word, counted: true}
	if p.out == nil {
		ran, err := c.run(p.statement, p.args)
		if err != nil {
			return nil, err
		}
		p.out, out.notices = ran, ran.notices
		c.settle()
	}
	rows := p.scrolled(v.scroll)
	if v.word == "MOVE" {
		out.tag, out.counted = "MOVE "+strconv.Itoa(len(rows)), false
		return out, nil
	}
	out.columns, out.rows = p.out.columns, rows
	return out, nil
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
