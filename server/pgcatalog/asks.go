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

// ours reports whether a function is the catalog's alone.
func ours(name string) bool {
	if _, isSet := sets[name]; isSet || special[name] {
		return true
	}
	for _, f := range functionTable()[name] {
		if !f.shared {
			return true
		}
	}
	return name == "array_to_string" || name == "string_agg" || name == "array_agg" || name == "json_build_object"
}

// hints looks for letters that each statement about the catalog has: of names that begin with
// pg_, of information_schema, of a function's call, or of ::. It saves an ordinary statement
// the parser.
func hints(sql string) bool {
	for i := 0; i < len(sql); i++ {
		switch sql[i] {
		case '_', ':':
			return true
		case '(':
			j := i
			for j > 0 && (letter(sql[j-1]) || digit(sql[j-1])) {
				j--
			}
			if ours(strings.ToLower(sql[j:i])) {
				return true
			}
		case 'u', 'U':
			if len(sql) >= i+4 && strings.EqualFold(sql[i:i+4], "user") {
				return true
			}
		}
	}
	return false
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
