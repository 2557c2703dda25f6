package source

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"dpsql/internal/sqlvalue"
	"dpsql/query"
	"dpsql/source/definition"
)

// scope resolves the names of a SELECT: first in its tables, then in its own aliases,
// then in the surrounding SELECT.
type scope struct {
	*definer
	ctes    *environment
	tables  []fromItem
	aliases []string   // folded
	keys    []groupKey // the expressions of GROUP BY
	around  *scope
	outside leaves // leaves of surrounding SELECTs that were named
	outer   int    // how many columns of surrounding SELECTs were named

	constants []string // folded names that were taken for a text or a truth value

	aggregate string  // one of this SELECT's; "" if it has none
	windows   []group // the partitions of its window functions
	bare      []value // columns named outside aggregates
	inside    bool    // resolving an aggregate's arguments
}

// groupKey is an expression of GROUP BY.
type groupKey struct {
	expr  *definition.Expr
	value value
}

// fromItem is a table or SELECT in FROM, under its alias.
type fromItem struct {
	alias  string // folded
	fields []field
	rowid  *value // of a table that has one; else nil
}

// column resolves a column. If several tables have the name, USING has merged the
// columns, and the first is meant. SQLite has refused any other ambiguity.
func (s *scope) column(table, name string) (value, bool) {
	for at := s; at != nil; at = at.around {
		v, ok := at.own(table, name)
		if !ok && !isWord(name) && !allNamed(at.tables) {
			return value{}, false // SQLite may have made up this name
		}
		if !ok && table == "" && isRowid(name) && len(at.tables) > 0 {
			return value{}, false // only one of the tables may have a rowid
		}
		if !ok && table == "" {
			v, ok = unresolved, slices.Contains(at.aliases, name)
			v.joins = maxJoins
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

// constantly refuses names that were taken for constants too early. SQLite looks up
// the names of ON and GROUP BY in all tables, including those to the right, and then
// in the aliases.
func (s *scope) constantly(names []string) error {
	for _, name := range names {
		if _, column := s.own("", name); column || slices.Contains(s.aliases, name) {
			return mixedf("names %s, which is not understood", name)
		}
	}
	return nil
}

// isTruth reports whether a folded name is a truth value if it names no column.
func isTruth(name string) bool { return name == "true" || name == "false" }

// isWord reports whether only a column or an alias can have the name. SQLite names an
// expression by its text, and calls the second k of a SELECT k:1.
func isWord(name string) bool {
	return !strings.ContainsFunc(name, func(c rune) bool { return c < 0x80 && c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) }) &&
		(name == "" || !unicode.IsDigit(rune(name[0])))
}

// star returns the fields of all tables, or of one. It returns false if no table has
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
// surrounding SELECTs.
func (s *scope) knowsAll() bool {
	for ; s != nil; s = s.around {
		if !allNamed(s.tables) {
			return false
		}
	}
	return true
}

// allNamed reports whether each column has a name of its own in its table. SQLite makes
// up names for the others, which are not known here.
func allNamed(tables []fromItem) bool {
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

// condition resolves a condition and returns equalities that hold if it is true. A nil
// expression is no condition.
func (s *scope) condition(x *definition.Expr) ([]equality, error) {
	if x == nil {
		return nil, nil
	}
	switch x.Kind {
	case definition.And:
		left, err := s.condition(x.Args[0])
		if err != nil {
			return nil, err
		}
		right, err := s.condition(x.Args[1])
		return append(left, right...), err
	case definition.Equal:
		left, err := s.value(x.Args[0])
		if err != nil {
			return nil, err
		}
		right, err := s.value(x.Args[1])
		if err != nil || left.collates || right.collates {
			return nil, err
		}
		return []equality{{left, right}}, nil
	}
	_, err := s.value(x)
	return nil, err
}

// values resolves expressions, also into one value that reads what all of them read.
func (s *scope) values(all []*definition.Expr) (value, []value, error) {
	out, each := value{affinity: noAffinity}, make([]value, len(all))
	for i, x := range all {
		v, err := s.value(x)
		if err != nil {
			return value{}, nil, err
		}
		each[i] = v
		out.reads |= v.reads
		out.collates = out.collates || v.collates
		out.joins = max(out.joins, v.joins)
		if out.forms |= v.forms &^ folded; v.collates { // of a column without COLLATE the collation does not pass on
			out.forms |= v.forms
		}
	}
	return out, each, nil
}

// value resolves an expression.
func (s *scope) value(x *definition.Expr) (value, error) {
	for _, k := range s.keys {
		if k.expr == x || !k.expr.Selects() && reflect.DeepEqual(k.expr, x) {
			return k.value, nil
		}
	}
	switch x.Kind {
	case definition.Ref:
		return s.ref(x)
	case definition.Query:
		return s.subSelect(x)
	case definition.Call:
		return s.call(x)
	case definition.Literal:
		return value{affinity: noAffinity, forms: formsOfLiteral(x.Name)}, nil
	}
	v, args, err := s.values(x.Args)
	if err != nil {
		return v, err
	}
	switch x.Name {
	case "||":
		v.joins = args[0].joins + args[1].joins + 1
		if v.forms = v.forms&folded | bytes_; args[0].forms&bytes_ == 0 && (x.Args[0].Kind == definition.Literal || x.Args[0].Kind == definition.Other && x.Args[0].Name == "||") { // and not empty
			v.forms = v.forms&folded | digits
		}
		if v.joins > maxJoins {
			return v, errJoins(s.source)
		}
	case "+", "-", "*", "/", "%":
		if len(args) == 2 || x.Name == "-" {
			v.forms = v.forms&folded | numbersOf(args)
		}
	case "CASE", "CASE ELSE", "CASE OF", "CASE OF ELSE":
	default:
		v.forms = v.forms&folded | integer
	}
	if len(x.Args) == 1 { // a column after a + compares as without it
		v.collation, v.forms = unknownCollation, v.forms|args[0].forms&folded
	}
	switch x.Kind {
	case definition.Collate:
		if x.Args[0].Kind == definition.Ref && err == nil {
			v, err = s.ref(x.Args[0])
		}
		v.collation, v.collates, v.forms = x.Name, true, args[0].forms|folded
		if x.Name == binaryCollation {
			v.forms &^= folded
		}
	case definition.Cast:
		if v.affinity = affinityOf(x.Name); x.Name == "" || query.SameName(x.Name, "any") {
			v.affinity = unknownAffinity
		}
		if v.forms = formsOf(x.Name) | v.forms&folded; v.affinity == numericAffinity {
			v.forms &^= bytes_
		}
		if sqlvalue.AffinityOf(x.Name) == sqlvalue.Numeric {
			v.forms |= real // only a column turns 1.0 into 1
		}
	}
	return v, err
}

// unresolved is the value of a name that is not the name of exactly one column here or
// in a surrounding SELECT: a text, a truth value, or an alias. SQLite has rules that
// tell which. They do not matter here, because no key and no unit is found by such a
// value. It is treated as if all rows together decided it.
var unresolved = value{reads: ^leaves(0), affinity: unknownAffinity, collation: unknownCollation, forms: anyForm}

// ref resolves a name. SQLite takes a name in double quotes for a text if it names
// nothing. Not all names of expressions are known here, so ref cannot always tell.
func (s *scope) ref(x *definition.Expr) (value, error) {
	table, name := query.FoldName(x.Table), query.FoldName(x.Name)
	if v, ok := s.column(table, name); ok {
		return v, nil
	}
	if table == "" && !isRowid(name) && (x.Quoted && s.knowsAll() || isTruth(name)) {
		for at := s; at != nil; at = at.around {
			at.constants = append(at.constants, name)
		}
		s.outside |= unresolved.reads
		return unresolved, nil
	}
	return value{}, mixedf("names %s, which is not understood", x.Name)
}

// subSelect resolves a SELECT within an expression. It may read public rows only, so it
// is a function of the row beside which it stands.
func (s *scope) subSelect(x *definition.Expr) (value, error) {
	r, outside, err := s.query(x.Select, s.ctes, s)
	if err != nil {
		return value{}, err
	}
	if r.private != 0 {
		return value{}, mixedf("reads private rows of %s in a sub-select", r.privateTables()[0])
	}
	v := value{reads: outside, affinity: unknownAffinity, collation: unknownCollation}
	for _, f := range r.columns {
		v.joins, v.forms = max(v.joins, f.value.joins), v.forms|f.value.forms
	}
	if x.Name == "EXISTS" {
		v.forms = integer
	}
	return v, nil
}

// aggregates are the aggregate functions; min and max are aggregates of one argument.
var aggregates = map[string]bool{"avg": true, "count": true, "max": true, "min": true, "total": true}

// call resolves a call of a function. An aggregate over columns of a surrounding SELECT
// would be an aggregate of that SELECT.
func (s *scope) call(x *definition.Expr) (value, error) {
	returns := safe[x.Name]
	if returns == 0 {
		return value{}, errUnsafe(s.source, x.Name)
	}
	args := x.Args
	if x.Filter != nil {
		args = append(args[:len(args):len(args)], x.Filter)
	}
	if x.Over != nil {
		return s.window(x, args)
	}
	if !aggregates[x.Name] || len(x.Args) > 1 {
		v, each, err := s.values(args)
		if err == nil && returns&clock != 0 {
			err = s.steady(x, each)
		}
		if err == nil && searches[x.Name] && len(x.Args) == 2 && x.Args[0].Kind != definition.Literal && x.Args[1].Kind != definition.Literal {
			err = errSlow(s.source, x.Name)
		}
		if returns&ofArguments == 0 {
			v.forms = v.forms&folded | returns&anyForm
		} else if x.Name == "min" && slices.ContainsFunc(each, func(v value) bool { return v.forms&bytes_ == 0 }) {
			v.forms = v.forms&^bytes_ | digits
		}
		return v, err
	}
	outer, inside := s.outer, s.inside
	s.inside = true
	v, each, err := s.values(args)
	s.inside = inside
	if err == nil && s.outer != outer {
		err = mixedf("has the aggregate %s of columns of a SELECT around", x.Name)
	}
	if s.aggregate = x.Name; returns&ofArguments == 0 {
		v.forms = returns
	}
	if err == nil {
		err = s.inOrder("aggregate", x.Name, each)
	}
	return v, err
}

// formsOfLiteral returns the form of a literal as definition.Expr has it.
func formsOfLiteral(text string) forms {
	switch {
	case text[0] == '\'' && len(text) > 1 && text[1] < 'A':
		return digits
	case text[0] == '\'' || text[0] == 'x':
		return bytes_
	case strings.Trim(text, "0123456789") == "" && len(text) < 19:
		return integer
	case text == "NULL":
		return 0
	}
	return integer | real
}

// numbersOf returns the forms of what + and its like make of values.
func numbersOf(args []value) (f forms) {
	for _, a := range args {
		switch a.forms &^ folded {
		case real:
			return real
		case integer:
			f |= integer
		default: // a text may have either, and so may a column: one of integers stores 1.5, too
			f |= integer | real
		}
	}
	return f
}

// clockWord matches the literals by which a function of date and time reads the clock or the time
// zone, and all blobs: one stands for the text of its bytes.
var clockWord = regexp.MustCompile(`(?i)^('(now|subsec|subsecond|localtime|utc)$|x')`)

// steady refuses a call of a function of date and time that could read the clock, on any row.
func (s *scope) steady(x *definition.Expr, args []value) error {
	reads := len(args) == 0 || len(args) == 1 && x.Name == "strftime"
	for i, a := range x.Args {
		reads = reads || args[i].forms&bytes_ != 0 && (a.Kind != definition.Literal || clockWord.MatchString(a.Name))
	}
	if reads {
		return errClock(s.source, x.Name)
	}
	return nil
}

// inOrder refuses a call over rows whose result hangs on their order, which a plan decides: the least of
// values that can be equal and differ, and a sum of fractions.
func (s *scope) inOrder(kind, name string, args []value) error {
	what := "has the " + kind + " " + name
	switch {
	case len(args) == 0:
	case safe[name] == ofArguments && args[0].forms.mixed():
		return errAlike(s.source, what)
	case safe[name] == real && args[0].forms&^folded != integer: // avg and total
		return errFractions(s.source, what)
	}
	return nil
}

// window resolves a call over a window.
func (s *scope) window(x *definition.Expr, args []*definition.Expr) (value, error) {
	o := x.Over
	v, each, err := s.values(append(args[:len(args):len(args)], o.OrderBy...))
	if err == nil {
		err = s.inOrder("window function", x.Name, each)
	}
	if err != nil {
		return value{}, err
	}
	v.forms = anyForm
	g := group{what: "has a window function", window: true}
	for _, x := range o.Partition {
		w, err := s.value(x)
		if err != nil {
			return value{}, err
		}
		g.by = append(g.by, w)
	}
	s.windows = append(s.windows, g)
	return v, nil
}
