package engine

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"sync"

	"dpsql/internal/released"
	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/around"
	"dpsql/sqlfront/syntax"
)

// Prepared is a parsed statement. It is immutable, so several sessions may run it at the
// same time.
type Prepared struct {
	read   *syntax.Reading                   // its settings hold while the statement runs
	around func() (*around.Statement, error) // the query as one with surroundings
}

// Prepare parses one statement. It looks up no names; that happens at each run. The error
// is a *sqlerr.Error.
func Prepare(text string) (*Prepared, error) {
	p, err := prepare(text)
	if err != nil {
		return nil, public(context.Background(), err)
	}
	return p, nil
}

func prepare(text string) (*Prepared, error) {
	read, err := syntax.Read(text)
	if err != nil {
		return nil, err
	}
	return prepared(read)
}

// prepared prepares a statement that was read.
func prepared(read *syntax.Reading) (*Prepared, error) {
	p := &Prepared{read: read, around: sync.OnceValues(func() (*around.Statement, error) { return around.Of(read) })}
	if !slices.ContainsFunc(read.Settings, func(o syntax.Option) bool { return o.Parameter > 0 }) {
		if _, err := p.settings(released.DefaultSettings(), nil); err != nil {
			return nil, err
		}
	}
	return p, p.query().Check()
}

// settings returns the settings under which the statement runs: those of the session, and
// its own.
func (p *Prepared) settings(s Settings, args []query.Value) (Settings, error) {
	for _, o := range p.read.Settings {
		value := o.Value
		if o.Parameter > len(args) {
			return s, p.miscounted(len(args))
		} else if o.Parameter > 0 {
			value = cmp.Or(args[o.Parameter-1].Str(), args[o.Parameter-1].String())
		}
		if err := s.Set(o.Name.Text, value); err != nil {
			return s, sqlerr.Locate(err, o.Name.Position)
		}
	}
	return s, nil
}

// Parameters returns the names of the statement's arguments, in order. An argument without
// a name is "".
func (p *Prepared) Parameters() []string { return p.read.Parameters }

// Setting returns the name and the value of SET name = value, the latter as a parameter if it is one. It is not ok for another statement.
func (p *Prepared) Setting() (name, value string, ok bool) {
	if t := p.read.Tokens; p.read.Statement == nil && len(t) > 3 && t[0].Matches("SET") {
		return strings.ToLower(t[1].Value), t[3].Text, true
	}
	set, ok := p.read.Statement.(*syntax.Set)
	if ok {
		name, value = strings.ToLower(set.Name.Text), set.Value
	}
	return name, value, ok
}

// Query reports whether the statement is one that EXPLAIN may stand before.
func (p *Prepared) Query() bool {
	_, declares := p.read.Statement.(*syntax.CreateRelease)
	_, builds := p.read.Statement.(*syntax.CreateMechanism)
	return p.read.Query != nil && !p.read.Explain || declares || builds
}

// Shapes returns what the parameters stand for; nil if each is a value.
func (p *Prepared) Shapes() []syntax.Shape { return p.read.Shapes }

// Fill returns the statement given its arguments, each a query.Value or a list, a []query.Value, and the values with which
// it then runs. A list stands in IN (?), = ANY (?) and <> ALL (?), where the text of an array, {a,b}, is one, too. Without its
// arguments the columns and parameters of a statement may be asked for, those of a list having its elements' type.
func (p *Prepared) Fill(args []any) (*Prepared, []query.Value, error) {
	if len(args) != len(p.Parameters()) {
		return nil, nil, p.miscounted(len(args))
	}
	values, given, more := make([]query.Value, len(args)), make([]syntax.Given, len(args)), p.read.Shapes != nil
	for i, a := range args {
		list, ok := a.([]query.Value)
		if v, one := a.(query.Value); one {
			values[i], given[i].Text = v, v.Str()
			if p.read.Shapes == nil || p.read.Shapes[i].Kind != syntax.ArrayShape {
				continue
			}
			list, ok = elements(v)
		}
		if !ok {
			return nil, nil, sqlerr.New(sqlerr.Invalid, "argument %d is not a list", i+1).WithHint("pass a slice, or the text of an array: {a,b}")
		}
		more, given[i].List, given[i].Length = true, true, len(list)
		if len(list) > 0 {
			values[i] = list[0]
			values = append(values, list[1:]...)
		}
	}
	if !more {
		return p, values, nil
	}
	p, err := again(p.read.Give(given))
	return p, values, err
}

// miscounted is the error of too many arguments, or too few.
func (p *Prepared) miscounted(arguments int) error {
	return sqlerr.New(sqlerr.Invalid, "the statement has %d parameters, and %d arguments are given", len(p.Parameters()), arguments)
}

// elements returns the elements of an array in text; those of NULL are one NULL.
func elements(array query.Value) (list []query.Value, ok bool) {
	if array.IsNull() {
		return []query.Value{array}, true
	}
	items, ok := syntax.Elements(array.Str())
	for _, item := range items {
		if item.Kind == syntax.KindString {
			list = append(list, query.Text(item.Value))
		} else {
			list = append(list, query.Null())
		}
	}
	return list, ok
}

// Intervals returns the statement given which of its parameters are intervals where the text does not say so.
func (p *Prepared) Intervals(intervals []bool) (*Prepared, error) {
	return again(p.read.Intervals(intervals))
}

// again prepares a statement that was read again.
func again(read *syntax.Reading, err error) (p *Prepared, _ error) {
	if err == nil {
		p, err = prepared(read)
	}
	if err != nil {
		return nil, public(context.Background(), err)
	}
	return p, nil
}

// Input is one statement or dot-command of a script:
//
//	Text    string // from its first character through its semicolon, if it has one
//	Command bool   // it is a dot-command
//	Line    int    // 1-based line of the first character
//	Column  int    // 1-based character in that line
type Input = syntax.Input

// Scanner splits a script into inputs as it arrives. Next returns them one by one, and io.EOF after the last; its errors have
// the code io, or unsupported for a statement that is too long.
type Scanner = syntax.Scanner

// NewScanner returns a scanner of r.
func NewScanner(r io.Reader) *Scanner { return syntax.NewScanner(r) }

// Incomplete reports whether text is the beginning of a longer statement: it has no
// terminating semicolon yet, or ends inside a string or comment.
func Incomplete(text string) bool { return syntax.Incomplete(text) }

// Parameters returns the names of a statement's arguments, in order. An argument without a
// name is "".
func Parameters(text string) ([]string, error) { return syntax.Parameters(text) }
