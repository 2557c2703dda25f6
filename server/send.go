package server

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
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

// speak begins the conversation in messages. What came before was read byte by byte, so
// nothing that was sent before TLS began is taken for a message inside it (CVE-2021-23214).
func (c *conn) speak() {
	metered := &meter{c.net, &c.server.counts}
	c.out, c.wire = metered, pgproto3.NewBackend(metered, io.Discard)
	c.wire.SetMaxBodyLen(loginMessage)
}

// meter counts the bytes of a connection, within TLS.
type meter struct {
	net.Conn
	counts *Counts
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.counts.Received.Add(int64(n))
	return n, err
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.counts.Sent.Add(int64(n))
	return n, err
}
