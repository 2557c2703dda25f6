package postgres

import (
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// unit returns how the relation has the unit: as an INTEGER where its type is
// one, else as a TEXT.
func (rel *relation) unit(t source.Table) (column, error) {
	a, err := rel.attribute(t.Unit, t.Source)
	if err != nil {
		return column{}, err
	}
	for _, declared := range []query.Type{query.TypeInteger, query.TypeText} {
		if k, ok := a.kind(declared); ok && k.all {
			return column{Column: query.Column{Name: t.Unit, Domain: query.Unbounded()}, kind: k, text: a.text()}, nil
		}
	}
	return column{}, sqlerr.New(sqlerr.Unsupported, "the unit %s of %s is of type %s", t.Unit, t.Source, a.typ).
		WithHint("make a view that has it as %s::text", quoted(a.name))
}
