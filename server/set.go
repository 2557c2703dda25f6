package server

import (
	"maps"
	"slices"
	"strings"

	"dpsql/engine"
)

func parseSet(p *verbParser, v *verb) bool {
	switch {
	case p.accept("transaction"):
		v.name = "transaction"
		return p.modes(v)
	case p.accept("local"):
		v.local = true
	case p.accept("session"):
		if p.accept("characteristics") {
			v.name, v.session = "transaction", true
			p.expect("as")
			p.expect("transaction")
			return p.modes(v)
		}
		if p.next.is("authorization") {
			return parseRole(p, v)
		}
	case p.next.is("role"):
		return parseRole(p, v)
	case p.accept("names"):
		v.name = "client_encoding"
		if v.inherit = p.accept("default") || p.next.kind == kindEnd; !v.inherit {
			v.value = p.take().value
		}
		return true
	}
	if p.accept("time") {
		p.expect("zone")
		v.name = "timezone"
		return p.values(v)
	}
	v.name = p.dotted()
	if !p.accept("=") {
		p.expect("to")
	}
	return p.values(v)
}

// parseRole reads SET ROLE and SET SESSION AUTHORIZATION, which change nothing or are refused.
func parseRole(p *verbParser, v *verb) bool {
	p.take()
	if who := p.take(); !who.is("none", "default") {
		p.fail(failure("42501", "a session stays that of the user who logged in"))
	}
	v.name = "role"
	return true
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
func (p *verbParser) values(v *verb) bool {
	if v.inherit = p.accept("default"); v.inherit {
		return true
	}
	var all []string
	for {
		sign := ""
		if p.accept("-") {
			sign = "-"
		} else {
			p.accept("+")
		}
		if p.next.kind == kindEnd || p.next.kind == kindSign {
			p.unexpected()
			return true
		}
		all = append(all, sign+p.take().value)
		if !p.accept(",") {
			break
		}
	}
	v.value = strings.Clone(strings.Join(all, ", "))
	return true
}

func parseReset(p *verbParser, v *verb) bool {
	switch {
	case p.accept("all"):
	case p.accept("role", "session"):
		p.accept("authorization")
		v.word, v.name = "SET", "role"
	default:
		v.name = p.dotted()
	}
	return true
}

// parseShow reads SHOW of a setting of PostgreSQL. What else can be shown is the engine's.
func parseShow(p *verbParser, v *verb) bool {
	switch {
	case p.accept("all"):
	case p.accept("transaction"):
		v.name = "transaction_isolation"
		p.expect("isolation")
		p.expect("level")
	case p.accept("time"):
		v.name = "timezone"
		p.expect("zone")
	case p.accept("session"):
		v.name = "session_authorization"
		p.expect("authorization")
	default:
		v.name = p.dotted()
		ours := p.err == nil && (parameters()[strings.ToLower(v.name)] != nil || strings.Contains(v.name, "."))
		p.err = nil
		return ours
	}
	return true
}

func parseDiscard(p *verbParser, v *verb) bool {
	v.name = strings.ToUpper(p.next.value)
	p.expect("all", "plans", "sequences", "temp", "temporary")
	return true
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
