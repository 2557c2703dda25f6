package syntax

import "dpsql/query"

// Statement is one parsed statement: *CreateView, *CreatePublic, *CreatePrivate, *CreateSource,
// *CreateRelease, *CreateMechanism, *RefreshRelease, *RetirePeriod, *AlterPrivate, *Drop, *Show, *Describe, *Explain,
// *ExplainCreate, *Set, *Export, *Advise, *CreateUser, *Grant or *Select. None of its names has been looked up.
type Statement interface{ statement() }

func (*CreateView) statement()      {}
func (*CreatePublic) statement()    {}
func (*CreatePrivate) statement()   {}
func (*CreateSource) statement()    {}
func (*CreateRelease) statement()   {}
func (*CreateMechanism) statement() {}
func (*RefreshRelease) statement()  {}
func (*RetirePeriod) statement()    {}
func (*AlterPrivate) statement()    {}
func (*Drop) statement()            {}
func (*Show) statement()            {}
func (*Describe) statement()        {}
func (*Explain) statement()         {}
func (*ExplainCreate) statement()   {}
func (*Set) statement()             {}
func (*Export) statement()          {}
func (*Advise) statement()          {}

// Name is an identifier, without its quotes.
type Name struct {
	Text     string
	Position int // 1-based character in the statement
}

// ValueKind says how an option's value was written.
type ValueKind uint8

// The ways to write an option's value.
const (
	Number ValueKind = iota + 1 // a number; the text is as written, with its sign
	String                      // a quoted string; the text is its value
	Word                        // a name or keyword; the text is without quotes
	List                        // names in parentheses, of the option keys alone; the text is empty
)

// Option is one name = value of a WITH clause or a SET.
type Option struct {
	Name     Name // in lower case
	Value    string
	Kind     ValueKind
	Position int    // of the value
	Names    []Name // of a List, at least one; they differ

	Parameter int // the number of the argument that is the value, of a query's own settings; 0 for a literal
}

// CreateView is CREATE VIEW … AS SELECT …, which SQLite runs.
type CreateView struct {
	Name        Name
	IfNotExists bool
	Definition  string // what follows the name; it is not parsed
}

// CreatePublic is CREATE PUBLIC TABLE … (columns), or CREATE PUBLIC TABLE … AS SELECT …, or
// CREATE PUBLIC TABLE … AS SELECT DISTINCT … WITH (…).
type CreatePublic struct {
	Name        Name
	IfNotExists bool
	Columns     []PublicColumnDef // the declared ones, possibly none; names differ
	As          int               // the position of what follows AS, 0 without; it is parsed only if Keys is not nil
	Keys        *Keys             // nil without WITH (…)
}

// Keys is SELECT DISTINCT column [AS alias] FROM table WITH (…): the keys of a private column that
// a statement pays for.
type Keys struct {
	Column, Table Name
	As            Name // what the column of the list is called; the column's own name without AS
	Options       []Option
}

// PublicColumnDef declares a column of a public table.
type PublicColumnDef struct {
	Name  Name
	Type  query.Type   // of an INTEGER or TEXT column
	Steps *query.Steps // of a REAL one, else nil
}

// CreatePrivate is CREATE PRIVATE TABLE … FROM [source.]table WITH (…).
type CreatePrivate struct {
	Name        Name
	IfNotExists bool
	Columns     []ColumnDef // at least one; names differ
	In          Name        // the declared source; its text is "" if the rows are in the file
	Source      Name        // the table or view; schema.table in a declared source, with its double quotes
	Options     []Option
}

// ColumnDef is a column of a private table with its domain.
type ColumnDef struct {
	Name   Name
	Type   query.Type
	Form   query.Form
	Domain query.Domain // unset where Source is not nil
	Source *DomainSource
}

// DomainSource is the domain IN (SELECT column FROM table) [OR NULL].
type DomainSource struct {
	Column, Table Name
	OrNull        bool
}

// CreateSource is CREATE SOURCE … USING POSTGRES WITH (…). PostgreSQL is the only
// kind.
type CreateSource struct {
	Name        Name
	IfNotExists bool
	Options     []Option
}

// Algorithm is the algorithm of a USING clause.
type Algorithm string

// The algorithms.
const (
	Projection Algorithm = "projection"
	Marginals  Algorithm = "marginals"
	SMW        Algorithm = "smw"
)

// CreateRelease is CREATE RELEASE … ON table (columns) [USING …] WITH (…) [EACH PERIOD].
type CreateRelease struct {
	Name        Name
	IfNotExists bool
	Table       Name
	Columns     []Name    // empty: all; names differ
	Using       Algorithm // empty: the engine chooses
	Options     []Option
	EachPeriod  bool // it has a part for each period, which REFRESH RELEASE builds
}

// CreateMechanism is CREATE MECHANISM … ON table (columns) [USING SMW] WITH (…).
type CreateMechanism struct {
	Name        Name
	IfNotExists bool
	Table       Name
	Columns     []Name // empty: all; names differ
	Using       Algorithm
	Options     []Option
}

// Period names a period, or some: 2026-09.
type Period struct {
	Text     string // "" for none
	Position int
}

// RefreshRelease is REFRESH RELEASE name [PERIOD period [AGAIN]].
type RefreshRelease struct {
	Name   Name
	Period Period // "" for all that are due
	Again  bool   // replace the part of the period
}

// RetirePeriod is RETIRE PERIOD period OF table.
type RetirePeriod struct {
	Period Period
	Table  Name
}

// AlterPrivate is ALTER PRIVATE TABLE … SET (…).
type AlterPrivate struct {
	Name    Name
	Options []Option // at least one
}

// Object is a kind of thing that DROP removes.
type Object string

// The kinds of things.
const (
	Release      Object = "release"
	Mechanism    Object = "mechanism"
	PrivateTable Object = "private table"
	PublicTable  Object = "public table"
	SourceObject Object = "source"
	View         Object = "view"
	User         Object = "user"
)

// Drop is DROP RELEASE, MECHANISM, PRIVATE TABLE, PUBLIC TABLE, SOURCE, VIEW or USER.
type Drop struct {
	Kind     Object
	Name     Name
	IfExists bool
	Period   Period // of a release, whose part alone is removed; "" for all of it
}

// Topic is what SHOW lists.
type Topic string

// The topics.
const (
	Tables     Topic = "tables"
	Sources    Topic = "sources"
	Releases   Topic = "releases"
	Mechanisms Topic = "mechanisms"
	Budget     Topic = "budget"
	Ledger     Topic = "ledger"
	Settings   Topic = "settings"
	Users      Topic = "users"
	Grants     Topic = "grants"
)

// Show is SHOW. Full lists everything, and not what fits a terminal.
type Show struct {
	What Topic
	For  Name // the user whose Grants are listed, or the table whose Budget is; its text is "" for all
	Full bool
}

// Describe is DESCRIBE table. Full lists everything, and not what fits a terminal.
type Describe struct {
	Table Name
	Full  bool
}

// Explain is EXPLAIN SELECT …. Full lists everything, and not what fits a terminal.
type Explain struct {
	Select *Select
	Full   bool
}

// ExplainCreate is EXPLAIN CREATE RELEASE … or EXPLAIN CREATE MECHANISM …, and FOR 'file'. Or it
// is EXPLAIN CREATE PUBLIC TABLE … AS SELECT DISTINCT … WITH (…).
type ExplainCreate struct {
	Create       Statement // *CreateRelease, *CreateMechanism, or *CreatePublic with Keys
	Workload     string    // the file of a workload, or ""
	WorkloadFrom int       // the position of its name
	Full         bool
}

// Set is SET name = value.
type Set struct{ Option }

// Export is EXPORT RELEASE name, … TO 'path' WITH (…).
type Export struct {
	IfNotExists  bool
	Releases     []Name // at least one; they differ
	Path         string
	PathPosition int
	Options      []Option
}

// Advise is ADVISE 'workload' WITH (…). Full lists everything, and not what fits a terminal.
type Advise struct {
	Workload     string // a path
	WorkloadFrom int
	Options      []Option
	Full         bool
}
