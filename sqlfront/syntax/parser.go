// Package syntax parses the dialect: text into statements, and scripts into
// texts. It looks up no name and knows no table; sqlfront binds what it parsed.
//
// ParseQuery reads any query, in the Native dialect or in PostgreSQL's, as a tree
// of Nodes that know where they stand. Walk and Replace go through a tree, and
// String prints it so that it reads back as it was.
//
// A SELECT of the dialect is lowered from this tree to one of
// github.com/xwb1989/sqlparser, a MySQL parser. Its grammar defines what a private
// aggregate can be, and is never given a text: identifiers and literals are numbered
// placeholders in its tree, and a Select has the Tokens that these stand for. The
// other statements are parsed by recursive descent over the same tokens.
//
// Every error is a *sqlerr.Error: Malformed for text that is not SQL,
// Unsupported for SQL outside the dialect, Invalid for a value that cannot be
// accepted. Positions are 1-based characters of the text given to Parse.
package syntax

import (
	"slices"
	"strings"

	"dpsql/sqlerr"
)

// noParameters refuses parameters in a statement that takes none.
func (p *parser) noParameters() error {
	for _, t := range p.tokens {
		if t.Kind == KindParameter {
			return t.Unsupported("a parameter in this statement").
				WithHint("parameters stand for values in the WHERE clause of a SELECT")
		}
	}
	return nil
}

// statement parses a statement that is no query by its first word.
func (p *parser) statement() (Statement, error) {
	t := p.next()
	switch t.Upper {
	case "EXPLAIN":
		return p.explain()
	}
	if err := p.noParameters(); err != nil {
		return nil, err
	}
	s, err := p.command(t)
	if err != nil {
		return nil, err
	}
	return s, p.end()
}

// command parses a statement other than a query. Its first token is already consumed.
func (p *parser) command(first Token) (Statement, error) {
	switch first.Upper {
	case "CREATE":
		return p.create()
	case "ALTER":
		switch t := p.peek(); {
		case p.accept("PRIVATE", "TABLE"):
			return p.alter()
		case p.accept("USER"):
			return p.user(true)
		case t.Matches("ROLE"):
			return nil, t.Unsupported("ALTER ROLE").WithHint(passwordHint, "ALTER")
		}
	case "GRANT", "REVOKE":
		return p.grant(first.Upper == "REVOKE")
	case "REFRESH":
		return p.refresh()
	case "RETIRE":
		return p.retire()
	case "DROP":
		return p.drop()
	case "SHOW":
		return p.show()
	case "DESCRIBE", "DESC":
		table, err := p.name("a table")
		return &Describe{table, p.accept("FULL")}, err
	case "SET":
		o, err := p.option("a setting")
		return &Set{o}, err
	case "EXPORT":
		return p.export()
	case "ADVISE":
		return p.advise()
	}
	return nil, noStatement(first)
}

// noStatement returns the error for a first token that starts no statement.
func noStatement(t Token) error {
	if t.Kind == KindEnd {
		return t.Malformed("the statement is empty")
	}
	if hint, ok := foreign[t.Upper]; ok {
		return t.Unsupported(t.Upper).WithHint("%s", hint)
	}
	err := t.Malformed("no statement starts with %s", t.describe())
	if near := sqlerr.Closest(t.Upper, slices.Values(native)); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("the statements are %s", strings.Join(native, ", "))
}

// explain parses what follows EXPLAIN, where that is no query.
func (p *parser) explain() (Statement, error) {
	full := p.accept("FULL")
	t := p.peek()
	if t.Matches("QUERY") && p.after(1).Matches("PLAN") {
		return nil, t.Unsupported("EXPLAIN QUERY PLAN").WithHint("write EXPLAIN SELECT …")
	}
	if t.Matches("(") {
		return nil, t.Unsupported("EXPLAIN (…)").WithHint("dpsql has no options in parentheses: write EXPLAIN SELECT …, or EXPLAIN FULL SELECT … for every column")
	}
	if t.Matches("CREATE") && (p.after(1).Matches("RELEASE") || p.after(1).Matches("MECHANISM") || p.after(1).Matches("PUBLIC")) {
		return p.explainCreate(full)
	}
	if t.Kind == KindEnd || !slices.Contains(native, t.Upper) && !isForeign(t) {
		return nil, p.unexpected("SELECT")
	}
	return nil, t.Unsupported("EXPLAIN " + t.Upper).WithHint("EXPLAIN takes a SELECT, CREATE RELEASE or CREATE MECHANISM")
}

// explainCreate parses what follows EXPLAIN [FULL] before CREATE.
func (p *parser) explainCreate(full bool) (Statement, error) {
	if err := p.noParameters(); err != nil {
		return nil, err
	}
	t := p.next()
	create, err := p.create()
	if err != nil {
		return nil, err
	}
	s := &ExplainCreate{Create: create, Full: full}
	if public, ok := create.(*CreatePublic); ok {
		if public.Keys == nil {
			return nil, t.Unsupported("EXPLAIN CREATE PUBLIC TABLE without WITH (…)").WithHint("EXPLAIN takes the SELECT alone; a table or view is declared public at no cost")
		}
		return s, p.end()
	}
	if p.accept("FOR") {
		t := p.peek()
		if t.Kind != KindString || t.Value == "" {
			return nil, p.unexpected("the path of a workload in single quotes")
		}
		p.next()
		s.Workload, s.WorkloadFrom = t.Value, t.Position
	}
	return s, p.end()
}

func isForeign(t Token) bool {
	_, yes := foreign[t.Upper]
	return yes
}

// topics are what SHOW can list.
var topics = []Topic{Tables, Releases, Mechanisms, Budget, Ledger, Settings, Sources, Users, Grants}

// noName hints at what a name after SHOW may be meant for.
func noName(topic Topic) string {
	if topic == Budget {
		return "SHOW BUDGET lists all there are; SHOW BUDGET FOR t lists the periods of one table"
	}
	return "SHOW " + UpperASCII(string(topic)) + " lists all there are; DESCRIBE shows one table"
}

// namedFor returns what the name after SHOW topic FOR is of, or "" if there can be none.
func (t Topic) namedFor() string {
	switch t {
	case Grants:
		return "the name of a user"
	case Budget:
		return "the name of a private table"
	}
	return ""
}

// show parses what follows SHOW.
func (p *parser) show() (Statement, error) {
	list := make([]string, len(topics))
	for i, topic := range topics {
		list[i] = UpperASCII(string(topic))
		if !p.accept(list[i]) {
			continue
		}
		s := &Show{What: topic}
		if whose := topic.namedFor(); whose != "" && p.accept("FOR") {
			var err error
			if s.For, err = p.name(whose); err != nil {
				return nil, err
			}
		}
		s.Full = p.accept("FULL")
		if t := p.peek(); topic != Grants && (t.Kind == KindWord || t.Kind == KindQuoted) {
			return nil, t.Malformed("SHOW %s takes no name", list[i]).WithHint("%s", noName(topic))
		}
		return s, nil
	}
	t := p.peek()
	if t.Kind != KindWord {
		return nil, p.unexpected("one of " + strings.Join(list, ", "))
	}
	err := t.Unsupported("SHOW " + Excerpt(t.Upper, 40))
	if near := sqlerr.Closest(t.Upper, slices.Values(list)); near != "" {
		return nil, err.WithHint("did you mean SHOW %s?", near)
	}
	return nil, err.WithHint("SHOW lists %s", strings.Join(list, ", "))
}

// drop parses what follows DROP.
func (p *parser) drop() (Statement, error) {
	kind, err := p.dropped()
	if err != nil {
		return nil, err
	}
	d := &Drop{Kind: kind, IfExists: p.accept("IF", "EXISTS")}
	if d.Name, err = p.name("the name of a " + string(kind)); err != nil {
		return nil, err
	}
	if kind == Release && p.accept("PERIOD") {
		d.Period, err = p.period()
	}
	return d, err
}

// refresh parses what follows REFRESH.
func (p *parser) refresh() (Statement, error) {
	if t := p.peek(); t.Matches("MATERIALIZED") {
		return nil, t.Unsupported("REFRESH MATERIALIZED VIEW").WithHint("REFRESH RELEASE builds the parts of a release for the periods that have ended")
	}
	err := p.expect("RELEASE")
	if err != nil {
		return nil, err
	}
	s := new(RefreshRelease)
	if s.Name, err = p.name("the name of a release"); err != nil {
		return nil, err
	}
	if p.accept("PERIOD") {
		if s.Period, err = p.period(); err != nil {
			return nil, err
		}
		s.Again = p.accept("AGAIN")
	}
	if t := p.peek(); t.Matches("AGAIN") {
		return nil, t.Malformed("AGAIN replaces the part of one period").WithHint("write REFRESH RELEASE %s PERIOD '2026-09' AGAIN", WriteName(s.Name.Text))
	}
	return s, nil
}

// retire parses what follows RETIRE.
func (p *parser) retire() (Statement, error) {
	err := p.expect("PERIOD")
	if err != nil {
		return nil, err
	}
	s := new(RetirePeriod)
	if s.Period, err = p.period(); err != nil {
		return nil, err
	}
	if err := p.expect("OF"); err != nil {
		return nil, err
	}
	s.Table, err = p.name("a private table")
	return s, err
}

// period parses the name of a period.
func (p *parser) period() (Period, error) {
	t := p.peek()
	if t.Kind != KindString || t.Value == "" {
		return Period{}, p.unexpected("the name of a period in single quotes")
	}
	p.next()
	return Period{t.Value, t.Position}, nil
}

// dropped parses the kind of thing that a DROP removes.
func (p *parser) dropped() (Object, error) {
	switch t := p.peek(); {
	case p.accept("RELEASE"):
		return Release, nil
	case p.accept("MECHANISM"):
		return Mechanism, nil
	case p.accept("SOURCE"):
		return SourceObject, nil
	case p.accept("PRIVATE"):
		return PrivateTable, p.expect("TABLE")
	case p.accept("PUBLIC"):
		return PublicTable, p.expect("TABLE")
	case p.accept("VIEW"):
		return View, nil
	case p.accept("USER"):
		return User, nil
	case t.Matches("ROLE"):
		return "", t.Unsupported("DROP ROLE").WithHint("DROP USER name removes a user")
	case schemaObjects[t.Upper]:
		return "", t.Unsupported("DROP " + t.Upper).
			WithHint("DROP PRIVATE TABLE and DROP PUBLIC TABLE withdraw a declaration; the rows stay")
	}
	return "", p.unexpected("RELEASE, MECHANISM, SOURCE, PRIVATE TABLE, PUBLIC TABLE, VIEW or USER")
}

// schemaObjects are what SQLite's own CREATE and DROP make and remove.
var schemaObjects = words("TABLE TEMP TEMPORARY INDEX TRIGGER UNIQUE VIRTUAL")

// advise parses what follows ADVISE.
func (p *parser) advise() (Statement, error) {
	full := p.accept("FULL")
	t := p.peek()
	if t.Kind != KindString || t.Value == "" {
		return nil, p.unexpected("the path of a workload in single quotes")
	}
	p.next()
	if !p.peek().Matches("WITH") {
		return nil, p.unexpected("WITH (epsilon = …)")
	}
	options, err := p.withOptions()
	return &Advise{Workload: t.Value, WorkloadFrom: t.Position, Options: options, Full: full}, err
}

// export parses what follows EXPORT.
func (p *parser) export() (Statement, error) {
	if err := p.expect("RELEASE"); err != nil {
		return nil, err
	}
	unless := p.accept("IF", "NOT", "EXISTS")
	names, err := p.list("the name of a release")
	if err != nil {
		return nil, err
	}
	if err := p.expect("TO"); err != nil {
		return nil, err
	}
	t := p.peek()
	if t.Kind != KindString || t.Value == "" {
		return nil, p.unexpected("the path of a new file in single quotes")
	}
	p.next()
	options, err := p.withOptions()
	return &Export{IfNotExists: unless, Releases: names, Path: t.Value, PathPosition: t.Position, Options: options}, err
}
