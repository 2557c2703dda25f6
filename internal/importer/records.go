package importer

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"dpsql/sqlerr"
)

// records reads the records after the header.
type records struct {
	file  *file
	csv   *csv.Reader
	read  int64
	first []string // the first record after the header, if it was not returned yet
	err   error    // in its place
}

// records starts over and returns the names of the fields.
func (f *file) records() (*records, []string, error) {
	text, err := f.start()
	if err != nil {
		return nil, nil, err
	}
	r := &records{file: f, csv: csv.NewReader(text)}
	r.csv.Comma = f.dialect.Comma
	r.csv.FieldsPerRecord = -1
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
	names := cleaned(fields)
	first, err := r.next(context.Background())
	names = r.file.widened(names, first)
	if len(names) > maxColumns {
		return nil, tooWide(r.file.path, len(names))
	}
	if r.first, r.err = first, err; err == nil && len(first) != len(names) {
		line, _ := r.csv.FieldPos(0)
		r.err = r.failure(&csv.ParseError{StartLine: line, Err: csv.ErrFieldCount})
	}
	r.csv.FieldsPerRecord = len(names)
	r.csv.ReuseRecord = true
	return names, nil
}

// next returns the fields of the next record, valid until the next call, or io.EOF. It
// checks the context now and then.
func (r *records) next(ctx context.Context) ([]string, error) {
	if r.read++; r.read&0xfff == 0 && ctx.Err() != nil {
		return nil, cancelled(r.file.path)
	}
	if r.first != nil || r.err != nil {
		fields, err := r.first, r.err
		r.first, r.err = nil, nil
		return fields, err
	}
	fields, err := r.csv.Read()
	if err != nil {
		return nil, r.failure(err)
	}
	for i, field := range fields {
		if quote := r.file.quote(); quote != '"' {
			field = swapBack(field, quote)
			fields[i] = field
		}
		if !utf8.ValidString(field) || r.file.charset != nil && strings.ContainsRune(field, utf8.RuneError) {
			line, _ := r.csv.FieldPos(i)
			return nil, r.notText(r.file.dialect.Skip + line)
		}
	}
	return fields, nil
}

// notText refuses a text in another encoding than was said.
func (r *records) notText(line int) error {
	named := "UTF-8"
	if r.file.charset != nil {
		named = r.file.dialect.Encoding
	}
	return sqlerr.New(sqlerr.Invalid, "line %d of file %s is not valid %s", line, r.file.path, named).
		WithHint("say what it is: .import --encoding windows-1252 FILE TABLE; macintosh, cp850, utf-16le and others are known, too")
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
	what, hint := "is not valid CSV", ""
	switch at.Err {
	case csv.ErrFieldCount:
		what = "does not have as many fields as the header"
		hint = ".import --skip N leaves out N lines above the names; --separator and --quote say how fields are written"
	case csv.ErrBareQuote:
		what = "has a quote inside an unquoted field"
	case csv.ErrQuote:
		what = "has a quoted field that does not end as it should"
	}
	if hint == "" {
		hint = "if quotes mean nothing in this file: .import --quote '' FILE TABLE"
	}
	return sqlerr.New(sqlerr.Invalid, "line %d of file %s %s", r.file.dialect.Skip+at.StartLine, r.file.path, what).WithHint("%s", hint)
}

// detect reads the file once and returns its columns and the kinds of values they hold.
func (f *file) detect(ctx context.Context) (names []string, kinds []seen, err error) {
	r, fields, err := f.records()
	if err != nil {
		return nil, nil, err
	}
	tallies := make([]tally, len(fields))
	for i := range tallies {
		tallies[i].dates = dates{forms: f.dates, given: make([]fits, len(f.dialect.Dates))}
	}
	f.fields, kinds = fields, make([]seen, len(fields))
	for {
		fields, err := r.next(ctx)
		if err == io.EOF {
			return f.found(kinds, tallies)
		}
		if err != nil {
			return nil, nil, err
		}
		line, _ := r.csv.FieldPos(0)
		for i, field := range fields {
			if f.dialect.isNull(field) {
				continue
			}
			if f.dialect.Numbers {
				field = plain(field, f.dialect.Decimal)
			}
			tallies[i].see(&kinds[i], field, f.dialect.Skip+line)
		}
	}
}

// found returns the columns, and notes what was decided and noticed of them.
func (f *file) found(kinds []seen, tallies []tally) (names []string, of []seen, err error) {
	if err := f.decide(kinds, tallies); err != nil {
		return nil, nil, err
	}
	names, of, err = f.namedColumns(kinds)
	for i, name := range names {
		t, form := &tallies[f.kept[i]], f.forms[f.kept[i]]
		switch {
		case form.named:
			f.notes = append(f.notes, fmt.Sprintf("`%s`: dates with names of months", name))
		case form.name != "" && (form.name != "Y-m-d" || t.dates.mend || t.dates.timed%t.dates.n != 0):
			f.notes = append(f.notes, fmt.Sprintf("`%s`: dates as %s", name, form.name))
		case form.name == "" && (of[i].typ() == typeText || t.dates.misfit() != ""):
			if text := t.notice(name); text != "" {
				f.notes = append(f.notes, text)
			}
		}
	}
	return names, of, err
}

// decide decides what a comma in a number is, takes the fractions of the columns for what
// they are, and finds the columns of dates.
func (f *file) decide(kinds []seen, tallies []tally) error {
	if f.dialect.Decimal == 0 {
		points := func(s seen) bool { return s.point && !s.comma && !s.text }
		commas := func(s seen) bool { return s.comma && !s.point && !s.text }
		f.dialect.Decimal = '.'
		if f.dialect.Comma == ';' && slices.ContainsFunc(kinds, commas) && !slices.ContainsFunc(kinds, points) {
			f.dialect.Decimal = ','
		}
	}
	f.forms, f.timed = make([]form, len(kinds)), make([]bool, len(kinds))
	for i := range kinds {
		kinds[i] = kinds[i].with(f.dialect.Decimal)
		switch forms := tallies[i].dates.decided(tallies[i].all()); len(forms) {
		case 1:
			f.forms[i], f.timed[i], kinds[i] = forms[0], tallies[i].dates.timed > 0, texts
		case 2:
			f.readings = []string{forms[0].name, forms[1].name}
			return sqlerr.New(sqlerr.Invalid, "the dates of column %s of file %s may be %s or %s", f.fields[i], f.path, forms[0].name, forms[1].name).
				WithHint("say which: .import --date %s or --date %s; --date '' keeps them as texts", forms[0].name, forms[1].name)
		}
	}
	return nil
}

// rows reads the file again and converts each field to the type of its column.
func (f *file) rows(columns []Column) (func(context.Context) ([]any, error), error) {
	r, names, err := f.records()
	if err != nil {
		return nil, err
	}
	if !slices.Equal(names, f.fields) {
		return nil, sqlerr.New(sqlerr.IO, "file %s changed while it was read", f.path)
	}
	row := make([]any, len(columns))
	return func(ctx context.Context) ([]any, error) {
		fields, err := r.next(ctx)
		if err != nil {
			return nil, err
		}
		for i, at := range f.kept {
			row[i] = f.value(fields[at], at, columns[i].Type)
		}
		return row, nil
	}, nil
}

// value returns a field of a place as a column of the type stores it.
func (f *file) value(field string, at int, typ string) any {
	if f.dialect.isNull(field) {
		return nil
	}
	if f.forms[at].name != "" && typ == typeText {
		return f.forms[at].write(field, f.timed[at])
	}
	if f.dialect.Numbers && typ != typeText {
		field = plain(field, f.dialect.Decimal)
	}
	if f.dialect.Decimal == ',' && typ == typeReal {
		field = strings.Replace(field, ",", ".", 1)
	}
	return value(field, typ)
}
