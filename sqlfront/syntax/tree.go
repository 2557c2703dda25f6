package syntax

// The tree of a query: the whole surface of SELECT that this house reads, in SQLite's dialect
// with forms of other systems, and in PostgreSQL's. The tree has what was written and no meaning:
// no name is looked up. Parentheses are nodes, so that a tree prints as it was read.

// Node is a part of a query. Pos is the 1-based character at which it begins, End the one behind
// it. A node that is made has the place of the one that it stands for.
type Node interface {
	Pos() int
	End() int
}

// span is the place of a node.
type span struct{ from, to int }

// Pos implements Node.
func (s span) Pos() int { return s.from }

// End implements Node.
func (s span) End() int { return s.to }

// Ident is a name without its quotes. Its zero value is no name.
type Ident struct {
	span
	Text   string
	Quoted bool
}

// None reports whether there is no name.
func (n Ident) None() bool { return n.Text == "" && !n.Quoted }

// Query is [WITH …] body [ORDER BY …] [LIMIT …].
type Query struct {
	span
	Recursive bool
	With      []*CommonTable
	Body      Body
	Order     []OrderTerm
	Limit     Expr // nil for none
	Offset    Expr
	Settings  []Option // of a WITH at the end of a statement

	limits     span // of LIMIT, OFFSET and FETCH
	foreign    bool // these are not as SQLite has them
	settingsAt int  // the position of the WITH before Settings
}

// CommonTable is an entry of WITH.
type CommonTable struct {
	span
	Name         Ident
	Columns      []Ident
	Materialized string // MATERIALIZED, NOT MATERIALIZED, or ""
	Query        *Query
}

// Body is what a query computes: *Block, *Compound, *Values, or a *Query in parentheses.
type Body interface {
	Node
	body()
}

// Block is one SELECT.
type Block struct {
	span
	Distinct bool
	On       []Expr // of DISTINCT ON
	Top      Expr   // of SELECT TOP n
	Items    []Item // none in PostgreSQL's SELECT FROM t
	From     []Source
	Where    Expr
	Group    []Expr
	GroupAll bool // GROUP BY ALL
	Having   Expr
	Windows  []NamedWindow
	Qualify  Expr

	topAt, listAt, fromAt, groupAt, qualifyAt int // the positions of TOP, the list, FROM, GROUP, QUALIFY
}

// Compound is a set operation.
type Compound struct {
	span
	Op       string // UNION, INTERSECT, EXCEPT
	All      bool
	X, Y     Body
	Operator int // the position of Op
}

// Values is VALUES (…), (…).
type Values struct {
	span
	Rows []*Tuple
}

func (*Block) body()    {}
func (*Compound) body() {}
func (*Values) body()   {}
func (*Query) body()    {}

// Item is an entry of a select list.
type Item struct {
	span
	X  Expr
	As Ident
}

// NamedWindow is an entry of a WINDOW clause.
type NamedWindow struct {
	Name   Ident
	Window *Window
}

// OrderTerm is an entry of ORDER BY.
type OrderTerm struct {
	X     Expr
	Desc  bool
	Nulls string // FIRST, LAST, or ""
}

// Source is what FROM reads: *Table, *Derived, *Function, *Join or *ParenSource.
type Source interface {
	Node
	source()
}

// Alias is what follows a source: [AS] name [(columns)].
type Alias struct {
	Name    Ident
	Columns []Ident
	Types   []*Type // of the columns, if they were given: f() AS t (a int)
}

type (
	// Table is a name in FROM.
	Table struct {
		span
		Path  []Ident // [[database.]schema.]table
		Alias Alias
	}
	// Derived is a query in FROM.
	Derived struct {
		span
		Lateral bool
		Query   *Query
		Alias   Alias
	}
	// Function is a call in FROM.
	Function struct {
		span
		Lateral    bool
		Call       *Call
		Ordinality bool // WITH ORDINALITY
		Alias      Alias
	}
	// Join is X JOIN Y.
	Join struct {
		span
		Kind     string // "", LEFT, RIGHT, FULL, CROSS
		Natural  bool
		X, Y     Source
		On       Expr
		Using    []Ident
		Operator int // the position of the words between X and Y
	}
	// ParenSource is a source in parentheses, or several.
	ParenSource struct {
		span
		List  []Source
		Alias Alias
	}
)

func (*Table) source()       {}
func (*Derived) source()     {}
func (*Function) source()    {}
func (*Join) source()        {}
func (*ParenSource) source() {}

// Expr is an expression: one of the types below.
type Expr interface {
	Node
	expr()
}

type (
	// Column is [[schema.]table.]name.
	Column struct {
		span
		Path []Ident
	}
	// Star is *, or table.*.
	Star struct {
		span
		Of []Ident
	}
	// Literal is a number, string or blob, NULL, TRUE or FALSE; with a type, as in DATE '2024-01-01'.
	Literal struct {
		span
		Kind  Kind   // KindInteger, KindDecimal, KindString, KindBlob; KindWord for NULL, TRUE and FALSE
		Value string // of a string or blob what its quotes hold; a word in upper case
		Type  []Ident
	}
	// Parameter is an argument.
	Parameter struct {
		span
		Text   string // as written
		Number int    // from 1; in PostgreSQL's dialect 0 if it is none
	}
	// Paren is an expression in parentheses.
	Paren struct {
		span
		X Expr
	}
	// Tuple is (a, b), ROW(a, b), or the list behind IN.
	Tuple struct {
		span
		Items []Expr
		Row   bool // ROW was written
	}
	// Unary is an operator before an operand: a sign, ~, NOT.
	Unary struct {
		span
		Op string
		X  Expr
	}
	// Test is x IS [NOT] NULL, TRUE, FALSE or UNKNOWN.
	Test struct {
		span
		X        Expr
		Is       string
		Not      bool
		Operator int
	}
	// Binary is an operator between two operands.
	Binary struct {
		span
		Op         string // in upper case; IS DISTINCT FROM, SIMILAR TO
		Not        bool   // IS NOT, NOT LIKE
		X, Y       Expr
		Quantifier string // ANY or ALL before Y
		Escape     Expr
		Operator   int // the position of Op, or of its NOT
	}
	// Between is x [NOT] BETWEEN low AND high.
	Between struct {
		span
		X, Low, High   Expr
		Not, Symmetric bool
		Operator       int
	}
	// In is x [NOT] IN a list, query or table.
	In struct {
		span
		X        Expr
		Set      Expr // *Tuple, *Subquery, or the *Column that names a table
		Not      bool
		Operator int
	}
	// Case is CASE … END.
	Case struct {
		span
		Of    Expr // nil for CASE WHEN
		Whens []When
		Else  Expr
	}
	// Cast is CAST(x AS type), or x::type.
	Cast struct {
		span
		Name     string // CAST, TRY_CAST, SAFE_CAST; "" for ::
		X        Expr
		Type     *Type
		Operator int // the position of :: or of the name
	}
	// Call calls a function.
	Call struct {
		span
		Path     []Ident
		Distinct bool
		Args     []Expr
		Words    []string    // before each argument: FROM, FOR, IN, …; "" for a comma or nothing
		Order    []OrderTerm // within the parentheses
		Within   []OrderTerm // WITHIN GROUP (ORDER BY …)
		WithinAt int         // the position of WITHIN
		Filter   Expr
		Over     *Window
		Moment   bool // DATE_TRUNC made the call: it is typed as a moment, or as a time of day where it is of one
	}
	// GroupingSets is GROUPING SETS (…), in GROUP BY. Each set is a *Tuple, or one expression.
	GroupingSets struct {
		span
		Sets []Expr
	}
	// Interval is INTERVAL '1 day', or INTERVAL 1 DAY.
	Interval struct {
		span
		Value Expr
		Unit  Ident
	}
	// Array is ARRAY[…], or ARRAY(SELECT …).
	Array struct {
		span
		Items []Expr
		Query *Query
		Inner bool // it stands in another one, without the word
	}
	// Index is x[i], or x[i:j].
	Index struct {
		span
		X, I, J  Expr
		Slice    bool
		Operator int
	}
	// Field is (x).name, or (x).*.
	Field struct {
		span
		X        Expr
		Name     Ident // none for *
		Operator int
	}
	// Subquery is a query as a value.
	Subquery struct {
		span
		Query *Query
	}
	// Exists is EXISTS (SELECT …).
	Exists struct {
		span
		Query *Query
	}
	// Collate is x COLLATE name.
	Collate struct {
		span
		X    Expr
		Name []Ident
	}
	// AtZone is x AT TIME ZONE zone.
	AtZone struct {
		span
		X, Zone  Expr
		Operator int
	}
)

// When is a branch of CASE.
type When struct{ If, Then Expr }

// Type is a type as a cast writes it.
type Type struct {
	span
	Path  []Ident // [schema.]name
	Word  string  // PRECISION, VARYING
	Args  []Expr
	Zone  string // WITH, WITHOUT, before TIME ZONE
	Array int    // the number of []
}

// Window is OVER name, or OVER (…).
type Window struct {
	span
	Name      Ident
	Bare      bool // it is the name alone
	Partition []Expr
	Order     []OrderTerm
	Frame     *Frame
}

// Frame is ROWS, RANGE or GROUPS, and what follows.
type Frame struct {
	span
	Unit      string
	Low, High Bound  // High without words if there is no BETWEEN
	Exclude   string // NO OTHERS, CURRENT ROW, GROUP, TIES, or ""
}

// Bound is an end of a frame.
type Bound struct {
	By   Expr   // of n PRECEDING
	Word string // UNBOUNDED PRECEDING, CURRENT ROW, PRECEDING, …
}

func (*Column) expr()       {}
func (*Star) expr()         {}
func (*Literal) expr()      {}
func (*Parameter) expr()    {}
func (*Paren) expr()        {}
func (*Tuple) expr()        {}
func (*Unary) expr()        {}
func (*Test) expr()         {}
func (*Binary) expr()       {}
func (*Between) expr()      {}
func (*In) expr()           {}
func (*Case) expr()         {}
func (*Cast) expr()         {}
func (*Call) expr()         {}
func (*GroupingSets) expr() {}
func (*Interval) expr()     {}
func (*Array) expr()        {}
func (*Index) expr()        {}
func (*Field) expr()        {}
func (*Subquery) expr()     {}
func (*Exists) expr()       {}
func (*Collate) expr()      {}
func (*AtZone) expr()       {}

// Inside takes the parentheses off an expression.
func Inside(e Expr) Expr {
	for {
		p, ok := e.(*Paren)
		if !ok {
			return e
		}
		e = p.X
	}
}
