package server

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
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
	if len(p.next.value) > longestName {
		return "", tooLong()
	}
	return strings.Clone(p.take().value), nil // the text is let go
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
	v.value = strings.Clone(strings.Join(all, ", "))
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
