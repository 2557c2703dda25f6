package server

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// ofEngine reports whether a setting belongs to the engine.
func ofEngine(name string) bool {
	return slices.Contains(engine.SettingNames, strings.ToLower(name))
}

func textColumn(names ...string) []column {
	out := make([]column, len(names))
	for i, n := range names {
		out[i] = column{name: n, oid: oidText, size: -1}
	}
	return out
}

// verbColumns returns the columns of a verb's rows, without obeying it.
func (c *conn) verbColumns(v *verb) ([]column, error) {
	switch v.word {
	case "SHOW":
		if v.name == "" {
			return textColumn("name", "setting", "description"), nil
		}
		return textColumn(written(v.name)), nil
	case "SELECT":
		return c.emptyColumns(context.Background(), v.name)
	case "EXECUTE":
		if st := c.statements[v.name]; st != nil {
			return c.columnsOf(st, nil)
		}
	case "FETCH":
		if p := c.portals[v.name]; p != nil && p.out != nil {
			return p.out.columns, nil
		}
	}
	return nil, nil
}

// obey does what a verb says.
func (c *conn) obey(v *verb) (*output, error) {
	out := &output{tag: cmp.Or(v.tag, v.word)}
	switch v.word {
	case "BEGIN":
		if c.block.begun {
			out.notices = c.notice("WARNING", "25001", "there is already a transaction in progress")
			return out, nil
		}
		c.begin(v)
	case "COMMIT", "ROLLBACK":
		return c.endBlock(v)
	case "SAVEPOINT", "RELEASE", "ROLLBACK TO":
		return c.savepoint(v)
	case "SET":
		if v.local && !c.block.begun && !c.several {
			out.notices = c.notice("WARNING", "25P01", "SET LOCAL can only be used in transaction blocks")
		}
		return out, c.set(v)
	case "RESET":
		if ofEngine(v.name) {
			delete(c.settings.displaced, strings.ToLower(v.name))
			c.resetEngine(v.name)
			return out, nil
		}
		if v.name == "" {
			c.restoreEngine(c.settings.engine)
		}
		return out, c.settings.reset(c, v.name)
	case "SHOW":
		return c.show(v)
	case "DISCARD":
		if c.block.begun && v.name == "ALL" {
			return nil, failure("25001", "DISCARD ALL cannot run inside a transaction block")
		}
		if out.tag += " " + v.name; v.name == "ALL" {
			c.restoreEngine(c.settings.engine)
			clear(c.statements)
			c.dropPortals(true)
			return out, c.settings.reset(c, "")
		}
	case "DEALLOCATE":
		if v.name == "" {
			clear(c.statements)
			out.tag += " ALL"
			return out, nil
		}
		if c.statements[v.name] == nil {
			return nil, failure("26000", "prepared statement %q does not exist", v.name)
		}
		delete(c.statements, v.name)
	case "PREPARE":
		return out, c.prepare(v)
	case "EXECUTE":
		return c.executeNamed(v)
	case "DECLARE":
		out.tag = "DECLARE CURSOR"
		return out, c.declare(v)
	case "FETCH", "MOVE":
		return c.fetch(v)
	case "CLOSE":
		out.tag = "CLOSE CURSOR"
		if v.name == "" {
			out.tag = "CLOSE CURSOR ALL"
			c.dropPortals(true)
			return out, nil
		}
		if c.portals[v.name] == nil {
			return nil, failure("34000", "cursor %q does not exist", v.name)
		}
		delete(c.portals, v.name)
	case "COPY":
		return c.copyOut(v)
	case "SELECT":
		columns, err := c.emptyColumns(context.Background(), v.name)
		return &output{columns: columns, tag: "SELECT", counted: true}, err
	}
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

func (c *conn) set(v *verb) error {
	switch {
	case v.name == "role":
		return nil
	case v.name == "transaction":
		return c.setModes(v)
	case ofEngine(v.name):
		return c.setEngine(v)
	case v.inherit && v.local:
		v = &verb{name: v.name, value: c.settings.initial(v.name), local: true}
	case v.inherit:
		return c.settings.reset(c, v.name)
	}
	if strings.EqualFold(v.name, "transaction_read_only") && c.block.begun {
		on, ok := onOff(v.value)
		if !ok {
			return failure("22023", "invalid value for parameter %q: %q", v.name, v.value)
		}
		c.block.readOnly = on == "on"
	}
	err := c.settings.set(c, v.name, v.value, v.local)
	if e, ok := err.(*stateError); ok && e.state == "42704" {
		return e.withHint("the settings of dpsql are " + strings.Join(engine.SettingNames, ", "))
	}
	return err
}

// setModes sets the modes of the transaction, or of those to come.
func (c *conn) setModes(v *verb) error {
	if v.level != "" {
		name, local := "transaction_isolation", true
		if v.session {
			name, local = "default_transaction_isolation", false
		}
		if v.session || c.block.begun {
			if err := c.settings.set(c, name, v.level, local); err != nil {
				return err
			}
		}
	}
	switch {
	case v.readOnly == nil:
	case v.session:
		return c.settings.set(c, "default_transaction_read_only", map[bool]string{true: "on", false: "off"}[*v.readOnly], false)
	default:
		c.block.readOnly = *v.readOnly && c.block.begun
	}
	return nil
}

// setEngine sets a setting of the engine.
func (c *conn) setEngine(v *verb) error {
	name := strings.ToLower(v.name)
	before := c.session.Settings().Get(name)
	if v.inherit {
		c.resetEngine(name)
	} else if err := c.session.Set(name, v.value); err != nil {
		return err
	}
	if v.local {
		c.settings.displace(name, before)
	} else {
		delete(c.settings.displaced, name)
	}
	return nil
}

// resetEngine restores one setting of the engine to that of the login.
func (c *conn) resetEngine(name string) {
	c.session.Set(name, c.settings.engine.Get(strings.ToLower(name)))
}

// restoreEngine restores the engine's settings.
func (c *conn) restoreEngine(to engine.Settings) {
	for _, name := range engine.SettingNames {
		c.session.Set(name, to.Get(name)) // taken before, so accepted again
	}
}

func (c *conn) show(v *verb) (*output, error) {
	columns, _ := c.verbColumns(v)
	out := &output{tag: "SHOW", columns: columns}
	if v.name == "" {
		for _, name := range slices.Sorted(maps.Keys(parameters())) {
			value, _ := c.settings.get(name)
			out.rows = append(out.rows, []any{name, value, nil})
		}
		return out, nil
	}
	value, ok := c.settings.get(v.name)
	if !ok {
		return nil, failure("42704", "unrecognized configuration parameter %q", v.name)
	}
	if strings.EqualFold(v.name, "transaction_read_only") {
		value = map[bool]string{true: "on", false: "off"}[c.readOnly()]
	}
	out.rows = [][]any{{value}}
	return out, nil
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

// queryIn returns the query inside a statement, which has rows and no parameters.
func (c *conn) queryIn(v *verb, what string) (*statement, error) {
	st, err := c.newStatement(strings.Clone(v.inner), nil)
	if err == nil && (!st.query() || len(st.types) > 0) {
		err = failure("42601", "%s needs a query without parameters", what)
	}
	if err != nil {
		return nil, err
	}
	columns, err := c.columnsOf(st, nil)
	if err == nil && len(columns) == 0 {
		err = failure("42601", "%s needs a query", what)
	}
	return st, err
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

func (c *conn) copyOut(v *verb) (*output, error) {
	st, err := c.queryIn(v, "COPY")
	if err != nil {
		return nil, moved(err, v)
	}
	out, err := c.run(st, arguments{})
	if err != nil {
		return nil, moved(err, v)
	}
	out.copied = v.copied
	return out, nil
}

// moved gives an error of a statement within another the position in the whole text.
func moved(err error, v *verb) error {
	if v.innerAt == 0 {
		return err
	}
	at := func(position int) int { return position + v.innerAt }
	if e, ok := err.(*stateError); ok {
		if e.position > 0 {
			return e.at(at(e.position))
		}
		return e
	}
	return sqlerr.Move(err, at)
}
