package pgcatalog

import (
	"strings"

	"dpsql/sqlfront/syntax"
)

// Asks reports whether a statement is for a Catalog: it reads relations of pg_catalog or
// information_schema, or it reads no table and calls a function, or makes a cast, that only
// PostgreSQL has. It is so too where the statement is broken but names such a relation. It is
// cheap for a statement that is not.
func Asks(sql string) (yes bool) {
	if !hints(sql) || len(sql) > maxText {
		return false
	}
	var list []syntax.Token
	defer func() {
		if recover() != nil {
			yes = mentioned(list)
		}
	}()
	list = tokens(sql)
	m := mentions{with: make(map[string]bool)}
	syntax.Walk(parseTokens(list), m.add)
	return m.ask()
}

// mentions is what a statement names.
type mentions struct {
	tables [][2]string     // schemas and names
	with   map[string]bool // the names that WITH makes
	calls  []call
	casts  int
}

// add adds what a node names. Walk calls it.
func (m *mentions) add(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.CommonTable:
		m.with[folded(n.Name)] = true
	case *syntax.Table:
		schema, name := schemaAndName(n.Path)
		m.tables = append(m.tables, [2]string{schema, name})
	case *syntax.Cast:
		m.casts++
	case syntax.Expr:
		if c, ok := callOf(n); ok {
			m.calls = append(m.calls, c)
		}
	}
	return true
}

// ask reports whether the catalog is asked.
func (m *mentions) ask() bool {
	tables := 0
	for _, t := range m.tables {
		schema, name := t[0], t[1]
		switch {
		case schema == "pg_catalog", schema == "information_schema", schema == "" && system().relations["pg_catalog."+name] != nil && !m.with[name]:
			return true
		case schema != "" || !m.with[name]:
			tables++
		}
	}
	if tables > 0 {
		return false
	}
	for _, c := range m.calls {
		if c.schema == "pg_catalog" || c.schema == "information_schema" || ours(c.name) {
			return true
		}
	}
	return m.casts > 0
}

// Alone reports whether a statement may be a SELECT or VALUES without FROM, as SELECT 1. A Catalog gives it the
// types and names that PostgreSQL does, if it has all that the statement calls.
func Alone(sql string) bool {
	first := strings.TrimLeft(sql, " \t\r\n(")
	return (prefixed(first, "select") || prefixed(first, "values")) && len(sql) <= maxText && !strings.Contains(syntax.LowerASCII(sql), "from")
}

// prefixed reports whether a text begins with a word, in upper case or lower case.
func prefixed(s, word string) bool {
	return len(s) >= len(word) && strings.EqualFold(s[:len(word)], word)
}

// ours reports whether a function is the catalog's alone.
func ours(name string) bool {
	if setNamed(name) != nil || syntax.IsNiladic(syntax.UpperASCII(name)) {
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
		return ours(syntax.LowerASCII(word))
	}
	return strings.IndexByte("cClLsSuU", word[0]) >= 0 && syntax.IsNiladic(syntax.UpperASCII(word))
}

// mentioned reports whether tokens have a schema of the catalog, or behind FROM and JOIN a
// relation of it.
func mentioned(list []syntax.Token) bool {
	if len(list) == 0 || !list[0].Matches("SELECT") && !list[0].Matches("WITH") && !list[0].Matches("TABLE") && !list[0].Matches("(") {
		return false
	}
	for i, t := range list[:len(list)-1] {
		name := t.Value
		switch t.Kind {
		case syntax.KindWord:
			name = syntax.LowerASCII(name)
		case syntax.KindQuoted:
		default:
			continue
		}
		switch {
		case (name == "pg_catalog" || name == "information_schema") && list[i+1].Matches("."):
			return true
		case i > 0 && (list[i-1].Matches("FROM") || list[i-1].Matches("JOIN")) && system().relations["pg_catalog."+name] != nil:
			return true
		}
	}
	return false
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
