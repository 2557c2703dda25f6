package driver

import (
	"context"
	"database/sql/driver"
	"fmt"
	"reflect"
	"slices"
	"time"

	"dpsql/engine"
	"dpsql/query"
	"dpsql/sqlerr"
)

// list is an argument of several values.
type list []any

// CheckNamedValue takes an argument as a query.Value, a time.Time, or a list of these. A
// time.Duration is an interval.
func (c *conn) CheckNamedValue(nv *driver.NamedValue) error {
	value, err := argument(nv.Value)
	if items := sliceOf(nv.Value); err == errNone && items.IsValid() {
		all := make(list, items.Len())
		for i := range all {
			if all[i], err = argument(items.Index(i).Interface()); err != nil {
				return unusable(nv, err)
			}
		}
		value, err = all, nil
	}
	if err != nil {
		return unusable(nv, err)
	}
	nv.Value = value
	return nil
}

// argument returns what a Go value is as an argument. Errors: errNone, and those of a driver.Valuer.
func argument(v any) (any, error) {
	switch x := v.(type) {
	case query.Value:
		return x, nil
	case time.Duration:
		if x%time.Second != 0 {
			return nil, errNone
		}
		const day = 24 * time.Hour
		return query.Text(fmt.Sprintf("%d days %d seconds", x/day, x%day/time.Second)), nil
	}
	plain, err := driver.DefaultParameterConverter.ConvertValue(v)
	if err != nil {
		if _, says := v.(driver.Valuer); says {
			return nil, err
		}
		return nil, errNone
	}
	switch x := plain.(type) {
	case time.Time:
		return x, nil
	case []byte:
		plain = string(x)
	}
	if value, ok := query.Argument(plain); ok {
		return value, nil
	}
	return nil, errNone
}

// errNone is the error of what is not one value.
var errNone error = sqlerr.Invalid

// sliceOf returns the slice that a value is or points to, and no valid value for another.
func sliceOf(v any) reflect.Value {
	s := reflect.ValueOf(v)
	if s.Kind() == reflect.Pointer {
		s = s.Elem()
	}
	if s.Kind() != reflect.Slice {
		return reflect.Value{}
	}
	return s
}

func unusable(nv *driver.NamedValue, err error) error {
	if err != errNone {
		return sqlerr.New(sqlerr.Invalid, "argument %d of type %T: %v", nv.Ordinal, nv.Value, err).Because(err)
	}
	return sqlerr.New(sqlerr.Invalid, "argument %d has type %T, which no column holds", nv.Ordinal, nv.Value).
		WithHint("pass a number, a string, a bool, a time.Time, a time.Duration of whole seconds for $1::interval, nil, or a slice of these")
}

// fill returns a statement given its arguments, and the values with which it then runs.
func (c *conn) fill(ctx context.Context, p *engine.Prepared, args []driver.NamedValue) (*engine.Prepared, []query.Value, error) {
	all, err := inOrder(p.Parameters(), args)
	if err != nil {
		return nil, nil, err
	}
	var types []engine.Type // are looked for if a time's meaning depends on them
	for i, arg := range all {
		items, several := arg.(list)
		if !several {
			items = list{arg}
		}
		values := make([]query.Value, len(items))
		for n, item := range items {
			at, isTime := item.(time.Time)
			if !isTime {
				values[n] = item.(query.Value)
				continue
			}
			if types == nil {
				if types, err = c.session.ParameterTypes(ctx, p); err != nil {
					return nil, nil, err
				}
			}
			if values[n], err = moment(at, types, i); err != nil {
				return nil, nil, err
			}
		}
		if all[i] = values; !several {
			all[i] = values[0]
		}
	}
	return p.Fill(all)
}

// moment returns a time as argument i: beside a date it is its day, as its own zone has it, and beside a time of day its
// clock. Beside a timestamp it is the moment in UTC, to the second.
func moment(t time.Time, types []engine.Type, i int) (query.Value, error) {
	typ := engine.Timestamp
	if i < len(types) {
		typ = types[i]
	}
	switch typ {
	case engine.Date:
		return query.Text(t.Format(time.DateOnly)), nil
	case engine.Timestamp, engine.Text:
		return query.Text(t.UTC().Format(time.DateTime)), nil
	case engine.Time:
		return query.Text(t.Format(time.TimeOnly)), nil
	}
	return query.Value{}, sqlerr.New(sqlerr.Invalid, "argument %d is a time.Time, and stands where a value of type %s is", i+1, typ).
		WithHint("pass a number, or t.Unix()")
}

// inOrder returns arguments in the order of a statement's parameters. Either all arguments have a name, as sql.Named gives
// it, or none has.
func inOrder(names []string, args []driver.NamedValue) ([]any, error) {
	if slices.ContainsFunc(args, func(a driver.NamedValue) bool { return a.Name != "" }) {
		return byName(names, args)
	}
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	return values, nil
}

// byName puts named arguments in the order of the statement's parameters.
func byName(names []string, args []driver.NamedValue) ([]any, error) {
	if slices.Contains(names, "") || slices.ContainsFunc(args, func(a driver.NamedValue) bool { return a.Name == "" }) {
		return nil, sqlerr.New(sqlerr.Invalid, "arguments with and without names are mixed").
			WithHint("write :name and pass sql.Named, or ? and pass the values in order")
	}
	values, given := make([]any, len(names)), make([]bool, len(names))
	for _, a := range args {
		i := slices.Index(names, a.Name)
		switch {
		case i < 0:
			return nil, sqlerr.New(sqlerr.Invalid, "the statement has no parameter :%s", a.Name)
		case given[i]:
			return nil, sqlerr.New(sqlerr.Invalid, "the argument %s is given twice", a.Name)
		}
		values[i], given[i] = a.Value, true
	}
	if i := slices.Index(given, false); i >= 0 {
		return nil, sqlerr.New(sqlerr.Invalid, "the parameter :%s has no argument", names[i]).
			WithHint("pass sql.Named(%q, value)", names[i])
	}
	return values, nil
}
