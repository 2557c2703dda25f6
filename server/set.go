package server

import (
	"maps"
	"slices"
	"strings"

	"dpsql/engine"
	"dpsql/sqlfront/syntax"
)

func parseSet(p *verbParser, v *verb) {
	switch {
	case p.accept("TRANSACTION"):
		v.name = "transaction"
		p.modes(v)
		return
	case p.accept("LOCAL"):
		v.local = true
	case p.accept("SESSION"):
		if p.accept("CHARACTERISTICS") {
			v.name, v.session = "transaction", true
			p.expect("AS")
			p.expect("TRANSACTION")
			p.modes(v)
			return
		}
		if p.at("AUTHORIZATION") {
			parseRole(p, v)
			return
		}
	case p.at("ROLE"):
		parseRole(p, v)
		return
	case p.accept("NAMES"):
		v.name = "client_encoding"
		if v.inherit = p.accept("DEFAULT") || p.next.Kind == syntax.KindEnd; !v.inherit {
			v.value = valueOf(p.take())
		}
		return
	}
	if p.accept("TIME") {
		p.expect("ZONE")
		v.name = "timezone"
		p.values(v)
		return
	}
	v.name = p.dotted()
	if !p.accept("=") {
		p.expect("TO")
	}
	p.values(v)
}

// parseRole reads SET ROLE and SET SESSION AUTHORIZATION, which change nothing or are refused.
func parseRole(p *verbParser, v *verb) {
	p.take()
	if who := p.take(); !who.Matches("NONE") && !who.Matches("DEFAULT") {
		p.fail(failure("42501", "a session stays that of the user who logged in"))
	}
	v.name = "role"
}

// dotted reads a name that may have parts.
func (p *verbParser) dotted() string {
	name := p.identifier()
	for p.accept(".") {
		name += "." + p.identifier()
	}
	return name
}

// values reads the value of a setting: one, or a list.
func (p *verbParser) values(v *verb) {
	if v.inherit = p.accept("DEFAULT"); v.inherit {
		return
	}
	var all []string
	for {
		sign := ""
		if p.accept("-") {
			sign = "-"
		} else {
			p.accept("+")
		}
		if k := p.next.Kind; k == syntax.KindEnd || k == syntax.KindOperator || k == syntax.KindParameter {
			p.unexpected()
			return
		}
		all = append(all, sign+valueOf(p.take()))
		if !p.accept(",") {
			break
		}
	}
	v.value = strings.Clone(strings.Join(all, ", "))
}

func parseReset(p *verbParser, v *verb) {
	switch {
	case p.accept("ALL"):
	case p.accept("ROLE", "SESSION"):
		p.accept("AUTHORIZATION")
		v.word, v.name = "SET", "role"
	default:
		v.name = p.dotted()
	}
}

// parseShow reads SHOW of a setting of PostgreSQL. What else can be shown is the engine's.
func parseShow(p *verbParser, v *verb) {
	switch {
	case p.accept("ALL"):
	case p.accept("TRANSACTION"):
		v.name = "transaction_isolation"
		p.expect("ISOLATION")
		p.expect("LEVEL")
	case p.accept("TIME"):
		v.name = "timezone"
		p.expect("ZONE")
	case p.accept("SESSION"):
		v.name = "session_authorization"
		p.expect("AUTHORIZATION")
	default:
		v.name = p.dotted()
		p.left = p.err != nil || parameters()[strings.ToLower(v.name)] == nil && !strings.Contains(v.name, ".")
	}
}

func parseDiscard(p *verbParser, v *verb) {
	v.name = strings.Clone(p.next.Upper)
	p.expect("ALL", "PLANS", "SEQUENCES", "TEMP", "TEMPORARY")
}

// runSet obeys SET.
func (c *conn) runSet(v *verb) (*output, error) {
	out := v.done()
	if v.local && !c.block.begun && !c.several {
		out.notices = c.notice("WARNING", "25P01", "SET LOCAL can only be used in transaction blocks")
	}
	return out, c.set(v)
}

func (c *conn) reset(v *verb) (*output, error) {
	switch {
	case v.name == "role":
		return v.done(), nil
	case ofEngine(v.name):
		delete(c.settings.displaced, strings.ToLower(v.name))
		c.resetEngine(v.name)
		return v.done(), nil
	case v.name == "":
		c.restoreEngine(c.settings.engine)
	}
	return v.done(), c.settings.reset(c, v.name)
}

func (c *conn) discard(v *verb) (*output, error) {
	out := &output{tag: v.word + " " + v.name}
	if v.name != "ALL" {
		return out, nil
	}
	if c.block.begun {
		return nil, failure("25001", "DISCARD ALL cannot run inside a transaction block")
	}
	c.restoreEngine(c.settings.engine)
	clear(c.statements)
	c.dropPortals(true)
	return out, c.settings.reset(c, "")
}

// shownColumns returns the columns of SHOW.
func shownColumns(_ *conn, v *verb) ([]column, error) {
	if v.name == "" {
		return textColumn("name", "setting", "description"), nil
	}
	return textColumn(written(v.name)), nil
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

func (c *conn) show(v *verb) (*output, error) {
	columns, _ := shownColumns(c, v)
	out := &output{tag: v.word, columns: columns}
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
