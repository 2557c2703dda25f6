package postgres

import (
	"dpsql/query"
	"dpsql/source"
	"dpsql/sqlerr"
)

// checkUnit refuses a unit of which it is not said how many rows are kept, or
// that has no key to choose them by. Without a unit both are ignored.
func checkUnit(t source.Table) error {
	switch {
	case t.Unit == "":
		return nil
	case t.MaxRows < 1:
		return sqlerr.New(sqlerr.Invalid, "max_rows must be at least 1 where %s is the unit of %s", t.Unit, t.Source)
	case len(t.Key) == 0:
		return sqlerr.New(sqlerr.Invalid, "there is no key to choose the rows of a unit of %s by", t.Source)
	}
	return nil
}

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
