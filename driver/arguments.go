package driver

import (
	"database/sql/driver"
	"slices"

	"dpsql/query"
	"dpsql/sqlerr"
)

// arguments returns the values of a statement's parameters in their order.
// Either all arguments have a name, as sql.Named gives it, or none has.
func arguments(names []string, args []driver.NamedValue) ([]query.Value, error) {
	named := slices.ContainsFunc(args, func(a driver.NamedValue) bool { return a.Name != "" })
	if named {
		return byName(names, args)
	}
	values := make([]query.Value, len(args))
	for i, a := range args {
		values[i] = a.Value.(query.Value)
	}
	return values, nil
}

// byName puts named arguments in the order of the statement's parameters.
func byName(names []string, args []driver.NamedValue) ([]query.Value, error) {
	if slices.Contains(names, "") || slices.ContainsFunc(args, func(a driver.NamedValue) bool { return a.Name == "" }) {
		return nil, sqlerr.New(sqlerr.Invalid, "arguments with and without names are mixed").
			WithHint("write :name and pass sql.Named, or ? and pass the values in order")
	}
	values, given := make([]query.Value, len(names)), make([]bool, len(names))
	for _, a := range args {
		i := slices.Index(names, a.Name)
		switch {
		case i < 0:
			return nil, sqlerr.New(sqlerr.Invalid, "the statement has no parameter :%s", a.Name)
		case given[i]:
			return nil, sqlerr.New(sqlerr.Invalid, "the argument %s is given twice", a.Name)
		}
		values[i], given[i] = a.Value.(query.Value), true
	}
	if i := slices.Index(given, false); i >= 0 {
		return nil, sqlerr.New(sqlerr.Invalid, "the parameter :%s has no argument", names[i]).
			WithHint("pass sql.Named(%q, value)", names[i])
	}
	return values, nil
}
