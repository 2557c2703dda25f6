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
	ours := parse(p, v)
	if ours && v.inner == "" && !t.ended() {
		p.unexpected()
	}
	if p.err != nil || !ours {
		return nil, p.err
	}
	return v, nil
}

// verbParser reads a statement to its end, also after an error: the first one counts.
type verbParser struct {
	*tokens
	text string
	err  error
}

func (p *verbParser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// unexpected refuses the next token.
func (p *verbParser) unexpected() {
	if p.next.kind == kindEnd {
		p.fail(failure("42601", "syntax error at the end of the statement").at(utf8.RuneCountInString(p.text) + 1))
		return
	}
	p.fail(failure("42601", "syntax error at %q", p.text[p.next.start:p.next.end]).at(p.characters(p.next.start) + 1))
}

// characters returns the number of characters before a byte of the text.
func (p *verbParser) characters(before int) int { return utf8.RuneCountInString(p.text[:before]) }

// expect passes a word that must be next.
func (p *verbParser) expect(words ...string) {
	if !p.accept(words...) {
		p.unexpected()
	}
}

// identifier reads a name.
func (p *verbParser) identifier() string {
	if !p.next.named() {
		p.unexpected()
		return ""
	}
	if len(p.next.value) > longestName {
		p.fail(tooLong())
	}
	return strings.Clone(p.take().value) // the text is let go
}

// rest takes what follows as a statement of its own.
func (p *verbParser) rest(v *verb) {
	if p.next.kind == kindEnd || p.next.is(";") {
		p.unexpected()
		return
	}
	v.inner, v.innerAt = p.text[p.next.start:], p.characters(p.next.start)
}

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

func parseRefused(p *verbParser, v *verb) bool {
	p.fail(failure("0A000", "%s is not supported", v.word).at(1).withHint("this server answers SELECT under differential privacy; it has no rows to change"))
	return true
}

func parseName(p *verbParser, v *verb) bool {
	v.name = p.identifier()
	return true
}

// modes reads the modes of a transaction.
func (p *verbParser) modes(v *verb) bool {
	for {
		switch {
		case p.accept("isolation"):
			p.expect("level")
			first := p.next.value
			p.expect("serializable", "repeatable", "read")
			switch second := p.next.value; {
			case first == "serializable":
				v.level = first
			case first == "read" && !p.accept("committed", "uncommitted"), first == "repeatable" && !p.accept("read"):
				p.unexpected()
			default:
				v.level = first + " " + second
			}
		case p.accept("read"):
			only := p.next.is("only")
			p.expect("only", "write")
			v.readOnly = &only
		case p.accept("not"):
			p.expect("deferrable")
		case p.accept("deferrable"):
		default:
			return true
		}
		p.accept(",")
	}
}

func parseStart(p *verbParser, v *verb) bool {
	v.word, v.tag = "BEGIN", "START TRANSACTION"
	p.expect("transaction")
	return p.modes(v)
}

// chained reads AND [NO] CHAIN.
func (p *verbParser) chained(v *verb) bool {
	if p.accept("and") {
		v.chain = !p.accept("no")
		p.expect("chain")
	}
	return true
}

func parseCommit(p *verbParser, v *verb) bool {
	v.word = "COMMIT"
	if p.next.is("prepared") {
		return parseRefused(p, v)
	}
	p.accept("work", "transaction")
	return p.chained(v)
}

func parseRollback(p *verbParser, v *verb) bool {
	v.word = "ROLLBACK"
	if p.next.is("prepared") {
		return parseRefused(p, v)
	}
	p.accept("work", "transaction")
	if p.accept("to") {
		p.accept("savepoint")
		v.word = "ROLLBACK TO"
		return parseName(p, v)
	}
	return p.chained(v)
}

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

// typeNames are the names of types that PREPARE takes.
var typeNames = map[string]uint32{"int": oidInt4, "integer": oidInt4, "int4": oidInt4, "int8": oidInt8, "bigint": oidInt8, "int2": oidInt2, "smallint": oidInt2,
	"text": oidText, "varchar": oidVarchar, "char": oidBpchar, "bool": oidBool, "boolean": oidBool, "float8": oidFloat8, "float4": oidFloat4, "real": oidFloat4,
	"numeric": oidNumeric, "decimal": oidNumeric, "date": oidDate, "timestamp": oidTimestamp, "unknown": oidUnknown, "double": oidFloat8}

func parsePrepare(p *verbParser, v *verb) bool {
	if p.next.is("transaction") {
		return parseRefused(p, v)
	}
	v.name = p.identifier()
	for more := p.accept("("); more && p.err == nil; {
		name := p.next
		if !name.named() || typeNames[name.value] == 0 {
			p.unexpected()
		}
		p.take()
		v.types = append(v.types, typeNames[name.value])
		if name.is("double") {
			p.expect("precision")
		}
		if more = !p.accept(")"); more {
			p.expect(",")
		}
	}
	p.expect("as")
	p.rest(v)
	return true
}

func parseExecute(p *verbParser, v *verb) bool {
	if v.name = p.identifier(); !p.accept("(") {
		return true
	}
	for !p.accept(")") && p.err == nil {
		if len(v.args) > 0 {
			p.expect(",")
		}
		v.args = append(v.args, p.literal())
	}
	return true
}

// literal reads a constant, as a text or nil.
func (p *verbParser) literal() any {
	sign := ""
	if p.accept("-") {
		sign = "-"
	}
	switch {
	case p.next.kind == kindNumber:
		if _, err := strconv.ParseFloat(p.next.value, 64); err == nil {
			return sign + p.take().value
		}
	case sign != "":
	case p.next.kind == kindText, p.next.is("true", "false"):
		return p.take().value
	case p.accept("null"):
		return nil
	}
	p.unexpected()
	return nil
}

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

// parseCopy reads COPY (SELECT …) TO STDOUT.
func parseCopy(p *verbParser, v *verb) bool {
	if !p.next.is("(") {
		p.fail(failure("0A000", "COPY takes a query here: COPY (SELECT …) TO STDOUT").at(1))
		return true
	}
	open := p.take()
	for depth := 1; depth > 0; {
		switch t := p.take(); {
		case t.kind == kindEnd:
			p.unexpected()
			return true
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth == 0 {
				v.inner, v.innerAt = p.text[open.end:t.start], p.characters(open.end)
			}
		}
	}
	p.expect("to")
	if !p.accept("stdout") {
		p.fail(failure("0A000", "COPY writes to STDOUT only").at(p.characters(p.next.start) + 1))
	}
	v.copied = &copyForm{delimiter: '\t', null: `\N`}
	p.copyOptions(v.copied)
	if !p.ended() {
		p.unexpected()
	}
	return true
}

// copyOptions reads the options of COPY: those in parentheses, and the older ones.
func (p *verbParser) copyOptions(f *copyForm) {
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
				p.fail(failure("0A000", "COPY has no format %s here: text or csv", form.value))
			}
		case name.is("csv"):
			f.csv = true
		case name.is("binary"):
			p.fail(failure("0A000", "COPY has no binary format here: text or csv"))
		case name.is("header"):
			f.header = !p.next.is("false", "off") && p.next.value != "0"
			if !p.next.is(",", ")", ";") && p.next.kind != kindEnd && inner {
				p.take()
			}
		case name.is("delimiter"):
			p.accept("as")
			d := p.take()
			if d.kind != kindText || len(d.value) != 1 || strings.ContainsAny(d.value, "\r\n\"\\") {
				p.fail(failure("22023", "COPY's delimiter is one character"))
				break
			}
			delimiter = d.value[0]
		case name.is("null"):
			p.accept("as")
			null, given = p.take().value, true
		case name.is("encoding"):
			p.take()
		default:
			p.fail(failure("0A000", "COPY has no option %s here", name.value).at(p.characters(name.start) + 1))
		}
		p.accept(",")
	}
	if inner {
		p.expect(")")
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
}
