package postgres

import (
	"strings"

	"dpsql/query"
	"dpsql/sqlerr"
)

// quoted returns name as an SQL identifier.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// part is a part of a name as written.
type part struct {
	name   string
	quoted bool
}

// split takes schema.table apart.
func split(source string) (schema, table part, err error) {
	schema, rest, ok := nextPart(source)
	if ok && strings.HasPrefix(rest, ".") {
		if table, rest, ok = nextPart(rest[1:]); ok && rest == "" {
			return schema, table, allowed(schema.name, source)
		}
	}
	return schema, table, sqlerr.New(sqlerr.Invalid, "%s is not the name of a table in PostgreSQL", source).
		WithHint("name its schema and its table, as in public.flights")
}

func nextPart(s string) (p part, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, `."`)
		if end < 0 {
			end = len(s)
		}
		return part{name: s[:end]}, s[end:], end > 0
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			b.WriteByte('"')
			i++
			continue
		}
		return part{b.String(), true}, s[i+1:], b.Len() > 0
	}
	return part{}, "", false
}

// allowed refuses the server's own schemas, which tell of more than a table's
// rows.
func allowed(schema, source string) error {
	folded := query.FoldName(schema)
	if strings.HasPrefix(folded, "pg_") || folded == "information_schema" {
		return sqlerr.New(sqlerr.Forbidden, "%s cannot be read: the schema is the server's own", source)
	}
	return nil
}

// choose returns which of the names of the server is meant: with quotes the one
// as written; without them the lower-case one, else the only one that differs in
// case alone. It is -1 where none is meant, and -2 where several could be.
func (p part) choose(names []string) int {
	folded, found := query.FoldName(p.name), -1
	for i, n := range names {
		switch {
		case p.quoted && n == p.name, !p.quoted && n == folded:
			return i
		case p.quoted || query.FoldName(n) != folded:
		case found >= 0:
			found = -2
		case found == -1:
			found = i
		}
	}
	return found
}
