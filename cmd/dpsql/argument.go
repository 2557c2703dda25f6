package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
)

// arguments are the values of named parameters, from -v and .parameter. They
// are values of the dialect, never text of the statement, so that nothing in
// them can change its meaning.
type arguments map[string]query.Value

// assign adds name=value. A value that reads as an integer is one, NULL is
// NULL, and anything else a text, with or without SQL's quotes.
func (a arguments) assign(name, value string) error {
	name = strings.TrimLeft(name, ":@$")
	if !isParameterName(name) {
		return sqlerr.New(sqlerr.Invalid, "%q is no name of a parameter", name).
			WithHint("a name has letters, digits and _, and stands as :name in a statement")
	}
	a[name] = argumentValue(value)
	return nil
}

func isParameterName(name string) bool {
	return name != "" && strings.Trim(name, "0123456789") != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

func argumentValue(text string) query.Value {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return query.Int(n)
	}
	if strings.EqualFold(text, "NULL") {
		return query.Null()
	}
	if n := len(text); n >= 2 && text[0] == '\'' && text[n-1] == '\'' {
		text = strings.ReplaceAll(text[1:n-1], "''", "'")
	}
	return query.Text(text)
}

// of returns the arguments of a statement in the order of its parameters.
func (a arguments) of(statement string) ([]query.Value, error) {
	names, err := engine.Parameters(statement)
	if err != nil || len(names) == 0 {
		return nil, nil // the session says what is wrong with the statement
	}
	values := make([]query.Value, len(names))
	for i, name := range names {
		v, ok := a[name]
		switch {
		case name == "":
			return nil, sqlerr.New(sqlerr.Invalid, "the statement has a parameter without a name").
				WithHint("write :name, and give it a value by -v name=value or .parameter set name value")
		case !ok:
			return nil, sqlerr.New(sqlerr.Invalid, "the parameter :%s has no value", name).
				WithHint("give it one by -v %s=value or .parameter set %s value", name, name)
		}
		values[i] = v
	}
	return values, nil
}

// names returns the names in order.
func (a arguments) names() []string { return slices.Sorted(maps.Keys(a)) }
