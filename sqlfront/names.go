package sqlfront

import (
	"slices"
	"strings"

	"github.com/xwb1989/sqlparser"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// scope is what the names in a SELECT can mean: the columns of what FROM names.
type scope []relation

// relation is a table or sub-select under the name that qualifies its columns.
type relation struct {
	name    string // "" for a sub-select without an alias
	columns []visible
}

// visible is a column of the universe under the name it has here.
type visible struct {
	name   string
	column int
}

// named returns the columns of a name; the qualifier "" is none.
func (s scope) named(qualifier, name string) []int {
	var columns []int
	for _, r := range s {
		if qualifier != "" && !query.SameName(r.name, qualifier) {
			continue
		}
		for _, v := range r.columns {
			if query.SameName(v.name, name) {
				columns = append(columns, v.column)
			}
		}
	}
	return columns
}

// qualifies reports whether a name qualifies columns.
func (s scope) qualifies(name string) bool {
	return slices.ContainsFunc(s, func(r relation) bool { return query.SameName(r.name, name) })
}

// column resolves a column's name.
func (b *binder) column(e *sqlparser.ColName) (int, error) {
	t, ok := b.g.Token(e.Name.String())
	if !ok {
		return 0, b.g.Place(e).Unsupported("this name")
	}
	qualifier, err := b.qualifier(e.Qualifier)
	if err != nil {
		return 0, err
	}
	switch columns := b.scope.named(qualifier, t.Value); len(columns) {
	case 0:
		return 0, sqlerr.New(sqlerr.Unknown, "no column %s in %s", syntax.Excerpt(t.Value, 40), b.scope.describe()).
			WithHint("%s", b.columnHint(t)).At(t.Position)
	case 1:
		if columns[0] == notBound {
			return 0, t.Unsupported("column "+syntax.Excerpt(t.Value, 40)+" of a public table, whose values are not all integers or all texts,").
				WithHint("declare a column of numbers with CREATE PUBLIC TABLE … (%s REAL BETWEEN 0 AND 1 STEP 0.001), or make a public view of the table with a column that is", t.Text)
		}
		return columns[0], b.decided(columns[0])
	}
	return 0, t.Malformed("the name %s is ambiguous", syntax.Excerpt(t.Value, 40)).
		WithHint("qualify it by its table, or rename one of the columns")
}

// describe names what is selected from.
func (s scope) describe() string {
	if s[0].name == "" {
		return "the sub-select"
	}
	if len(s) == 1 {
		return "table " + s[0].name
	}
	names := make([]string, len(s))
	for i, r := range s {
		names[i] = r.name
	}
	return "tables " + strings.Join(names, ", ")
}

// names lists the columns that can be named.
func (s scope) names() []string {
	var names []string
	for _, r := range s {
		for _, v := range r.columns {
			names = append(names, v.name)
		}
	}
	return names
}

// columnHint says which column may have been meant.
func (b *binder) columnHint(t syntax.Token) string {
	names := b.scope.names()
	hint := "the columns are " + syntax.Excerpt(strings.Join(names, ", "), 120)
	if near := sqlerr.Closest(t.Value, slices.Values(names)); near != "" {
		hint = "did you mean " + near + "?"
	}
	if t.Kind == syntax.KindQuoted && t.Text[0] == '"' {
		hint += " (a text is written in single quotes: '" + syntax.Excerpt(strings.ReplaceAll(t.Value, "'", "''"), 40) + "')"
	}
	return hint
}

// qualifier returns the text before the point of a qualified name, which must
// be a table of the FROM clause; an alias hides the table's name.
func (b *binder) qualifier(q sqlparser.TableName) (string, error) {
	if q.Name.IsEmpty() {
		return "", nil
	}
	t, ok := b.g.Token(q.Name.String())
	if !ok || !b.scope.qualifies(t.Value) {
		return "", sqlerr.New(sqlerr.Unknown, "no table or alias %s in this statement", syntax.Excerpt(t.Value, 40)).
			WithHint("its columns are qualified by %s", b.scope[0].name).At(t.Position)
	}
	if schema, ok := b.g.Token(q.Qualifier.String()); ok && !query.SameName(schema.Value, "main") {
		return "", schema.Unsupported("an attached database")
	}
	return t.Value, nil
}
