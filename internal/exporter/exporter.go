// Package exporter writes rows as CSV, JSON and Parquet, one after the other: memory does not
// grow with their number.
package exporter

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpsql/internal/answerjson"
)

// Column is a column of the rows.
type Column struct {
	Name string
	Kind Kind
}

// Kind is what the values of a column are. They may be NULL, too.
type Kind byte

// The kinds. Each has the values of those before it.
const (
	Integers Kind = iota
	Floats
	Texts
)

// Writer writes rows. A value is an int64, a float64, a string or nil. Close ends the output; it
// does not close what that is written to.
type Writer interface {
	Write(row []any) error
	Close() error
}

// For returns the function that makes the writer of a file's format, which the end of its name
// says: .csv, .json or .parquet. It is nil for any other.
func For(path string) func(w io.Writer, columns []Column) (Writer, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".csv":
		return NewCSV
	case ".json":
		return NewJSON
	case ".parquet":
		return NewParquet
	}
	return nil
}

// Distinct returns the columns with a number behind each name that another one has, as in "n:1".
// Capitals do not tell names apart.
func Distinct(columns []Column) []Column {
	taken := make(map[string]bool)
	all := slices.Clone(columns)
	for i, c := range columns {
		for n := 1; taken[strings.ToLower(all[i].Name)]; n++ {
			all[i].Name = fmt.Sprintf("%s:%d", c.Name, n)
		}
		taken[strings.ToLower(all[i].Name)] = true
	}
	return all
}

// CSV writes rows as RFC 4180 defines, but with the line ends of Unix. NULL is an empty field.
type CSV struct {
	w   io.Writer
	out *csv.Writer
}

// NewCSV returns a CSV, and writes the names of the columns, if there are any.
func NewCSV(w io.Writer, columns []Column) (Writer, error) {
	c := &CSV{w, csv.NewWriter(w)}
	if columns == nil {
		return c, nil
	}
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = column.Name
	}
	return c, c.out.Write(names)
}

// Write implements Writer.
func (c *CSV) Write(row []any) error {
	cells := make([]string, len(row))
	for i, v := range row {
		cells[i] = Text(v)
	}
	if len(cells) != 1 || cells[0] != "" {
		return c.out.Write(cells)
	}
	// Package csv writes a single empty field as an empty line, which its own
	// reader and others skip.
	c.out.Flush()
	if err := c.out.Error(); err != nil {
		return err
	}
	_, err := io.WriteString(c.w, `""`+"\n")
	return err
}

// Close implements Writer.
func (c *CSV) Close() error {
	c.out.Flush()
	return c.out.Error()
}

// object writes rows as one array of objects, each on a line of its own.
type object struct {
	w     io.Writer
	names [][]byte
	line  []byte
	rows  int
}

// NewJSON returns a writer of one JSON array of objects. A number that JSON cannot have is null.
func NewJSON(w io.Writer, columns []Column) (Writer, error) {
	o := &object{w: w}
	for _, c := range Distinct(columns) {
		text, err := answerjson.Marshal(c.Name)
		if err != nil {
			return nil, err
		}
		o.names = append(o.names, text)
	}
	return o, nil
}

// Write implements Writer.
func (o *object) Write(row []any) error {
	o.line = append(o.line[:0], []string{"[\n{", ",\n{"}[min(o.rows, 1)]...)
	o.rows++
	for i, v := range row {
		if x, ok := v.(float64); ok && (math.IsInf(x, 0) || math.IsNaN(x)) {
			v = nil
		}
		text, err := answerjson.Marshal(v)
		if err != nil {
			return err
		}
		if i > 0 {
			o.line = append(o.line, ',')
		}
		o.line = append(append(append(o.line, o.names[i]...), ':'), text...)
	}
	_, err := o.w.Write(append(o.line, '}'))
	return err
}

// Close implements Writer.
func (o *object) Close() error {
	end := "\n]\n"
	if o.rows == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(o.w, end)
	return err
}

// Text returns a value as text, "" for NULL.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return Number(v)
	case string:
		return v
	}
	return fmt.Sprint(v)
}

// Number returns the shortest decimal that reads back as x. It has an exponent
// only where the digits would be mostly zeros.
func Number(x float64) string {
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strings.Replace(strconv.FormatFloat(x, 'e', -1, 64), "e-0", "e-", 1)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
