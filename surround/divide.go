package surround

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
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
	aggregates []aggregate
	used       *used
	opened     map[int]int  // for tokens that are aliases inside the core, the entry of the select list
	entering   map[int]bool // the entries that are being opened
}

// used are the common table expressions that are part of a core, each after those it reads.
type used struct{ entries []*entry }

// stretch is a run of tokens, from first to last.
type stretch struct{ first, last int }

// key is an expression of GROUP BY.
type key struct {
	stretch
	expr   sql.Expr
	canon  []string
	name   string // in the core
	column string // the column that it is, "" for none
}

// aggregate is an aggregate of a core.
type aggregate struct {
	text *script
	name string
}

// divide divides a SELECT over private rows.
func (c *cutter) divide(s *sql.SelectStatement, f *frame, with entries) {
	b := &block{cutter: c, frame: f, with: with, used: new(used), opened: make(map[int]int), entering: make(map[int]bool)}
	f.core = b
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
			c.edits = append(c.edits, edit{after, after - 1, " AS " + quote(b.titled(col.Expr, b.items[i]))})
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

// list finds the select list.
func (b *block) list(s *sql.SelectStatement) {
	at := b.index(s.Select) + 1
	if s.Distinct.IsValid() || s.All.IsValid() {
		at++
	}
	end := b.index(s.From)
	b.items = b.commas(at, end)
	for i, col := range s.Columns {
		name := ""
		b.exprs = append(b.exprs, col.Expr)
		if ref, ok := col.Expr.(*sql.QualifiedRef); col.Star.IsValid() || ok && ref.Star.IsValid() {
			b.refuse(b.tokens[b.items[i].first].Unsupported("* over private rows").WithHint("name the columns, and GROUP BY them"))
			b.names = append(b.names, "")
			continue
		}
		if col.Alias != nil {
			name = b.name(col.Alias).Value
			last := b.of(col.Alias) - 1
			if b.tokens[last].Matches("AS") {
				last--
			}
			b.items[i].last = last
		}
		b.names = append(b.names, name)
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
		return
	}
	first := b.index(s.GroupBy) + 1
	for i, at := range b.commas(first, b.clauseEnd(first)) {
		e := s.GroupByExprs[i]
		switch t := b.tokens[at.first]; e := e.(type) {
		case *sql.NumberLit:
			n, err := strconv.Atoi(e.Value)
			if err != nil || n < 1 || n > len(b.items) {
				b.refuse(sqlerr.New(sqlerr.Invalid, "GROUP BY %s: the select list has %d entries", t.Text, len(b.items)).At(t.Position))
				return
			}
			at = b.items[n-1]
			b.addKey(at, s.Columns[n-1].Expr)
			continue
		case *sql.Ident:
			if n := b.alias(t); n >= 0 && at.first == at.last {
				b.addKey(b.items[n], s.Columns[n].Expr)
				continue
			}
		}
		b.addKey(at, e)
	}
}

// clauseEnd returns the end of the clause that a token is in.
func (c *cutter) clauseEnd(from int) int {
	return c.outside(from, "FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "UNION", "INTERSECT", "EXCEPT", "ORDER", "LIMIT")
}

func (b *block) addKey(at stretch, e sql.Expr) {
	if b.hasAggregate(e) || b.selects(e) != nil {
		b.refuse(b.tokens[at.first].Unsupported("GROUP BY a value that is computed from other rows").WithHint("group by columns, and expressions of them"))
		return
	}
	k := key{stretch: at, expr: e, canon: b.canon(at)}
	for _, have := range b.keys {
		if slices.Equal(have.canon, k.canon) {
			return
		}
	}
	switch e := bareOf(e).(type) {
	case *sql.Ident:
		k.column = b.name(e).Value
	case *sql.QualifiedRef:
		k.column = b.name(e.Column).Value
	}
	if b.at(at.last-1).Matches("COLLATE") || b.alias(b.tokens[at.last]) >= 0 {
		k.column = ""
	}
	for _, i := range b.frame.items { // as it is declared
		for _, n := range i.columns {
			if query.SameName(n, k.column) {
				k.column = n
			}
		}
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(b.keys, func(k key) bool { return query.SameName(k.name, name) })
	}
	if k.name = k.column; k.name == "" || taken(k.name) {
		k.name = b.free("k"+strconv.Itoa(len(b.keys)+1), taken)
	}
	b.keys = append(b.keys, k)
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
		if i.from != nil && query.SameName(i.name, qualifier) {
			return true
		}
		if i.from == nil {
			publics++
		}
	}
	return publics == 1 && !b.isColumn(name)
}

// rewrite puts the core's columns in the place of keys and aggregates.
func (b *block) rewrite(e sql.Expr) {
	if s := inner(e); s != nil {
		b.query(s, b.with, b.frame)
		return
	}
	if _, ok := e.(*sql.ExprList); !ok {
		first, last := b.span(e)
		if k := b.keyAt(stretch{first, last}); k != nil {
			b.edits = append(b.edits, edit{first, last, quote(k.name)})
			return
		}
		if b.isAggregate(e) {
			b.edits = append(b.edits, edit{first, last, quote(b.aggregate(e.(*sql.Call), stretch{first, last}))})
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

// keyAt returns the key that an expression is, or nil.
func (b *block) keyAt(at stretch) *key {
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

// enters checks an expression that becomes part of the core.
func (b *block) enters(e sql.Expr) {
	if s := inner(e); s != nil {
		b.entersSelect(s)
		return
	}
	switch e := e.(type) {
	case *sql.Ident:
		t := b.name(e)
		if n := b.alias(t); n >= 0 {
			if b.entering[n] {
				b.refuse(sqlerr.New(sqlerr.Invalid, "%s is defined by itself", syntax.Excerpt(t.Value, 40)).At(t.Position))
				return
			}
			b.opened[b.of(e)] = n
			b.entering[n] = true
			b.enters(b.exprs[n])
			delete(b.entering, n)
			return
		}
		b.correlated("", t)
	case *sql.QualifiedRef:
		b.correlated(b.qualified(e))
	}
	for _, p := range parts(e) {
		b.enters(p)
	}
}

// entersSelect checks a sub-select inside a core: it must not read private rows.
func (b *block) entersSelect(s *sql.SelectStatement) {
	first := b.firstOf(s)
	for i := first; i < b.outside(first); i++ {
		t := b.tokens[i]
		before := b.at(i - 1)
		if t.Kind != syntax.KindWord && t.Kind != syntax.KindQuoted || !before.Matches("FROM") && !before.Matches("JOIN") && !before.Matches(",") {
			continue
		}
		_, private := b.private(syntax.Name{Text: t.Value, Position: t.Position})
		if e := b.with[query.FoldName(t.Value)]; e != nil {
			private = e.from != nil || e.cores
		}
		if private {
			b.refuse(t.Unsupported("a private aggregate of rows that another one selects").
				WithHint("ask for the inner one first, and write its result as a value"))
			return
		}
	}
}

// correlated refuses a column of a SELECT around the core.
func (b *block) correlated(table string, t syntax.Token) {
	publics := false
	for _, i := range b.frame.items {
		if table != "" && query.SameName(i.name, table) ||
			table == "" && slices.ContainsFunc(i.columns, func(n string) bool { return query.SameName(n, t.Value) }) {
			return
		}
		publics = publics || i.columns == nil
	}
	if table == "" && (publics || constantWord(t)) {
		return
	}
	for f := b.frame.outer; f != nil; f = f.outer {
		for _, i := range f.items {
			if table != "" && query.SameName(i.name, table) || table == "" && (i.columns == nil ||
				slices.ContainsFunc(i.columns, func(n string) bool { return query.SameName(n, t.Value) })) {
				name := syntax.Excerpt(t.Value, 40)
				b.refuse(t.Unsupported("a private aggregate that names the column "+name+" of the SELECT around it").
					WithHint("aggregate by group, and join the result: … JOIN (SELECT x, COUNT(*) AS n FROM t GROUP BY x) AS c ON c.x = %s", name))
				return
			}
		}
	}
}

// check checks what becomes part of the core as it stands: FROM, WHERE and GROUP BY.
func (b *block) check(s *sql.SelectStatement) {
	b.checkRows(s)
	for _, k := range b.keys { // some are entries of the select list
		b.enters(k.expr)
	}
}

// checkRows checks FROM and WHERE.
func (b *block) checkRows(s *sql.SelectStatement) {
	for _, i := range b.frame.items {
		if i.made && i.from == nil {
			b.refuse(i.place.Unsupported("a join of private rows with a sub-select").
				WithHint("aggregate the private rows in a sub-select of their own, and join its result"))
		}
		if e := i.entry; e != nil && i.from != nil && !slices.Contains(b.used.entries, e) {
			b.subRows(e.cte.Select)
			b.used.entries = append(b.used.entries, e)
		}
	}
	b.checkSource(s.Source)
	if s.WhereExpr != nil {
		b.enters(s.WhereExpr)
	}
}

// checkSource checks the conditions of joins, and the sub-selects.
func (b *block) checkSource(s sql.Source) {
	switch s := s.(type) {
	case *sql.JoinClause:
		b.checkSource(s.X)
		b.checkSource(s.Y)
		if on, ok := s.Constraint.(*sql.OnConstraint); ok {
			b.enters(on.X)
		}
	case *sql.ParenSource:
		b.checkSource(s.X)
	case *sql.SelectStatement:
		if s.Compound == nil && s.Source != nil {
			b.subRows(s)
		}
	}
}

// subRows checks a SELECT that only filters and renames private rows.
func (b *block) subRows(s *sql.SelectStatement) {
	sub := &block{cutter: b.cutter, with: b.with, used: b.used, frame: &frame{items: b.from(s.Source, b.with, nil), outer: b.frame.outer}}
	for _, col := range s.Columns {
		if ref, ok := col.Expr.(*sql.QualifiedRef); col.Expr != nil && !(ok && ref.Star.IsValid()) {
			sub.enters(col.Expr)
		}
	}
	sub.checkRows(s)
}

// replace makes the core, and has the SELECT read its rows.
func (b *block) replace(s *sql.SelectStatement) {
	from := b.index(s.From)
	end := b.outside(from, "HAVING", "WINDOW", "UNION", "INTERSECT", "EXCEPT", "ORDER", "LIMIT")
	core := b.core(s, end)
	if b.err != nil {
		return
	}
	text := "FROM " + quote(core.Table)
	if len(b.frame.items) == 1 && b.frame.items[0].name != "" {
		text += " AS " + quote(b.frame.items[0].name)
	}
	if s.HavingExpr != nil {
		text, end = text+" WHERE", end+1
	}
	b.edits = append(b.edits, edit{from, end - 1, text})
}

// core returns the core. One with the same text serves for both.
func (b *block) core(s *sql.SelectStatement, end int) Core {
	var text script
	first := b.index(s.Select)
	place := b.tokens[first].Position
	for i, e := range b.used.entries {
		text.write([]string{"WITH ", ", "}[min(i, 1)], place)
		b.emit(&text, stretch{b.of(e.cte.TableName), b.index(e.cte.SelectRparen)})
	}
	if len(b.used.entries) > 0 {
		text.write(" ", place)
	}
	core := Core{Position: place}
	next := func() {
		text.write([]string{"SELECT ", ", "}[min(len(core.Columns), 1)], place)
	}
	for _, k := range b.keys {
		next()
		b.emit(&text, k.stretch)
		text.write(" AS "+quote(k.name), b.tokens[k.first].Position)
		core.Columns = append(core.Columns, CoreColumn{k.name, k.column})
	}
	for _, a := range b.aggregates {
		next()
		text.add(a.text)
		text.write(" AS "+quote(a.name), place)
		core.Columns = append(core.Columns, CoreColumn{Name: a.name})
	}
	text.write(" ", place)
	if s.Group.IsValid() {
		end = b.index(s.Group)
	}
	b.emit(&text, stretch{b.index(s.From), end - 1})
	for i, k := range b.keys {
		text.write([]string{" GROUP BY ", ", "}[min(i, 1)], place)
		b.emit(&text, k.stretch)
	}
	core.Text, core.origin = text.text.String(), text.origin
	if text.long {
		b.refuse(b.tokens[first].Unsupported("a private aggregate of this length").WithHint("write its parts once, without aliases of aliases"))
	}
	for _, have := range b.cores {
		if have.Text == core.Text {
			return have
		}
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
		n, opened := b.opened[i]
		switch {
		case opened:
			out.write("(", t.Position)
			b.emit(out, b.items[n])
			out.write(")", t.Position)
		case t.Parameter > 0:
			out.write("?"+strconv.Itoa(t.Parameter), t.Position)
		default:
			out.write(t.Text, t.Position)
		}
	}
}

// script is a text that is composed of parts of a statement.
type script struct {
	text   strings.Builder
	origin []int // for each character its position in the statement
	long   bool  // it is too long to go on
}

// write writes a text that stands for what is at a position.
func (w *script) write(s string, position int) {
	if w.long = w.long || w.text.Len()+len(s) > maxText; w.long {
		return
	}
	w.text.WriteString(s)
	for range s {
		w.origin = append(w.origin, position)
	}
}

// copy writes characters as they stand in the statement, from a position up to another.
func (w *script) copy(statement []rune, from, to int) {
	for ; from < to; from++ {
		w.text.WriteRune(statement[from-1])
		w.origin = append(w.origin, from)
	}
}

// add writes another script.
func (w *script) add(s *script) {
	w.long = w.long || s.long
	w.text.WriteString(s.text.String())
	w.origin = append(w.origin, s.origin...)
}

// around returns the surroundings: the statement with its edits made. Their places are those
// of the statement.
func (c *cutter) around() (*Statement, error) {
	for i, t := range c.tokens {
		inside := func(e edit) bool { return e.first <= i && i <= e.last }
		if t.Parameter > 0 && !slices.ContainsFunc(c.edits, inside) {
			c.edits = append(c.edits, edit{i, i, "?" + strconv.Itoa(t.Parameter)})
		}
	}
	slices.SortStableFunc(c.edits, func(x, y edit) int { return cmp.Or(cmp.Compare(x.first, y.first), cmp.Compare(x.last, y.last)) })
	statement := []rune(c.written)
	ends := func(i int) int { return c.tokens[i].Position + utf8.RuneCountInString(c.tokens[i].Text) }
	var out script
	at := c.tokens[0].Position
	for _, e := range c.edits {
		if e.last < e.first {
			out.copy(statement, at, ends(e.last))
			at = ends(e.last)
			out.write(e.text, at-1)
			continue
		}
		place := c.tokens[e.first].Position
		out.copy(statement, at, place)
		out.write(e.text, place)
		at = ends(e.last)
	}
	out.copy(statement, at, ends(len(c.tokens)-1))
	if out.long || out.text.Len() > maxText {
		return nil, tooLong()
	}
	around, err := parse(out.text.String())
	if err != nil {
		return nil, sqlerr.New(sqlerr.Internal, "what is left of the statement cannot be read")
	}
	around.relocate(out.origin)
	around.Explain = c.Explain
	around.Tables = slices.DeleteFunc(around.Tables, func(t syntax.Name) bool {
		return slices.ContainsFunc(c.cores, func(core Core) bool { return query.SameName(core.Table, t.Text) })
	})
	for _, core := range c.cores {
		around.cores = append(around.cores, core.Table)
	}
	return around, nil
}

// relocate gives the tokens the positions of another text.
func (s *Statement) relocate(origin []int) {
	at := func(position int) int {
		if position < 1 || position > len(origin) {
			return position
		}
		return origin[position-1]
	}
	for i := range s.tokens {
		s.tokens[i].Position = at(s.tokens[i].Position)
	}
	for i := range s.Tables {
		s.Tables[i].Position = at(s.Tables[i].Position)
	}
	if e, ok := s.refusal.(*sqlerr.Error); ok {
		e.Position = at(e.Position)
	}
}

// textOf returns tokens as they are written.
func (c *cutter) textOf(first, last int) string {
	statement := []rune(c.written)
	from, to := c.tokens[first].Position, c.tokens[last].Position+utf8.RuneCountInString(c.tokens[last].Text)
	return string(statement[from-1 : to-1])
}
