package postgres

import (
	"slices"
	"strconv"
)

// call is a use of a function by a view.
type call struct {
	number      string // of the function, or of the operator that stands for it
	operator    bool
	first, last []byte   // its arguments, where they are constants
	types       []string // the numbers of the types of its arguments; "" for one that is not known
	collation   string   // by which it compares
}

func callOf(n *tree, field string, operator bool) call {
	args := n.list("args")
	c := call{number: n.atom(field), operator: operator, collation: n.atom("inputcollid")}
	for _, a := range args {
		c.types = append(c.types, typeOf(a))
	}
	if len(args) > 0 {
		c.first, c.last = constant(args[0]), constant(args[len(args)-1])
	}
	return c
}

// constant returns the bytes of an argument, if it is a constant and not NULL. A
// word of the server's machine is as long as its value is short, or longer.
func constant(argument any) []byte {
	c, ok := argument.(*tree)
	if !ok || c.kind != "CONST" || c.atom("constisnull") != "false" || len(c.fields["constvalue"]) != 2 {
		return nil
	}
	list, _ := c.fields["constvalue"][1].([]any)
	var out []byte
	for _, b := range list {
		text, _ := b.(string)
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil
		}
		out = append(out, byte(n))
	}
	if length, _ := strconv.Atoi(c.atom("constlen")); length > 0 && length < len(out) && c.atom("constbyval") == "true" {
		out = out[:length] // of a machine that stores the low bytes first
	}
	return out
}

// safe reports whether a call gives a value for every row.
func (c call) safe(name string) bool {
	switch {
	case total.MatchString(name):
		return true
	case byConstant.MatchString(name):
		zero := slices.IndexFunc(c.last, func(b byte) bool { return b != 0 }) < 0
		ones := slices.IndexFunc(c.last, func(b byte) bool { return b != 0xff }) < 0
		return !zero && !ones
	case byField.MatchString(name):
		const header = 4 // bytes before those of a text
		return len(c.first) > header && fields[string(c.first[header:])]
	case byPattern.MatchString(name):
		return len(c.last) > 0 && !slices.Contains(c.last, '\\')
	}
	return false
}
