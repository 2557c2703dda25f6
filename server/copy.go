package server

import (
	"strings"

	"dpsql/sqlfront/syntax"
)

// parseCopy reads COPY (SELECT …) TO STDOUT.
func parseCopy(p *verbParser, v *verb) {
	if !p.at("(") {
		p.fail(failure("0A000", "COPY takes a query here: COPY (SELECT …) TO STDOUT").at(1))
		return
	}
	open := p.take()
	for depth := 1; depth > 0; {
		switch t := p.take(); {
		case t.Kind == syntax.KindEnd:
			p.unexpected()
			return
		case t.Matches("("):
			depth++
		case t.Matches(")"):
			if depth--; depth == 0 {
				p.within(v, open.End, t.Position)
			}
		}
	}
	p.expect("TO")
	if !p.accept("STDOUT") {
		p.fail(failure("0A000", "COPY writes to STDOUT only").at(p.next.Position))
	}
	v.copied = p.copyOptions()
	if !p.ended() {
		p.unexpected()
	}
}

// copyOptions reads the options of COPY: those in parentheses, and the older ones.
func (p *verbParser) copyOptions() *copyForm {
	p.accept("WITH")
	inner := p.accept("(")
	f := &copyForm{delimiter: '\t', null: `\N`}
	var set []func() // what was given, which counts for more than what the format has
	for p.next.Kind != syntax.KindEnd && !p.at(";", ")") {
		if after := p.copyOption(f, inner); after != nil {
			set = append(set, after)
		}
		p.accept(",")
	}
	if inner {
		p.expect(")")
	}
	if f.csv {
		f.delimiter, f.null = ',', ""
	}
	for _, after := range set {
		after()
	}
	return f
}

// copyOption reads an option of COPY. What it returns is done once the format is known.
func (p *verbParser) copyOption(f *copyForm, inner bool) func() {
	switch name := p.take(); valueOf(name) {
	case "format":
		if form := p.take(); valueOf(form) == "csv" {
			f.csv = true
		} else if valueOf(form) != "text" {
			p.fail(failure("0A000", "COPY has no format %s here: text or csv", valueOf(form)))
		}
	case "csv":
		f.csv = true
	case "binary":
		p.fail(failure("0A000", "COPY has no binary format here: text or csv"))
	case "header":
		f.header = !p.at("FALSE", "OFF") && p.next.Value != "0"
		if inner && p.next.Kind != syntax.KindEnd && !p.at(",", ")", ";") {
			p.take()
		}
	case "delimiter":
		p.accept("AS")
		d := p.take()
		if d.Kind != syntax.KindString || len(d.Value) != 1 || strings.ContainsAny(d.Value, "\r\n\"\\") {
			p.fail(failure("22023", "COPY's delimiter is one character"))
			return nil
		}
		return func() { f.delimiter = d.Value[0] }
	case "null":
		p.accept("AS")
		null := strings.Clone(valueOf(p.take()))
		return func() { f.null = null }
	case "encoding":
		p.take()
	default:
		p.fail(failure("0A000", "COPY has no option %s here", valueOf(name)).at(name.Position))
	}
	return nil
}

func (c *conn) copyOut(v *verb) (*output, error) {
	st, err := c.queryIn(v, "COPY")
	if err != nil {
		return nil, moved(err, v)
	}
	out, err := c.run(st, arguments{})
	if err != nil {
		return nil, moved(err, v)
	}
	out.copied = v.copied
	return out, nil
}
