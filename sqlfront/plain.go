package sqlfront

import (
	"github.com/xwb1989/sqlparser"

	"dpsql/post"
	"dpsql/query"
)

// plain is what most statements are: SELECT COUNT(*) FROM table WHERE a
// conjunction of comparisons of columns with constants. It is told from the
// syntax once, and binding such a statement is no more than to look its columns
// up and make the sets that its constants say.
type plain struct {
	alias sqlparser.ColIdent // of the count; empty where it has none
	terms []plainTerm
}

// plainTerm is one comparison of a column with a constant, or with those of a list.
type plainTerm struct {
	column    *sqlparser.ColName // without a qualifier
	operator  string             // =, <, <=, >, >= or IN
	constants []sqlparser.Expr
}

// plainOf returns what is plain of a statement, nil where something is not.
func (g *guarded) plainOf(node sqlparser.Statement) *plain {
	s, ok := node.(*sqlparser.Select)
	if !ok || s.Distinct != "" || s.GroupBy != nil || s.Having != nil || s.OrderBy != nil || s.Limit != nil || len(s.SelectExprs) != 1 {
		return nil
	}
	it, ok := s.SelectExprs[0].(*sqlparser.AliasedExpr)
	if !ok || !g.isCount(it.Expr) {
		return nil
	}
	p := &plain{alias: it.As}
	if s.Where == nil {
		return p
	}
	for _, e := range chain(s.Where.Expr, true) {
		terms := g.termsOf(e)
		if terms == nil {
			return nil
		}
		p.terms = append(p.terms, terms...)
	}
	return p
}

// isCount reports whether an expression is COUNT(*), the name not in quotes:
// one in quotes is not part of the shape.
func (g *guarded) isCount(e sqlparser.Expr) bool {
	f, ok := e.(*sqlparser.FuncExpr)
	if !ok || f.Distinct || !f.Qualifier.IsEmpty() || len(f.Exprs) != 1 {
		return false
	}
	t, named := g.token(f.Name.String())
	star, all := f.Exprs[0].(*sqlparser.StarExpr)
	return named && t.is("COUNT") && all && star.TableName.IsEmpty()
}

// termsOf returns the terms that a condition is, nil where it is something else.
func (g *guarded) termsOf(e sqlparser.Expr) []plainTerm {
	switch e := e.(type) {
	case *sqlparser.ComparisonExpr:
		switch list, isList := e.Right.(sqlparser.ValTuple); {
		case e.Operator == sqlparser.InStr && isList:
			return g.termOf(e.Left, e.Operator, list...)
		case e.Operator == sqlparser.EqualStr || isOrdered(e.Operator) && mirrored[e.Operator] != "":
			return g.termOf(e.Left, e.Operator, e.Right)
		}
	case *sqlparser.RangeCond:
		if e.Operator == sqlparser.BetweenStr {
			low, high := rangeParts(e)
			if from, to := g.termsOf(low), g.termsOf(high); from != nil && to != nil {
				return append(from, to...)
			}
		}
	}
	return nil
}

func (g *guarded) termOf(left sqlparser.Expr, operator string, constants ...sqlparser.Expr) []plainTerm {
	c, ok := left.(*sqlparser.ColName)
	if !ok || !c.Qualifier.IsEmpty() {
		return nil
	}
	for _, k := range constants {
		if u, signed := k.(*sqlparser.UnaryExpr); signed && u.Operator == sqlparser.UMinusStr {
			k = u.Expr
		}
		v, ok := k.(*sqlparser.SQLVal)
		if !ok {
			return nil
		}
		if t, ok := g.token(string(v.Val)); !ok || t.kind == kindWord {
			return nil // TRUE can be a column
		}
	}
	return []plainTerm{{c, operator, constants}}
}

// bindPlain binds a plain statement; false where something is to be said of it,
// which the compiler of all statements says.
func (b *binder) bindPlain(p *plain) (*Bound, bool) {
	if len(b.s.from) != 1 || b.s.from[0].sub != nil {
		return nil, false
	}
	var room [8]query.Each
	conjunction := room[:0]
	for i := range p.terms {
		s, ok := b.set(&p.terms[i])
		if !ok {
			return nil, false
		}
		conjunction = narrowed(conjunction, s)
	}
	rows := query.Conjunction(b.u, conjunction)
	name := "count"
	if t, ok := b.g.token(p.alias.String()); ok {
		name = t.value
	}
	return &Bound{
		Queries: []query.Query{rows},
		Slots:   []Slot{{Base: rows, Scale: 1, Split: 1}},
		Groups:  [][]query.Value{nil},
		Output:  post.Program{Columns: []post.Column{{Name: name, Of: post.Sum{Terms: []post.Term{{Factor: 1}}}}}, Limit: -1},
	}, true
}

// set returns the values for which a term is true; false where there is none of
// its columns, or something to be said of it.
func (b *binder) set(t *plainTerm) (each query.Each, ok bool) {
	name, _ := b.g.token(t.column.Name.String())
	if each.Column, ok = b.u.Index(name.value); !ok || b.decided(each.Column) != nil {
		return each, false
	}
	var p pred
	var err error
	switch {
	case t.operator == sqlparser.InStr:
		var elements []constant
		if elements, ok, err = b.elements(t.constants); ok {
			each.Set, _, err = b.equalToAny(each.Column, elements)
		}
		return each, ok && err == nil && b.warnings == nil
	case isOrdered(t.operator) && !b.domain(each.Column).Finite():
		return each, false
	}
	o, ok, err := b.operand(t.constants[0])
	if err != nil || !ok {
		return each, false
	}
	p, err = b.compareColumn(each.Column, t.operator, o.constant, true)
	each.Set = p.set
	return each, err == nil && p.shape == isSet && b.warnings == nil
}

// narrowed adds a set to a conjunction, of which no column comes twice and the
// columns ascend.
func narrowed(conjunction []query.Each, s query.Each) []query.Each {
	i := len(conjunction)
	for i > 0 && conjunction[i-1].Column > s.Column {
		i--
	}
	if i > 0 && conjunction[i-1].Column == s.Column {
		conjunction[i-1].Set = conjunction[i-1].Set.Intersect(s.Set)
		return conjunction
	}
	conjunction = append(conjunction, s)
	copy(conjunction[i+1:], conjunction[i:])
	conjunction[i] = s
	return conjunction
}
