package importer

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"dpsql/sqlerr"
)

// maxColumns is SQLite's limit on the columns of a table.
const maxColumns = 2000

// records reads the records behind the header.
type records struct {
	file *file
	csv  *csv.Reader
	read int64
}

// records starts over and returns the names of the columns.
func (f *file) records() (*records, []string, error) {
	text, err := f.start()
	if err != nil {
		return nil, nil, err
	}
	buffered := bufio.NewReaderSize(text, 1<<16)
	if mark, _ := buffered.Peek(3); string(mark) == "\ufeff" {
		buffered.Discard(3)
	}
	r := &records{file: f, csv: csv.NewReader(buffered)}
	r.csv.Comma = f.comma
	r.csv.ReuseRecord = true
	names, err := r.header()
	return r, names, err
}

func (r *records) header() ([]string, error) {
	fields, err := r.next(context.Background())
	if err == io.EOF {
		return nil, sqlerr.New(sqlerr.Invalid, "file %s is empty: its first line must name the columns", r.file.path)
	}
	if err != nil {
		return nil, err
	}
	if len(fields) > maxColumns {
		return nil, sqlerr.New(sqlerr.Invalid, "file %s has %d columns; a table has at most %d", r.file.path, len(fields), maxColumns)
	}
	names, at := make([]string, len(fields)), make(map[string]int)
	for i, field := range fields {
		name := strings.TrimSpace(field)
		if name == "" || strings.ContainsFunc(name, isControl) {
			return nil, sqlerr.New(sqlerr.Invalid, "column %d of file %s has no name, or one with a control character", i+1, r.file.path)
		}
		if j, twice := at[folded(name)]; twice {
			return nil, sqlerr.New(sqlerr.Invalid, "columns %d and %d of file %s have the same name", j, i+1, r.file.path)
		}
		at[folded(name)], names[i] = i+1, name
	}
	return names, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// next returns the fields of the next record, valid until the next call, or
// io.EOF. The context is looked at now and then.
func (r *records) next(ctx context.Context) ([]string, error) {
	if r.read++; r.read&0xfff == 0 && ctx.Err() != nil {
		return nil, sqlerr.New(sqlerr.Cancelled, "cancelled while reading file %s", r.file.path)
	}
	fields, err := r.csv.Read()
	if err != nil {
		return nil, r.failure(err)
	}
	for i, field := range fields {
		if !utf8.ValidString(field) {
			line, _ := r.csv.FieldPos(i)
			return nil, sqlerr.New(sqlerr.Invalid, "line %d of file %s is not valid UTF-8", line, r.file.path).
				WithHint("convert the file to UTF-8 first")
		}
	}
	return fields, nil
}

// failure describes an error by its line, never by the line's content.
func (r *records) failure(err error) error {
	if err == io.EOF {
		return err
	}
	var at *csv.ParseError
	if !errors.As(err, &at) {
		return unreadable(r.file.path, err)
	}
	what := "is not valid CSV"
	switch at.Err {
	case csv.ErrFieldCount:
		what = "does not have as many fields as the header"
	case csv.ErrBareQuote:
		what = "has a quote inside an unquoted field"
	case csv.ErrQuote:
		what = "has a quoted field that does not end as it should"
	}
	return sqlerr.New(sqlerr.Invalid, "line %d of file %s %s", at.StartLine, r.file.path, what)
}
