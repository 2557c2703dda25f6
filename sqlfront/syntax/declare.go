package syntax

import (
	"errors"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
)

// create parses what follows CREATE.
func (p *parser) create() (Statement, error) {
	switch t := p.peek(); {
	case p.accept("PUBLIC"):
		return p.createPublic()
	case p.accept("PRIVATE"):
		return p.createPrivate()
	case p.accept("SOURCE"):
		return p.createSource()
	case p.accept("VIEW"):
		return p.createView()
	case p.accept("RELEASE"):
		return p.createRelease()
	case p.accept("MECHANISM"):
		r, err := p.createRelease()
		if err != nil {
			return nil, err
		}
		return mechanism(r)
	case p.accept("USER"):
		return p.user(false)
	case t.Matches("ROLE"):
		return nil, t.Unsupported("CREATE ROLE").WithHint(passwordHint, "CREATE")
	case schemaObjects[t.Upper]:
		return nil, t.Unsupported("CREATE " + t.Upper).
			WithHint("load tables with .import, make views with CREATE VIEW, then declare them with CREATE PRIVATE TABLE or CREATE PUBLIC TABLE")
	}
	return nil, p.unexpected("PUBLIC TABLE, PRIVATE TABLE, VIEW, SOURCE, RELEASE, MECHANISM or USER")
}

// createView parses what follows CREATE VIEW. What it selects is SQLite's to parse.
func (p *parser) createView() (Statement, error) {
	s := &CreateView{IfNotExists: p.accept("IF", "NOT", "EXISTS")}
	var err error
	if s.Name, err = p.name("the name of a view"); err != nil {
		return nil, err
	}
	first := p.peek()
	if !first.Matches("AS") && !first.Matches("(") {
		return nil, p.unexpected("AS")
	}
	for p.peek().Kind != KindEnd {
		if t := p.next(); t.Kind == KindParameter {
			return nil, t.Unsupported("a parameter in a view")
		}
	}
	s.Definition = string([]rune(p.text)[first.Position-1:])
	return s, nil
}

// createPublic parses what follows CREATE PUBLIC.
func (p *parser) createPublic() (Statement, error) {
	if err := p.expect("TABLE"); err != nil {
		return nil, err
	}
	s := &CreatePublic{IfNotExists: p.accept("IF", "NOT", "EXISTS")}
	var err error
	if s.Name, err = p.name("the name of a table"); err != nil {
		return s, err
	}
	if p.accept("AS") {
		if first := p.peek(); !first.Matches("SELECT") && !first.Matches("VALUES") && !first.Matches("WITH") {
			return nil, first.Malformed("expected SELECT, VALUES or WITH after AS")
		}
		s.As = p.peek().Position
		if p.paysForKeys() {
			s.Keys, err = p.keys()
			return s, err
		}
		for p.peek().Kind != KindEnd {
			p.next()
		}
		return s, nil
	}
	if !p.peek().Matches("(") {
		return s, nil
	}
	s.Columns, err = columnDefs(p, (*parser).publicColumn, func(c *PublicColumnDef) Name { return c.Name })
	return s, err
}

// paysForKeys reports whether WITH (name = … is in what follows, outside parentheses. No SELECT
// of this dialect has that.
func (p *parser) paysForKeys() bool {
	depth := 0
	for i := 0; p.after(i).Kind != KindEnd; i++ {
		switch t := p.after(i); {
		case t.Matches("("):
			depth++
		case t.Matches(")"):
			depth--
		case depth == 0 && t.Matches("WITH") && p.after(i+1).Matches("(") && p.after(i+3).Matches("="):
			return true
		}
	}
	return false
}

// keys parses SELECT DISTINCT column [AS alias] FROM table WITH (…).
func (p *parser) keys() (*Keys, error) {
	k := new(Keys)
	err := p.expect("SELECT", "DISTINCT")
	if err == nil {
		k.Column, err = p.name("a column")
	}
	if err == nil {
		k.As = k.Column
		if p.accept("AS") {
			k.As, err = p.name("a name")
		}
	}
	if err == nil {
		err = p.expect("FROM")
	}
	if err == nil {
		k.Table, err = p.name("a private table")
	}
	if err == nil && !p.peek().Matches("WITH") {
		err = p.unexpected("WITH")
	}
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return nil, e.WithHint("WITH (epsilon = …, delta = …) pays for the keys of one column as it stands: SELECT DISTINCT column FROM table WITH (…); " +
			"for conditions and expressions make a view with CREATE VIEW and declare it")
	}
	k.Options, err = p.withOptions()
	return k, err
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
	if s.In, s.Source, err = p.rowSource(); err != nil {
		return nil, err
	}
	s.Options, err = p.withOptions()
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
	if p.peek().Matches("(") {
		if s.Columns, err = p.names("a column"); err != nil {
			return nil, err
		}
	}
	if s.Using, err = p.using(); err != nil {
		return nil, err
	}
	if s.Options, err = p.withOptions(); err != nil {
		return nil, err
	}
	s.EachPeriod = p.accept("EACH", "PERIOD")
	return s, nil
}

// using parses USING and the name of an algorithm, if they are there.
func (p *parser) using() (Algorithm, error) {
	if !p.accept("USING") {
		return "", nil
	}
	switch t := p.peek(); {
	case p.accept("PROJECTION"):
		return Projection, nil
	case p.accept("MARGINALS"):
		return Marginals, nil
	case p.accept("SMW"):
		return SMW, nil
	case t.Kind == KindWord && !reserved[t.Upper]:
		return "", sqlerr.New(sqlerr.Invalid, "there is no algorithm %s", Excerpt(t.Text, 40)).
			WithHint("the algorithms are PROJECTION, MARGINALS and SMW").At(t.Position)
	}
	return "", p.unexpected("PROJECTION, MARGINALS or SMW")
}

// mechanism turns a statement that was parsed as a CREATE RELEASE into a CREATE
// MECHANISM.
func mechanism(r *CreateRelease) (Statement, error) {
	if r.Using != SMW && r.Using != "" {
		return nil, sqlerr.New(sqlerr.Unsupported, "a mechanism that uses %s is outside the dialect", strings.ToUpper(string(r.Using))).
			WithHint("write CREATE RELEASE %s ON … USING %[2]s, or USING SMW", r.Name.Text, strings.ToUpper(string(r.Using))).At(r.Name.Position)
	}
	if r.EachPeriod {
		return nil, sqlerr.New(sqlerr.Unsupported, "a mechanism for each period is outside the dialect").
			WithHint("a mechanism is about the periods that have begun, or those of WITH (…, period = '2026-01 to 2026-06')").At(r.Name.Position)
	}
	return &CreateMechanism{r.Name, r.IfNotExists, r.Table, r.Columns, SMW, r.Options}, nil
}

// columnDef parses name type [domain].
func (p *parser) columnDef() (ColumnDef, error) {
	name, err := p.name("a column")
	if err != nil {
		return ColumnDef{}, err
	}
	c := ColumnDef{Name: name}
	switch {
	case p.accept("DATE"):
		err = p.timeDomain(&c, "DATE", "BETWEEN '2020-01-01' AND '2029-12-31'")
		return c, err
	case p.accept("TIMESTAMP"):
		err = p.timeDomain(&c, "TIMESTAMP", "BETWEEN '2020-01-01' AND '2029-12-31 23:00' STEP '1 hour'")
		return c, err
	case p.accept("TIME"):
		err = p.timeDomain(&c, "TIME", "BETWEEN '08:00' AND '17:45' STEP '15 minutes'")
		return c, err
	case p.accept("BOOLEAN"), p.accept("BOOL"):
		err = p.booleanDomain(&c)
		return c, err
	}
	if t := p.peek(); t.Matches("REAL") || t.Matches("NUMERIC") || t.Matches("DECIMAL") {
		err = p.stepDomain(&c)
		return c, err
	}
	if c.Type, err = p.columnType(); err != nil {
		return ColumnDef{}, err
	}
	if err := p.collation(&c); err != nil {
		return c, err
	}
	switch {
	case p.accept("BETWEEN"):
		err = p.rangeDomain(&c)
	case p.peek().Matches("IN") && p.after(1).Matches("(") && p.after(2).Matches("SELECT"):
		p.pos += 2
		err = p.tableDomain(&c)
	case p.accept("IN"):
		err = p.listDomain(&c)
	case c.Type == query.TypeText:
		c.Domain = query.Unbounded()
	default:
		err = sqlerr.New(sqlerr.Invalid, "column %s is INTEGER and has no domain", name.Text).
			WithHint("add BETWEEN lowest AND highest, or IN (…)").At(name.Position)
	}
	if err == nil {
		err = p.collation(&c)
	}
	if err == nil && c.Form.IsNoCase() && c.Source == nil && !c.Form.Fits(c.Domain) {
		err = sqlerr.New(sqlerr.Invalid, "two texts in the domain of column %s differ in case alone", name.Text).
			WithHint("list one of them, or leave COLLATE NOCASE out").At(name.Position)
	}
	if t := p.peek(); err == nil && t.Matches("CLAMP") && !c.Form.IsClamped() {
		return c, sqlerr.New(sqlerr.Invalid, "column %s has no bounds to clamp to", name.Text).
			WithHint("CLAMP goes with INTEGER or DATE BETWEEN lowest AND highest").At(t.Position)
	}
	return c, err
}

// collation parses COLLATE NOCASE or BINARY, if it is there.
func (p *parser) collation(c *ColumnDef) error {
	if c.Type != query.TypeText || !p.accept("COLLATE") {
		return nil
	}
	switch t := p.peek(); {
	case p.accept("NOCASE"):
		c.Form = c.Form.NoCase()
	case !p.accept("BINARY"):
		return t.Unsupported("this collation").WithHint("write COLLATE NOCASE, or nothing: texts are compared byte by byte")
	}
	return nil
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
		return 0, p.unexpected("a type, INTEGER, TEXT, BOOLEAN, DATE, TIMESTAMP, TIME, REAL or NUMERIC")
	}
	return 0, t.Unsupported("the column type "+Excerpt(t.Upper, 40)).WithHint("%s", typeHint(t.Upper))
}

// typeHint suggests a type for one that the dialect lacks.
func typeHint(upper string) string {
	switch upper {
	case "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT", "INT2", "INT4", "INT8", "SERIAL":
		return "declare it as INTEGER with a domain"
	case "FLOAT", "FLOAT4", "FLOAT8", "DOUBLE", "MONEY":
		return "declare it as REAL BETWEEN lowest AND highest STEP step"
	case "VARCHAR", "CHAR", "CHARACTER", "NCHAR", "NVARCHAR", "CLOB", "STRING", "ENUM":
		return "declare it as TEXT"
	case "DATE", "TIMESTAMP", "DATETIME", "TIMESTAMPTZ", "TIME", "TIMETZ":
		return "a private table has DATE BETWEEN … AND …, TIMESTAMP BETWEEN … AND … STEP '1 hour' and TIME STEP '15 minutes'; in a public table declare it as TEXT"
	}
	return "bin the column in a view as INTEGER or TEXT and declare the view"
}

// booleanDomain parses what may follow BOOLEAN: OR NULL, or IN (FALSE, TRUE [, NULL]).
func (p *parser) booleanDomain(c *ColumnDef) error {
	c.Type, c.Form = query.TypeInteger, query.BooleanForm()
	if !p.accept("IN") {
		c.Domain = query.NewBoolean(p.accept("OR", "NULL"))
		return nil
	}
	at := p.peek()
	if err := p.expect("("); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for first := true; first || p.accept(","); first = false {
		t := p.peek()
		if !t.Matches("FALSE") && !t.Matches("TRUE") && !t.Matches("NULL") {
			return p.unexpected("FALSE, TRUE or NULL")
		}
		seen[t.Upper] = true
		p.next()
	}
	if !seen["FALSE"] || !seen["TRUE"] {
		return sqlerr.New(sqlerr.Invalid, "the domain of column %s lacks FALSE or TRUE", c.Name.Text).
			WithHint("write BOOLEAN, or BOOLEAN OR NULL").At(at.Position)
	}
	c.Domain = query.NewBoolean(seen["NULL"])
	return p.expectClose()
}

// stepDomain parses REAL BETWEEN lo AND hi STEP step [OR NULL] [CLAMP], and the same of
// NUMERIC(precision, scale), which needs no STEP.
func (p *parser) stepDomain(c *ColumnDef) error {
	c.Type = query.TypeInteger // of the canonical values
	start := p.peek()
	var steps query.Steps
	var err error
	rounded, precision, scale := true, int64(0), int64(0)
	if p.accept("REAL") {
		steps, err = p.steps(c.Name)
	} else {
		p.next()
		if precision, scale, err = p.numericType(c.Name, start); err != nil {
			return err
		}
		steps, rounded, err = p.numericSteps(c.Name, scale)
	}
	if err != nil {
		return err
	}
	if c.Domain, c.Form, err = steps.Column(rounded, int(precision), int(scale)); err != nil {
		return domainError(c, err, start.Position)
	}
	if p.accept("CLAMP") {
		c.Form = c.Form.Clamped()
	}
	return nil
}

// numericType parses (precision [, scale]).
func (p *parser) numericType(column Name, start Token) (precision, scale int64, err error) {
	if !p.accept("(") {
		return 0, 0, sqlerr.New(sqlerr.Invalid, "column %s is %s without digits", column.Text, start.Upper).
			WithHint("write NUMERIC(10, 2) for ten digits, two of them behind the point").At(start.Position)
	}
	for i, n := range []*int64{&precision, &scale} {
		if i == 1 && !p.accept(",") {
			break
		}
		v, t, err := p.domainValue()
		if err != nil {
			return 0, 0, err
		}
		if *n = v.Int64(); !v.IsInt() || *n < int64(1-i) || *n > query.MaxPrecision || i == 1 && *n > precision {
			return 0, 0, sqlerr.New(sqlerr.Invalid, "the digits of column %s are not valid", column.Text).
				WithHint("write NUMERIC(10, 2) for ten digits, two of them behind the point").At(t.Position)
		}
	}
	return precision, scale, p.expectClose()
}

// numericSteps parses BETWEEN lo AND hi [STEP step] [OR NULL] of a NUMERIC.
func (p *parser) numericSteps(column Name, scale int64) (steps query.Steps, rounded bool, err error) {
	start := p.peek()
	var bounds [2]*big.Rat
	for i, word := range []string{"BETWEEN", "AND"} {
		if !p.accept(word) {
			if i == 0 {
				return steps, false, sqlerr.New(sqlerr.Invalid, "column %s is NUMERIC and has no domain", column.Text).
					WithHint("add BETWEEN lowest AND highest").At(start.Position)
			}
			return steps, false, p.unexpected(word)
		}
		if bounds[i], err = p.decimal(); err != nil {
			return steps, false, err
		}
	}
	step := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(scale), nil))
	if rounded = p.accept("STEP"); rounded {
		if step, err = p.decimal(); err != nil {
			return steps, false, err
		}
	}
	steps, err = query.NewSteps(bounds[0], bounds[1], step, p.accept("OR", "NULL"))
	return steps, rounded, domainError(&ColumnDef{Name: column}, err, start.Position)
}

// timeDomain parses the domain of a DATE, or of a TIMESTAMP: BETWEEN lo AND hi
// [STEP step] [OR NULL] [CLAMP] [STORED AS iso | julian | unix]. That of a TIME has the words up to
// CLAMP, and may lack BETWEEN and STEP, which may stand in front.
func (p *parser) timeDomain(c *ColumnDef, name, example string) (err error) {
	c.Type = query.TypeInteger // of the canonical values
	start, hint := p.peek(), "write "+name+" "+example+", and OR NULL behind it where NULL occurs"
	step, clock, stored := int64(0), name == "TIME", query.StoredISO
	if t := p.peek(); clock && !p.accept("WITHOUT", "TIME", "ZONE") && t.Matches("WITH") {
		return t.Unsupported("a TIME with a time zone").WithHint("write TIME: rows have it without one, as '09:27:30'")
	}
	if clock && p.peek().Matches("STEP") {
		if step, err = p.step(c); err != nil {
			return err
		}
	}
	var bounds []Token
	switch {
	case p.peek().Matches("BETWEEN"):
		if bounds, err = p.timeBounds(example); err != nil {
			return err
		}
	case start.Matches("IN"):
		return start.Unsupported("a list as the domain of a "+name).WithHint("%s", hint)
	case !clock:
		return sqlerr.New(sqlerr.Invalid, "column %s is %s and has no domain", c.Name.Text, name).WithHint("%s", hint).At(c.Name.Position)
	}
	if name == "TIMESTAMP" || clock && step == 0 && p.peek().Matches("STEP") {
		if step, err = p.step(c); err != nil {
			return err
		}
	}
	orNull := p.accept("OR", "NULL")
	clamp := p.accept("CLAMP")
	if clock {
		stored, step = query.StoredClock, max(step, 1)
	} else if p.accept("STORED", "AS") {
		t, ok := p.peek(), false
		if stored, ok = query.StoredNamed(t.Text); !ok || t.Kind != KindWord || stored == query.StoredClock {
			return p.unexpected("iso, julian or unix")
		}
		p.next()
	}
	form := query.DateForm(stored)
	if step > 0 {
		form, _ = query.TimestampForm(stored, step) // the step was read
	}
	for _, t := range bounds {
		if _, err := form.Read(t.Value); err != nil {
			return sqlerr.Locate(err, t.Position)
		}
	}
	if clamp {
		form = form.Clamped()
	}
	if c.Form = form; bounds == nil {
		c.Domain = form.NewDay(orNull)
		return nil
	}
	c.Domain, err = form.NewRange(bounds[0].Value, bounds[1].Value, orNull)
	return domainError(c, err, start.Position)
}

// timeBounds parses BETWEEN lo AND hi.
func (p *parser) timeBounds(example string) (bounds []Token, err error) {
	for _, word := range []string{"BETWEEN", "AND"} {
		if err := p.expect(word); err != nil {
			return nil, err
		}
		t := p.peek()
		if t.Kind != KindString {
			return nil, p.unexpected("a text in single quotes, as in " + example)
		}
		bounds = append(bounds, t)
		p.next()
	}
	return bounds, nil
}

// step parses STEP '1 hour' and returns the seconds.
func (p *parser) step(c *ColumnDef) (int64, error) {
	const hint = "write STEP '15 minutes', '1 hour', '6 hours' or '1 day'"
	if !p.accept("STEP") {
		return 0, sqlerr.New(sqlerr.Invalid, "column %s is TIMESTAMP and has no STEP", c.Name.Text).WithHint(hint).At(p.peek().Position)
	}
	t := p.peek()
	if t.Kind != KindString {
		return 0, p.unexpected("a step in single quotes, as '1 hour',")
	}
	seconds, ok := query.ReadStep(t.Value)
	if !ok {
		return 0, sqlerr.New(sqlerr.Invalid, "%s is not a step", Excerpt(t.Text, 40)).WithHint(hint).At(t.Position)
	}
	p.next()
	_, err := query.TimestampForm(query.StoredISO, seconds)
	return seconds, sqlerr.Locate(err, t.Position)
}

// rangeDomain parses lo AND hi [OR NULL] [CLAMP].
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
	if p.accept("CLAMP") {
		c.Form = c.Form.Clamped()
	}
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
	if p.peek().Matches(")") {
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
	null, err := p.orNullOther(c)
	if err != nil {
		return err
	}
	if null && !seen[query.Null()] {
		values = append(values, query.Null())
	}
	if c.Form.HasOther() {
		if seen[query.Text(query.Other)] {
			return sqlerr.New(sqlerr.Invalid, "column %s lists '%s', which stands for the texts that are not listed", c.Name.Text, query.Other).
				WithHint("leave it out of the list: rows with that text are among the others").At(start)
		}
		values = append(values, query.Text(query.Other))
	}
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
	if t.Matches("-") || t.Matches("+") {
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
			WithHint("declare the column REAL BETWEEN lowest AND highest STEP step, or bin it in a view").At(t.Position)
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
	if t := p.peek(); !t.Matches(")") {
		if t.Kind == KindEnd {
			return p.unexpected(")")
		}
		return t.Unsupported("more than SELECT column FROM table in a domain").
			WithHint("make a view of it and declare the view with CREATE PUBLIC TABLE")
	}
	p.next()
	c.Source = src
	src.OrNull, err = p.orNullOther(c)
	return err
}

// orNullOther parses OR NULL and OR OTHER behind a list, in any order.
func (p *parser) orNullOther(c *ColumnDef) (null bool, err error) {
	for {
		at := p.after(1)
		switch {
		case p.accept("OR", "NULL"):
			null = true
		case !p.accept("OR", query.Other):
			return null, nil
		case c.Type != query.TypeText:
			return null, sqlerr.New(sqlerr.Invalid, "column %s is INTEGER, and OTHER is a text", c.Name.Text).
				WithHint("declare numbers with BETWEEN lowest AND highest CLAMP, or as TEXT").At(at.Position)
		default:
			c.Form = c.Form.Other()
		}
	}
}

// constraints are the words that start what SQLite allows after a type.
var constraints = words("NOT NULL PRIMARY UNIQUE CHECK DEFAULT REFERENCES COLLATE GENERATED CONSTRAINT AS")

// expectColumnEnd consumes the parenthesis after the last column. If something else
// follows, the error says what is not allowed.
func (p *parser) expectColumnEnd() error {
	if t := p.peek(); t.Kind == KindWord && constraints[t.Upper] {
		hint := "a declaration has types and domains only; rows outside the domain are not counted"
		if t.Upper == "NULL" || t.Upper == "NOT" {
			hint = "OR NULL behind the domain takes rows without a value; without it they are not counted"
		}
		return t.Unsupported("a column constraint").WithHint("%s", hint)
	}
	return p.expectClose()
}

// domainError gives a position to an error from making the domain.
func domainError(c *ColumnDef, err error, position int) error {
	var e *sqlerr.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	placed := *e.At(position)
	placed.Message = "the domain of column " + c.Name.Text + ": " + e.Message
	return &placed
}

// publicColumn parses name type, and the steps that follow REAL.
func (p *parser) publicColumn() (PublicColumnDef, error) {
	name, err := p.name("a column")
	if err != nil {
		return PublicColumnDef{}, err
	}
	c := PublicColumnDef{Name: name}
	if !p.accept("REAL") {
		if c.Type, err = p.columnType(); err == nil && (p.peek().Matches("BETWEEN") || p.peek().Matches("IN")) {
			err = p.peek().Unsupported("a domain of a public column").WithHint("the table has its values; only REAL columns are declared with bounds and a step")
		}
		return c, err
	}
	steps, err := p.steps(name)
	c.Steps = &steps
	return c, err
}

// steps parses BETWEEN lo AND hi STEP step [OR NULL].
func (p *parser) steps(column Name) (query.Steps, error) {
	start := p.peek().Position
	var numbers [3]*big.Rat
	for i, word := range []string{"BETWEEN", "AND", "STEP"} {
		if !p.accept(word) {
			if t := p.peek(); t.Matches(",") || t.Matches(")") {
				return query.Steps{}, sqlerr.New(sqlerr.Invalid, "column %s is REAL and has no %s", column.Text, word).
					WithHint("write REAL BETWEEN lowest AND highest STEP step, as in REAL BETWEEN 0 AND 1 STEP 0.001").At(t.Position)
			}
			return query.Steps{}, p.unexpected(word)
		}
		var err error
		if numbers[i], err = p.decimal(); err != nil {
			return query.Steps{}, err
		}
	}
	s, err := query.NewSteps(numbers[0], numbers[1], numbers[2], p.accept("OR", "NULL"))
	return s, domainError(&ColumnDef{Name: column}, err, start)
}

// decimal parses a number, exactly as it is written.
func (p *parser) decimal() (*big.Rat, error) {
	t := p.peek()
	sign := ""
	if t.Matches("-") || t.Matches("+") {
		sign = p.next().Text
	}
	u := p.peek()
	if u.Kind != KindInteger && u.Kind != KindDecimal {
		return nil, p.unexpected("a number")
	}
	if len(u.Text) > maxExponent {
		return nil, u.Unsupported("a number of this many digits")
	}
	r, err := Rational(sign + u.Text)
	if err != nil {
		return nil, err.At(u.Position)
	}
	p.next()
	return r, nil
}

// createSource parses what follows CREATE SOURCE. Connection strings are secrets and
// do not belong in statements, so errors never quote a text that could be one.
func (p *parser) createSource() (Statement, error) {
	if err := p.noSecrets(); err != nil {
		return nil, err
	}
	s := &CreateSource{IfNotExists: p.accept("IF", "NOT", "EXISTS")}
	var err error
	if s.Name, err = p.name("the name of a source"); err != nil {
		return nil, err
	}
	if err := p.expect("USING"); err != nil {
		return nil, err
	}
	switch t := p.peek(); {
	case p.accept("POSTGRES"), p.accept("POSTGRESQL"):
	case t.Kind == KindWord && !reserved[t.Upper]:
		return nil, sqlerr.New(sqlerr.Unsupported, "there is no kind of source %s", Excerpt(t.Text, 40)).
			WithHint("the kind is POSTGRES; tables of the SQLite file need no source").At(t.Position)
	default:
		return nil, p.unexpected("POSTGRES")
	}
	s.Options, err = p.withOptions()
	return s, err
}

// variable matches the names of environment variables.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// IsVariable reports whether a text can be the name of an environment variable.
func IsVariable(name string) bool { return variable.MatchString(name) }

// noSecrets refuses texts that could be connection strings or passwords. It refuses
// every text except the name of a variable after dsn_env, and every quoted name that
// needs its quotes.
func (p *parser) noSecrets() error {
	for i, t := range p.tokens[p.pos:] {
		named := i >= 2 && p.after(i-2).Matches("DSN_ENV") && p.after(i-1).Matches("=")
		if t.Kind == KindString && !(named && IsVariable(t.Value)) || t.Kind == KindQuoted && !IsVariable(t.Value) ||
			t.Matches("/") || strings.EqualFold(t.Text, "password") {
			return sqlerr.New(sqlerr.Invalid, "a connection string or password does not belong into a statement").
				WithHint("put it into an environment variable and name that: WITH (dsn_env = 'WAREHOUSE_DSN')").At(t.Position)
		}
	}
	return nil
}

// rowSource parses the table or view that has the rows of a private table. In the file
// it is written table or main.table. In a source it is written source.schema.table, or
// source.table for the schema public.
func (p *parser) rowSource() (in, table Name, err error) {
	var parts []Name
	var written []string // in double quotes where it was quoted
	for len(parts) == 0 || p.accept(".") {
		t := p.peek()
		n, err := p.name([]string{"the table or view with the rows", "a schema, table or view", "a table or view", "no fourth name"}[len(parts)])
		if err != nil {
			return Name{}, Name{}, err
		}
		if len(parts) == 3 {
			return Name{}, Name{}, sqlerr.New(sqlerr.Invalid, "a table has at most three names: source.schema.table").At(n.Position)
		}
		if parts = append(parts, n); t.Kind == KindQuoted {
			written = append(written, query.Quoted(n.Text))
		} else {
			written = append(written, n.Text)
		}
	}
	switch {
	case len(parts) == 1:
		return Name{}, parts[0], nil
	case !query.SameName(parts[0].Text, "main") && len(parts) == 2:
		return parts[0], Name{"public." + written[1], parts[1].Position}, nil
	case !query.SameName(parts[0].Text, "main"):
		return parts[0], Name{written[1] + "." + written[2], parts[1].Position}, nil
	case len(parts) == 2:
		return Name{}, parts[1], nil
	}
	return Name{}, Name{}, sqlerr.New(sqlerr.Invalid, "main is the file itself and has no schemas").At(parts[1].Position)
}
