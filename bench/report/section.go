package report

import (
	"fmt"
	"io"
	"slices"
)

// Section is the findings of one experiment: paragraphs, tables and charts in order.
type Section struct {
	Name  string // the name of the experiment, with which its files begin
	Title string
	parts []part
}

// part is a paragraph or a table.
type part struct {
	text  string
	name  string // of the table's file, without an extension
	table *Table
	chart *Chart
}

// Say adds a paragraph.
func (s *Section) Say(format string, args ...any) {
	s.parts = append(s.parts, part{text: fmt.Sprintf(format, args...)})
}

// Show adds a table. Its file has the section's name and the table's, if it has one.
func (s *Section) Show(name string, t *Table) {
	if name != "" {
		name = "-" + name
	}
	s.parts = append(s.parts, part{name: s.Name + name, table: t})
}

// Draw adds a chart.
func (s *Section) Draw(c *Chart) { s.parts = append(s.parts, part{chart: c}) }

// Charts returns the charts.
func (s *Section) Charts() (charts []*Chart) {
	for _, p := range s.parts {
		if p.chart != nil {
			charts = append(charts, p.chart)
		}
	}
	return charts
}

// Tables calls f with each table and the name of its file.
func (s *Section) Tables(f func(name string, t *Table) error) error {
	for _, p := range s.parts {
		if p.table == nil {
			continue
		}
		if err := f(p.name, p.table); err != nil {
			return err
		}
	}
	return nil
}

// Markdown writes the section with its tables.
func (s *Section) Markdown(w io.Writer) error {
	return s.write(w, func(p part) error { return p.table.Markdown(w) })
}

// Text writes the section with the names of its tables' files in their place.
func (s *Section) Text(w io.Writer) error {
	return s.write(w, func(p part) error {
		_, err := fmt.Fprintf(w, "%s.csv\n", p.name)
		return err
	})
}

func (s *Section) write(w io.Writer, table func(part) error) error {
	if _, err := fmt.Fprintf(w, "# %s\n", s.Title); err != nil {
		return err
	}
	shown := slices.DeleteFunc(slices.Clone(s.parts), func(p part) bool { return p.table == nil && p.text == "" })
	for _, p := range shown {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		write := func() error { _, err := fmt.Fprintln(w, p.text); return err }
		if p.table != nil {
			write = func() error { return table(p) }
		}
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}
