package importer

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"dpsql/sqlerr"
)

// records reads the records after the header.
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
	r.csv.Comma = f.dialect.Comma
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
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = strings.TrimSpace(field)
	}
	return names, checkNames(r.file.path, names)
}

// next returns the fields of the next record, valid until the next call, or io.EOF. It
// checks the context now and then.
func (r *records) next(ctx context.Context) ([]string, error) {
	if r.read++; r.read&0xfff == 0 && ctx.Err() != nil {
		return nil, cancelled(r.file.path)
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
		if quote := r.file.dialect.Quote; quote != '"' {
			fields[i] = swapBack(field, quote)
		}
	}
	return fields, nil
}

// failure describes an error by its line number and never quotes the line.
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

// detect reads the file once and returns its columns and the kinds of values they hold.
func (f *file) detect(ctx context.Context) (names []string, kinds []seen, err error) {
	r, names, err := f.records()
	if err != nil {
		return nil, nil, err
	}
	kinds = make([]seen, len(names))
	for {
		fields, err := r.next(ctx)
		if err == io.EOF {
			f.decide(kinds)
			return names, kinds, nil
		}
		if err != nil {
			return nil, nil, err
		}
		for i, field := range fields {
			if !f.dialect.isNull(field) {
				kinds[i].add(field)
			}
		}
	}
}

// decide decides what a comma in a number is, and takes the fractions of the columns for
// what they are.
func (f *file) decide(kinds []seen) {
	if f.dialect.Decimal == 0 {
		points := func(s seen) bool { return s.point && !s.comma && !s.text }
		commas := func(s seen) bool { return s.comma && !s.point && !s.text }
		f.dialect.Decimal = '.'
		if f.dialect.Comma == ';' && slices.ContainsFunc(kinds, commas) && !slices.ContainsFunc(kinds, points) {
			f.dialect.Decimal = ','
		}
	}
	for i := range kinds {
		kinds[i] = kinds[i].with(f.dialect.Decimal)
	}
}

// rows reads the file again and converts each field to the type of its column.
func (f *file) rows(columns []Column) (func(context.Context) ([]any, error), error) {
	r, names, err := f.records()
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(names, columns, func(name string, c Column) bool { return name == c.Name }) {
		return nil, sqlerr.New(sqlerr.IO, "file %s changed while it was read", f.path)
	}
	row := make([]any, len(columns))
	return func(ctx context.Context) ([]any, error) {
		fields, err := r.next(ctx)
		for i, field := range fields {
			null := f.dialect.isNull(field)
			if f.dialect.Decimal == ',' && columns[i].Type == typeReal {
				field = strings.Replace(field, ",", ".", 1)
			}
			if row[i] = nil; !null {
				row[i] = value(field, columns[i].Type)
			}
		}
		return row, err
	}, nil
}
