package pgcatalog

import "strings"

// Asks reports whether a statement is for a Catalog: it reads relations of pg_catalog or
// information_schema, or it reads no table and calls a function, or makes a cast, that only
// PostgreSQL has. It is so too where the statement is broken but names such a relation. It is
// cheap for a statement that is not.
func Asks(sql string) (yes bool) {
	if !hints(sql) || len(sql) > maxText {
		return false
	}
	var list []token
	defer func() {
		if recover() != nil {
			yes = mentioned(list)
		}
	}()
	list = tokens(sql)
	p := newParser(list)
	p.statement()
	tables := 0
	for _, t := range p.seen.tables {
		switch {
		case t.schema == "pg_catalog", t.schema == "information_schema", t.schema == "" && system().relations["pg_catalog."+t.name] != nil && !p.seen.with[t.name]:
			return true
		case t.schema != "" || !p.seen.with[t.name]:
			tables++
		}
	}
	if tables > 0 {
		return false
	}
	for _, c := range p.seen.calls {
		if c.schema == "pg_catalog" || c.schema == "information_schema" || ours(c.name) {
			return true
		}
	}
	return p.seen.casts > 0
}

// Alone reports whether a statement may be a SELECT or VALUES without FROM, as SELECT 1. A Catalog gives it the
// types and names that PostgreSQL does, if it has all that the statement calls.
func Alone(sql string) bool {
	first := strings.TrimLeft(sql, " \t\r\n(")
	return (prefixed(first, "select") || prefixed(first, "values")) && len(sql) <= maxText && !strings.Contains(lowered(sql), "from")
}

// prefixed reports whether a text begins with a word, in upper case or lower case.
func prefixed(s, word string) bool {
	return len(s) >= len(word) && strings.EqualFold(s[:len(word)], word)
}

// ours reports whether a function is the catalog's alone.
func ours(name string) bool {
	if setNamed(name) != nil || special(name) {
		return true
	}
	for _, f := range functionTable()[name] {
		if !f.shared {
			return true
		}
	}
	return name == "array_to_string" || name == "string_agg" || name == "array_agg" || name == "json_build_object"
}

// hints looks for a word that each statement about the catalog has, or for ::. It saves an
// ordinary statement the parser.
func hints(sql string) bool {
	for i := 0; i < len(sql); i++ {
		if !letter(sql[i]) {
			if strings.HasPrefix(sql[i:], "::") {
				return true
			}
			continue
		}
		from := i
		for i < len(sql) && (letter(sql[i]) || digit(sql[i])) {
			i++
		}
		if hint(sql[from:i], strings.HasPrefix(strings.TrimLeft(sql[i:], " \t\r\n"), "(")) {
			return true
		}
		i--
	}
	return false
}

// hint reports whether a word may be of the catalog's: the name of a function, if it is called.
func hint(word string, called bool) bool {
	switch {
	case len(word) > 3 && strings.EqualFold(word[:3], "pg_"), strings.EqualFold(word, "information_schema"):
		return true
	case called:
		return ours(lowered(word))
	}
	return strings.IndexByte("cClLsSuU", word[0]) >= 0 && special(lowered(word))
}

// mentioned reports whether tokens have a schema of the catalog, or behind FROM and JOIN a
// relation of it.
func mentioned(list []token) bool {
	if len(list) == 0 || !list[0].is("select") && !list[0].is("with") && !list[0].is("table") && !list[0].is("(") {
		return false
	}
	for i, t := range list[:len(list)-1] {
		switch {
		case t.kind != word && t.kind != quoted:
		case (t.text == "pg_catalog" || t.text == "information_schema") && list[i+1].is("."):
			return true
		case i > 0 && (list[i-1].is("from") || list[i-1].is("join")) && system().relations["pg_catalog."+t.text] != nil:
			return true
		}
	}
	return false
}
