package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dpsql/sqlerr"
)

// maxColumns is SQLite's limit on the columns of a table.
const maxColumns = 2000

func tooWide(path string, columns int) error {
	return sqlerr.New(sqlerr.Invalid, "file %s has %d columns; a table has at most %d", path, columns, maxColumns)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// namedColumns returns the columns of a text: all fields but those without a name and
// without a value. It finds a name for those that have none of their own.
func (f *file) namedColumns(kinds []seen) (names []string, of []seen, err error) {
	if err := f.untitled(kinds); err != nil {
		return nil, nil, err
	}
	names, f.kept, f.notes, err = f.dialect.named(f.path, f.fields, func(i int) bool { return kinds[i] == seen{} }, f.notes)
	for _, i := range f.kept {
		of = append(of, kinds[i])
	}
	return names, of, err
}

// named returns the names of the columns that are asked for, their places, and what it noted. It
// finds a name for each column that has none of its own, and leaves out those that have no value either.
func (d *Dialect) named(path string, fields []string, empty func(int) bool, notes []string) (names []string, kept []int, _ []string, err error) {
	taken, met := make(map[string]bool), make(map[string]bool)
	for _, name := range fields {
		taken[folded(name)] = true
	}
	for i, name := range fields {
		own, note := name, ""
		switch {
		case name == "" && empty(i):
			notes = append(notes, fmt.Sprintf("column %d has no name and no value, and is left out", i+1))
			continue
		case name == "":
			own = unused(fmt.Sprintf("column_%d", i+1), taken)
			note = fmt.Sprintf("column %d has no name, and is called %s", i+1, own)
		case met[folded(name)]:
			own = unused(name, taken)
			note = fmt.Sprintf("column %d has the name of another, and is called %s", i+1, own)
		}
		met[folded(own)], taken[folded(own)] = true, true
		if d.Columns != nil && !slices.ContainsFunc(d.Columns, func(asked string) bool { return folded(asked) == folded(own) }) {
			continue
		}
		if names, kept = append(names, own), append(kept, i); note != "" {
			notes = append(notes, note)
		}
	}
	for _, asked := range d.Columns {
		if !met[folded(asked)] {
			return nil, nil, nil, sqlerr.New(sqlerr.Unknown, "file %s has no column %s", path, asked).
				WithHint("its columns are %s", strings.Join(fields[:min(len(fields), 20)], ", "))
		}
	}
	return names, kept, notes, nil
}

// untitled refuses a first line that names few of the columns with values, or none.
func (f *file) untitled(kinds []seen) error {
	named, nameless := 0, 0
	for i, name := range f.fields {
		if name != "" {
			named++
		} else if (kinds[i] != seen{}) {
			nameless++
		}
	}
	if named == 0 && nameless == 0 {
		return f.noNames("names no column", f.below)
	}
	if !f.dialect.HasSkip && (named == 0 || f.fields[0] != "" && nameless >= named) {
		return f.noNames("names "+plural(named, "column")+fmt.Sprintf(" of %d, and may be a title above the names", len(f.fields)), f.below)
	}
	return nil
}

// nameless notes that the first line may be a row: all columns of numbers have numbers for names, other than years.
func (f *file) nameless(names []string, of []seen) {
	var figures int
	for i, name := range names {
		number, _ := new(seen).add(cmp.Or(name, "-"))
		switch {
		case of[i].text || of[i] == seen{}:
		case !number, len(name) == len("2024") && ("1900" < name && name < "2100"):
			return
		default:
			figures++
		}
	}
	if figures > 0 {
		f.notes = append(f.notes, "the columns of numbers have numbers for names: if the first line is a row, write a line of names above it")
	}
}

// unused returns the name, or the first of name_2, name_3 … that is not taken.
func unused(name string, taken map[string]bool) string {
	own := name
	for n := 2; taken[folded(own)]; n++ {
		own = fmt.Sprintf("%s_%d", name, n)
	}
	return own
}

// cleaned returns the names of the columns as they can stand in one line.
func cleaned(fields []string) []string {
	names := make([]string, len(fields))
	for i, field := range fields {
		if strings.ContainsFunc(field, isControl) {
			field = strings.Join(strings.FieldsFunc(field, func(r rune) bool { return r == ' ' || isControl(r) }), " ")
		}
		names[i] = strings.TrimSpace(strings.TrimPrefix(field, "\ufeff"))
	}
	return names
}

// widened returns the names for rows of one field more: an empty last one, as of lines
// that end in a separator, or the first, if it numbers or names the rows as R does.
func (f *file) widened(names, row []string) []string {
	switch {
	case len(row) != len(names)+1:
		return names
	case strings.TrimSpace(row[len(names)]) == "":
		return append(names, "")
	case row[0] == "1" && f.numbered, f.wider:
		return slices.Insert(names, 0, "")
	}
	return names
}
