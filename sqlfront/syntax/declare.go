package syntax

import "dpsql/sqlerr"

// create parses what follows CREATE.
func (p *parser) create() (Statement, error) {
	switch t := p.peek(); {
	case p.accept("PUBLIC"):
		return p.createPublic()
	case p.accept("PRIVATE"):
		return p.createPrivate()
	case p.accept("SOURCE"):
		return p.createSource()
	case p.accept("RELEASE"):
		return p.createRelease()
	case p.accept("MECHANISM"):
		r, err := p.createRelease()
		if err != nil {
			return nil, err
		}
		return mechanism(r)
	case schemaObjects[t.Upper]:
		return nil, t.Unsupported("CREATE " + t.Upper).
			WithHint("load tables with .import, make views with another SQLite client, then declare them with CREATE PRIVATE TABLE or CREATE PUBLIC TABLE")
	}
	return nil, p.unexpected("PUBLIC TABLE, PRIVATE TABLE, SOURCE, RELEASE or MECHANISM")
}

// createPublic parses what follows CREATE PUBLIC.
func (p *parser) createPublic() (Statement, error) {
	if err := p.expect("TABLE"); err != nil {
		return nil, err
	}
	s := &CreatePublic{IfNotExists: p.accept("IF", "NOT", "EXISTS")}
	var err error
	if s.Name, err = p.name("the name of a table"); err != nil || !p.peek().Is("(") {
		return s, err
	}
	s.Columns, err = columnDefs(p, (*parser).publicColumn, func(c *PublicColumnDef) Name { return c.Name })
	return s, err
}

// maxColumns is the largest number of columns of a table that is declared.
const maxColumns = 1000

// createPrivate parses what follows CREATE PRIVATE.
func (p *parser) createPrivate() (Statement, error) {
	if err := p.expect("TABLE"); err != nil {
		return nil, err
	}
	s := &CreatePrivate{IfNotExists: p.accept("IF", "NOT", "EXISTS")}
	var err error
	if s.Name, err = p.name("the name of a private table"); err != nil {
		return nil, err
	}
	if s.Columns, err = columnDefs(p, (*parser).columnDef, func(c *ColumnDef) Name { return c.Name }); err != nil {
		return nil, err
	}
	if err = p.expect("FROM"); err != nil {
		return nil, err
	}
	if s.In, s.Source, err = p.place(); err != nil {
		return nil, err
	}
	s.Options, err = p.with()
	return s, err
}

// alter parses what follows ALTER PRIVATE TABLE.
func (p *parser) alter() (Statement, error) {
	name, err := p.name("the name of a private table")
	if err != nil {
		return nil, err
	}
	if err := p.expect("SET"); err != nil {
		return nil, err
	}
	options, err := p.options()
	return &AlterPrivate{name, options}, err
}

// columnDefs parses the parenthesised columns of a table.
func columnDefs[T any](p *parser, column func(*parser) (T, error), nameOf func(*T) Name) ([]T, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var columns []T
	seen := make(map[string]bool)
	for {
		c, err := column(p)
		if err != nil {
			return nil, err
		}
		name := nameOf(&c)
		if seen[UpperASCII(name.Text)] {
			return nil, sqlerr.New(sqlerr.Invalid, "column %s is declared twice", name.Text).At(name.Position)
		}
		seen[UpperASCII(name.Text)] = true
		if columns = append(columns, c); len(columns) > maxColumns {
			return nil, sqlerr.New(sqlerr.Unsupported, "a table of more than %d columns is outside the dialect", maxColumns).
				WithHint("declare the columns that are asked for").At(name.Position)
		}
		if !p.accept(",") {
			return columns, p.expectColumnEnd()
		}
	}
}

// createRelease parses what follows CREATE RELEASE, and CREATE MECHANISM.
func (p *parser) createRelease() (*CreateRelease, error) {
	s := &CreateRelease{IfNotExists: p.accept("IF", "NOT", "EXISTS")}
	var err error
	if s.Name, err = p.name("a name"); err != nil {
		return nil, err
	}
	if err = p.expect("ON"); err != nil {
		return nil, err
	}
	if s.Table, err = p.name("a private table"); err != nil {
		return nil, err
	}
	if p.peek().Is("(") {
		if s.Columns, err = p.names("a column"); err != nil {
			return nil, err
		}
	}
	if s.Using, err = p.using(); err != nil {
		return nil, err
	}
	s.Options, err = p.with()
	return s, err
}

// using parses USING PROJECTION or USING SMW.
func (p *parser) using() (Algorithm, error) {
	if err := p.expect("USING"); err != nil {
		return "", err
	}
	switch t := p.peek(); {
	case p.accept("PROJECTION"):
		return Projection, nil
	case p.accept("SMW"):
		return SMW, nil
	case t.Kind == KindWord && !reserved[t.Upper]:
		return "", sqlerr.New(sqlerr.Invalid, "there is no algorithm %s", Excerpt(t.Text, 40)).
			WithHint("the algorithms are PROJECTION and SMW").At(t.Position)
	}
	return "", p.unexpected("PROJECTION or SMW")
}

// mechanism turns the syntax that releases and mechanisms share into a
// mechanism's.
func mechanism(r *CreateRelease) (Statement, error) {
	if r.Using != SMW {
		return nil, sqlerr.New(sqlerr.Unsupported, "a mechanism that uses PROJECTION is outside the dialect").
			WithHint("write CREATE RELEASE %s ON … USING PROJECTION, or USING SMW", r.Name.Text).At(r.Name.Position)
	}
	m := CreateMechanism(*r)
	return &m, nil
}
