package sqlfront

import (
	"errors"
	"slices"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlerr"
)

// Table is what the front end has to know of a private table.
type Table interface {
	Name() string
	Universe() *query.Universe
}

// Bound is a SELECT as a linear query over its table's universe.
type Bound struct {
	Query    query.Query // what every item of the select list counts
	Items    []Item
	Warnings []string // literals that match nothing; at most maxWarnings
}

// Bind resolves the columns of the SELECT in its table, which the caller has
// looked up, and compiles it with the arguments in its parameters' places.
// Comparisons follow SQLite's rules for the column's type, and NULLs SQL's
// three-valued logic: a record counts when the condition is true.
func (s *Select) Bind(t Table, args []query.Value) (*Bound, error) {
	if err := s.checkArguments(len(args)); err != nil {
		return nil, err
	}
	b := &binder{s: s, g: s.g, u: t.Universe(), args: args, known: make(map[*sqlparser.IsExpr]pred)}
	where := truth(true)
	if s.where != nil {
		var err error
		if where, err = b.when(s.where, true); err != nil {
			return nil, s.placed(err)
		}
	}
	q, err := b.count(where)
	if err != nil {
		return nil, s.placed(err)
	}
	bound := &Bound{Query: q, Warnings: b.warnings}
	for _, it := range s.items {
		bound.Items = append(bound.Items, it.Item)
	}
	return bound, nil
}

// placed gives an error without a place that of the WHERE clause.
func (s *Select) placed(err error) error {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e.At(s.g.find("WHERE").position)
	}
	return err
}

// binder compiles one SELECT.
type binder struct {
	s        *Select
	g        *guarded
	u        *query.Universe
	args     []query.Value
	warnings []string
	known    map[*sqlparser.IsExpr]pred // see whenKnown
}

// count returns the query that all items share.
func (b *binder) count(where pred) (query.Query, error) {
	var first query.Query
	for i, it := range b.s.items {
		p := where
		if it.of != nil {
			present, err := b.present(it.of)
			if err != nil {
				return query.Query{}, err
			}
			if p, err = b.merge([]pred{where, present}, true); err != nil {
				return query.Query{}, err
			}
		}
		q := p.query(b.u)
		if i == 0 {
			first = q
		} else if !q.Equal(first) {
			return query.Query{}, it.place.unsupported("a select list with different counts").
				WithHint("ask for each count in a statement of its own")
		}
	}
	return first, nil
}

// present returns where a column or literal is not NULL.
func (b *binder) present(e sqlparser.Expr) (pred, error) {
	o, err := b.value(e)
	switch {
	case err != nil:
		return pred{}, err
	case o.isColumn:
		return where(o.column, b.domain(o.column).NotNull()), nil
	}
	return truth(!o.constant.isNull()), nil
}

func (b *binder) domain(column int) query.Domain { return b.u.Columns()[column].Domain }

// maxWarnings bounds what is said about one statement.
const maxWarnings = 10

// warn notes a warning once.
func (b *binder) warn(message string) {
	if len(b.warnings) < maxWarnings && !slices.Contains(b.warnings, message) {
		b.warnings = append(b.warnings, message)
	}
}
