// Package sqlfront binds SELECTs: it turns parsed statements into linear queries,
// and into a program that makes rows of their answers. It knows names and types;
// it reads no data and opens no database.
//
// The compiler accepts a closed list of syntax nodes and refuses every other.
// Every error is a *sqlerr.Error: Unsupported for SQL outside the dialect,
// Unknown for a column that is not there, Invalid for a value that cannot be
// accepted. Positions are those of package syntax.
package sqlfront

import (
	"errors"
	"slices"

	"dpsql/post"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Table is what the front end has to know of a private table.
type Table interface {
	Name() string
	Universe() *query.Universe
}

// Undecided is a Table that may have columns whose domain is not known yet, as
// those of a table that a script declares further up.
type Undecided interface {
	// Undecided reports whether the domain of the column is not known yet.
	Undecided(column int) bool
}

// UndecidedError says that a SELECT names a column whose domain is not known
// yet. What the statement asks cannot be said.
type UndecidedError struct {
	Column int    // of the table
	Name   string // of the column
}

// Error names the column.
func (e *UndecidedError) Error() string {
	return "the domain of column " + e.Name + " is not known yet"
}

// Bound is a SELECT as linear queries over its table's universe, and what is
// made of their answers: the engine answers the queries, and Output computes
// the rows from the answers alone.
//
// The queries are a table of Groups × Slots; that of slot k in group g is
// Queries[g·len(Slots)+k]. The groups are disjoint: no record has a weight in
// the queries of two groups of one slot. So a unit of L records changes the
// answers of one slot, taken as a vector over the groups, by at most L·W in ℓ1
// norm, W the slot's largest weight, however its records are spread over the
// groups; and by no more in ℓ2 norm, which is never larger.
type Bound struct {
	Queries  []query.Query
	Slots    []Slot
	Groups   [][]query.Value // the keys of each group; one group without keys where nothing is grouped
	Output   post.Program
	Warnings []string // literals that match nothing; at most maxWarnings
}

// Slot is one linear query of the select list, asked in each group.
type Slot struct {
	Base query.Query // what the slot asks of all groups together
	// Scale is how wide an answer's interval may be for each unit of SET
	// accuracy: 1 for a COUNT; for a SUM one over the factor its weights are
	// scaled by; for the sum of an AVG, which is a quotient, its largest weight.
	Scale float64
	// Split is the number of answers that share the error probability of a value.
	Split int
}

// Bind resolves the names of a SELECT in its table, which the caller has
// looked up, and compiles it with the arguments in its parameters' places.
// Comparisons follow SQLite's rules for the column's type, and NULLs SQL's
// three-valued logic: a record counts when the condition is true. The error is
// an UndecidedError where the table is Undecided and the statement names such a
// column, and else one for the user.
func Bind(s *syntax.Select, t Table, args []query.Value) (*Bound, error) {
	if len(args) != s.Parameters {
		return nil, sqlerr.New(sqlerr.Invalid, "the number of placeholders is %d and of arguments %d", s.Parameters, len(args))
	}
	b := &binder{s: s, g: s.Tokens, table: t, u: t.Universe(), args: args, read: make(map[string]*PublicRows), spent: new(effort)}
	bound, err := b.bind()
	if b.undecided != nil {
		return nil, b.undecided
	}
	if err != nil {
		return nil, placed(s, err)
	}
	bound.Warnings = b.warnings
	return bound, nil
}

// placed gives an error without a place that of the WHERE clause.
func placed(s *syntax.Select, err error) error {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e.At(s.Tokens.Find("WHERE").Position)
	}
	return err
}

// binder compiles one SELECT.
type binder struct {
	s        *syntax.Select
	g        *syntax.Tokens
	table    Table
	u        *query.Universe // the table's, with the columns of joined tables behind it
	joins    joins
	read     map[string]*PublicRows // the public tables, by folded name
	args     []query.Value
	scope    scope
	rows     query.Query // which records FROM and WHERE leave, over u
	warnings []string
	known    map[knownKey]pred // see whenKnown

	undecided *UndecidedError // of the first such column that is named

	spent    *effort
	pins     map[int][]query.Value // columns without a domain that a conjunction pins, while its parts are compiled
	pinning  int                   // which pins these are, 0 for none
	pinnings int                   // how many there were
}

// bind compiles the clauses in the order in which SQL applies them.
func (b *binder) bind() (*Bound, error) {
	if err := b.bindJoins(); err != nil {
		return nil, err
	}
	kept, err := b.restrict()
	if err != nil {
		return nil, err
	}
	b.rows = kept.query(b.u)
	b.pinRows()
	o := &outputs{binder: b}
	if err := o.groupBy(); err != nil {
		return nil, err
	}
	program, err := o.program()
	if err != nil {
		return nil, err
	}
	bound := &Bound{Output: program}
	bound.Groups, bound.Queries, err = o.divide()
	bound.Slots = o.slots
	return bound, err
}

// restrict binds FROM and returns the records that it and WHERE leave.
func (b *binder) restrict() (pred, error) {
	kept, err := b.bindFrom()
	if err != nil || b.s.Where == nil {
		return kept, err
	}
	where, err := b.when(b.s.Where, true)
	if err != nil {
		return pred{}, err
	}
	return b.merge([]pred{kept, where}, true)
}

// decided refuses a column whose domain is not known yet.
func (b *binder) decided(column int) error {
	t, ok := b.table.(Undecided)
	if !ok || column >= len(b.table.Universe().Columns()) || !t.Undecided(column) {
		return nil
	}
	b.undecided = &UndecidedError{column, b.u.Columns()[column].Name}
	return b.undecided
}

func (b *binder) domain(column int) query.Domain { return b.u.Columns()[column].Domain }

// maxWarnings bounds what is said about one statement.
const maxWarnings = 10

// warn notes a warning once.
func (b *binder) warn(message string) {
	if len(b.warnings) < maxWarnings && !slices.Contains(b.warnings, message) {
		b.warnings = append(b.warnings, message)
	}
}
