package syntax

import (
	"slices"
	"strings"

	"dpsql/sqlerr"
)

// explain parses what follows EXPLAIN.
func (p *parser) explain() (Statement, error) {
	t := p.peek()
	if t.Is("QUERY") && p.after(1).Is("PLAN") {
		return nil, t.Unsupported("EXPLAIN QUERY PLAN").WithHint("write EXPLAIN SELECT …")
	}
	if !t.Is("SELECT") && !t.Is("WITH") {
		if t.Kind == KindEnd || !slices.Contains(native, t.Upper) && !isForeign(t) {
			return nil, p.unexpected("SELECT")
		}
		return nil, t.Unsupported("EXPLAIN " + t.Upper).WithHint("EXPLAIN takes a SELECT")
	}
	s, err := p.selectStatement()
	if err != nil {
		return nil, err
	}
	return &Explain{s}, nil
}

func isForeign(t Token) bool {
	_, yes := foreign[t.Upper]
	return yes
}

// topics are what SHOW can list.
var topics = []Topic{Tables, Releases, Mechanisms, Budget, Ledger, Settings, Sources}

// show parses what follows SHOW.
func (p *parser) show() (Statement, error) {
	list := make([]string, len(topics))
	for i, topic := range topics {
		list[i] = UpperASCII(string(topic))
		if p.accept(list[i]) {
			return &Show{topic}, nil
		}
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
	d.Name, err = p.name("the name of a " + string(kind))
	return d, err
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
	case schemaObjects[t.Upper]:
		return "", t.Unsupported("DROP " + t.Upper).
			WithHint("DROP PRIVATE TABLE and DROP PUBLIC TABLE withdraw a declaration; the rows stay")
	}
	return "", p.unexpected("RELEASE, MECHANISM, SOURCE, PRIVATE TABLE or PUBLIC TABLE")
}

// schemaObjects are what SQLite's own CREATE and DROP make and remove.
var schemaObjects = words("TABLE TEMP TEMPORARY INDEX VIEW TRIGGER UNIQUE VIRTUAL")

// export parses what follows EXPORT.
func (p *parser) export() (Statement, error) {
	if err := p.expect("RELEASE"); err != nil {
		return nil, err
	}
	name, err := p.name("the name of a release")
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
	return &Export{Release: name, Path: t.Value, PathPosition: t.Position}, nil
}
