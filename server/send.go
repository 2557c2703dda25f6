package server

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/server/pgcatalog"
)

// flushAfter is how many bytes wait for the client before they are sent.
const flushAfter = 64 << 10

// sendRows sends n rows of an output, from a first one on.
func (c *conn) sendRows(out *output, formats []int16, first, n int) error {
	if len(formats) > 1 && len(formats) != len(out.columns) {
		return failure("08P01", "there are %d formats for %d columns", len(formats), len(out.columns))
	}
	each := make([]int16, len(out.columns))
	for i := range each {
		each[i], _ = formatOf(formats, i)
	}
	row := pgproto3.DataRow{Values: make([][]byte, len(out.columns))}
	buffer := make([]byte, 0, 64) // not nil: an empty text is not NULL
	for _, values := range out.rows[first : first+n] {
		buffer = buffer[:0]
		ends := 0
		for i, v := range values {
			row.Values[i] = nil
			v, err := out.columns[i].converted(v)
			if err != nil {
				return err
			}
			if v == nil {
				continue
			}
			ends = len(buffer)
			if buffer, err = out.append(buffer, v, i, each[i]); err != nil {
				return err
			}
			row.Values[i] = buffer[ends:len(buffer):len(buffer)]
		}
		c.wire.Send(&row)
		c.server.counts.Rows.Add(1)
		c.waiting += len(buffer) + 4*len(values) + 7
		if err := c.flushFull(); err != nil {
			return err
		}
	}
	return nil
}

// append appends a value of column i in a format.
func (out *output) append(dst []byte, v any, i int, format int16) ([]byte, error) {
	col := out.columns[i]
	switch {
	case out.catalog == nil:
		return col.appendValue(dst, v, format)
	case format == pgproto3.TextFormat:
		return out.catalog.AppendText(dst, col.oid, v), nil
	}
	return out.catalog.AppendBinary(dst, col.oid, v)
}

// text returns a value of column i as COPY writes it.
func (out *output) text(v any, i int) string {
	if out.catalog != nil && v != nil {
		if _, name := v.(string); !name { // a header's names are strings as well
			return string(out.catalog.AppendText(nil, out.columns[i].oid, v))
		}
	}
	return string(pgcatalog.AppendText(nil, out.columns[i].oid, v))
}

// flushFull sends what waits, if it is much.
func (c *conn) flushFull() error {
	if c.waiting < flushAfter {
		return nil
	}
	return c.flush()
}

// copyForm is how COPY … TO STDOUT writes rows.
type copyForm struct {
	csv       bool
	header    bool
	delimiter byte
	null      string
}

// sendCopy sends an output as COPY does.
func (c *conn) sendCopy(out *output) error {
	c.wire.Send(&pgproto3.CopyOutResponse{ColumnFormatCodes: make([]uint16, len(out.columns))})
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
		if err := c.flushFull(); err != nil {
			return err
		}
	}
	c.wire.Send(&pgproto3.CopyDone{})
	c.wire.Send(&pgproto3.CommandComplete{CommandTag: fmt.Appendf(nil, "COPY %d", len(out.rows))})
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
	c.wire.Send(&pgproto3.CopyData{Data: line})
	c.waiting += len(line) + 5
}

var escapeCopy = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\b", `\b`, "\f", `\f`, "\v", `\v`)

// quotedField returns a field as CSV has it. On a line of its own the mark of the end is quoted.
func quotedField(field string, delimiter byte, alone bool) string {
	if !strings.ContainsAny(field, "\"\r\n"+string(delimiter)) && !(alone && field == `\.`) {
		return field
	}
	return `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
}
