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
	width int      // the fields of a row; 0 for any number
	end   int      // the line in which the last row ended
	names []string // of the first line
	first []string // the first record after the header, if it was not returned yet
	err   error    // in its place

	comments, below, empty int    // records that were left out: lines with #, below the rows, and hollow ones
	repeats                int    // those that have the names again
	totals, last           int    // rows that may be sums of others: all, and those at the end, with the hollow ones there
	inner                  int    // the totals before those at the end
	word                   string // what the last of them is named, of totalWords
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
	r.csv.TrimLeadingSpace, r.csv.LazyQuotes = f.padded, f.formulas
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
	r.totals, r.last, r.inner = 0, 0, 0 // they may be named so
	first, err := r.next(context.Background())
	for err == nil && len(first) < len(names) && strings.HasPrefix(first[0], "#") {
		r.comments++
		first, err = r.next(context.Background())
	}
	names = r.file.widened(names, first)
	if len(names) > maxColumns {
		return nil, tooWide(r.file.path, len(names))
	}
	if r.first, r.err = first, err; err == nil && len(first) != len(names) {
		line, _ := r.csv.FieldPos(0)
		r.err = r.failure(&csv.ParseError{StartLine: line, Err: csv.ErrFieldCount})
	}
	r.names, r.width, r.csv.ReuseRecord = names, len(names), true
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
	fields, err := r.record()
	for err == nil && r.width > 0 && (len(fields) != r.width || r.hollow(fields) || r.repeated(fields)) {
		if err = r.aside(fields); err == nil {
			fields, err = r.record()
		}
	}
	if err != nil {
		return nil, r.failure(err)
	}
	for i, field := range fields {
		if r.file.formulas && len(field) > 2 && strings.HasPrefix(field, `="`) && strings.HasSuffix(field, `"`) {
			field = field[2 : len(field)-1]
			fields[i] = field
		}
		if quote := r.file.quote(); quote != '"' {
			field = swapBack(field, quote)
			fields[i] = field
		}
		if !utf8.ValidString(field) || r.file.charset != nil && strings.ContainsRune(field, utf8.RuneError) {
			line, _ := r.csv.FieldPos(i)
			return nil, r.notText(r.file.dialect.Skip + line)
		}
	}
	if word := totalOf(fields); word != "" {
		r.totals, r.last, r.word = r.totals+1, r.last+1, word
	} else {
		r.last, r.inner = 0, r.totals
	}
	r.end, _ = r.csv.FieldPos(len(fields) - 1)
	r.end += strings.Count(fields[len(fields)-1], "\n")
	return fields, nil
}

// record reads a record. Of a drawn table it is no line between rows, and its fields have no blanks around them.
func (r *records) record() ([]string, error) {
	fields, err := r.csv.Read()
	if !r.file.ruled {
		return fields, err
	}
	for err == nil && ruler.MatchString(strings.Join(fields, "|")) {
		fields, err = r.csv.Read()
	}
	for i, field := range fields {
		fields[i] = strings.TrimSpace(field)
	}
	return fields, err
}

// hollow reports whether a record of several fields has none that is filled, as below the rows of a sheet.
func (r *records) hollow(fields []string) bool {
	return r.width > 1 && !slices.ContainsFunc(fields, func(field string) bool { return strings.TrimSpace(field) != "" })
}

// repeated reports whether a record of several fields has the names, as where files were put together.
func (r *records) repeated(fields []string) bool {
	return r.width > 1 && slices.Equal(cleaned(fields), r.names)
}

// aside leaves out a record that is no row: a hollow one, the names again, a comment, or one below the rows. Below them all
// have too few fields, and the first stands below a blank line or is one field of several words.
func (r *records) aside(fields []string) error {
	switch {
	case r.hollow(fields):
		if r.empty++; r.last > 0 {
			r.last++
		}
		return nil
	case r.repeated(fields):
		r.repeats++
		return nil
	case strings.HasPrefix(fields[0], "#"):
		r.comments++
		return nil
	}
	line, _ := r.csv.FieldPos(0)
	ends := len(fields) < r.width && line > r.end+1 || len(fields) == 1 && (isTotal(fields[0]) || strings.ContainsAny(fields[0], " :"))
	var err error
	for ends && err == nil {
		r.below++
		if fields, err = r.record(); err == nil {
			ends = len(fields) < r.width
		}
	}
	if ends {
		return err
	}
	return &csv.ParseError{StartLine: line, Err: csv.ErrFieldCount}
}

// notText refuses a text in another encoding than was said.
func (r *records) notText(line int) error {
	named := "UTF-8"
	if r.file.charset != nil {
		named = r.file.dialect.Encoding
	}
	return sqlerr.New(sqlerr.Invalid, "line %d of file %s is not valid %s", line, r.file.path, named).
		WithHint("say what it is: .import --encoding windows-1252 FILE TABLE for the west of Europe, windows-1250 for its middle; macintosh, cp850, utf-16le and others are known, too")
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
		hint = "lines below the table are left out behind a blank line; .import --skip N leaves out N lines above the names; --separator and --quote say how fields are written"
	case csv.ErrBareQuote:
		what = "has a quote inside an unquoted field"
	case csv.ErrQuote:
		what = "has a quoted field that does not end as it should"
	}
	if hint == "" {
		hint = "if quotes mean nothing in this file: .import --quote '' FILE TABLE; if another character separates fields: --separator C"
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
			r.note()
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
			tallies[i].see(&kinds[i], field, f.dialect.Skip+line, &f.dialect)
		}
	}
}

// note notes which records were left out.
func (r *records) note() {
	if r.comments > 0 {
		r.file.notes = append(r.file.notes, plural(r.comments, "line")+" with # left out among the rows")
	}
	if r.repeats > 0 {
		r.file.notes = append(r.file.notes, plural(r.repeats, "line")+" with the names again left out")
	}
	if r.empty > 0 {
		r.file.notes = append(r.file.notes, plural(r.empty, "row")+" without a value left out")
	}
	if r.below > 0 {
		r.file.notes = append(r.file.notes, plural(r.below, "line")+" left out below the rows")
	}
	if r.totals > 0 {
		text := plural(r.totals, "row") + " of `" + r.word + "`, which may add up others"
		if r.last > 0 {
			text += fmt.Sprintf(": --skip-last %d leaves out what is at the end", r.last+r.below)
		}
		if r.inner > 0 {
			text += "; CREATE VIEW … WHERE leaves out the others"
		}
		r.file.notes = append(r.file.notes, text)
	}
}

// totalOf returns the word by which a row may be one of sums: its first field that is not empty, or the first word
// of that field if an empty field stands beside it.
func totalOf(fields []string) string {
	for i, field := range fields {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		if isTotal(field) {
			return field
		}
		if word, _, _ := strings.Cut(field, " "); isTotal(word) && (i > 0 || len(fields) > 1 && strings.TrimSpace(fields[1]) == "") {
			return word
		}
		break
	}
	return ""
}

// totalWords name rows of sums, as Excel, SAS, R and others write them.
var totalWords = []string{"total", "totals", "grand total", "subtotal", "sub-total", "sum", "sums", "all", "overall", "gesamt", "gesamtergebnis", "gesamtsumme",
	"insgesamt", "summe", "total general", "total général", "total geral", "totale", "totaal", "suma", "soma", "somma", "somme", "ukupno", "razem", "итого", "合計", "合计", "总计"}

// isTotal reports whether a row or a line below the rows is named as one of sums.
func isTotal(field string) bool {
	return len(field) < 30 && slices.Contains(totalWords, strings.ToLower(strings.TrimRight(strings.TrimSpace(field), ": ")))
}

// found returns the columns, and notes what was decided and noticed of them.
func (f *file) found(kinds []seen, tallies []tally) (names []string, of []seen, err error) {
	f.decide(kinds)
	if names, of, err = f.namedColumns(kinds); err != nil {
		return nil, nil, err
	}
	f.nameless(names, of)
	f.forms, f.timed = make([]form, len(kinds)), make([]bool, len(kinds))
	for i, name := range names {
		at := f.kept[i]
		text, t := "", &tallies[at]
		switch forms := t.dates.decided(t.all()); {
		case len(forms) == 2:
			f.readings = []string{forms[0].name, forms[1].name}
			return nil, nil, sqlerr.New(sqlerr.Invalid, "the dates of column %s of file %s may be %s or %s", name, f.path, forms[0].name, forms[1].name).
				WithHint("say which: .import --date %s or --date %s; --date '' keeps them as texts", forms[0].name, forms[1].name)
		case len(forms) == 1:
			f.forms[at], f.timed[at], of[i] = forms[0], t.dates.timed > 0, texts
			text = t.dates.read(name, forms[0])
		case of[i].typ() == typeText || t.dates.misfit() != "":
			text = t.notice(name)
		case t.packed > 0 && t.packed == t.numbers && len(t.dates.given) == 0:
			text = fmt.Sprintf("`%s`: numbers that may be dates: --date Ymd", name)
		}
		if text != "" {
			f.notes = append(f.notes, text)
		}
	}
	others := slices.DeleteFunc(slices.Clone(f.notes), func(note string) bool { return strings.HasSuffix(note, emptyTexts) })
	if n := len(f.notes) - len(others); n > mostEmpty {
		f.notes = append(others, plural(n, "column")+" have the empty text in some rows"+emptyTexts)
	}
	return names, of, nil
}

// emptyTexts ends the note of a column of texts, some of which are empty. Of more columns than mostEmpty there is one note.
const (
	emptyTexts = ": --null '' makes it NULL"
	mostEmpty  = 3
)

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
