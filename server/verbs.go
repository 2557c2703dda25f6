package server

import (
	"cmp"
	"context"
	"strings"
	"sync"
)

var verbParsers = sync.OnceValue(func() map[string]func(p *verbParser, v *verb) (ours bool) {
	all := map[string]func(p *verbParser, v *verb) bool{
		"begin":      func(p *verbParser, v *verb) bool { p.accept("work", "transaction"); return p.modes(v) },
		"start":      parseStart,
		"commit":     parseCommit,
		"end":        parseCommit,
		"rollback":   parseRollback,
		"abort":      parseRollback,
		"savepoint":  parseName,
		"release":    func(p *verbParser, v *verb) bool { p.accept("savepoint"); return parseName(p, v) },
		"set":        parseSet,
		"reset":      parseReset,
		"show":       parseShow,
		"discard":    parseDiscard,
		"deallocate": func(p *verbParser, v *verb) bool { p.accept("prepare"); return p.accept("all") || parseName(p, v) },
		"prepare":    parsePrepare,
		"execute":    parseExecute,
		"declare":    parseDeclare,
		"fetch":      parseFetch,
		"move":       parseFetch,
		"close":      func(p *verbParser, v *verb) bool { return p.accept("all") || parseName(p, v) },
		"copy":       parseCopy,
		"refresh":    func(p *verbParser, v *verb) bool { return !p.next.is("release") && parseRefused(p, v) }, // REFRESH RELEASE is the engine's
		"unlisten":   func(p *verbParser, v *verb) bool { p.take(); return true },
	}
	for _, word := range []string{"listen", "notify", "lock", "do", "call", "insert", "update", "delete", "merge", "truncate", "vacuum", "analyze",
		"comment", "security", "cluster", "reindex", "load", "checkpoint", "import", "reassign"} {
		all[word] = parseRefused
	}
	return all
})

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
