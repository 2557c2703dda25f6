package surround

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/rqlite/sql"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// block is a SELECT over private rows while it is divided into its core and what reads it.
type block struct {
	*cutter
	frame *frame
	with  entries
	items []stretch // of the select list, aliases apart
	names []string  // the aliases of the select list, "" where there is none

	exprs []sql.Expr // the select list

	keys       []key
	by         stretch // of GROUP BY
	sets       bool    // it has ROLLUP, CUBE or GROUPING SETS
	aggregates []aggregate
	entering   map[int]bool // the entries of the select list that are being opened
	folded     *folded
	outermost  *block // into which it is folded
}

// folded is what a core is over: one private table, public tables joined with it, and the
// conditions of all SELECTs that are folded into it.
type folded struct {
	tables int
	names  []string // of the tables so far
	wheres []stretch
}

// opening is what stands inside a core for some tokens of the statement.
type opening struct {
	tokens int
	text   string  // "" if it is other tokens
	at     stretch // those
	parens bool    // around them
	hole   *hole   // nil if it is no sub-select
}

// stretch is a run of tokens, from first to last.
type stretch struct{ first, last int }

// key is an expression of GROUP BY.
type key struct {
	stretch
	expr   sql.Expr
	canon  []string
	name   string // in the core
	column string // the column that it is, "" for none
	base   string // the column of a table that this one is, "" for none
}

// aggregate is an aggregate of a core.
type aggregate struct {
	text *script
	name string
}

// divide divides a SELECT over private rows.
func (c *cutter) divide(s *sql.SelectStatement, f *frame, with entries) {
	b := &block{cutter: c, frame: f, with: with, entering: make(map[int]bool), folded: new(folded)}
	f.core, b.outermost = b, b
	b.folded.tables = tables(f.items)
	c.divided++
	b.list(s)
	if c.err == nil {
		b.group(s)
	}
	b.check(s)
	if c.err != nil {
		return
	}
	for i, col := range s.Columns {
		b.rewrite(col.Expr)
		if b.names[i] == "" {
			after := b.items[i].last + 1
			c.edits = append(c.edits, edit{after, after - 1, " AS " + query.Quoted(b.titled(col.Expr, b.items[i]))})
		}
	}
	if s.HavingExpr != nil {
		b.rewrite(s.HavingExpr)
	}
	for _, w := range s.Windows {
		for _, e := range windowed(w.Definition) {
			b.rewrite(e)
		}
	}
	for _, t := range s.OrderingTerms {
		b.order(t.X, s.Compound != nil)
	}
	for _, e := range []sql.Expr{s.LimitExpr, s.OffsetExpr} {
		if e != nil {
			c.visit(e, with, f)
		}
	}
	if c.err == nil {
		b.replace(s)
	}
}

// tables returns the number of tables that relations are made of.
func tables(items []item) (n int) {
	for _, i := range items {
		if i.rows != nil && i.rows.s != nil {
			n += tables(i.rows.items)
		} else {
			n++
		}
	}
	return n
}

// list finds the select list.
func (b *block) list(s *sql.SelectStatement) {
	b.items = b.listed(s)
	for i, col := range s.Columns {
		name := ""
		if ref, ok := col.Expr.(*sql.QualifiedRef); col.Star.IsValid() || ok && ref.Star.IsValid() {
			b.refuse(b.tokens[b.items[i].first].Unsupported("* over private rows").WithHint("name the columns, and GROUP BY them"))
		}
		if col.Alias != nil {
			name = b.name(col.Alias).Value
		}
		b.exprs, b.names = append(b.exprs, col.Expr), append(b.names, name)
	}
}

// commas divides the tokens from an index up to another at their commas.
func (c *cutter) commas(from, end int) (all []stretch) {
	for from < end {
		next := min(end, c.outside(from, ","))
		all = append(all, stretch{from, next - 1})
		from = next + 1
	}
	return all
}

// group finds the keys. A number, and an alias that is no column, stand for an entry of the
// select list.
func (b *block) group(s *sql.SelectStatement) {
	if len(s.GroupByExprs) == 0 {
		if b.lists(s) && !b.cutter.aggregates(s) {
			for i, at := range b.items {
				b.noWindow(b.exprs[i])
				b.addKey(at, b.exprs[i])
			}
		}
		return
	}
	first := b.index(s.GroupBy) + 1
	b.by = stretch{first, b.clauseEnd(first) - 1}
	for i, at := range b.commas(first, b.by.last+1) {
		b.term(at, s.GroupByExprs[i], s)
	}
}

// term finds the keys of an expression in GROUP BY.
func (b *block) term(at stretch, e sql.Expr, s *sql.SelectStatement) {
	switch t := b.tokens[at.first]; e := e.(type) {
	case *sql.NumberLit:
		n, err := strconv.Atoi(e.Value)
		if err != nil || n < 1 || n > len(b.items) {
			b.refuse(sqlerr.New(sqlerr.Invalid, "GROUP BY %s: the select list has %d entries", t.Text, len(b.items)).At(t.Position))
			return
		}
		b.opened[at.first] = opening{tokens: 1, at: b.items[n-1]}
		b.addKey(b.items[n-1], s.Columns[n-1].Expr)
		return
	case *sql.Ident:
		if n := b.alias(t); n >= 0 && at.first == at.last {
			b.opened[at.first] = opening{tokens: 1, at: b.items[n], parens: true}
			b.addKey(b.items[n], s.Columns[n].Expr)
			return
		}
	case *sql.Call:
		if name := b.name(e.Name).Upper; name == "ROLLUP" || name == "CUBE" || name == "GROUPING" && b.at(at.first+1).Matches("SETS") {
			b.sets = true
			b.set(e.Args, s)
			return
		}
	}
	b.addKey(at, e)
}

// set finds the keys of grouping sets.
func (b *block) set(list []sql.Expr, s *sql.SelectStatement) {
	for _, e := range list {
		switch e := e.(type) {
		case *sql.ExprList:
			b.set(e.Exprs, s)
		case *sql.ParenExpr:
			b.set([]sql.Expr{e.X}, s)
		case *sql.NullLit: // the set ()
		default:
			first, last := b.span(e)
			b.term(stretch{first, last}, e, s)
		}
	}
}

// clauseEnd returns the end of the clause that a token is in.
func (c *cutter) clauseEnd(from int) int {
	return c.outside(from, "FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "UNION", "INTERSECT", "EXCEPT", "ORDER", "LIMIT")
}

func (b *block) addKey(at stretch, e sql.Expr) {
	if b.hasAggregate(e) {
		b.refuse(b.tokens[at.first].Unsupported("GROUP BY a value that is computed from other rows").WithHint("group by columns, and expressions of them"))
		return
	}
	k := key{stretch: at, expr: e, canon: b.canon(at)}
	for _, have := range b.keys {
		if slices.Equal(have.canon, k.canon) {
			return
		}
	}
	if !b.at(at.last - 1).Matches("COLLATE") {
		k.column, k.base = b.column(b.frame.items, e)
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(b.keys, func(k key) bool { return query.SameName(k.name, name) })
	}
	if k.name = k.column; k.name == "" || taken(k.name) {
		k.name = b.free("k"+strconv.Itoa(len(b.keys)+1), taken)
	}
	b.keys = append(b.keys, k)
}

// column returns the name of the column that an expression is, as it is declared, and that of
// the table's column that it has the values of.
func (c *cutter) column(items []item, e sql.Expr) (name, base string) {
	table := ""
	switch e := bareOf(e).(type) {
	case *sql.Ident:
		name = c.name(e).Value
	case *sql.QualifiedRef:
		table, name = c.name(e.Table).Value, c.name(e.Column).Value
	default:
		return "", ""
	}
	known := false
	for _, i := range items {
		if table != "" && !query.SameName(table, i.name) {
			continue
		}
		known = known || i.columns == nil || i.rows != nil && i.rows.rest != nil
		for _, n := range i.columns {
			if query.SameName(n, name) {
				return n, c.base(i, n)
			}
		}
	}
	if !known {
		return "", ""
	}
	return name, name // of a public table
}

// base returns the column of a table that a relation's column has the values of, or "".
func (c *cutter) base(i item, name string) string {
	if i.rows == nil || i.rows.s == nil {
		return name
	}
	d := i.rows.find(name)
	if d == nil {
		return ""
	}
	if d.expr == nil {
		return c.base(d.of, d.column)
	}
	_, base := c.column(i.rows.items, d.expr)
	return base
}

// find returns a column, or nil.
func (r *rows) find(name string) *derived {
	for k := range r.columns {
		if query.SameName(r.columns[k].name, name) {
			return &r.columns[k]
		}
	}
	return nil
}

// free returns a name that nothing in the statement has.
func (c *cutter) free(name string, taken func(string) bool) string {
	for c.taken[query.FoldName(name)] || taken(name) {
		name += "'"
	}
	return name
}

func bareOf(e sql.Expr) sql.Expr {
	for {
		p, ok := e.(*sql.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}

// alias returns the index of the select list's entry that a name means, or -1. A column has
// precedence.
func (b *block) alias(t syntax.Token) int {
	if t.Kind != syntax.KindWord && t.Kind != syntax.KindQuoted || b.isColumn(t.Value) {
		return -1
	}
	return slices.IndexFunc(b.names, func(n string) bool { return n != "" && query.SameName(n, t.Value) })
}

// isColumn reports whether the private rows have a column.
func (b *block) isColumn(name string) bool {
	return slices.ContainsFunc(b.frame.items, func(i item) bool {
		return slices.ContainsFunc(i.columns, func(n string) bool { return query.SameName(n, name) })
	})
}

// keeps reports whether a column of the private rows is a key.
func (b *block) keeps(name string) bool {
	return slices.ContainsFunc(b.keys, func(k key) bool { return query.SameName(k.name, name) })
}

// selects returns the first sub-select in an expression, or nil.
func (c *cutter) selects(e sql.Expr) *sql.SelectStatement {
	if s := inner(e); s != nil {
		return s
	}
	for _, p := range parts(e) {
		if s := c.selects(p); s != nil {
			return s
		}
	}
	return nil
}

// canon returns tokens such that equal expressions of the block have equal ones, but for
// parentheses inside. A qualifier is left out where the name alone means the column.
func (b *block) canon(at stretch) []string {
	for at.first < at.last && b.tokens[at.first].Matches("(") && b.outside(at.first+1) == at.last {
		at.first, at.last = at.first+1, at.last-1
	}
	var out []string
	for i := at.first; i <= at.last; i++ {
		t := b.tokens[i]
		switch t.Kind {
		case syntax.KindWord, syntax.KindQuoted:
			if i+2 <= at.last && b.tokens[i+1].Matches(".") && b.redundant(t.Value, b.tokens[i+2].Value) {
				i++
				continue
			}
			out = append(out, "n"+query.FoldName(t.Value))
		case syntax.KindParameter:
			out = append(out, "?"+strconv.Itoa(t.Parameter))
		case syntax.KindString:
			out = append(out, "'"+t.Value)
		default:
			out = append(out, t.Text)
		}
	}
	return out
}

// redundant reports whether a column's name means the same without its qualifier.
func (b *block) redundant(qualifier, name string) bool {
	publics := 0
	for _, i := range b.frame.items {
		if i.rows != nil && query.SameName(i.name, qualifier) {
			return true
		}
		if i.rows == nil {
			publics++
		}
	}
	return publics == 1 && !b.isColumn(name)
}

// rewrite puts the core's columns in the place of keys and aggregates.
func (b *block) rewrite(e sql.Expr) {
	if b.err != nil {
		return
	}
	if s := inner(e); s != nil {
		b.query(s, b.with, b.frame)
		return
	}
	if _, ok := e.(*sql.ExprList); !ok {
		first, last := b.span(e)
		if k := b.keyAt(stretch{first, last}); k != nil {
			b.edits = append(b.edits, edit{first, last, query.Quoted(k.name)})
			return
		}
		if b.isAggregate(e) {
			b.edits = append(b.edits, edit{first, last, query.Quoted(b.aggregate(e.(*sql.Call), stretch{first, last}))})
			return
		}
	}
	switch e := e.(type) {
	case *sql.Ident:
		b.stays("", b.name(e))
	case *sql.QualifiedRef:
		b.stays(b.qualified(e))
	}
	for _, p := range parts(e) {
		b.rewrite(p)
	}
}

// stays checks a name that is no key. It may be an alias, or a column of a SELECT around.
func (b *block) stays(table string, t syntax.Token) {
	for _, i := range b.frame.items {
		if table != "" && query.SameName(i.name, table) ||
			table == "" && slices.ContainsFunc(i.columns, func(n string) bool { return query.SameName(n, t.Value) }) {
			b.refuse(bare(t))
			return
		}
	}
	if table == "" && b.alias(t) < 0 && b.frame.outer == nil && !constantWord(t) {
		b.refuse(bare(t)) // of a joined public table
	}
}

// constantWord reports whether a word means a value where no column has its name.
func constantWord(t syntax.Token) bool {
	return slices.Contains([]string{"TRUE", "FALSE", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP"}, t.Upper)
}

// maxWork bounds the tokens that are compared with keys. The parts of a chain of operators
// have a number of them that grows with the square of its length.
const maxWork = 1 << 20

// keyAt returns the key that an expression is, or nil.
func (b *block) keyAt(at stretch) *key {
	if b.work += at.last - at.first + 1; b.work > maxWork {
		b.refuse(b.tokens[at.first].Unsupported("a private aggregate with expressions of this size").WithHint("write them in several statements"))
		return nil
	}
	canon := b.canon(at)
	for i := range b.keys {
		if slices.Equal(b.keys[i].canon, canon) && b.whole(at) {
			return &b.keys[i]
		}
	}
	return nil
}

// whole reports whether SQLite, too, reads tokens as an expression of its own: the parser has
// other precedences than SQLite for some operators.
func (b *block) whole(at stretch) bool {
	loosest := 12
	for i := at.first; i <= at.last; i = b.inside(i) {
		if i > at.first || !isSign(b.tokens[i]) {
			loosest = min(loosest, precedence(b.tokens[i], loosest))
		} else {
			loosest = min(loosest, 11)
		}
	}
	return precedence(b.at(at.first-1), 0) < loosest && precedence(b.at(at.last+1), 0) <= loosest
}

// inside returns the index of the next token that is not inside parentheses or CASE.
func (b *block) inside(i int) int {
	switch {
	case b.tokens[i].Matches("("):
		return b.outside(i+1) + 1
	case b.tokens[i].Matches("CASE"):
		depth := 0
		for ; i < len(b.tokens); i++ {
			if b.tokens[i].Matches("CASE") {
				depth++
			}
			if b.tokens[i].Matches("END") {
				if depth--; depth == 0 {
					break
				}
			}
		}
	}
	return i + 1
}

func isSign(t syntax.Token) bool { return t.Matches("-") || t.Matches("+") || t.Matches("~") }

// precedence returns how tightly SQLite binds an operator, and otherwise for what is none.
func precedence(t syntax.Token, otherwise int) int {
	switch t.Kind {
	case syntax.KindWord:
		switch t.Upper {
		case "OR":
			return 1
		case "AND":
			return 2
		case "NOT":
			return 3
		case "IS", "IN", "LIKE", "GLOB", "BETWEEN", "ISNULL", "NOTNULL":
			return 4
		case "ESCAPE":
			return 5
		case "COLLATE":
			return 10
		}
	case syntax.KindOperator:
		switch t.Text {
		case "=", "==", "<>", "!=":
			return 4
		case "<", "<=", ">", ">=":
			return 5
		case "&", "|", "<<", ">>":
			return 6
		case "+", "-":
			return 7
		case "*", "/", "%":
			return 8
		case "||", "->", "->>":
			return 9
		case "~":
			return 11
		}
	}
	return otherwise
}

// aggregate adds an aggregate to the core, and returns its name there.
func (b *block) aggregate(call *sql.Call, at stretch) string {
	b.enters(call)
	text := new(script)
	b.emit(text, at)
	for _, a := range b.aggregates {
		if a.text.text.String() == text.text.String() {
			return a.name
		}
	}
	name := b.free("a"+strconv.Itoa(len(b.aggregates)+1), func(name string) bool { return b.isColumn(name) || b.keeps(name) })
	b.aggregates = append(b.aggregates, aggregate{text, name})
	return name
}

// order rewrites a term of ORDER BY. An alias alone means the entry of the select list. The
// terms of a compound SELECT are such entries, which SQLite finds by their names.
func (b *block) order(e sql.Expr, compound bool) {
	if i, ok := e.(*sql.Ident); ok {
		t := b.name(i)
		n := slices.IndexFunc(b.names, func(n string) bool { return n != "" && query.SameName(n, t.Value) })
		if n >= 0 && !compound {
			b.edits = append(b.edits, edit{b.of(i), b.of(i), strconv.Itoa(n + 1)})
		}
		if n >= 0 || compound {
			return
		}
	}
	if !compound {
		b.rewrite(e)
	}
}

// titled returns the name of an entry of the select list that has no alias.
func (b *block) titled(e sql.Expr, at stretch) string {
	switch bareOf(e).(type) {
	case *sql.Ident, *sql.QualifiedRef:
		if k := b.keyAt(at); k != nil && k.column != "" {
			return k.column
		}
	}
	return b.textOf(at.first, at.last)
}

// replace makes the core, and has the SELECT read its rows.
func (b *block) replace(s *sql.SelectStatement) {
	from := b.index(s.From)
	end := b.outside(from, "HAVING", "WINDOW", "UNION", "INTERSECT", "EXCEPT", "ORDER", "LIMIT")
	core := b.core(s)
	if b.err != nil {
		return
	}
	text := "FROM " + query.Quoted(core.Table)
	if len(b.frame.items) == 1 && b.frame.items[0].name != "" {
		text += " AS " + query.Quoted(b.frame.items[0].name)
	}
	if s.HavingExpr != nil {
		text, end = text+" WHERE", end+1
	}
	b.edits = append(b.edits, edit{from, end - 1, text})
}

// core returns the core. One with the same text serves for both.
func (b *block) core(s *sql.SelectStatement) Core {
	var text script
	first := b.index(s.Select)
	place := b.tokens[first].Position
	core := Core{Position: place, Keys: len(b.keys), Single: len(b.keys) == 0 && !b.sets}
	next := func() {
		text.write([]string{"SELECT ", ", "}[min(len(core.Columns), 1)], place)
	}
	for _, k := range b.keys {
		next()
		b.emit(&text, k.stretch)
		text.write(" AS "+query.Quoted(k.name), b.tokens[k.first].Position)
		core.Columns = append(core.Columns, CoreColumn{k.name, k.base})
	}
	for _, a := range b.aggregates {
		next()
		text.add(a.text)
		text.write(" AS "+query.Quoted(a.name), place)
		core.Columns = append(core.Columns, CoreColumn{Name: a.name})
	}
	text.write(" ", place)
	b.emit(&text, stretch{b.index(s.From), b.clauseEnd(b.index(s.From)+1) - 1})
	for i, where := range b.folded.wheres {
		text.write([]string{" WHERE ", " AND "}[min(i, 1)], b.tokens[where.first-1].Position)
		if len(b.folded.wheres) > 1 {
			text.write("(", b.tokens[where.first].Position)
		}
		b.emit(&text, where)
		if len(b.folded.wheres) > 1 {
			text.write(")", b.tokens[where.last].Position)
		}
	}
	if b.sets {
		text.write(" GROUP BY ", place)
		b.emit(&text, b.by)
	}
	for i, k := range b.keys {
		if !b.sets {
			text.write([]string{" GROUP BY ", ", "}[min(i, 1)], place)
			b.emit(&text, k.stretch)
		}
	}
	core.Text, core.origin, core.holes = text.text.String(), text.origin, text.holes
	if text.long {
		b.refuse(b.tokens[first].Unsupported("a private aggregate of this length").WithHint("write its parts once, without aliases of aliases"))
	}
	for _, have := range b.cores {
		same := func(x, y hole) bool { return x.text == y.text }
		if have.Text == core.Text && slices.EqualFunc(have.holes, core.holes, same) {
			return have
		}
	}
	if len(b.cores) == maxTables {
		b.refuse(b.tokens[first].Unsupported(fmt.Sprintf("a statement with more than %d private aggregates", maxTables)).WithHint("ask for them in several statements"))
	}
	core.Table = b.free("core "+strconv.Itoa(len(b.cores)+1), func(string) bool { return false })
	b.cores = append(b.cores, core)
	return core
}

// emit writes tokens of the statement into a core's text, aliases opened.
func (b *block) emit(out *script, at stretch) {
	for i := at.first; i <= at.last && !out.long; i++ {
		t := b.tokens[i]
		if i > at.first && b.tokens[i-1].Position+utf8.RuneCountInString(b.tokens[i-1].Text) < t.Position {
			out.write(" ", t.Position)
		}
		o, opened := b.opened[i]
		switch {
		case opened && o.hole != nil:
			from, outer := len(out.origin), len(out.holes)
			delete(b.opened, i)
			b.emit(out, o.at)
			b.opened[i] = o
			h := *o.hole
			h.from, h.to = from, len(out.origin)
			out.holes = append(out.holes[:outer], h) // its values stand for what is in it
		case opened && o.text != "":
			out.write(o.text, t.Position)
		case opened && o.parens:
			out.write("(", t.Position)
			b.emit(out, o.at)
			out.write(")", t.Position)
		case opened:
			b.emit(out, o.at)
		case t.Parameter > 0:
			out.write("?"+strconv.Itoa(t.Parameter), t.Position)
		default:
			out.write(t.Text, t.Position)
		}
		if opened {
			i += o.tokens - 1
		}
	}
}
