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

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// Bind resolves the names of a SELECT in its table, which the caller has looked up,
// and compiles it with the arguments in place of its parameters. Comparisons follow
// SQLite's rules for the column's type, and NULLs follow SQL's three-valued logic: a
// record counts if the condition is true. The error is a *sqlerr.Error for the user,
// or an *UndecidedError if the statement names a column that the table says is
// undecided.
func Bind(s *syntax.Select, t Table, args []query.Value) (*Bound, error) {
	if len(args) != s.Parameters {
		return nil, sqlerr.New(sqlerr.Invalid, "the number of placeholders is %d and of arguments %d", s.Parameters, len(args))
	}
	return bind(s, t, &binder{args: args})
}

// Describe binds a SELECT whose arguments are not known. Of the result the names and types of
// the columns and the types of the parameters are those of any arguments. It binds NULLs, which
// fit almost everywhere, and where they do not, examples of the types.
func Describe(s *syntax.Select, t Table) (*Bound, error) {
	b := &binder{args: make([]query.Value, s.Parameters), describing: true}
	bound, err := bind(s, t, b)
	if err == nil || s.Parameters == 0 {
		return bound, err
	}
	for i, typ := range b.parameters {
		b.args[i] = examples[typ]
	}
	if bound, again := bind(s, t, &binder{args: b.args, describing: true}); again == nil {
		return bound, nil
	}
	return nil, err
}

// examples are values of types.
var examples = map[query.SQLType]query.Value{query.SQLInt8: query.Int(1), query.SQLFloat8: query.Int(1), query.SQLNumeric: query.Int(1), query.SQLBool: query.Int(1),
	query.SQLText: query.Text(""), "": query.Text(""), query.SQLDate: query.Text("2024-01-01"), query.SQLTimestamp: query.Text("2024-01-01 00:00:00"), query.SQLTime: query.Text("12:00:00")}

func bind(s *syntax.Select, t Table, b *binder) (*Bound, error) {
	b.s, b.g, b.table, b.u, b.read, b.spent = s, s.Tokens, t, t.Universe(), make(map[string]*PublicRows), new(effort)
	b.spent.work.Built = func(branches int) error { return b.countSteps(branchCost * branches) }
	b.spent.sums.Built = b.countSteps
	if b.describing || s.ListsParameter {
		b.parameters = make([]query.SQLType, s.Parameters)
	}
	bound, err := b.bind()
	if b.undecided != nil {
		return nil, b.undecided
	}
	if err != nil {
		return nil, placedAtWhere(s, err)
	}
	bound.Warnings = b.warnings
	return bound, nil
}

// placedAtWhere gives an error without a position the position of the WHERE clause.
func placedAtWhere(s *syntax.Select, err error) error {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return e.At(s.Tokens.Find("WHERE").Position)
	}
	return err
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
	bound := &Bound{Output: program, Types: o.types(), Parameters: b.parameters}
	err = o.divide(bound)
	bound.Numbers = len(bound.Groups) * o.numbers()
	return bound, err
}

// restrict binds FROM and returns the records that pass FROM and WHERE.
func (b *binder) restrict() (pred, error) {
	kept, err := b.bindFrom()
	if err == nil && b.parameters != nil {
		b.typeParameters()
	}
	if err != nil || b.s.Where == nil {
		return kept, err
	}
	where, err := b.compileCondition(b.s.Where)
	if err != nil {
		return pred{}, err
	}
	return b.merge([]pred{kept, where}, true)
}
