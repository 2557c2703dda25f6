// Package definition parses the definitions of SQLite's views, as the schema stores
// them. Package source decides on the trees what a view does with rows.
//
// It parses a part of SQLite's grammar and refuses the rest. What it accepts it reads
// exactly as SQLite does: the lexer is SQLite's to the byte, and operators bind as
// SQLite's. SQLite has accepted the text already, so the package need not report
// whether it is correct.
//
// Other parsers of SQLite's grammar in Go differ from SQLite. That of rqlite takes
// more characters for white space, so that a name can fall into two. It knows no
// RIGHT JOIN, so that RIGHT becomes an alias. It does not check that a parenthesis is
// closed, and it nests joins differently. Each difference would let a view be counted
// that repeats rows.
package definition

import "slices"

// View is a CREATE VIEW statement.
type View struct {
	Columns []string // the names given in parentheses; none where there are none
	Select  *Select
}

// Select is a SELECT with its WITH, ORDER BY and LIMIT.
type Select struct {
	With      []CTE
	Cores     []*Core  // one, or the parts of a compound
	Operators []string // between the cores: UNION ALL, UNION, INTERSECT or EXCEPT
	OrderBy   []*Expr
	Limited   bool // a LIMIT, of constants
}

// CTE is a common table expression.
type CTE struct {
	Name    string
	Columns []string
	Select  *Select
}

// Core is a SELECT up to GROUP BY and HAVING.
type Core struct {
	Distinct bool
	Columns  []Column
	From     *From // nil where there is none
	Where    *Expr
	GroupBy  []*Expr
	Having   *Expr
}

// Column is a column of a select list: an expression, or all columns.
type Column struct {
	Expr  *Expr  // nil for *
	Alias string // "" where none is given
	Table string // of table.*; "" for a bare *
}

// From is a table, a SELECT or a join of two.
type From struct {
	Table  string
	Main   bool // main stands before the table's name, which is then no common table expression's
	Select *Select
	Alias  string

	Left, Right *From // of a join; else nil
	Outer       bool  // LEFT JOIN
	Natural     bool
	On          *Expr
	Using       []string
}

// Kind says what an expression is.
type Kind uint8

const (
	Other   Kind = iota // an operator or form that needs no kind of its own
	Ref                 // a name, which may be that of a column
	Literal             // a number, text, blob or NULL
	Call                // of a function
	And
	Equal   // = or ==
	Collate // with an explicit collation, Name
	Cast    // to the type Name
	Query   // (SELECT …), EXISTS (SELECT …) or the list of IN (SELECT …)
)

// Expr is an expression.
type Expr struct {
	Kind     Kind
	Table    string // before a column's name; "" where none is given
	Name     string // of a column, function, collation, type or operator; the text of a literal, after a quote if it is none of a number; "" for a type that is not given or not known
	Quoted   bool   // the name stands in double quotes: where it names nothing, SQLite takes it for a text
	Args     []*Expr
	Select   *Select
	Distinct bool  // a call of an aggregate of distinct values
	Filter   *Expr // of a call of an aggregate
	Over     *Over // a call as a window function
}

// Selects reports whether there is a SELECT in the expression: not all of its text
// is kept, such as the number of a LIMIT.
func (e *Expr) Selects() bool {
	return e.Select != nil || e.Filter != nil && e.Filter.Selects() || slices.ContainsFunc(e.Args, (*Expr).Selects)
}

// Over is the window of a call.
type Over struct {
	Partition []*Expr
	OrderBy   []*Expr
}
