package surround

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rqlite/sql"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Core is a private aggregate inside a statement: a SELECT that names a private table, and
// whose rows the rest of the statement is computed from.
type Core struct {
	// Text is a SELECT of the front end's dialect, once Resolve has seen it: keys and
	// aggregates with a name each, FROM, WHERE and GROUP BY. Its parameters are ?N, where N is the number that the
	// argument has in the statement. Two cores of a statement have different texts.
	Text     string
	Position int          // where the core's SELECT starts in the statement
	Table    string       // the table in the surroundings that has its rows
	Columns  []CoreColumn // those of Text, in order
	Keys     int          // how many of the columns are keys; they are the first
	Single   bool         // it has one row, whatever the data

	origin []int  // for each character of Text, its position in the statement
	holes  []hole // in the order of Text
}

// CoreColumn is a column of a core.
type CoreColumn struct {
	Name string
	// Of is the column of a table that this one has the values of, so that it compares as
	// that column does. It is "" for aggregates, and for keys that are computed.
	Of string
}

// At returns the position in the statement of a position in Text, 0 for 0.
func (c *Core) At(position int) int {
	if position < 1 || position > len(c.origin) {
		return 0
	}
	return c.origin[position-1]
}

// Cut divides a statement that names private tables. The cores are its private aggregates.
// What is left of it reads a table in the place of each, see Source.Cores, and names public
// tables and cores only. private returns the columns of a private table, and false for any
// other name.
//
// A SELECT over private rows is divided itself: its core has the keys of GROUP BY and the
// aggregates, each once; its select list, HAVING, windows, ORDER BY, LIMIT and DISTINCT read
// them from the core's table. SELECTs in FROM, and common table expressions, that make
// one row of a private row are folded into the core that reads them.
//
// Cut refuses private rows anywhere else. A refusal depends on the text, and on the names
// and columns of private tables.
func (s *Statement) Cut(private func(name syntax.Name) (columns []string, ok bool)) (cores []Core, around *Statement, err error) {
	err = sqlerr.Guard(func() error {
		if len(s.written) > maxText {
			return s.tooLong()
		}
		if s.large {
			return s.tooManySelects()
		}
		c := &cutter{Statement: s, private: private, known: make(map[*sql.SelectStatement]*rows), taken: make(map[string]bool), opened: make(map[int]opening)}
		c.closing = closing(s.tokens)
		for _, t := range s.tokens {
			c.taken[query.FoldName(t.Value)] = true
		}
		c.query(s.tree, nil, nil)
		if c.err != nil {
			return c.err
		}
		cores = c.cores
		around, err = c.around()
		return err
	})
	return cores, around, err
}

// cutter cuts one statement. Its edits make the surroundings of the statement's text.
type cutter struct {
	*Statement
	private func(syntax.Name) ([]string, bool)
	taken   map[string]bool // folded names that mean something in the statement
	edits   []edit
	opened  map[int]opening // what stands for tokens inside cores
	cores   []Core
	divided int // the SELECTs that are divided so far
	work    int // the tokens that were compared so far
	known   map[*sql.SelectStatement]*rows
	closing []int // for each token that opens a parenthesis, the one that closes it
	err     error // the first refusal
}

// edit puts a text in the place of tokens first to last, or before the token first if last
// is less.
type edit struct {
	first, last int
	text        string
}

// entries are the common table expressions in scope, by folded name.
type entries map[string]*entry

// entry is a common table expression. If it only filters and computes from private rows, it is
// part of cores and of nothing else.
type entry struct {
	cte   *sql.CTE
	rows  *rows // nil unless it has private rows
	cores bool  // it has cores in it
}

// rows are private rows as a SELECT, or the table itself, has them.
type rows struct {
	table   syntax.Token // the private table
	s       *sql.SelectStatement
	items   []item
	columns []derived
	rest    *item // a public table of which it has all columns, nil for none
}

// derived is a column of a SELECT over private rows.
type derived struct {
	name   string
	expr   sql.Expr // nil for a column of *
	at     stretch
	of     item // the relation that * has the column from
	column string
}

// item is a relation in FROM.
type item struct {
	name    string   // what qualifies its columns
	columns []string // nil if they are not known
	rows    *rows    // nil unless it has private rows
	made    bool     // by a SELECT, and not a table
	cores   bool     // it is a common table expression with cores
	at      stretch  // with its alias
	place   syntax.Token
}

// frame is the scope of a SELECT.
type frame struct {
	items []item
	outer *frame
	core  *block // nil unless it reads private rows
}

func (c *cutter) refuse(err *sqlerr.Error) {
	if c.err == nil {
		c.err = err
	}
}

// of returns the index of the token that is a name of the tree.
func (c *Statement) of(name *sql.Ident) int {
	i, _ := strconv.Atoi(strings.TrimPrefix(name.Name, "n"))
	return i
}

// outside returns the first token from an index on, outside parentheses, that is one of the
// words, or that closes a parenthesis that is open there, or ends the statement.
func (c *cutter) outside(from int, words ...string) int {
	for i := from; i < len(c.tokens); i++ {
		t := c.tokens[i]
		switch {
		case t.Matches("("):
			i = c.closing[i]
		case t.Matches(")"):
			return i
		case slices.ContainsFunc(words, t.Matches) && (t.Kind == syntax.KindOperator || c.disguised(i) == t.Upper):
			return i
		}
	}
	return len(c.tokens)
}

// closing finds the token that closes each parenthesis, or the end.
func closing(tokens []syntax.Token) []int {
	at := make([]int, len(tokens))
	var open []int
	for i, t := range tokens {
		switch {
		case t.Matches("("):
			open, at[i] = append(open, i), len(tokens)
		case t.Matches(")") && len(open) > 0:
			at[open[len(open)-1]], open = i, open[:len(open)-1]
		}
	}
	return at
}

// span returns the first and the last token of an expression. What the parser did not get,
// such as COLLATE, is not in it if it stands at the end.
func (c *cutter) span(e sql.Expr) (first, last int) {
	switch e := e.(type) {
	case *sql.Ident:
		return c.of(e), c.of(e)
	case *sql.QualifiedRef:
		return c.of(e.Table), c.of(e.Column)
	case *sql.StringLit:
		return c.index(e.ValuePos), c.index(e.ValuePos)
	case *sql.TimestampLit:
		return c.index(e.ValuePos), c.index(e.ValuePos)
	case *sql.BlobLit:
		return c.index(e.ValuePos), c.index(e.ValuePos)
	case *sql.NumberLit:
		return c.index(e.ValuePos), c.index(e.ValuePos)
	case *sql.NullLit:
		return c.index(e.Pos), c.index(e.Pos)
	case *sql.BoolLit:
		return c.index(e.ValuePos), c.index(e.ValuePos)
	case *sql.UnaryExpr:
		_, last = c.span(e.X)
		return c.index(e.OpPos), last
	case *sql.BinaryExpr:
		first, _ = c.span(e.X)
		_, last = c.span(e.Y)
		return first, last
	case *sql.Null:
		first, _ = c.span(e.X)
		last = c.index(e.OpPos)
		if t := c.at(last); t.Matches("IS") || t.Matches("NOT") {
			last++
		}
		return first, last
	case *sql.ParenExpr:
		return c.index(e.Lparen), c.index(e.Rparen)
	case *sql.ExprList:
		return c.index(e.Lparen), c.index(e.Rparen)
	case *sql.CastExpr:
		return c.index(e.Cast), c.index(e.Rparen)
	case *sql.CaseExpr:
		return c.index(e.Case), c.index(e.End)
	case *sql.Exists:
		first = c.index(e.Exists)
		if e.Not.IsValid() {
			first = c.index(e.Not)
		}
		return first, c.index(e.Rparen)
	case sql.SelectExpr:
		first = c.firstOf(e.SelectStatement)
		return first, c.outside(first) - 1
	case *sql.Call:
		last = c.index(e.Rparen)
		if e.Filter != nil {
			last = c.index(e.Filter.Rparen)
		}
		if e.Over != nil && e.Over.Name != nil {
			last = c.of(e.Over.Name)
		} else if e.Over != nil {
			last = c.index(e.Over.Definition.Rparen)
		}
		return c.of(e.Name), last
	}
	panic(fmt.Sprintf("surround: an expression without a place: %T", e))
}

// parts returns the expressions that an expression is made of. Those of a sub-select are not
// among them.
func parts(e sql.Expr) []sql.Expr {
	switch e := e.(type) {
	case *sql.UnaryExpr:
		return []sql.Expr{e.X}
	case *sql.BinaryExpr:
		return []sql.Expr{e.X, e.Y}
	case *sql.Null:
		return []sql.Expr{e.X}
	case *sql.ParenExpr:
		return []sql.Expr{e.X}
	case *sql.ExprList:
		return e.Exprs
	case *sql.CastExpr:
		return []sql.Expr{e.X}
	case *sql.CaseExpr:
		var all []sql.Expr
		if e.Operand != nil {
			all = append(all, e.Operand)
		}
		for _, b := range e.Blocks {
			all = append(all, b.Condition, b.Body)
		}
		if e.ElseExpr != nil {
			all = append(all, e.ElseExpr)
		}
		return all
	case *sql.Call:
		all := slices.Clone(e.Args)
		if e.Filter != nil {
			all = append(all, e.Filter.X)
		}
		if e.Over != nil && e.Over.Definition != nil {
			all = append(all, windowed(e.Over.Definition)...)
		}
		return all
	}
	return nil
}

// windowed returns the expressions of a window.
func windowed(d *sql.WindowDefinition) []sql.Expr {
	all := slices.Clone(d.Partitions)
	for _, t := range d.OrderingTerms {
		all = append(all, t.X)
	}
	if d.Frame != nil {
		for _, e := range []sql.Expr{d.Frame.X, d.Frame.Y} {
			if e != nil {
				all = append(all, e)
			}
		}
	}
	return all
}

// inner returns the sub-select that an expression is, or nil.
func inner(e sql.Expr) *sql.SelectStatement {
	switch e := e.(type) {
	case sql.SelectExpr:
		return e.SelectStatement
	case *sql.Exists:
		return e.Select
	}
	return nil
}

// query cuts a SELECT with all that it is compounded of. The scope around it is outer.
func (c *cutter) query(s *sql.SelectStatement, with entries, outer *frame) {
	with = c.with(s.WithClause, with)
	for p := s; p != nil; p = p.Compound {
		c.part(p, with, outer)
	}
}

// with cuts the common table expressions. It takes those out of the statement that
// make one row of a private row.
func (c *cutter) with(clause *sql.WithClause, outer entries) entries {
	if clause == nil {
		return outer
	}
	in := make(entries, len(outer)+len(clause.CTEs))
	for name, e := range outer {
		in[name] = e
	}
	names := make([]string, len(clause.CTEs))
	for i, cte := range clause.CTEs {
		names[i] = query.FoldName(c.name(cte.TableName).Value)
		in[names[i]] = &entry{cte: cte}
	}
	removed := make([]bool, len(clause.CTEs))
	for i, cte := range clause.CTEs {
		e := in[names[i]]
		if r := c.rows(cte.Select, in); r != nil {
			e.rows, removed[i] = r, true
			for k, n := range cte.Columns {
				if k < len(r.columns) {
					r.columns[k].name = c.name(n).Value
				}
			}
			continue
		}
		before := c.divided
		c.query(cte.Select, in, nil)
		e.cores = c.divided > before
		if e.cores && clause.Recursive.IsValid() && c.mentions(cte, names[i]) {
			c.refuse(c.at(c.of(cte.TableName)).Unsupported("a private aggregate in a recursive WITH entry").
				WithHint("put the aggregate into an entry of its own, before the recursive one"))
		}
	}
	c.remove(clause, removed)
	return in
}

// mentions reports whether the body of a common table expression has a name in it.
func (c *cutter) mentions(cte *sql.CTE, folded string) bool {
	for i := c.index(cte.SelectLparen); i < c.index(cte.SelectRparen); i++ {
		if t := c.tokens[i]; query.FoldName(t.Value) == folded && (t.Kind == syntax.KindWord || t.Kind == syntax.KindQuoted) {
			return true
		}
	}
	return false
}

// remove takes common table expressions out of a WITH clause.
func (c *cutter) remove(clause *sql.WithClause, removed []bool) {
	if !slices.Contains(removed, false) {
		c.edits = append(c.edits, edit{c.index(clause.With), c.index(clause.CTEs[len(removed)-1].SelectRparen), ""})
		return
	}
	for i, cte := range clause.CTEs {
		switch {
		case !removed[i]:
		case slices.Contains(removed[i:], false): // with the comma behind it
			c.edits = append(c.edits, edit{c.of(cte.TableName), c.of(clause.CTEs[i+1].TableName) - 1, ""})
		default:
			c.edits = append(c.edits, edit{c.index(clause.CTEs[i-1].SelectRparen) + 1, c.index(cte.SelectRparen), ""})
		}
	}
}

// rows returns the rows of a SELECT that makes one row of a private row, or none. It is nil
// for every other SELECT.
func (c *cutter) rows(s *sql.SelectStatement, with entries) *rows {
	r, known := c.known[s]
	if !known {
		r = c.makes(s, with)
		c.known[s] = r
	}
	return r
}

// makes returns the rows of a SELECT that was not looked at before.
func (c *cutter) makes(s *sql.SelectStatement, with entries) *rows {
	if s.Compound != nil || !s.Select.IsValid() || s.WithClause != nil || s.Source == nil {
		return nil
	}
	r := &rows{s: s, items: c.from(s.Source, with, nil)}
	at, more := privates(r.items)
	if at < 0 || more >= 0 || c.aggregates(s) {
		return nil
	}
	r.table = r.items[at].rows.table
	for k, at := range c.listed(s) {
		col := s.Columns[k]
		ref, qualified := col.Expr.(*sql.QualifiedRef)
		if len(r.columns) > maxColumn {
			c.refuse(r.table.Unsupported(fmt.Sprintf("a SELECT of more than %d columns", maxColumn)).WithHint("name those that matter"))
			return r
		}
		switch {
		case col.Star.IsValid() || qualified && ref.Star.IsValid():
			for i := range r.items {
				from := r.items[i]
				if qualified && !query.SameName(from.name, c.name(ref.Table).Value) {
					continue
				}
				if from.columns == nil {
					r.rest = &r.items[i]
				}
				for _, n := range from.columns {
					r.columns = append(r.columns, derived{name: n, of: from, column: n})
				}
			}
			continue
		case col.Alias != nil:
			r.columns = append(r.columns, derived{name: c.name(col.Alias).Value, expr: col.Expr, at: at})
		case qualified:
			r.columns = append(r.columns, derived{name: c.name(ref.Column).Value, expr: col.Expr, at: at})
		default:
			name := c.textOf(at.first, at.last)
			if i, ok := col.Expr.(*sql.Ident); ok {
				name = c.name(i).Value
			}
			r.columns = append(r.columns, derived{name: name, expr: col.Expr, at: at})
		}
	}
	return r
}

// privates returns the indices of the first two relations with private rows, -1 for none.
func privates(items []item) (first, second int) {
	first, second = -1, -1
	for i := range items {
		switch {
		case items[i].rows == nil:
		case first < 0:
			first = i
		case second < 0:
			second = i
		}
	}
	return first, second
}

// listed returns the entries of a select list, without their aliases.
func (c *cutter) listed(s *sql.SelectStatement) []stretch {
	first := c.index(s.Select) + 1
	if s.Distinct.IsValid() || s.All.IsValid() {
		first++
	}
	all := c.commas(first, c.clauseEnd(first))
	for i, col := range s.Columns {
		if col.Alias == nil {
			continue
		}
		last := c.of(col.Alias) - 1
		if c.tokens[last].Matches("AS") {
			last--
		}
		all[i].last = last
	}
	return all
}

// named returns the names of the columns.
func (r *rows) named() (names []string) {
	for _, d := range r.columns {
		names = append(names, d.name)
	}
	return names
}

// from returns the relations of a FROM clause. It cuts nothing.
func (c *cutter) from(s sql.Source, with entries, items []item) []item {
	switch s := s.(type) {
	case *sql.JoinClause:
		return c.from(s.Y, with, c.from(s.X, with, items))
	case *sql.ParenSource:
		made, ok := s.X.(*sql.SelectStatement)
		if !ok {
			return c.from(s.X, with, items)
		}
		i := item{name: c.name(s.Alias).Value, made: true, at: stretch{c.index(s.Lparen), c.index(s.Rparen)}, place: c.at(c.index(s.Lparen))}
		if s.Alias != nil {
			i.at.last = c.of(s.Alias)
		}
		if i.rows = c.rows(made, with); i.rows != nil {
			i.columns = i.rows.named()
		}
		return append(items, i)
	case *sql.QualifiedTableName:
		t := c.name(s.Name)
		i := item{name: t.Value, at: stretch{c.of(s.Name), c.of(s.Name)}, place: t}
		if s.Alias != nil {
			i.name, i.at.last = c.name(s.Alias).Value, c.of(s.Alias)
		}
		if e := with[query.FoldName(t.Value)]; e != nil && s.Schema == nil {
			i.made, i.cores, i.rows = true, e.cores, e.rows
			if e.rows != nil {
				i.columns = e.rows.named()
			}
		} else if columns, ok := c.private(syntax.Name{Text: t.Value, Position: t.Position}); ok {
			i.columns, i.rows = columns, &rows{table: t}
		}
		return append(items, i)
	}
	return append(items, item{made: true, place: c.at(0)})
}

// aggregates reports whether a SELECT makes one row of many.
func (c *cutter) aggregates(s *sql.SelectStatement) bool {
	if len(s.GroupByExprs) > 0 {
		return true
	}
	for _, e := range c.computed(s) {
		if c.hasAggregate(e) {
			return true
		}
	}
	return false
}

// lists reports whether the statement is SELECT DISTINCT without aggregates. Over private rows it
// has the values of its columns that are declared, as GROUP BY has.
func (c *cutter) lists(s *sql.SelectStatement) bool {
	return s == c.tree && s.Distinct.IsValid() && s.Compound == nil && s.HavingExpr == nil && len(s.Windows) == 0
}

// computed returns the expressions of a SELECT that are computed after grouping.
func (c *cutter) computed(s *sql.SelectStatement) []sql.Expr {
	var all []sql.Expr
	for _, col := range s.Columns {
		if col.Expr != nil {
			all = append(all, col.Expr)
		}
	}
	if s.HavingExpr != nil {
		all = append(all, s.HavingExpr)
	}
	for _, w := range s.Windows {
		all = append(all, windowed(w.Definition)...)
	}
	for _, t := range s.OrderingTerms {
		all = append(all, t.X)
	}
	return all
}

func (c *cutter) hasAggregate(e sql.Expr) bool {
	return c.isAggregate(e) || slices.ContainsFunc(parts(e), c.hasAggregate)
}

// isAggregate reports whether an expression over private rows is an aggregate. Functions that
// surroundings do not have are taken for aggregates: the front end knows more of them, and
// refuses the others.
func (c *cutter) isAggregate(e sql.Expr) bool {
	call, ok := e.(*sql.Call)
	if !ok || call.Over != nil {
		return false
	}
	switch name := strings.ToLower(c.name(call.Name).Value); name {
	case "min", "max":
		return len(call.Args) == 1
	case "avg", "count", "group_concat", "string_agg", "sum", "total":
		return true
	default:
		_, listed := functions[name]
		return !listed
	}
}

// part cuts one SELECT of those that a compound SELECT has.
func (c *cutter) part(s *sql.SelectStatement, with entries, outer *frame) {
	f := &frame{outer: outer}
	if s.Source != nil {
		f.items = c.from(s.Source, with, nil)
	}
	at, more := privates(f.items)
	if more >= 0 {
		c.refuse(f.items[more].place.Unsupported("a join of private rows with private rows").WithHint("join them in a view, and declare the view; or aggregate each, and join the results"))
		return
	}
	if at >= 0 {
		if !c.aggregates(s) && !c.lists(s) {
			place := f.items[at].rows.table
			if !f.items[at].place.Matches("(") { // where it is named
				place.Position = f.items[at].place.Position
			}
			c.refuse(place.Unsupported("a SELECT of the rows of "+syntax.Excerpt(place.Value, 40)).
				WithHint("only aggregates of private rows come out: SELECT x, COUNT(*) AS n FROM %s GROUP BY x", syntax.Excerpt(place.Value, 40)))
			return
		}
		c.divide(s, f, with)
		return
	}
	c.sources(s.Source, with, f)
	for _, row := range s.ValueLists {
		c.visitAll(row.Exprs, with, f)
	}
	c.visitAll(c.computed(s), with, f)
	for _, col := range s.Columns { // SQLite takes the text for the name
		if col.Expr != nil && col.Alias == nil && c.selects(col.Expr) != nil {
			first, _ := c.span(col.Expr)
			after := c.outside(first, ",", "FROM", "WHERE", "GROUP", "WINDOW", "UNION", "INTERSECT", "EXCEPT", "ORDER", "LIMIT")
			c.edits = append(c.edits, edit{after, after - 1, " AS " + query.Quoted(c.textOf(first, after-1))})
		}
	}
	c.visitAll(s.GroupByExprs, with, f)
	for _, e := range []sql.Expr{s.WhereExpr, s.LimitExpr, s.OffsetExpr} {
		if e != nil {
			c.visit(e, with, f)
		}
	}
}

// sources cuts the SELECTs in a FROM clause without private rows.
func (c *cutter) sources(s sql.Source, with entries, f *frame) {
	switch s := s.(type) {
	case *sql.JoinClause:
		c.sources(s.X, with, f)
		c.sources(s.Y, with, f)
		if on, ok := s.Constraint.(*sql.OnConstraint); ok {
			c.visit(on.X, with, f)
		}
	case *sql.ParenSource:
		c.sources(s.X, with, f)
	case *sql.SelectStatement:
		c.query(s, with, f.outer)
	}
}

func (c *cutter) visitAll(list []sql.Expr, with entries, f *frame) {
	for _, e := range list {
		c.visit(e, with, f)
	}
}

// visit cuts the sub-selects of an expression that stays in the surroundings.
func (c *cutter) visit(e sql.Expr, with entries, f *frame) {
	if c.err != nil {
		return
	}
	if s := inner(e); s != nil {
		c.query(s, with, f)
		return
	}
	switch e := e.(type) {
	case *sql.Ident:
		c.reach("", c.name(e), f)
	case *sql.QualifiedRef:
		table, column := c.qualified(e)
		c.reach(table, column, f)
	}
	c.visitAll(parts(e), with, f)
}

// qualified returns the names of table.column. The column's has the place of both.
func (c *cutter) qualified(e *sql.QualifiedRef) (table string, column syntax.Token) {
	t, column := c.name(e.Table), c.name(e.Column)
	column.Position = t.Position
	return t.Value, column
}

// reach refuses a name in a sub-select that means a private column of a SELECT around it,
// unless that is grouped by the column.
func (c *cutter) reach(table string, t syntax.Token, f *frame) {
	for ; f != nil; f = f.outer {
		for _, i := range f.items {
			if table != "" && !query.SameName(table, i.name) {
				continue
			}
			known := slices.ContainsFunc(i.columns, func(n string) bool { return query.SameName(n, t.Value) })
			switch {
			case known && f.core != nil && i.rows != nil && !f.core.keeps(t.Value):
				c.refuse(bare(t))
				return
			case known || i.columns == nil:
				return
			}
		}
	}
}

func bare(t syntax.Token) *sqlerr.Error {
	name := syntax.Excerpt(t.Value, 40)
	return t.Unsupported("the column "+name+" of private rows, outside aggregates and GROUP BY,").
		WithHint("GROUP BY %s, or aggregate it", name)
}
