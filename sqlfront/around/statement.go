// Package around runs the SQL around private answers, and statements that name public
// tables only, such as SELECT * FROM diagnoses, or no table at all.
//
// SQLite runs them, in a database in memory that has copies of the public tables that the
// statement names, and nothing else. The package gets these copies from its caller. It
// imports no catalog and no source, opens no file and attaches nothing. So no private row
// is within reach of a statement, whatever it says, and whoever asks.
//
// A statement that names private tables is cut first: see Statement.Cut. Its private
// aggregates are answered elsewhere, and their noisy rows stand in tables beside the copies.
//
// That is the first wall. The second is an authorizer, which allows a statement to read the
// copies and to call a list of functions. Anything else is denied: PRAGMA, ATTACH, the
// schema, virtual tables, and functions that are not on the list. The third are limits of
// time, memory and size, see the constants. A limit that is reached is an error, and never
// a short result.
//
// The cost of a statement depends on its text, on public tables and on released numbers. It
// charges nothing, since its result is computed from public data.
package around

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlfront/types"
)

// Statement is a statement that was read: SELECT, VALUES, or WITH … SELECT. None of its tables
// has been looked up. It never changes: several goroutines may run it at once.
type Statement struct {
	Explain bool          // EXPLAIN came before it
	Full    bool          // EXPLAIN FULL did
	Tables  []syntax.Name // the tables that it names, each once; no common table expressions

	query   *syntax.Query
	tokens  []syntax.Token  // of the text that it is from
	text    string          // as SQLite gets it, before it is typed
	types   *syntax.Query   // the query with types; see withTypes
	typed   string          // as SQLite runs it
	bound   []int           // for each of SQLite's parameters, the index of its argument
	names   map[string]bool // folded names of the tables and common table expressions
	cores   []string        // the tables of cores that it names
	large   bool            // it has too many SELECTs
	refusal error           // why no such statement runs, whatever its tables are; nil if it may run
}

// Of returns the statement that was read as a query. The error has code Malformed if SQLite's
// grammar does not have the statement. What is not allowed in any statement (functions that are not
// on the list, table-valued functions, databases other than main) is refused when it runs, so that
// the caller can look at its tables first.
//
// SQLite gets the tree as it is printed. It reads that as this parser reads the text:
// TestOperatorsAgainstSQLite of package syntax compares the programs.
func Of(r *syntax.Reading) (s *Statement, err error) {
	if err := foreign(r.Query, r.Tokens); err != nil {
		return nil, err
	}
	err = sqlerr.Guard(func() error {
		q := syntax.Copy(r.Query, nil)
		nameColumns(q, []rune(r.Text))
		s = statementOf(q, r.Tokens, nil)
		s.Explain, s.Full = r.Explain, r.Full
		return nil
	})
	return s, err
}

// about names statements of its kind in errors.
func (s *Statement) about() string {
	if len(s.cores) > 0 {
		return "a statement around private aggregates"
	}
	return "a statement about public tables"
}

// statementOf returns the statement that a tree is. cores are the tables of cores that it names.
func statementOf(q *syntax.Query, tokens []syntax.Token, cores []string) *Statement {
	s := &Statement{query: q, types: q, tokens: tokens, names: make(map[string]bool), cores: cores}
	find := s.newWalker(nil)
	find.found = make(map[string]bool)
	find.selected(q)
	s.large, s.refusal = find.size > maxSize, find.err
	s.text = s.written(q)
	s.typed = s.text
	return s
}

// written returns the text of a tree as SQLite gets it. Its parameters are numbered by first use,
// since SQLite would allocate all up to the largest.
func (s *Statement) written(q *syntax.Query) string {
	return syntax.Copy(q, func(n syntax.Node) syntax.Node {
		if p, ok := n.(*syntax.Parameter); ok {
			return &syntax.Parameter{Text: "?", Number: s.parameter(p.Number - 1)}
		}
		return nil
	}).String()
}

// first returns the place where the statement begins in what was written.
func (s *Statement) first() syntax.Token { return at(s.query) }

// Nested reports whether the statement is more than one SELECT without windows.
func (s *Statement) Nested() bool {
	selects, windows := 0, false
	syntax.Walk(s.query, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Block:
			selects++
		case *syntax.Call:
			windows = windows || n.Over != nil
		}
		return true
	})
	return selects != 1 || windows
}

// withTypes returns the statement with what SQLite needs to compare values as PostgreSQL does: the
// collation of moments behind dates, and numbers in the place of texts beside numbers.
func (s *Statement) withTypes(cores []*Table, tables map[string][]column) (*Statement, error) {
	w := s.newWalker(maps.Clone(tables))
	w.collect(s.count(), true)
	for _, core := range cores {
		w.tables[query.FoldName(core.Name)] = core.columns()
	}
	w.selected(s.query)
	if w.mixed && !collates {
		return nil, s.first().Unsupported("a column, or an expression, of dates and of moments, in a page,").
			WithHint("make moments of dates by datetime(x), or dates of moments by date(x)")
	}
	w.whole = maps.Clone(w.pass.Types)
	maps.DeleteFunc(w.pass.Types, func(e syntax.Expr, t types.Type) bool { return !retyped(e, t) && !ofClock(e, w.whole) })
	if len(w.pass.Types) == 0 {
		return s, nil
	}
	typed := *s
	typed.types = syntax.Copy(s.query, w.asTyped)
	typed.typed = s.written(typed.types)
	return &typed, nil
}

// count returns the number of arguments up to the last one that is used.
func (s *Statement) count() int {
	n := 0
	for _, a := range s.bound {
		n = max(n, a+1)
	}
	return n
}

// retyped reports whether SQLite needs to be told an expression's type. Of most functions it has the
// collation from their arguments.
func retyped(e syntax.Expr, t types.Type) bool {
	switch e := e.(type) {
	case *syntax.Literal:
		return types.IsTime(t) || types.IsNumber(t) && syntax.IsNumber(strings.TrimSpace(e.Value))
	case *syntax.Column, *syntax.Paren:
		return types.MayBeTime(t)
	case *syntax.Call:
		name := types.Name(e)
		return types.IsTime(t) && (name == "date" || name == "datetime" || name == "time")
	}
	return false
}

// ofClock reports whether an expression is a call of a function of the seconds of a time of day. To
// SQLite such a time is of the year 2000.
func ofClock(e syntax.Expr, all map[syntax.Expr]types.Type) bool {
	c, ok := e.(*syntax.Call)
	return ok && types.Name(c) == "unixepoch" && len(c.Args) == 1 && all[c.Args[0]] == query.SQLTime
}

// asTyped returns what stands for a node that has a type of its own, or nil.
func (w *walker) asTyped(n syntax.Node) syntax.Node {
	if c := w.asMoments(n); c != nil {
		return c
	}
	e, ok := n.(syntax.Expr)
	t, found := w.pass.Types[e]
	if !ok || !found {
		return nil
	}
	if l, ok := e.(*syntax.Literal); ok && types.IsNumber(t) {
		return syntax.Placed(numberOf(l), l)
	}
	delete(w.pass.Types, e) // what is in it comes next
	call, ok := e.(*syntax.Call)
	switch {
	case ok && types.Name(call) == "unixepoch":
		c := *call
		day := &syntax.Literal{Kind: syntax.KindString, Value: "1970-01-01 "}
		c.Args = []syntax.Expr{&syntax.Binary{Op: "||", X: day, Y: syntax.Copy(call.Args[0], w.asTyped)}}
		return &c
	case ok && t == query.SQLTime && types.Name(call) == "datetime": // of DATE_TRUNC
		c := *call
		c.Path = []syntax.Ident{{Text: "time"}}
		e = &c
	}
	c := &syntax.Collate{X: syntax.Copy(e, w.asTyped), Name: []syntax.Ident{{Text: "moment"}}}
	return syntax.Placed(c, e)
}

// parameter returns the number that SQLite gets for an argument.
func (s *Statement) parameter(argument int) int {
	for i, a := range s.bound {
		if a == argument {
			return i + 1
		}
	}
	s.bound = append(s.bound, argument)
	return len(s.bound)
}

// arguments returns the values of SQLite's parameters.
func (s *Statement) arguments(args []query.Value) ([]any, error) {
	values := make([]any, len(s.bound))
	for i, a := range s.bound {
		switch {
		case a >= len(args):
			return nil, sqlerr.New(sqlerr.Invalid, "the statement has a parameter %d, and %d arguments are given",
				a+1, len(args))
		case args[a].IsNull():
			values[i] = nil
		case args[a].IsInt():
			values[i] = args[a].Int64()
		case args[a].IsNumber():
			x, err := strconv.ParseFloat(args[a].Str(), 64)
			if err != nil {
				return nil, sqlerr.New(sqlerr.Invalid, "argument %d is beyond the numbers of 64 bits", a+1)
			}
			values[i] = x
		default:
			values[i] = args[a].Str()
		}
	}
	return values, nil
}

// nameColumns gives each entry of a select list the name that SQLite has for it, where that is from its
// text. The tree is printed otherwise than it was written.
func nameColumns(q *syntax.Query, text []rune) {
	outermost, values := members(q.Body), make(map[syntax.Body]bool)
	syntax.Walk(q, func(n syntax.Node) bool {
		switch n := n.(type) { // the columns of values have no names
		case *syntax.Subquery:
			values[n.Query.Body] = true
		case *syntax.Exists:
			values[n.Query.Body] = true
		}
		b, ok := n.(*syntax.Block)
		if !ok || values[b] {
			return true
		}
		for i := range b.Items {
			item := &b.Items[i]
			col, collated := columnOf(item.X)
			_, star := item.X.(*syntax.Star)
			switch {
			case !item.As.None() || star || col != nil && !collated:
			case collated && !slices.Contains(outermost, syntax.Body(b)):
				item.As = syntax.Named(lastOf(col.Path).Text, item.X)
			default:
				item.As = syntax.Named(string(text[item.X.Pos()-1:item.X.End()-1]), item.X)
			}
		}
		return true
	})
}

// aliased returns the alias of an entry that was written, "" if there is none.
func aliased(item syntax.Item) string {
	if item.As.Pos() < item.X.End() { // see nameColumns
		return ""
	}
	return item.As.Text
}

// nameOf returns the name of an entry of a select list. A star has none.
func nameOf(item syntax.Item) string {
	if col, _ := columnOf(item.X); item.As.None() && col != nil {
		return lastOf(col.Path).Text
	}
	return item.As.Text
}

// Table is the copy of a public table, or the rows of a core.
type Table struct {
	Name    string
	Columns []Column
	Rows    [][]any         // int64, float64, string, []byte or nil
	Types   []query.SQLType // of the columns' values; nil if the rows tell

	// For a core:
	Keys   int  // as Core.Keys
	Single bool // as Core.Single
	// Ends returns what is known of the rows' true values at a confidence, as post.Table.Intervals
	// has it. Without it nothing is.
	Ends func(confidence float64) [][]any
}

// columns returns the columns with the kinds that their values have.
func (t *Table) columns() []column {
	columns := make([]column, len(t.Columns))
	for i, c := range t.Columns {
		if columns[i] = (column{c.Name, types.Null}); t.Types != nil {
			columns[i].kind = t.Types[i]
			continue
		}
		for _, row := range t.Rows {
			columns[i].kind = dialect().Common(columns[i].kind, kindOf(row[i]))
			if columns[i].kind == types.Unknown {
				break
			}
		}
	}
	return columns
}

// The limits of a statement.
const (
	maxTime   = 5 * time.Second // from its first step to its last row
	maxLength = 64 << 10        // bytes of a text, and of a row
	maxRows   = 1 << 20         // of the result
	maxResult = 16 << 10        // pages of 4 KiB, of the result
	maxColumn = 500             // columns of a result or table
	maxPages  = 64 << 10        // of 4 KiB, of the copies on a connection
	maxTables = 64              // that a statement names
	maxText   = 64 << 10        // bytes of the statement

	// running is the number of statements that run at a time, of one user one less: others find a place.
	// A sort, and a table that SQLite makes on the way, is a file of the VFS memdb, see fileLimit.
	running = 2
)

// Source says where the copies are from.
type Source struct {
	// User has the place in which the statement runs.
	User int64
	// Version changes whenever a table may have changed. It is comparable. Copies of
	// another version are thrown away.
	Version any
	// Copy returns a public table as it is now. It refuses every other name.
	Copy func(ctx context.Context, name syntax.Name) (*Table, error)
	// Cores has the rows of the statement's cores, each under Core.Table. No other statement
	// sees them. For Columns their rows may be missing.
	Cores []*Table
	// Lineage has Run compute intervals, at a confidence.
	Lineage    *Lineage
	Confidence float64
}

// coreNamed returns the table of a core, or nil.
func coreNamed(cores []*Table, name string) *Table {
	if i := slices.IndexFunc(cores, func(t *Table) bool { return t.Name == name }); i >= 0 {
		return cores[i]
	}
	return nil
}

// Column is a column of a Table, as its declaration has it.
type Column struct {
	Name      string
	Affinity  string // INTEGER, REAL, TEXT, NUMERIC, or BLOB for none
	Collation string // BINARY, NOCASE or RTRIM
}

func kindOf(v any) types.Type {
	switch v.(type) {
	case nil:
		return types.Null
	case int64:
		return query.SQLInt8
	case float64:
		return query.SQLFloat8
	case string:
		return query.SQLText
	}
	return types.Unknown
}

func (s *Statement) tooLong() error {
	return sqlerr.New(sqlerr.Unsupported, "%s of more than %d KiB is outside the dialect", s.about(), maxText>>10).
		WithHint("load a long list into a table, and declare it with CREATE PUBLIC TABLE")
}
