// Package definition parses the definitions of SQLite's views, as the schema stores
// them. Package source decides from the trees what a view does with rows.
//
// It parses a part of SQLite's grammar and refuses the rest. What it accepts it reads
// exactly as SQLite does: the lexer agrees with SQLite's to the byte, and operators
// bind as they do there. SQLite has accepted the text already, so the package need not
// report whether it is correct.
//
// Other parsers of SQLite's grammar in Go differ from SQLite. That of rqlite takes more
// characters for white space, so a name can fall into two. It does not know RIGHT JOIN,
// so RIGHT becomes an alias. It does not check that a parenthesis is closed, and it
// nests joins differently. Each difference would let a view be counted that repeats
// rows.
package definition

import "slices"

// View is a CREATE VIEW statement.
type View struct {
	Columns []string // the names given in parentheses, if any
	Select  *Select
}

// Select is a SELECT with its WITH, ORDER BY and LIMIT.
type Select struct {
	With      []CTE
	Cores     []*Core  // one, or the parts of a compound SELECT
	Operators []string // between the cores: UNION ALL, UNION, INTERSECT or EXCEPT
	OrderBy   []*Expr
	Limited   bool // it has a LIMIT, of constants
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
	From     *From // nil without FROM
	Where    *Expr
	GroupBy  []*Expr
	Having   *Expr
}

// Column is a column of a select list: an expression, or all columns.
type Column struct {
	Expr  *Expr  // nil for *
	Alias string // or ""
	Table string // of table.*; "" for a bare *
}

// From is a table, a SELECT or a join of two.
type From struct {
	Table  string
	Main   bool // written main.Table, so that the name is not that of a common table expression
	Select *Select
	Alias  string

	Left, Right *From // the sides of a join; else nil
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
	Collate // an expression with an explicit collation, Name
	Cast    // to the type Name
	Query   // (SELECT …), EXISTS (SELECT …) or the list of IN (SELECT …)
)

// Expr is an expression.
type Expr struct {
	Kind     Kind
	Table    string // written before the column name, or ""
	Name     string // of a column, function, collation, type or operator; the text of a literal, after a quote if it is none of a number; "" for a type that is not given or not known
	Quoted   bool   // the name is in double quotes; if it names nothing, SQLite takes it for a text
	Args     []*Expr
	Select   *Select
	Distinct bool  // a call of an aggregate over distinct values
	Filter   *Expr // the FILTER of a call of an aggregate
	Over     *Over // the window of a call
}

// Selects reports whether there is a SELECT in the expression. The tree does not keep
// all of a SELECT's text: the number of a LIMIT is lost.
func (e *Expr) Selects() bool {
	return e.Select != nil || e.Filter != nil && e.Filter.Selects() || slices.ContainsFunc(e.Args, (*Expr).Selects)
}

// Over is the window of a call.
type Over struct {
	Partition []*Expr
	OrderBy   []*Expr
}
