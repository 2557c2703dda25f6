package syntax

import (
	"strings"

	"dpsql/sqlerr"
)

// maxOptions is the largest number of options of a statement.
const maxOptions = 64

// with parses an optional WITH (name = value, …).
func (p *parser) with() ([]Option, error) {
	if !p.accept("WITH") {
		return nil, nil
	}
	return p.options()
}

// options parses (name = value, …).
func (p *parser) options() ([]Option, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var options []Option
	seen := make(map[string]bool)
	for {
		o, err := p.option("an option")
		if err != nil {
			return nil, err
		}
		if seen[o.Name.Text] {
			return nil, sqlerr.New(sqlerr.Invalid, "option %s is given twice", o.Name.Text).At(o.Name.Position)
		}
		seen[o.Name.Text] = true
		if options = append(options, o); len(options) > maxOptions {
			return nil, sqlerr.New(sqlerr.Unsupported, "more than %d options are outside the dialect", maxOptions).
				At(o.Name.Position)
		}
		if !p.accept(",") {
			return options, p.expectClose()
		}
	}
}

// option parses name = value. No keyword can stand in the name's place, so a
// name that is one, such as update, needs no quotes.
func (p *parser) option(what string) (Option, error) {
	t := p.peek()
	name := Name{t.Text, t.Position}
	if t.Kind == KindWord {
		p.at++
	} else {
		var err error
		if name, err = p.name(what); err != nil {
			return Option{}, err
		}
	}
	name.Text = LowerASCII(name.Text)
	if !p.accept("=") && !p.accept("==") {
		return Option{}, p.unexpected("=")
	}
	o := Option{Name: name, Position: p.peek().Position}
	return o, p.value(&o)
}

func LowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, s)
}

// value parses the value of an option.
func (p *parser) value(o *Option) error {
	sign := ""
	if t := p.peek(); t.Is("-") || t.Is("+") {
		sign = p.next().Text
	}
	t := p.peek()
	switch {
	case t.Kind == KindInteger || t.Kind == KindDecimal:
		o.Kind, o.Value = Number, sign+t.Text
	case sign != "":
		return p.unexpected("a number")
	case t.Kind == KindString:
		o.Kind, o.Value = String, t.Value
	case t.Kind == KindWord || t.Kind == KindQuoted && t.Value != "":
		o.Kind, o.Value = Word, t.Value
	default:
		return p.unexpected("a number, a word or a string in single quotes")
	}
	p.next()
	return nil
}
