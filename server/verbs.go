package server

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// verb is a statement that belongs to PostgreSQL's protocol and sessions, and not to the
// engine: transactions, settings, cursors, prepared statements, COPY.
type verb struct {
	word     string // BEGIN, COMMIT, ROLLBACK, SAVEPOINT, RELEASE, ROLLBACK TO, SET, RESET, SHOW, DISCARD, DEALLOCATE, PREPARE, EXECUTE, DECLARE, FETCH, MOVE, CLOSE, COPY, UNLISTEN, and SELECT of no rows
	tag      string // of CommandComplete, if that is not the word
	name     string // of a savepoint, setting, statement or cursor; "" for all
	value    string // of a setting
	inherit  bool   // SET … TO DEFAULT
	local    bool   // SET LOCAL
	readOnly *bool  // of a transaction, if it says so
	level    string // of its isolation, if it says so
	session  bool   // SET SESSION CHARACTERISTICS
	chain    bool   // COMMIT AND CHAIN
	inner    string // the text of a statement within
	innerAt  int    // the characters before it
	types    []uint32
	args     []any // texts, or nil
	hold     bool  // DECLARE … WITH HOLD
	scroll   scroll
	copied   *copyForm
}

// scroll says which rows FETCH takes.
type scroll struct {
	kind  string // forward, backward, absolute, relative
	count int
	all   bool
}

// endsBlock reports whether a verb is obeyed in a transaction that failed.
func (v *verb) endsBlock() bool {
	switch v.word {
	case "COMMIT", "ROLLBACK", "ROLLBACK TO":
		return true
	}
	return false
}

// parseVerb parses a statement, and returns nil if it is not one of this package.
func parseVerb(text string) (*verb, error) {
	t := tokenize(text)
	first := t.next
	if first.kind != kindWord {
		return nil, nil
	}
	p := &verbParser{tokens: t, text: text}
	parse := verbParsers()[first.value]
	if parse == nil {
		return nil, nil
	}
	t.take()
	v := &verb{word: strings.ToUpper(first.value)}
	ours, err := parse(p, v)
	if err != nil || !ours {
		return nil, err
	}
	if v.inner == "" && !t.ended() {
		return nil, p.unexpected()
	}
	return v, nil
}

type verbParser struct {
	*tokens
	text string
}

// unexpected returns the error for the next token.
func (p *verbParser) unexpected() error {
	if p.next.kind == kindEnd {
		return failure("42601", "syntax error at the end of the statement").at(utf8.RuneCountInString(p.text) + 1)
	}
	return failure("42601", "syntax error at %q", p.text[p.next.start:p.next.end]).at(utf8.RuneCountInString(p.text[:p.next.start]) + 1)
}

// expect passes a word that must be next.
func (p *verbParser) expect(words ...string) error {
	if !p.accept(words...) {
		return p.unexpected()
	}
	return nil
}

// identifier reads a name.
func (p *verbParser) identifier() (string, error) {
	if !p.next.named() {
		return "", p.unexpected()
	}
	return p.take().value, nil
}

// rest takes what follows as a statement of its own.
func (p *verbParser) rest(v *verb) error {
	if p.next.kind == kindEnd || p.next.is(";") {
		return p.unexpected()
	}
	v.inner, v.innerAt = p.text[p.next.start:], utf8.RuneCountInString(p.text[:p.next.start])
	return nil
}

var verbParsers = sync.OnceValue(func() map[string]func(p *verbParser, v *verb) (ours bool, err error) {
	return map[string]func(p *verbParser, v *verb) (bool, error){
		"begin":      func(p *verbParser, v *verb) (bool, error) { p.accept("work", "transaction"); return true, p.modes(v) },
		"start":      parseStart,
		"commit":     parseCommit,
		"end":        parseCommit,
		"rollback":   parseRollback,
		"abort":      parseRollback,
		"savepoint":  func(p *verbParser, v *verb) (_ bool, err error) { v.name, err = p.identifier(); return true, err },
		"release":    parseRelease,
		"set":        parseSet,
		"reset":      parseReset,
		"show":       parseShow,
		"discard":    parseDiscard,
		"deallocate": parseDeallocate,
		"prepare":    parsePrepare,
		"execute":    parseExecute,
		"declare":    parseDeclare,
		"fetch":      parseFetch,
		"move":       parseFetch,
		"close":      parseClose,
		"copy":       parseCopy,
		"unlisten":   func(p *verbParser, v *verb) (bool, error) { p.take(); return true, nil },
		"listen":     parseRefused,
		"notify":     parseRefused,
		"lock":       parseRefused,
		"do":         parseRefused,
		"call":       parseRefused,
		"insert":     parseRefused,
		"update":     parseRefused,
		"delete":     parseRefused,
		"merge":      parseRefused,
		"truncate":   parseRefused,
		"vacuum":     parseRefused,
		"analyze":    parseRefused,
		"comment":    parseRefused,
		"security":   parseRefused,
		"cluster":    parseRefused,
		"reindex":    parseRefused,
		"refresh":    parseRefresh,
		"load":       parseRefused,
		"checkpoint": parseRefused,
		"import":     parseRefused,
		"reassign":   parseRefused,
	}
})

// parseRefresh leaves REFRESH RELEASE to the engine.
func parseRefresh(p *verbParser, v *verb) (bool, error) {
	if p.next.is("release") {
		return false, nil
	}
	return parseRefused(p, v)
}

func parseRefused(_ *verbParser, v *verb) (bool, error) {
	return false, failure("0A000", "%s is not supported", v.word).at(1).withHint("this server answers SELECT under differential privacy; it has no rows to change")
}

// modes reads the modes of a transaction.
func (p *verbParser) modes(v *verb) error {
	for {
		switch {
		case p.accept("isolation"):
			if err := p.expect("level"); err != nil {
				return err
			}
			first := p.next.value
			if err := p.expect("serializable", "repeatable", "read"); err != nil {
				return err
			}
			switch second := p.next.value; {
			case first == "serializable":
				v.level = first
			case first == "read" && !p.accept("committed", "uncommitted"), first == "repeatable" && !p.accept("read"):
				return p.unexpected()
			default:
				v.level = first + " " + second
			}
		case p.accept("read"):
			only := p.next.is("only")
			if err := p.expect("only", "write"); err != nil {
				return err
			}
			v.readOnly = &only
		case p.accept("not"):
			if err := p.expect("deferrable"); err != nil {
				return err
			}
		case p.accept("deferrable"):
		default:
			return nil
		}
		p.accept(",")
	}
}

func parseStart(p *verbParser, v *verb) (bool, error) {
	v.word, v.tag = "BEGIN", "START TRANSACTION"
	if err := p.expect("transaction"); err != nil {
		return true, err
	}
	return true, p.modes(v)
}

// chained reads AND [NO] CHAIN.
func (p *verbParser) chained(v *verb) error {
	if !p.accept("and") {
		return nil
	}
	v.chain = !p.accept("no")
	return p.expect("chain")
}

func parseCommit(p *verbParser, v *verb) (bool, error) {
	v.word = "COMMIT"
	if p.next.is("prepared") {
		return parseRefused(p, v)
	}
	p.accept("work", "transaction")
	return true, p.chained(v)
}

func parseRollback(p *verbParser, v *verb) (_ bool, err error) {
	v.word = "ROLLBACK"
	if p.next.is("prepared") {
		return parseRefused(p, v)
	}
	p.accept("work", "transaction")
	if p.accept("to") {
		p.accept("savepoint")
		v.word = "ROLLBACK TO"
		v.name, err = p.identifier()
		return true, err
	}
	return true, p.chained(v)
}

func parseRelease(p *verbParser, v *verb) (_ bool, err error) {
	p.accept("savepoint")
	v.name, err = p.identifier()
	return true, err
}

func parseSet(p *verbParser, v *verb) (bool, error) {
	switch {
	case p.accept("transaction"):
		v.name = "transaction"
		return true, p.modes(v)
	case p.accept("local"):
		v.local = true
	case p.accept("session"):
		if p.accept("characteristics") {
			v.name, v.session = "transaction", true
			if err := p.expect("as"); err != nil {
				return true, err
			}
			if err := p.expect("transaction"); err != nil {
				return true, err
			}
			return true, p.modes(v)
		}
		if p.next.is("authorization") {
			return parseRole(p, v)
		}
	case p.next.is("role"):
		return parseRole(p, v)
	case p.accept("names"):
		v.name = "client_encoding"
		if p.accept("default") || p.next.kind == kindEnd {
			v.inherit = true
			return true, nil
		}
		v.value = p.take().value
		return true, nil
	}
	if p.accept("time") {
		if err := p.expect("zone"); err != nil {
			return true, err
		}
		v.name = "timezone"
		return true, p.values(v)
	}
	name, err := p.dotted()
	if err != nil {
		return true, err
	}
	v.name = name
	if !p.accept("=") {
		if err := p.expect("to"); err != nil {
			return true, err
		}
	}
	return true, p.values(v)
}

// parseRole reads SET ROLE and SET SESSION AUTHORIZATION, which change nothing or are refused.
func parseRole(p *verbParser, v *verb) (bool, error) {
	p.take()
	if who := p.take(); !who.is("none", "default") {
		return true, failure("42501", "a session stays that of the user who logged in")
	}
	v.name = "role"
	return true, nil
}

// dotted reads a name that may have parts.
func (p *verbParser) dotted() (string, error) {
	name, err := p.identifier()
	for err == nil && p.accept(".") {
		var part string
		part, err = p.identifier()
		name += "." + part
	}
	return name, err
}

// values reads the value of a setting: one, or a list.
func (p *verbParser) values(v *verb) error {
	if p.accept("default") {
		v.inherit = true
		return nil
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
			return p.unexpected()
		}
		all = append(all, sign+p.take().value)
		if !p.accept(",") {
			break
		}
	}
	v.value = strings.Join(all, ", ")
	return nil
}

func parseReset(p *verbParser, v *verb) (_ bool, err error) {
	switch {
	case p.accept("all"):
		return true, nil
	case p.next.is("role"), p.next.is("session"):
		p.take()
		p.accept("authorization")
		v.word, v.name = "SET", "role"
		return true, nil
	}
	v.name, err = p.dotted()
	return true, err
}

// parseShow reads SHOW of a setting of PostgreSQL. What else can be shown is the engine's.
func parseShow(p *verbParser, v *verb) (bool, error) {
	switch {
	case p.accept("all"):
		return true, nil
	case p.accept("transaction"):
		v.name = "transaction_isolation"
		if err := p.expect("isolation"); err != nil {
			return true, err
		}
		return true, p.expect("level")
	case p.accept("time"):
		v.name = "timezone"
		return true, p.expect("zone")
	case p.accept("session"):
		v.name = "session_authorization"
		return true, p.expect("authorization")
	}
	name, err := p.dotted()
	if err != nil {
		return false, nil
	}
	v.name = name
	return parameters()[strings.ToLower(name)] != nil || strings.Contains(name, "."), nil
}

func parseDiscard(p *verbParser, v *verb) (bool, error) {
	v.name = strings.ToUpper(p.next.value)
	return true, p.expect("all", "plans", "sequences", "temp", "temporary")
}

func parseDeallocate(p *verbParser, v *verb) (_ bool, err error) {
	p.accept("prepare")
	if p.accept("all") {
		return true, nil
	}
	v.name, err = p.identifier()
	return true, err
}

// typeNames are the names of types that PREPARE takes.
var typeNames = map[string]uint32{"int": oidInt4, "integer": oidInt4, "int4": oidInt4, "int8": oidInt8, "bigint": oidInt8, "int2": oidInt2, "smallint": oidInt2,
	"text": oidText, "varchar": oidVarchar, "char": oidBpchar, "bool": oidBool, "boolean": oidBool, "float8": oidFloat8, "float4": oidFloat4, "real": oidFloat4,
	"numeric": oidNumeric, "decimal": oidNumeric, "date": oidDate, "timestamp": oidTimestamp, "unknown": oidUnknown, "double": oidFloat8}

func parsePrepare(p *verbParser, v *verb) (_ bool, err error) {
	if p.next.is("transaction") {
		return parseRefused(p, v)
	}
	if v.name, err = p.identifier(); err != nil {
		return true, err
	}
	if p.accept("(") {
		for {
			name := p.next
			if !name.named() || typeNames[name.value] == 0 {
				return true, p.unexpected()
			}
			p.take()
			v.types = append(v.types, typeNames[name.value])
			if name.is("double") {
				if err := p.expect("precision"); err != nil {
					return true, err
				}
			}
			if p.accept(")") {
				break
			}
			if err := p.expect(","); err != nil {
				return true, err
			}
		}
	}
	if err := p.expect("as"); err != nil {
		return true, err
	}
	return true, p.rest(v)
}

func parseExecute(p *verbParser, v *verb) (_ bool, err error) {
	if v.name, err = p.identifier(); err != nil || !p.accept("(") {
		return true, err
	}
	for !p.accept(")") {
		if len(v.args) > 0 {
			if err := p.expect(","); err != nil {
				return true, err
			}
		}
		value, err := p.literal()
		if err != nil {
			return true, err
		}
		v.args = append(v.args, value)
	}
	return true, nil
}

// literal reads a constant, as a text or nil.
func (p *verbParser) literal() (any, error) {
	sign := ""
	if p.accept("-") {
		sign = "-"
	}
	switch {
	case p.next.kind == kindNumber:
		if _, err := strconv.ParseFloat(p.next.value, 64); err != nil {
			return nil, p.unexpected()
		}
		return sign + p.take().value, nil
	case sign != "":
	case p.next.kind == kindText:
		return p.take().value, nil
	case p.accept("null"):
		return nil, nil
	case p.next.is("true", "false"):
		return p.take().value, nil
	}
	return nil, p.unexpected()
}

func parseDeclare(p *verbParser, v *verb) (_ bool, err error) {
	if v.name, err = p.identifier(); err != nil {
		return true, err
	}
	for p.accept("binary", "insensitive", "asensitive", "no", "scroll") {
	}
	if err := p.expect("cursor"); err != nil {
		return true, err
	}
	if p.next.is("with", "without") {
		v.hold = p.take().is("with")
		if err := p.expect("hold"); err != nil {
			return true, err
		}
	}
	if err := p.expect("for"); err != nil {
		return true, err
	}
	return true, p.rest(v)
}

func parseFetch(p *verbParser, v *verb) (_ bool, err error) {
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
		if s.count, err = p.integer(); err != nil {
			return true, err
		}
	case p.accept("all"):
		s.all = true
	case p.next.is("forward", "backward"):
		s.kind = p.take().value
		if p.accept("all") {
			s.all = true
		} else if p.next.kind == kindNumber || p.next.is("-") {
			if s.count, err = p.integer(); err != nil {
				return true, err
			}
		}
	case p.next.kind == kindNumber, p.next.is("-"):
		if s.count, err = p.integer(); err != nil {
			return true, err
		}
	}
	p.accept("from", "in")
	v.name, err = p.identifier()
	return true, err
}

func (p *verbParser) integer() (int, error) {
	sign := ""
	if p.accept("-") {
		sign = "-"
	}
	n, err := strconv.ParseInt(sign+p.next.value, 10, 32)
	if err != nil {
		return 0, p.unexpected()
	}
	p.take()
	return int(n), nil
}

func parseClose(p *verbParser, v *verb) (_ bool, err error) {
	if p.accept("all") {
		return true, nil
	}
	v.name, err = p.identifier()
	return true, err
}

// parseCopy reads COPY (SELECT …) TO STDOUT.
func parseCopy(p *verbParser, v *verb) (bool, error) {
	if !p.next.is("(") {
		return true, failure("0A000", "COPY takes a query here: COPY (SELECT …) TO STDOUT").at(1)
	}
	open := p.take()
	for depth := 1; depth > 0; {
		switch t := p.take(); {
		case t.kind == kindEnd:
			return true, p.unexpected()
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth == 0 {
				v.inner, v.innerAt = p.text[open.end:t.start], utf8.RuneCountInString(p.text[:open.end])
			}
		}
	}
	if err := p.expect("to"); err != nil {
		return true, err
	}
	if !p.accept("stdout") {
		return true, failure("0A000", "COPY writes to STDOUT only").at(utf8.RuneCountInString(p.text[:p.next.start]) + 1)
	}
	v.copied = &copyForm{delimiter: '\t', null: `\N`}
	if err := p.copyOptions(v.copied); err != nil {
		return true, err
	}
	if !p.ended() {
		return true, p.unexpected()
	}
	return true, nil
}

// copyOptions reads the options of COPY: those in parentheses, and the older ones.
func (p *verbParser) copyOptions(f *copyForm) error {
	p.accept("with")
	inner := p.accept("(")
	delimiter, null, given := byte(0), "", false
	for p.next.kind != kindEnd && !p.next.is(";", ")") {
		switch name := p.take(); {
		case name.is("format"):
			switch form := p.take(); form.value {
			case "csv":
				f.csv = true
			case "text":
			default:
				return failure("0A000", "COPY has no format %s here: text or csv", form.value)
			}
		case name.is("csv"):
			f.csv = true
		case name.is("binary"):
			return failure("0A000", "COPY has no binary format here: text or csv")
		case name.is("header"):
			f.header = !p.next.is("false", "off") && p.next.value != "0"
			if !p.next.is(",", ")", ";") && p.next.kind != kindEnd && inner {
				p.take()
			}
		case name.is("delimiter"):
			p.accept("as")
			d := p.take()
			if d.kind != kindText || len(d.value) != 1 || strings.ContainsAny(d.value, "\r\n\"\\") {
				return failure("22023", "COPY's delimiter is one character")
			}
			delimiter = d.value[0]
		case name.is("null"):
			p.accept("as")
			null, given = p.take().value, true
		case name.is("encoding"):
			p.take()
		default:
			return failure("0A000", "COPY has no option %s here", name.value).at(utf8.RuneCountInString(p.text[:name.start]) + 1)
		}
		p.accept(",")
	}
	if inner {
		if err := p.expect(")"); err != nil {
			return err
		}
	}
	if f.csv {
		f.delimiter, f.null = ',', ""
	}
	if delimiter != 0 {
		f.delimiter = delimiter
	}
	if given {
		f.null = null
	}
	return nil
}

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
		return c.emptyColumns(v.name)
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
		return out, c.set(v)
	case "RESET":
		if ofEngine(v.name) {
			c.resetEngine(v.name)
			return out, nil
		}
		if v.name == "" {
			c.session.Reset()
		}
		return out, c.settings.reset(c, v.name)
	case "SHOW":
		return c.show(v)
	case "DISCARD":
		if c.block.begun && v.name == "ALL" {
			return nil, failure("25001", "DISCARD ALL cannot run inside a transaction block")
		}
		if out.tag += " " + v.name; v.name == "ALL" {
			c.session.Reset()
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
		columns, err := c.emptyColumns(v.name)
		return &output{columns: columns, tag: "SELECT", counted: true}, err
	}
	return out, nil
}

func (c *conn) begin(v *verb) {
	c.block = block{begun: true, readOnly: c.settings.readOnly(), before: maps.Clone(c.settings.changed), engine: c.session.Settings()}
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
		out.notices = c.notice("WARNING", "25P01", "there is no transaction in progress")
		return out, nil
	}
	if c.block.aborted {
		out.tag = "ROLLBACK"
	}
	ended := c.block
	c.block = block{}
	c.dropPortals(false)
	c.settings.endBlock(c)
	if out.tag == "ROLLBACK" { // what was SET is undone, as in PostgreSQL; no charge is
		c.settings.restore(c, ended.before)
		c.restoreEngine(ended.engine)
	}
	if v.chain {
		c.begin(&verb{readOnly: &ended.readOnly})
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
		b.savepoints = append(b.savepoints, v.name)
		return out, nil
	}
	at := -1
	for i, name := range b.savepoints {
		if name == v.name {
			at = i
		}
	}
	if at < 0 {
		return nil, failure("3B001", "savepoint %q does not exist", v.name)
	}
	if v.word == "RELEASE" {
		b.savepoints = b.savepoints[:at]
		return out, nil
	}
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
		if v.inherit {
			c.resetEngine(v.name)
			return nil
		}
		return c.session.Set(v.name, v.value)
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
	err := c.settings.set(c, v.name, v.value, v.local && c.block.begun)
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

// resetEngine restores one setting of the engine to that of a new session.
func (c *conn) resetEngine(name string) {
	kept := c.session.Settings()
	c.session.Reset()
	kept.Set(name, c.session.Settings().Get(strings.ToLower(name)))
	c.restoreEngine(kept)
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
	if err := c.spare(v.inner); err != nil {
		return err
	}
	st, err := c.newStatement(v.inner, v.types)
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
	st, err := c.newStatement(v.inner, nil)
	if err != nil {
		return moved(err, v)
	}
	if !st.query() || len(st.types) > 0 {
		return failure("42601", "a cursor needs a query without parameters")
	}
	columns, err := c.columnsOf(st, nil)
	if err != nil {
		return moved(err, v)
	}
	if len(columns) == 0 {
		return failure("42601", "a cursor needs a query")
	}
	c.portals[v.name] = &portal{name: v.name, statement: st, hold: v.hold, cursor: true}
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
		if err := c.spareRows(); err != nil {
			return nil, err
		}
		ran, err := c.run(p.statement, p.args)
		if err != nil {
			return nil, err
		}
		p.out, out.notices = ran, ran.notices
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
	st, err := c.newStatement(v.inner, nil)
	if err != nil {
		return nil, moved(err, v)
	}
	if !st.query() || len(st.types) > 0 {
		return nil, failure("42601", "COPY needs a query without parameters")
	}
	columns, err := c.columnsOf(st, nil)
	if err != nil {
		return nil, moved(err, v)
	}
	if len(columns) == 0 {
		return nil, failure("42601", "COPY needs a query")
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
