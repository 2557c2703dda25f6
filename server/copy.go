package server

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// parseCopy reads COPY (SELECT …) TO STDOUT.
func parseCopy(p *verbParser, v *verb) bool {
	if !p.next.is("(") {
		p.fail(failure("0A000", "COPY takes a query here: COPY (SELECT …) TO STDOUT").at(1))
		return true
	}
	open := p.take()
	for depth := 1; depth > 0; {
		switch t := p.take(); {
		case t.kind == kindEnd:
			p.unexpected()
			return true
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth == 0 {
				v.inner, v.innerAt = p.text[open.end:t.start], p.characters(open.end)
			}
		}
	}
	p.expect("to")
	if !p.accept("stdout") {
		p.fail(failure("0A000", "COPY writes to STDOUT only").at(p.characters(p.next.start) + 1))
	}
	v.copied = &copyForm{delimiter: '\t', null: `\N`}
	p.copyOptions(v.copied)
	if !p.ended() {
		p.unexpected()
	}
	return true
}

// copyOptions reads the options of COPY: those in parentheses, and the older ones.
func (p *verbParser) copyOptions(f *copyForm) {
	p.accept("with")
	inner := p.accept("(")
	delimiter, null, given := byte(0), "", false
	for p.next.kind != kindEnd && !p.next.is(";", ")") {
		switch name := p.take(); {
		case name.is("format"):
			switch form := p.take(); form.value {
			case "csv":
				f.csv = true
			case "text":
			default:
				p.fail(failure("0A000", "COPY has no format %s here: text or csv", form.value))
			}
		case name.is("csv"):
			f.csv = true
		case name.is("binary"):
			p.fail(failure("0A000", "COPY has no binary format here: text or csv"))
		case name.is("header"):
			f.header = !p.next.is("false", "off") && p.next.value != "0"
			if !p.next.is(",", ")", ";") && p.next.kind != kindEnd && inner {
				p.take()
			}
		case name.is("delimiter"):
			p.accept("as")
			d := p.take()
			if d.kind != kindText || len(d.value) != 1 || strings.ContainsAny(d.value, "\r\n\"\\") {
				p.fail(failure("22023", "COPY's delimiter is one character"))
				break
			}
			delimiter = d.value[0]
		case name.is("null"):
			p.accept("as")
			null, given = p.take().value, true
		case name.is("encoding"):
			p.take()
		default:
			p.fail(failure("0A000", "COPY has no option %s here", name.value).at(p.characters(name.start) + 1))
		}
		p.accept(",")
	}
	if inner {
		p.expect(")")
	}
	if f.csv {
		f.delimiter, f.null = ',', ""
	}
	if delimiter != 0 {
		f.delimiter = delimiter
	}
	if given {
		f.null = null
	}
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

// sendCopy sends an output as COPY does.
func (c *conn) sendCopy(out *output) error {
	c.send(&pgproto3.CopyOutResponse{ColumnFormatCodes: make([]uint16, len(out.columns))})
	if out.copied.header {
		names := make([]any, len(out.columns))
		for i, col := range out.columns {
			names[i] = col.name
		}
		c.sendLine(out, names)
	}
	for _, row := range out.rows {
		converted := make([]any, len(row))
		for i, v := range row {
			var err error
			if converted[i], err = out.columns[i].converted(v); err != nil {
				return err
			}
		}
		c.sendLine(out, converted)
		if c.lost != nil {
			return c.lost
		}
	}
	c.send(&pgproto3.CopyDone{})
	c.send(&pgproto3.CommandComplete{CommandTag: fmt.Appendf(nil, "COPY %d", len(out.rows))})
	return nil
}

func (c *conn) sendLine(out *output, row []any) {
	fields := make([]string, len(row))
	for i, v := range row {
		switch {
		case v == nil:
			fields[i] = out.copied.null
		case out.copied.csv:
			fields[i] = out.text(v, i)
			if fields[i] == out.copied.null {
				fields[i] = `"` + fields[i] + `"`
			} else {
				fields[i] = quotedField(fields[i], out.copied.delimiter, len(row) == 1)
			}
		default:
			fields[i] = escapeCopy.Replace(out.text(v, i))
			if out.copied.delimiter != '\t' {
				fields[i] = strings.ReplaceAll(fields[i], string(out.copied.delimiter), `\`+string(out.copied.delimiter))
			}
		}
	}
	line := append([]byte(strings.Join(fields, string(out.copied.delimiter))), '\n')
	c.send(&pgproto3.CopyData{Data: line})
}

var escapeCopy = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\b", `\b`, "\f", `\f`, "\v", `\v`)

// quotedField returns a field as CSV has it. On a line of its own the mark of the end is quoted.
func quotedField(field string, delimiter byte, alone bool) string {
	if !strings.ContainsAny(field, "\"\r\n"+string(delimiter)) && !(alone && field == `\.`) {
		return field
	}
	return `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
}
