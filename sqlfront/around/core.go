package around

import (
	"slices"
	"strconv"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Core is a private aggregate inside a statement: a SELECT that names a private table, and
// whose rows the rest of the statement is computed from.
type Core struct {
	// Text is a SELECT of the front end's dialect, once Resolve has seen it: keys and
	// aggregates with a name each, FROM, WHERE and GROUP BY. Its parameters are ?N, where N is the number that the
	// argument has in the statement. Two cores of a statement have different texts.
	Text     string
	Position int          // where the core's SELECT starts in the statement
	Table    string       // the table in the surroundings that has its rows
	Columns  []CoreColumn // those of Text, in order
	Keys     int          // how many of the columns are keys; they are the first
	Single   bool         // it has one row, whatever the data

	query  *syntax.Query  // that Text is, with its places in the statement
	tokens []syntax.Token // of the statement
	holes  []hole         // in query
}

// Select returns the core as the front end takes it.
func (c *Core) Select() (*syntax.Select, error) {
	last := 0
	syntax.Walk(c.query, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.Parameter); ok {
			last = max(last, p.Number)
		}
		return true
	})
	return syntax.Aggregate(c.query, c.tokens, last)
}

// CoreColumn is a column of a core.
type CoreColumn struct {
	Name string
	// Of is the column of a table that this one has the values of, so that it compares as
	// that column does. It is "" for aggregates, and for keys that are computed.
	Of string
}

// cutter cuts one statement. It leaves the tree as it is, and makes another of what is around.
type cutter struct {
	*Statement
	private Private
	taken   map[string]bool         // folded names that mean something in the statement
	opened  map[syntax.Node]opening // what stands for nodes inside cores
	cores   []Core
	divided int // the SELECTs that are divided so far
	work    int // the characters that were compared so far
	known   map[*syntax.Query]*rows
	err     error // the first refusal
}

// free returns a name that nothing in the statement has.
func (c *cutter) free(name string, taken func(string) bool) string {
	for c.taken[query.FoldName(name)] || taken(name) {
		name += "'"
	}
	return name
}

func (c *cutter) refuse(err *sqlerr.Error) {
	if c.err == nil {
		c.err = err
	}
}

// refuseAt refuses a construct at a place, with a hint at what to do instead.
func (c *cutter) refuseAt(n syntax.Node, construct, hint string, args ...any) {
	c.refuse(at(n).Unsupported(construct).WithHint(hint, args...))
}

// coreName returns a name for the table of a core.
func (c *cutter) coreName() string {
	return c.free("core "+strconv.Itoa(len(c.cores)+1), func(string) bool { return false })
}

// aggregates reports whether a SELECT makes one row of many. The query that it is, if it is one,
// may have aggregates in its ORDER BY.
func (c *cutter) aggregates(b *syntax.Block, q *syntax.Query) bool {
	return len(b.Group) > 0 || slices.ContainsFunc(computed(b, q), c.hasAggregate)
}

func (c *cutter) hasAggregate(e syntax.Expr) bool { return contains(e, isAggregate) }

// item is a relation in FROM.
type item struct {
	name    string        // what qualifies its columns
	columns []string      // nil if they are not known
	rows    *rows         // nil unless it has private rows
	made    bool          // by a SELECT, and not a table
	cores   bool          // it is a common table expression with cores
	source  syntax.Source // with its alias
	place   syntax.Node   // the name, or the sub-select
}

// frame is the scope of a SELECT.
type frame struct {
	items []item
	outer *frame
	core  *block // nil unless it reads private rows
}

func bare(c *syntax.Column) *sqlerr.Error {
	name := syntax.Excerpt(lastOf(c.Path).Text, 40)
	return at(c).Unsupported("the column "+name+" of private rows, outside aggregates and GROUP BY,").
		WithHint("GROUP BY %s, or aggregate it", name)
}

// derived is a column of a SELECT over private rows.
type derived struct {
	name   string
	expr   syntax.Expr // nil for a column of *
	of     item        // the relation that * has the column from
	column string
}

// rows are private rows as a SELECT, or the table itself, has them.
type rows struct {
	table   syntax.Ident  // the private table
	query   *syntax.Query // nil for the table
	block   *syntax.Block // of the query
	items   []item
	columns []derived
	rest    *item // a public table of which it has all columns, nil for none
}

// isAggregate reports whether an expression over private rows is an aggregate. Functions that neither
// surroundings nor rows have are taken for aggregates: the front end knows more of them, and
// refuses the others.
func isAggregate(e syntax.Expr) bool {
	call, ok := e.(*syntax.Call)
	if !ok || call.Over != nil {
		return false
	}
	switch name := functionOf(call); name {
	case "min", "max":
		return len(call.Args) == 1
	case "avg", "count", "group_concat", "string_agg", "sum", "total":
		return true
	default:
		_, listed := functions()[name]
		_, ofRows := ofRows()[name]
		return !listed && !ofRows
	}
}

// entries are the common table expressions in scope, by folded name.
type entries map[string]*entry

// hole is a sub-select in a core. Its values stand there in the end. It is of public
// tables, or a statement around private aggregates of its own, which is answered before the core
// is asked: the core is then a query that an earlier answer chose.
type hole struct {
	node        syntax.Expr // of the core: EXISTS, x IN (SELECT …), or the sub-select
	statement   *Statement
	exists, not bool // EXISTS, NOT EXISTS; NOT IN
	private     bool
	outer       syntax.Expr // EXISTS: the core's column that is compared with the values
}
