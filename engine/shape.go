package engine

import (
	"context"
	"strings"

	"dpsql/query"
)

// Shape is a table that a session may name, as clients list it.
type Shape struct {
	Name    string
	Private bool // its rows are counted with noise; a public table's are shown
	Columns []ShapeColumn
}

// ShapeColumn is a column of a Shape. Declared is its type in PostgreSQL's words: a Type, or
// numeric with a precision and a scale, as in "numeric(8,2)".
type ShapeColumn struct {
	Name     string
	Declared string
	Nullable bool
	Domain   string // the values that were declared, as DESCRIBE has them; "" of a public table
}

// ShapesState identifies what Shapes returns: as long as it is equal, nothing has changed. It
// costs no more than planning a statement does.
func (s *Session) ShapesState(ctx context.Context) (any, error) {
	v, err := s.current(ctx)
	if err != nil {
		return nil, public(ctx, err)
	}
	return v.State(), nil
}

// Shapes returns the tables that the session may name, private ones first. Nothing is charged, and
// no private row is read.
func (s *Session) Shapes(ctx context.Context) ([]Shape, error) {
	v, err := s.current(ctx)
	if err != nil {
		return nil, public(ctx, err)
	}
	var out []Shape
	for _, t := range v.Tables {
		shape := Shape{Name: t.Name, Private: true}
		for _, i := range query.Declared(t.Columns) {
			c := t.Columns[i]
			declared := string(c.SQLType())
			if name := strings.ToLower(c.TypeName()); strings.HasPrefix(name, "numeric(") {
				declared = name
			}
			shape.Columns = append(shape.Columns, ShapeColumn{c.Name, declared, c.Domain.HasNull(), c.DomainText()})
		}
		out = append(out, shape)
	}
	for _, name := range v.Publics {
		p, err := Prepare("SELECT * FROM " + query.Quoted(name))
		if err != nil {
			return nil, err
		}
		columns, err := s.Columns(ctx, p, nil)
		if err != nil {
			continue // the table is gone from the file, or cannot be read now
		}
		shape := Shape{Name: name}
		for _, c := range columns {
			declared := string(c.SQL)
			if declared == "" {
				declared = string(Text)
			}
			shape.Columns = append(shape.Columns, ShapeColumn{Name: c.Name, Declared: declared, Nullable: true})
		}
		out = append(out, shape)
	}
	return out, nil
}
