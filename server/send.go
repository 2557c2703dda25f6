package server

import (
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/server/pgcatalog"
)

// flushAfter is how many bytes wait for the client before they are sent.
const flushAfter = 64 << 10

// send sends a message, now or with others. After an error the connection is lost.
func (c *conn) send(m pgproto3.BackendMessage) {
	var err error
	if c.waiting, err = m.Encode(c.waiting); err != nil && c.lost == nil {
		c.lost = err
	}
	if len(c.waiting) >= flushAfter {
		c.flush()
	}
}

// flush sends what waits.
func (c *conn) flush() error {
	if c.lost == nil {
		c.raw.SetWriteDeadline(time.Now().Add(c.server.config.Limits.Write))
		_, c.lost = c.out.Write(c.waiting)
	}
	if c.waiting = c.waiting[:0]; cap(c.waiting) > mostIdle {
		c.waiting = nil
	}
	return c.lost
}

// mostIdle bounds the memory that a connection keeps for what it sends next.
const mostIdle = 4 << 10

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
		c.send(&row)
		c.server.counts.Rows.Add(1)
		if c.lost != nil {
			return c.lost
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

func (c *conn) sendColumns(columns []column, formats []int16) error {
	if len(columns) == 0 {
		c.send(&pgproto3.NoData{})
		return nil
	}
	fields := make([]pgproto3.FieldDescription, len(columns))
	for i, col := range columns {
		format, err := formatOf(formats, i)
		if err != nil {
			return err
		}
		fields[i] = pgproto3.FieldDescription{Name: []byte(col.name), DataTypeOID: col.oid, DataTypeSize: col.size, TypeModifier: -1, Format: format}
	}
	c.send(&pgproto3.RowDescription{Fields: fields})
	return nil
}

// complete ends a statement's output.
func (c *conn) complete(out *output, rows int) {
	tag := []byte(out.tag)
	if out.counted {
		tag = strconv.AppendInt(append(tag, ' '), int64(rows), 10)
	}
	c.send(&pgproto3.CommandComplete{CommandTag: tag})
}

func (c *conn) notify(out *output) {
	for _, n := range out.notices {
		c.send(n)
	}
}
