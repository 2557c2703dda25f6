package source

import (
	"slices"
	"strings"
	"unicode"

	"dpsql/query"
	"dpsql/source/definition"
)

// scope is where the names of a SELECT are looked up: in its tables, then in its
// own aliases, then in the SELECT around it.
type scope struct {
	*definer
	ctes    *environment
	tables  []named
	aliases []string   // folded
	keys    []groupKey // of GROUP BY
	around  *scope
	outside leaves // those of SELECTs around that were named
	outer   int    // how many columns of SELECTs around were named

	constants []string // names, folded, that were taken for a text or a truth value

	aggregate string  // one of this SELECT's; "" if it has none
	windows   []group // what its window functions divide rows by
	bare      []value // columns that were named outside aggregates
	inside    bool    // of an aggregate's arguments
}

// groupKey is an expression of GROUP BY.
type groupKey struct {
	expr  *definition.Expr
	value value
}

// named is a table or SELECT under its alias.
type named struct {
	alias  string // folded
	fields []field
	rowid  *value // of a table; nil where there is none
}

// column looks a column up. Where several tables have the name, USING has made
// them one, and the first is meant: anything else SQLite has refused.
func (s *scope) column(table, name string) (value, bool) {
	for at := s; at != nil; at = at.around {
		v, ok := at.own(table, name)
		if !ok && !isWord(name) && !known(at.tables) {
			return value{}, false // it may be a name that SQLite has made up
		}
		if !ok && table == "" && isRowid(name) && len(at.tables) > 0 {
			return value{}, false // it may be that of the only table that has one
		}
		if !ok && table == "" {
			v, ok = unresolved, slices.Contains(at.aliases, name)
		} else if ok && !at.inside {
			at.bare = append(at.bare, v)
		}
		if !ok {
			continue
		}
		for in := s; in != at; in = in.around {
			in.outside |= v.reads
			in.outer++
		}
		return v, true
	}
	return value{}, false
}

func (s *scope) own(table, name string) (value, bool) {
	for _, t := range s.tables {
		if table != "" && t.alias != table {
			continue
		}
		if i := slices.IndexFunc(t.fields, func(f field) bool { return f.name == name }); i >= 0 {
			return t.fields[i].value, true
		}
		if t.rowid != nil && isRowid(name) && (table != "" || len(s.tables) == 1) {
			return *t.rowid, true
		}
	}
	return value{}, false
}

// constantly refuses a name that was taken for a constant before it could be
// looked up: SQLite looks the names of ON and of GROUP BY up in all tables, those
// to the right included, and then in the aliases.
func (s *scope) constantly(names []string) error {
	for _, name := range names {
		if _, column := s.own("", name); column || slices.Contains(s.aliases, name) {
			return mixedf("names %s, which is not understood", name)
		}
	}
	return nil
}

// isTruth reports whether a folded name is a truth value where it names no column.
func isTruth(name string) bool { return name == "true" || name == "false" }

// isWord reports whether a name can be that of a column or an alias alone: SQLite
// calls an expression by its text, and the second k of a SELECT k:1.
func isWord(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool { return c < 0x80 && c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }) &&
		(name == "" || !unicode.IsDigit(rune(name[0])))
}

// star returns the fields of all tables, or of one; false if there is none of
// the name.
func (s *scope) star(table string) ([]field, bool) {
	var out []field
	found := table == ""
	for _, t := range s.tables {
		if table != "" && t.alias != query.FoldName(table) {
			continue
		}
		found = true
		for _, f := range t.fields {
			if !f.twice || table != "" {
				f.twice = false
				out = append(out, f)
			}
		}
	}
	return out, found
}

// knowsAll reports whether the names of all columns are known, here and in the
// SELECTs around.
func (s *scope) knowsAll() bool {
	for ; s != nil; s = s.around {
		if !known(s.tables) {
			return false
		}
	}
	return true
}

// known reports whether each column has a name that is its own in its table.
// SQLite makes up names for others, which are not known here.
func known(tables []named) bool {
	for _, t := range tables {
		names := make(map[string]bool)
		for _, f := range t.fields {
			if f.name == "" || names[f.name] {
				return false
			}
			names[f.name] = true
		}
	}
	return true
}
