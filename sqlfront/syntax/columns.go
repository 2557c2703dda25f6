package syntax

import (
	"errors"
	"strconv"

	"dpsql/query"
	"dpsql/sqlerr"
)

// columnDef parses name type [domain].
func (p *parser) columnDef() (ColumnDef, error) {
	name, err := p.name("a column")
	if err != nil {
		return ColumnDef{}, err
	}
	c := ColumnDef{Name: name}
	if c.Type, err = p.columnType(); err != nil {
		return ColumnDef{}, err
	}
	switch {
	case p.accept("BETWEEN"):
		err = p.rangeDomain(&c)
	case p.peek().Is("IN") && p.after(1).Is("(") && p.after(2).Is("SELECT"):
		p.at += 2
		err = p.tableDomain(&c)
	case p.accept("IN"):
		err = p.listDomain(&c)
	case c.Type == query.TypeText:
		c.Domain = query.Unbounded()
	default:
		err = sqlerr.New(sqlerr.Invalid, "column %s is INTEGER and has no domain", name.Text).
			WithHint("add BETWEEN lowest AND highest, or IN (…)").At(name.Position)
	}
	return c, err
}

// columnType parses a column's type.
func (p *parser) columnType() (query.Type, error) {
	t := p.peek()
	switch {
	case p.accept("INTEGER"), p.accept("INT"):
		return query.TypeInteger, nil
	case p.accept("TEXT"):
		return query.TypeText, nil
	case t.Kind != KindWord || reserved[t.Upper]:
		return 0, p.unexpected("a type, INTEGER or TEXT,")
	}
	return 0, t.Unsupported("the column type "+Excerpt(t.Upper, 40)).WithHint("%s", typeHint(t.Upper))
}

// typeHint says what to declare instead of a type.
func typeHint(upper string) string {
	switch upper {
	case "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT", "INT2", "INT4", "INT8", "BOOL", "BOOLEAN", "SERIAL":
		return "declare it as INTEGER with a domain"
	case "VARCHAR", "CHAR", "CHARACTER", "NCHAR", "NVARCHAR", "CLOB", "STRING", "ENUM":
		return "declare it as TEXT"
	}
	return "bin the column in a view as INTEGER or TEXT and declare the view"
}

// rangeDomain parses lo AND hi [OR NULL].
func (p *parser) rangeDomain(c *ColumnDef) error {
	start := p.peek().Position
	lo, err := p.bound(c)
	if err != nil {
		return err
	}
	if err := p.expect("AND"); err != nil {
		return err
	}
	hi, err := p.bound(c)
	if err != nil {
		return err
	}
	c.Domain, err = query.NewRange(lo, hi, p.accept("OR", "NULL"))
	return domainError(c, err, start)
}

// bound parses an end of a range.
func (p *parser) bound(c *ColumnDef) (int64, error) {
	v, t, err := p.domainValue()
	if err != nil {
		return 0, err
	}
	switch {
	case c.Type != query.TypeInteger:
		return 0, sqlerr.New(sqlerr.Invalid, "column %s is TEXT and cannot have a BETWEEN domain", c.Name.Text).
			WithHint("list its texts with IN (…), or leave the domain out").At(t.Position)
	case !v.IsInt():
		return 0, sqlerr.New(sqlerr.Invalid, "the bounds of column %s are not integers", c.Name.Text).
			WithHint("write BETWEEN 0 AND 120, and OR NULL behind it where NULL occurs").At(t.Position)
	}
	return v.Int64(), nil
}

// listDomain parses (value, …) [OR NULL].
func (p *parser) listDomain(c *ColumnDef) error {
	start := p.peek().Position
	if err := p.expect("("); err != nil {
		return err
	}
	if p.peek().Is(")") {
		return sqlerr.New(sqlerr.Invalid, "the domain of column %s has no values", c.Name.Text).
			WithHint("list the values that can occur").At(start)
	}
	var values []query.Value
	seen := make(map[query.Value]bool)
	for {
		v, err := p.listed(c, seen)
		if err != nil {
			return err
		}
		if values = append(values, v); !p.accept(",") {
			break
		}
	}
	if err := p.expectClose(); err != nil {
		return err
	}
	if p.accept("OR", "NULL") && !seen[query.Null()] {
		values = append(values, query.Null())
	}
	var err error
	c.Domain, err = query.NewList(c.Type, values)
	return domainError(c, err, start)
}

// listed parses one value of a list and checks its type and that it is new.
func (p *parser) listed(c *ColumnDef, seen map[query.Value]bool) (query.Value, error) {
	v, t, err := p.domainValue()
	if err != nil {
		return v, err
	}
	if !v.IsNull() && v.IsInt() != (c.Type == query.TypeInteger) {
		hint := "write integers without quotes"
		if c.Type == query.TypeText {
			hint = "write texts in single quotes"
		}
		return v, sqlerr.New(sqlerr.Invalid, "%s is not a value of column %s, which is %v",
			Excerpt(v.String(), 40), c.Name.Text, c.Type).WithHint("%s", hint).At(t.Position)
	}
	if seen[v] {
		return v, sqlerr.New(sqlerr.Invalid, "%s is listed twice in the domain of column %s",
			Excerpt(v.String(), 40), c.Name.Text).WithHint("remove one of the two").At(t.Position)
	}
	seen[v] = true
	return v, nil
}

// domainValue parses NULL, a string or an integer; the token is its first.
func (p *parser) domainValue() (query.Value, Token, error) {
	t := p.peek()
	sign := ""
	if t.Is("-") || t.Is("+") {
		sign = p.next().Text
	}
	switch u := p.peek(); {
	case u.Kind == KindInteger:
		n, err := strconv.ParseInt(sign+u.Text, 10, 64)
		if err != nil {
			return query.Value{}, t, sqlerr.New(sqlerr.Invalid, "%s does not fit 64 bits", Excerpt(sign+u.Text, 40)).At(t.Position)
		}
		p.next()
		return query.Int(n), t, nil
	case u.Kind == KindDecimal:
		return query.Value{}, t, sqlerr.New(sqlerr.Invalid, "%s is not an integer", Excerpt(sign+u.Text, 40)).
			WithHint("bin the column in a view as INTEGER or TEXT and declare the view").At(t.Position)
	case sign != "":
		return query.Value{}, t, p.unexpected("a number")
	case u.Kind == KindString:
		p.next()
		return query.Text(u.Value), t, nil
	case p.accept("NULL"):
		return query.Null(), t, nil
	}
	return query.Value{}, t, p.unexpected("an integer, a string in single quotes or NULL")
}

// tableDomain parses SELECT column FROM table) [OR NULL].
func (p *parser) tableDomain(c *ColumnDef) error {
	if err := p.expect("SELECT"); err != nil {
		return err
	}
	p.accept("DISTINCT") // a domain is a set
	src := &DomainSource{}
	var err error
	if src.Column, err = p.name("a column"); err != nil {
		return err
	}
	if err = p.expect("FROM"); err != nil {
		return err
	}
	if src.Table, err = p.name("a public table"); err != nil {
		return err
	}
	if t := p.peek(); !t.Is(")") {
		if t.Kind == KindEnd {
			return p.unexpected(")")
		}
		return t.Unsupported("more than SELECT column FROM table in a domain").
			WithHint("make a view of it and declare the view with CREATE PUBLIC TABLE")
	}
	p.next()
	src.OrNull = p.accept("OR", "NULL")
	c.Source = src
	return nil
}

// constraints are the words that start what SQLite allows after a type.
var constraints = words("NOT NULL PRIMARY UNIQUE CHECK DEFAULT REFERENCES COLLATE GENERATED CONSTRAINT AS")

// expectColumnEnd consumes the parenthesis after the last column, and says why
// where a column goes on.
func (p *parser) expectColumnEnd() error {
	if t := p.peek(); t.Kind == KindWord && constraints[t.Upper] {
		return t.Unsupported("a column constraint").
			WithHint("a declaration has types and domains only; rows outside the domain are counted nowhere")
	}
	return p.expectClose()
}

// domainError places an error of the domain's construction.
func domainError(c *ColumnDef, err error, position int) error {
	var e *sqlerr.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	placed := *e.At(position)
	placed.Message = "the domain of column " + c.Name.Text + ": " + e.Message
	return &placed
}
