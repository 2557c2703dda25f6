package sqlfront

import (
	"slices"

	"dpsql/sqlerr"
)

// comparisons are the operators and keywords that compare.
var comparisons = words("= == <> != < <= > >= IN LIKE GLOB BETWEEN IS ISNULL NOTNULL")

// diagnose returns the error for a token at which the parser gave up: SQLite
// reads a = b = c and 1 < x < 5, which is SQL and unlikely to be meant, and
// types with sizes in CAST; anything else is malformed.
func (g *guarded) diagnose(i int) error {
	t := g.at(i)
	switch {
	case g.chained(i):
		if t.is("IS") {
			return t.unsupported("a comparison of a comparison").WithHint("set parentheses around the first one")
		}
		return t.unsupported("a comparison of a comparison").
			WithHint("write lowest <= x AND x <= highest, or x BETWEEN lowest AND highest")
	case t.is("(") && g.inCast(i):
		return t.unsupported("CAST")
	case t.is(")") && g.at(i-1).is("(") && g.at(i-2).is("IN"):
		return t.malformed("the list of IN is empty").WithHint("write at least one value")
	case t.kind == kindEnd:
		return t.malformed("the statement ends too early")
	case t.kind == kindWord && reserved[t.upper] || t.is(";"):
		return t.malformed("unexpected %s", t.upper)
	}
	err := t.malformed("unexpected %s", t.describe())
	if t.kind == kindWord && !keywords[t.upper] {
		if near := sqlerr.Closest(t.upper, slices.Values(connectives)); near != "" {
			return err.WithHint("did you mean %s?", near)
		}
	}
	if before := g.at(i - 1); before.kind == kindWord && !keywords[before.upper] {
		if near := sqlerr.Closest(before.upper, slices.Values(clauses)); near != "" {
			return err.WithHint("did you mean %s instead of %s?", near, before.text)
		}
	}
	return err
}

// clauses are the keywords whose misspelling reads as an alias.
var clauses = []string{"FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "BETWEEN"}

// connectives are the keywords that a misspelt word behind a whole expression
// may mean.
var connectives = append([]string{"AND", "OR", "LIKE", "ASC", "DESC", "OFFSET"}, clauses...)

// chained reports whether token i compares something that is itself a
// comparison, as the second sign in 1 < x < 5.
func (g *guarded) chained(i int) bool {
	t := g.at(i)
	if !comparisons[t.text] && !comparisons[t.upper] && !t.is("NOT") ||
		!g.at(i-1).endsOperand() && !g.at(i-1).is("ISNULL") && !g.at(i-1).is("NOTNULL") {
		return false
	}
	depth, and := 0, false
	for i--; i >= 0; i-- {
		switch t := g.tokens[i]; {
		case t.is(")") || t.is("END"):
			depth++
		case (t.is("(") || t.is("CASE")) && depth > 0:
			depth--
		case depth > 0:
		case t.is("AND") && !and: // of a BETWEEN?
			and = true
		case and && t.is("BETWEEN"):
			return true
		case and && (comparisons[t.text] || comparisons[t.upper]):
			return false
		case t.is("(") || t.is(",") || t.is("AND") || t.is("OR") || t.is("WHERE") || t.is("WHEN"):
			return false
		case g.isNotNull(i):
			return true
		case t.kind != kindQuoted && t.kind != kindString && (comparisons[t.text] || comparisons[t.upper]):
			return true
		}
	}
	return false
}

// inCast reports whether token i follows the AS type of a CAST.
func (g *guarded) inCast(i int) bool {
	for i--; i > 0 && !g.tokens[i].is("("); i-- {
		if g.tokens[i].is("AS") {
			for ; i > 0; i-- {
				if g.tokens[i].is("CAST") {
					return true
				}
			}
		}
	}
	return false
}
