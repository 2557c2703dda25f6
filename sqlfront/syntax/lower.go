package syntax

import (
	"slices"
	"strconv"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlerr"
)

// This file turns a query's tree into Selects of the restricted dialect, whose expressions are
// those of github.com/xwb1989/sqlparser. That grammar is the definition of a core: the text of
// each is read back by it as the same tree (TestGrammarReadsCores). It never reads a name, a
// string or a number of a statement: identifiers become iN, literals and parameters :vN, where N
// counts them.

// lowering lowers one SELECT. It stops by a panic with a *sqlerr.Error, see caught.
type lowering struct {
	*Tokens
	all  []Token // of the statement
	with []commonSelect
}

// commonSelect is a common table expression.
type commonSelect struct {
	name string
	body *Select
}

// maxExpressions bounds the common table expressions of a statement.
const maxExpressions = 100

// lowered returns the SELECT that a query is, whose statement has the tokens.
func lowered(q *Query, tokens []Token) (s *Select, err error) {
	err = caught(func() { s = lowerQuery(q, tokens, nil) })
	return s, err
}

// lowerQuery lowers a query that sees common table expressions.
func lowerQuery(q *Query, all []Token, with []commonSelect) *Select {
	l := &lowering{all: all, with: with}
	l.expressions(q)
	l.Tokens = &Tokens{tokens: between(all, q.Body.Pos(), q.End()), subs: make(map[string]*Select), nodes: make(map[sqlparser.Expr]Expr)}
	b, ok := q.Body.(*Block)
	if !ok {
		panic(l.setOperation(q.Body))
	}
	sel := l.selected(b, q)
	s := &Select{Tree: q, Block: b, Tokens: l.Tokens, GroupBy: sel.GroupBy, OrderBy: sel.OrderBy, Limit: sel.Limit, Distinct: b.Distinct}
	if sel.Where != nil {
		s.Where = sel.Where.Expr
	}
	if sel.Having != nil {
		s.Having = sel.Having.Expr
	}
	s.List, s.ListsParameter = l.items(b, sel.SelectExprs), l.hasParameter(sel.SelectExprs)
	s.From = l.sources(sel.From)
	return s
}

// within returns the tokens of a statement from a position up to another one. Their end, which
// stands at the last character, is none of them.
func within(all []Token, from, to int) []Token {
	first, _ := indexAt(all, from)
	last, _ := indexAt(all, to)
	return all[first:max(first, min(last, len(all)-1))]
}

// between is within, and an end. It copies only what it must: a statement holds many tokens.
func between(all []Token, from, to int) []Token {
	tokens := within(all, from, to)
	n := len(tokens)
	end := tokens[:n+1][n]
	if end.Kind == KindEnd {
		return tokens[:n+1]
	}
	return append(slices.Clip(tokens), Token{Kind: KindEnd, Text: end.Text, Position: end.Position})
}

// expressions lowers the common table expressions of a query. Each sees those before it.
func (l *lowering) expressions(q *Query) {
	if q.With == nil {
		return
	}
	if q.Recursive {
		i, _ := l.at(q.Pos())
		if l.all[i].Matches("WITH") {
			i++
		}
		panic(l.all[i].Unsupported("WITH RECURSIVE"))
	}
	l.with = slices.Clone(l.with)
	for _, c := range q.With {
		if c.Materialized != "" {
			i := slices.IndexFunc(l.all, func(t Token) bool { return t.Position > c.Name.Pos() && t.Matches("AS") })
			panic(l.all[i+1].Unsupported("MATERIALIZED"))
		}
		body := lowerQuery(c.Query, l.all, l.with)
		for _, n := range c.Columns {
			body.Columns = append(body.Columns, Name{n.Text, n.Pos()})
		}
		if l.with = append(l.with, commonSelect{c.Name.Text, body}); len(l.with) > maxExpressions {
			panic(between(l.all, q.Pos(), q.End())[0].Unsupported("a WITH of this many expressions"))
		}
	}
}

// setOperation refuses a body that is no SELECT.
func (l *lowering) setOperation(b Body) *sqlerr.Error {
	op := "VALUES"
	for {
		switch c := b.(type) {
		case *Compound:
			b, op = c.X, c.Op
			if _, more := b.(*Compound); more {
				continue
			}
		case *Query:
			return (&Tokens{tokens: l.all}).diagnose(0)
		}
		return l.Find(op).Unsupported(op).WithHint("ask for each count in a statement of its own")
	}
}

// stop refuses the token at a position, as one at which the dialect gives up.
func (l *lowering) stop(position int) {
	i, _ := l.at(position)
	l.stopAt(i)
}

// stopAt refuses a token of the statement.
func (l *lowering) stopAt(i int) {
	g := &Tokens{tokens: l.all}
	if err := g.refuse(i); err != nil {
		panic(err)
	}
	panic(g.diagnose(i))
}

// stopBehind refuses the first of a word behind a position.
func (l *lowering) stopBehind(position int, word string) {
	i, _ := l.at(position)
	for ; l.all[i].Kind != KindEnd && !l.all[i].Matches(word); i++ {
	}
	l.stopAt(i)
}

// token returns the token at the position of a node, or what it would be if the node is made.
func (l *lowering) token(n Node, made Token) *Token {
	i, found := l.at(n.Pos())
	if found && l.all[i].Kind == made.Kind && l.all[i].Value == made.Value && l.all[i].Parameter == made.Parameter {
		return &l.all[i]
	}
	t := made
	t.Position, t.End = n.Pos(), n.End()
	return &t
}

// place returns the placeholder of a token.
func (l *lowering) place(prefix string, t *Token) string {
	l.placed = append(l.placed, t)
	return prefix + strconv.Itoa(len(l.placed)-1)
}

// named returns the placeholder of a name; "" for none.
func (l *lowering) named(n Ident) string {
	if n.None() {
		return ""
	}
	made := Token{Kind: KindWord, Text: n.Text, Value: n.Text, Upper: UpperASCII(n.Text)}
	if n.Quoted {
		made = Token{Kind: KindQuoted, Text: query.Quoted(n.Text), Value: n.Text}
	}
	if i, found := l.at(n.Pos()); found && n.Quoted && l.all[i].Kind == KindString { // an alias
		made.Kind = KindString
	}
	return l.place("i", l.token(n, made))
}

func (l *lowering) column(n Ident) sqlparser.ColIdent  { return sqlparser.NewColIdent(l.named(n)) }
func (l *lowering) table(n Ident) sqlparser.TableIdent { return sqlparser.NewTableIdent(l.named(n)) }

// selected lowers one SELECT, with what follows it in its query.
func (l *lowering) selected(b *Block, q *Query) *sqlparser.Select {
	s := &sqlparser.Select{}
	if b.Distinct {
		s.Distinct = sqlparser.DistinctStr
	}
	for _, it := range b.Items {
		s.SelectExprs = append(s.SelectExprs, l.item(it.X, it.As))
	}
	for _, f := range b.From {
		s.From = append(s.From, l.source(f))
	}
	if b.From == nil { // as the grammar has it
		s.From = sqlparser.TableExprs{&sqlparser.AliasedTableExpr{Expr: sqlparser.TableName{Name: sqlparser.NewTableIdent("dual")}}}
	}
	s.Where = sqlparser.NewWhere(sqlparser.WhereStr, l.optional(b.Where))
	for _, e := range b.Group {
		s.GroupBy = append(s.GroupBy, l.expr(e))
	}
	s.Having = sqlparser.NewWhere(sqlparser.HavingStr, l.optional(b.Having))
	for _, t := range q.Order {
		if t.Nulls != "" {
			l.stopBehind(t.X.End(), "NULLS")
		}
		o := &sqlparser.Order{Expr: l.expr(t.X), Direction: sqlparser.AscScr}
		if t.Desc {
			o.Direction = sqlparser.DescScr
		}
		s.OrderBy = append(s.OrderBy, o)
	}
	if b.On != nil {
		i, _ := l.at(b.Pos())
		l.stopAt(i + 2)
	}
	if b.GroupAll {
		l.stopBehind(b.groupAt, "ALL")
	}
	if b.Items == nil || b.Top != nil || b.Windows != nil || b.Qualify != nil {
		l.stop(b.Pos())
	}
	if q.Settings != nil {
		l.stop(q.Settings[0].Name.Position)
	}
	if q.Limit == nil && q.Offset != nil {
		l.stop(q.Offset.Pos())
	}
	if q.Limit != nil {
		s.Limit = &sqlparser.Limit{Rowcount: l.optional(q.Limit), Offset: l.optional(q.Offset)}
	}
	return s
}

func (l *lowering) optional(e Expr) sqlparser.Expr {
	if e == nil {
		return nil
	}
	return l.expr(e)
}

func (l *lowering) item(e Expr, as Ident) sqlparser.SelectExpr {
	if s, ok := e.(*Star); ok {
		star := &sqlparser.StarExpr{}
		if s.Of != nil {
			star.TableName = l.tableName(s.Of)
		}
		return star
	}
	return &sqlparser.AliasedExpr{Expr: l.expr(e), As: l.column(as)}
}

// tableName lowers [qualifier.]name.
func (l *lowering) tableName(path []Ident) (n sqlparser.TableName) {
	last := len(path) - 1
	if last > 1 {
		l.stop(path[1].End())
	}
	if last == 1 {
		n.Qualifier = l.table(path[0])
	}
	n.Name = l.table(path[last])
	return n
}

func (l *lowering) source(s Source) sqlparser.TableExpr {
	switch s := s.(type) {
	case *Table:
		return &sqlparser.AliasedTableExpr{Expr: l.tableName(s.Path), As: l.aliased(s.Alias)}
	case *Derived:
		open := Token{Kind: KindQuoted, Text: "(…)", Position: s.Pos(), End: s.End()}
		place := l.place("i", &open)
		l.subs[place] = lowerQuery(s.Query, l.all, l.with)
		name := sqlparser.NewTableIdent(place)
		return &sqlparser.AliasedTableExpr{Expr: sqlparser.TableName{Name: name}, As: l.aliased(s.Alias)}
	case *ParenSource:
		if !s.Alias.Name.None() {
			l.stop(s.Alias.Name.Pos())
		}
		p := &sqlparser.ParenTableExpr{}
		for _, inner := range s.List {
			p.Exprs = append(p.Exprs, l.source(inner))
		}
		return p
	case *Join:
		return l.join(s)
	case *Function:
		i, _ := l.at(s.Call.Path[len(s.Call.Path)-1].Pos())
		panic(l.all[i].Unsupported("a table-valued function"))
	}
	l.stop(s.Pos())
	return nil
}

func (l *lowering) aliased(a Alias) sqlparser.TableIdent {
	if a.Columns != nil {
		l.stop(a.Columns[0].Pos() - 1)
	}
	return l.table(a.Name)
}

func (l *lowering) join(s *Join) sqlparser.TableExpr {
	j := &sqlparser.JoinTableExpr{LeftExpr: l.source(s.X), RightExpr: l.source(s.Y), Join: sqlparser.JoinStr}
	switch {
	case s.Kind == "FULL":
		l.stopBehind(s.Operator, "FULL")
	case s.Natural && s.Kind == "LEFT":
		j.Join = sqlparser.NaturalLeftJoinStr
	case s.Natural && s.Kind == "RIGHT":
		j.Join = sqlparser.NaturalRightJoinStr
	case s.Natural:
		j.Join = sqlparser.NaturalJoinStr
	case s.Kind == "LEFT":
		j.Join = sqlparser.LeftJoinStr
	case s.Kind == "RIGHT":
		j.Join = sqlparser.RightJoinStr
	}
	j.Condition.On = l.optional(s.On)
	for _, n := range s.Using {
		j.Condition.Using = append(j.Condition.Using, l.column(n))
	}
	return j
}

// comparisonNames are the operators that compare, as the tree has them.
var comparisonNames = map[string]string{
	"=": "=", "==": "=", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
	"LIKE": "like", "GLOB": OperatorGlob, "IS": OperatorIs,
}

// compares reports whether an expression is a condition, which is no operand without parentheses.
func compares(e Expr) bool {
	switch e := e.(type) {
	case *Between, *In, *Test, *Exists:
		return true
	case *Unary:
		return e.Op == "NOT"
	case *Binary:
		return !arithmeticSigns[e.Op] && e.Op != "||" && e.Op != "->" && e.Op != "->>"
	}
	return false
}

// left lowers the left operand of the operator at a position.
func (l *lowering) left(e Expr, operator int) sqlparser.Expr {
	if compares(e) {
		l.stop(operator)
	}
	return l.expr(e)
}

// right lowers an operand behind an operator.
func (l *lowering) right(e Expr) sqlparser.Expr {
	if !compares(e) {
		return l.expr(e)
	}
	switch e := e.(type) {
	case *Binary:
		l.stop(e.Operator)
	case *Test:
		l.stop(e.Operator)
	case *Between:
		l.stop(e.Operator)
	case *In:
		l.stop(e.Operator)
	}
	l.stop(e.Pos())
	return nil
}

// expr lowers an expression, and keeps what it was.
func (l *lowering) expr(e Expr) sqlparser.Expr {
	x := l.node(e)
	switch e.(type) {
	case *Literal, *Tuple: // literals are many, and rows no keys of a map
	default:
		l.nodes[x] = e
	}
	return x
}

func (l *lowering) node(e Expr) sqlparser.Expr {
	switch e := e.(type) {
	case *Column:
		return l.columnName(e)
	case *Literal:
		return l.literal(e)
	case *Parameter:
		made := Token{Kind: KindParameter, Text: e.Text, Value: e.Text, Parameter: e.Number}
		return sqlparser.NewValArg([]byte(l.place(":v", l.token(e, made))))
	case *Paren:
		return &sqlparser.ParenExpr{Expr: l.expr(e.X)}
	case *Tuple:
		return l.tuple(e.Items)
	case *Unary:
		if e.Op == "NOT" {
			return &sqlparser.NotExpr{Expr: l.expr(e.X)}
		}
		return &sqlparser.UnaryExpr{Operator: e.Op, Expr: l.right(e.X)}
	case *Test:
		return &sqlparser.IsExpr{Operator: "is " + LowerASCII(not(e.Not)+e.Is), Expr: l.expr(e.X)}
	case *Binary:
		return l.binary(e)
	case *Between:
		op := sqlparser.BetweenStr
		if e.Not {
			op = sqlparser.NotBetweenStr
		}
		return &sqlparser.RangeCond{Operator: op, Left: l.left(e.X, e.Operator), From: l.right(e.Low), To: l.right(e.High)}
	case *In:
		return l.in(e)
	case *Case:
		return l.caseOf(e)
	case *Cast:
		return l.cast(e)
	case *Call:
		return l.call(e)
	case *GroupingSets:
		return l.groupingSets(e)
	case *Subquery:
		l.valued = true
		return l.subquery(e)
	case *Exists:
		l.valued = true
		return &sqlparser.ExistsExpr{Subquery: &sqlparser.Subquery{Select: l.inner(e.Query)}}
	case *Collate:
		if len(e.Name) > 1 {
			l.stop(e.Name[0].End())
		}
		return &sqlparser.CollateExpr{Expr: l.left(e.X, e.X.End()), Charset: l.named(e.Name[0])}
	}
	l.stop(e.Pos())
	return nil
}

func (l *lowering) columnName(e *Column) sqlparser.Expr {
	last := len(e.Path) - 1
	n := &sqlparser.ColName{}
	if last > 0 {
		n.Qualifier = l.tableName(e.Path[:last])
	}
	n.Name = l.column(e.Path[last])
	return n
}

func (l *lowering) literal(e *Literal) sqlparser.Expr {
	if e.Type != nil {
		l.stop(e.Type[len(e.Type)-1].End() + 1)
	}
	made := Token{Kind: e.Kind, Text: e.Value, Value: e.Value}
	switch e.Kind {
	case KindBlob:
		l.stop(e.Pos())
	case KindString:
		made.Text = quoteText(e.Value)
	case KindWord:
		made.Upper = e.Value
	}
	t := l.token(e, made)
	if e.Kind == KindWord { // as it was written
		if i, ok := l.at(e.Pos()); ok && l.all[i].Matches(e.Value) {
			t = &l.all[i]
		}
	}
	return sqlparser.NewValArg([]byte(l.place(":v", t)))
}

// at returns the index of the token at a position.
func (l *lowering) at(position int) (int, bool) { return indexAt(l.all, position) }

func (l *lowering) tuple(list []Expr) (t sqlparser.ValTuple) {
	for _, e := range list {
		t = append(t, l.expr(e))
	}
	return t
}

func (l *lowering) binary(e *Binary) sqlparser.Expr {
	name, compared := comparisonNames[e.Op]
	switch {
	case e.Quantifier != "":
		l.stop(e.Y.Pos())
	case e.Op == "AND":
		return &sqlparser.AndExpr{Left: l.expr(e.X), Right: l.expr(e.Y)}
	case e.Op == "OR":
		return &sqlparser.OrExpr{Left: l.expr(e.X), Right: l.expr(e.Y)}
	case e.Op == "IS DISTINCT FROM":
		name, compared = OperatorIs, true
		if !e.Not {
			name = OperatorIsNot
		}
	case e.Op == "IS" && e.Not:
		name = OperatorIsNot
	case e.Not && compared:
		name = "not " + name
	}
	switch {
	case compared:
		c := &sqlparser.ComparisonExpr{Operator: name, Left: l.left(e.X, e.Operator), Right: l.right(e.Y)}
		if e.Escape != nil {
			if e.Op != "LIKE" {
				l.stop(e.Y.End() + 1)
			}
			c.Escape = l.right(e.Escape)
		}
		return c
	case e.Op == "||":
		return l.call(&Call{span: e.span, Path: []Ident{{span{e.Operator, e.Operator + 2}, e.Op, true}}, Args: []Expr{e.X, e.Y}, Words: make([]string, 2)})
	case arithmeticSigns[e.Op]:
		return &sqlparser.BinaryExpr{Operator: e.Op, Left: l.left(e.X, e.Operator), Right: l.right(e.Y)}
	}
	l.expr(e.X) // what is wrong there comes first
	i, _ := l.at(e.Operator)
	if e.Not {
		i++
	}
	l.stopAt(i)
	return nil
}

func (l *lowering) in(e *In) sqlparser.Expr {
	c := &sqlparser.ComparisonExpr{Operator: sqlparser.InStr, Left: l.left(e.X, e.Operator)}
	if e.Not {
		c.Operator = sqlparser.NotInStr
	}
	switch set := e.Set.(type) {
	case *Tuple:
		if len(set.Items) == 0 {
			l.stop(set.End() - 1)
		}
		c.Right = l.tuple(set.Items)
	case *Subquery:
		if v, ok := set.Query.Body.(*Values); ok {
			if i, _ := l.at(set.Query.Pos()); !(&Tokens{tokens: l.all}).isLiteralValues(i) {
				l.stopAt(i)
			}
			c.Right = l.values(v)
		} else {
			c.Right = l.subquery(set).(sqlparser.ColTuple)
		}
	default:
		l.stop(e.Set.Pos())
	}
	return c
}

// values lowers IN (VALUES (a), (b)), a list of literals.
func (l *lowering) values(v *Values) (t sqlparser.ValTuple) {
	for _, row := range v.Rows {
		if len(row.Items) == 1 {
			t = append(t, &sqlparser.ParenExpr{Expr: l.expr(row.Items[0])})
		} else {
			t = append(t, l.tuple(row.Items))
		}
	}
	return t
}

func (l *lowering) caseOf(e *Case) sqlparser.Expr {
	c := &sqlparser.CaseExpr{Expr: l.optional(e.Of), Else: l.optional(e.Else)}
	for _, w := range e.Whens {
		c.Whens = append(c.Whens, &sqlparser.When{Cond: l.expr(w.If), Val: l.expr(w.Then)})
	}
	return c
}

// cast lowers CAST(x AS type), which is a call with an alias.
func (l *lowering) cast(e *Cast) sqlparser.Expr {
	x := l.expr(e.X)
	switch t := e.Type; {
	case e.Name == "":
		l.stop(e.Operator)
	case len(t.Path) > 1 || t.Word != "" || t.Args != nil || t.Zone != "" || t.Array > 0:
		l.stop(t.Path[0].End())
	}
	name := Ident{span{e.from, e.from + len(e.Name)}, e.Name, false}
	call := &sqlparser.FuncExpr{Name: l.column(name)}
	call.Exprs = sqlparser.SelectExprs{&sqlparser.AliasedExpr{Expr: x, As: l.column(e.Type.Path[0])}}
	return call
}

// call lowers a call. The grammar lacks FILTER: its condition is the last argument of a call with
// filterQualifier.
func (l *lowering) call(e *Call) sqlparser.Expr {
	last := len(e.Path) - 1
	f := &sqlparser.FuncExpr{Distinct: e.Distinct}
	if last > 0 {
		f.Qualifier = l.table(e.Path[last-1])
	}
	f.Name = l.column(e.Path[last])
	for i := 0; i < len(e.Args); i++ {
		if e.Words[i] != "" {
			l.stop(e.Args[i].Pos() - 1)
		}
		f.Exprs = append(f.Exprs, l.item(e.Args[i], Ident{}))
	}
	if e.Filter != nil {
		f.Qualifier = sqlparser.NewTableIdent(filterQualifier)
		f.Exprs = append(f.Exprs, l.item(e.Filter, Ident{}))
	}
	switch {
	case e.Order != nil: // at the words before it
		i, _ := l.at(e.Order[0].X.Pos())
		l.stopAt(i - 2)
	case e.Within != nil: // at the parenthesis of WITHIN GROUP
		i, _ := l.at(e.WithinAt)
		l.stopAt(i + 2)
	case e.Over != nil: // at its word
		i, _ := l.at(e.Over.Pos())
		l.stopAt(i - 1)
	}
	return f
}

// groupingSets lowers GROUPING SETS (…): a call, in which the empty set is NULL.
func (l *lowering) groupingSets(e *GroupingSets) sqlparser.Expr {
	i, _ := l.at(e.Pos())
	f := &sqlparser.FuncExpr{Name: sqlparser.NewColIdent(l.place("i", &l.all[i+1]))}
	l.sets = append(l.sets, f.Name.String())
	for _, set := range e.Sets {
		if t, ok := set.(*Tuple); ok && len(t.Items) == 0 {
			f.Exprs = append(f.Exprs, &sqlparser.AliasedExpr{Expr: &sqlparser.ParenExpr{Expr: &sqlparser.NullVal{}}})
		} else {
			f.Exprs = append(f.Exprs, l.item(set, Ident{}))
		}
	}
	return f
}

func (l *lowering) subquery(e *Subquery) sqlparser.Expr {
	x := &sqlparser.Subquery{Select: l.inner(e.Query)}
	l.nodes[x] = e
	return x
}

// inner lowers a query inside an expression.
func (l *lowering) inner(q *Query) sqlparser.SelectStatement {
	if q.With != nil {
		l.stop(q.Pos())
	}
	b, ok := q.Body.(*Block)
	if !ok {
		c, compound := q.Body.(*Compound)
		if !compound || c.Op != "UNION" {
			l.stop(q.Pos())
		}
		u := &sqlparser.Union{Type: sqlparser.UnionStr, Left: l.member(c.X), Right: l.member(c.Y)}
		if c.All {
			u.Type = sqlparser.UnionAllStr
		}
		return u
	}
	return l.selected(b, q)
}

// member lowers what stands beside UNION.
func (l *lowering) member(b Body) sqlparser.SelectStatement {
	if q, ok := b.(*Query); ok {
		return &sqlparser.ParenSelect{Select: l.inner(q)}
	}
	return l.inner(&Query{span: span{b.Pos(), b.End()}, Body: b})
}

// sources returns the items of a FROM clause: the first, and those joined to it.
func (l *lowering) sources(from sqlparser.TableExprs) []FromItem {
	if len(from) != 1 {
		panic(l.FirstToken(from[1]).Unsupported("a join").WithHint(JoinHint))
	}
	switch e := from[0].(type) {
	case *sqlparser.ParenTableExpr:
		return l.sources(e.Exprs)
	case *sqlparser.JoinTableExpr:
		return l.joined(e)
	}
	return []FromItem{l.sourceOf(from[0].(*sqlparser.AliasedTableExpr))}
}

const JoinHint = "join a public table on its key: FROM t JOIN p ON t.code = p.code; private tables are joined in a view, and the view declared"

// joined returns the sources of left JOIN right.
func (l *lowering) joined(e *sqlparser.JoinTableExpr) []FromItem {
	left := l.sources(sqlparser.TableExprs{e.LeftExpr})
	right := l.sources(sqlparser.TableExprs{e.RightExpr})
	switch {
	case e.Join != sqlparser.JoinStr && e.Join != sqlparser.LeftJoinStr || len(right) != 1:
		panic(l.Find("JOIN").Unsupported("this form of join").WithHint(JoinHint))
	case e.Condition.On == nil && e.Condition.Using == nil:
		panic(l.Find("JOIN").Unsupported("a join without a condition").WithHint(JoinHint))
	}
	right[0].On, right[0].Using, right[0].Left = e.Condition.On, e.Condition.Using, e.Join == sqlparser.LeftJoinStr
	return append(left, right[0])
}

// sourceOf accepts a table name, which only main may qualify, or the name that stands
// for a sub-select.
func (l *lowering) sourceOf(e *sqlparser.AliasedTableExpr) FromItem {
	name := e.Expr.(sqlparser.TableName)
	t, ok := l.Token(name.Name.String())
	if !ok {
		panic(l.tokens[0].Unsupported("SELECT without FROM").WithHint("write SELECT COUNT(*) FROM table"))
	}
	schema, qualified := l.Token(name.Qualifier.String())
	switch {
	case qualified && !query.SameName(schema.Value, "main"):
		panic(schema.Unsupported("a table of another database").
			WithHint("ask the private table that is declared over it, by its own name: SHOW TABLES lists them"))
	case t.Value == "" && !l.IsSubselect(name.Name):
		panic(t.Malformed("a table's name is empty"))
	}
	s := FromItem{Name: Name{t.Value, t.Position}, Sub: l.subs[name.Name.String()], Token: t}
	for i := len(l.with) - 1; i >= 0 && !qualified && s.Sub == nil; i-- {
		if query.SameName(l.with[i].name, t.Value) {
			s.Sub = l.with[i].body
		}
	}
	s.Alias = s.Name
	if a, ok := l.Token(e.As.String()); ok {
		s.Alias = Name{a.Value, a.Position}
	}
	return s
}
