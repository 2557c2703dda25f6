// Package types finds the types of the expressions of a statement, and of its parameters, over its
// tree. What a column is comes from a scope that the caller gives, and what functions and operators
// take and return from the table of a dialect.
//
// Types follow from the text and from the declarations of tables, and not from arguments. So they
// are the same before and after a statement runs. As in PostgreSQL the first use of a parameter that
// tells its type decides.
package types

import (
	"strings"

	"dpsql/query"
)

// Type is a type by PostgreSQL's name of it, or one of those below.
type Type = query.SQLType

const (
	TimeOrText Type = "time or text" // of texts, of which some may be dates or moments. A client is told text
	Unknown    Type = ""             // the type is not known
	Null       Type = "null"         // of NULL, and of a parameter whose type nothing has told yet: it fits beside any
)

// Known reports whether a type says what values are.
func Known(t Type) bool { return t != Unknown && t != Null }

// widths are the types of numbers, the wider the larger.
var widths = map[Type]int{query.SQLBool: 1, query.SQLInt8: 2, query.SQLNumeric: 3, query.SQLFloat8: 4}

// Shown returns the type that a client is told of a column.
func Shown(t Type) query.SQLType {
	if !Known(t) || t == TimeOrText {
		return query.SQLText
	}
	return t
}

// IsNumber reports whether values of a type are numbers. Truth values are.
func IsNumber(t Type) bool { return widths[t] > 0 }

// IsTime reports whether values of a type are dates, moments or times of day.
func IsTime(t Type) bool { return t == query.SQLDate || t == query.SQLTimestamp || t == query.SQLTime }

// MayBeTime reports whether values of a type may be dates, moments or times of day.
func MayBeTime(t Type) bool { return IsTime(t) || t == TimeOrText }

// Wider returns the wider of two types of numbers.
func Wider(a, b Type) Type {
	if widths[a] < widths[b] {
		return b
	}
	return a
}

// first returns the first type that is known, or else the last one.
func first(all ...Type) (t Type) {
	for _, t = range all {
		if Known(t) {
			return t
		}
	}
	return t
}

// Common returns the type of values that are of one of two types, and tells Meet of them.
func (d *Dialect) Common(a, b Type) Type {
	if d.Meet != nil {
		d.Meet(a, b)
	}
	return d.common(a, b)
}

func (d *Dialect) common(a, b Type) Type {
	switch {
	case a == b || b == Null:
		return a
	case a == Null:
		return b
	case a == Unknown || b == Unknown:
		return Unknown
	case IsNumber(a) && IsNumber(b):
		return Wider(a, b)
	case IsTime(a) && IsTime(b) && a != query.SQLTime && b != query.SQLTime:
		return query.SQLTimestamp
	case (MayBeTime(a) || a == query.SQLText) && (MayBeTime(b) || b == query.SQLText):
		return TimeOrText
	}
	return d.Mixed
}

// All returns the type of values that are of one of several types.
func (d *Dialect) All(all []Type) Type {
	t := Null
	for _, next := range all {
		t = d.Common(t, next)
	}
	return t
}

// Dialect has what the types of expressions follow from.
type Dialect struct {
	Functions Functions
	Operators map[string]Function // of two operands, by name; others compare or compute
	Mixed     Type                // of values of two types that have no other in common
	NotNumber Type                // of x + y where one is neither a number nor a date
	Long      Type                // of an integer of more than 18 digits, which one more may make a REAL
	Meet      func(a, b Type)     // is told of types that values of one column, or of one expression, have; nil for none
}

// Function is what is known of the types of a function or operator.
type Function struct {
	Args   []Type                 // that its arguments have: the last goes for all that follow. Unknown for any
	Value  Type                   // of its values, if there is no Result
	Result func(args []Type) Type // returns the type of its values
	Chosen int                    // its value is one of the arguments from this one on, counted from 1; 0 for none
	Entry  bool                   // its argument may be the name of an entry of the select list, before all others
	Public bool                   // SQLite computes it, of the values of a domain where rows are private
}

// Functions is a table of functions, by lower-case name.
type Functions map[string]Function

// Add adds a function under several names, with blanks between them.
func (t Functions) Add(f Function, names string) {
	for _, name := range strings.Fields(names) {
		t[name] = f
	}
}

// Shared returns the functions that private rows and SQLite have alike.
func Shared() Functions {
	t := make(Functions)
	t.Add(Function{Args: []Type{query.SQLText}, Value: query.SQLInt8}, "length")
	t.Add(Function{Args: []Type{query.SQLText}, Value: query.SQLText}, "lower upper")
	t.Add(Function{Args: []Type{query.SQLText, query.SQLInt8}, Value: query.SQLText}, "substr substring")
	t.Add(Function{Args: []Type{query.SQLInt8}, Result: Number}, "abs")
	t.Add(Function{Args: []Type{query.SQLFloat8, query.SQLInt8}, Value: query.SQLFloat8}, "round")
	t.Add(Function{Args: []Type{query.SQLText}, Value: query.SQLText, Public: true}, "char concat concat_ws format hex ltrim printf quote replace rtrim trim typeof ||")
	t.Add(Function{Args: []Type{query.SQLText}, Value: query.SQLBool, Public: true}, "glob like")
	t.Add(Function{Args: []Type{query.SQLText}, Value: query.SQLInt8, Public: true}, "instr octet_length unicode")
	t.Add(Function{Args: []Type{query.SQLInt8}, Value: query.SQLInt8}, "sign")
	t.Add(Function{Args: []Type{query.SQLFloat8}, Value: query.SQLFloat8}, `acos acosh asin asinh atan atan2 atanh cos cosh degrees exp
		ln log log10 log2 mod pi pow power radians sin sinh sqrt tan tanh`)
	t.Add(Function{Args: []Type{query.SQLInt8}, Result: Number}, "ceil ceiling floor trunc")
	t.Add(Function{Chosen: 1}, "coalesce ifnull max min")
	t.Add(Function{Chosen: 1, Result: FirstKnown}, "nullif")
	t.Add(Function{Args: []Type{query.SQLBool}, Chosen: 2}, "iif if")
	return t
}

// OfRows returns the functions that private rows have and SQLite has not.
func OfRows() Functions {
	t := make(Functions)
	t.Add(Function{Args: []Type{query.SQLInt8}, Value: query.SQLInt8}, "width_bucket")
	t.Add(Function{Args: []Type{query.SQLFloat8}, Value: query.SQLFloat8}, "cbrt")
	t.Add(Function{Args: []Type{query.SQLText, query.SQLInt8}, Value: query.SQLText}, "initcap reverse repeat split_part lpad rpad")
	return t
}

// arg returns the type that an argument is expected to have.
func (f Function) arg(i int) Type {
	if len(f.Args) == 0 {
		return Unknown
	}
	return f.Args[min(i, len(f.Args)-1)]
}

// First is the Result of a function whose values are those of its first argument.
func First(args []Type) Type {
	if len(args) == 0 {
		return Unknown
	}
	return args[0]
}

// FirstKnown is First, where the first argument may be NULL.
func FirstKnown(args []Type) Type {
	for _, t := range args {
		if t != Null {
			return t
		}
	}
	return Null
}

// Number is the Result of a function of a number: integers of integers, and of NULL.
func Number(args []Type) Type {
	switch {
	case len(args) != 1:
		return Unknown
	case args[0] == Null:
		return query.SQLInt8
	case IsNumber(args[0]):
		return Wider(query.SQLInt8, args[0])
	}
	return Unknown
}

// SQLite are the operators of SQLite that neither compare nor do arithmetic.
var SQLite = map[string]Function{
	"AND": {Args: []Type{query.SQLBool}, Value: query.SQLBool}, "OR": {Args: []Type{query.SQLBool}, Value: query.SQLBool},
	"&": integers, "|": integers, "<<": integers, ">>": integers,
	"||": {Args: []Type{query.SQLText}, Value: query.SQLText}, "->": {}, "->>": {},
	"LIKE": {Args: []Type{query.SQLText}, Value: query.SQLBool}, "GLOB": {Args: []Type{query.SQLText}, Value: query.SQLBool},
}

var integers = Function{Args: []Type{query.SQLInt8}, Value: query.SQLInt8}
