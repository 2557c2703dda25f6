package report

import (
	"fmt"
	"io"
	"strings"
)

// Section is the findings of one experiment: paragraphs, tables and charts in order.
type Section struct {
	Name  string // the name of the experiment and of its anchor
	Title string
	parts []part
}

// part is a paragraph, a table or a chart.
type part struct {
	text  string
	table *Table
	chart *Chart
}

// Say adds a paragraph.
func (s *Section) Say(format string, args ...any) {
	s.parts = append(s.parts, part{text: fmt.Sprintf(format, args...)})
}

// Saying returns the paragraphs that contain a text.
func (s *Section) Saying(text string) (found []string) {
	for _, p := range s.parts {
		if strings.Contains(p.text, text) {
			found = append(found, p.text)
		}
	}
	return found
}

// Show adds a table.
func (s *Section) Show(t *Table) { s.parts = append(s.parts, part{table: t}) }

// Draw adds a chart.
func (s *Section) Draw(c *Chart) { s.parts = append(s.parts, part{chart: c}) }

// Markdown writes the section. save stores a chart and returns the path by which the
// text refers to it.
func (s *Section) Markdown(w io.Writer, save func(*Chart) (string, error)) error {
	if _, err := fmt.Fprintf(w, "## %s\n", s.Title); err != nil {
		return err
	}
	for _, p := range s.parts {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		if err := p.markdown(w, save); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

func (p part) markdown(w io.Writer, save func(*Chart) (string, error)) error {
	switch {
	case p.table != nil:
		return p.table.Markdown(w)
	case p.chart != nil:
		name, err := save(p.chart)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "![%s](%s)\n", p.chart.Title, name)
		return err
	}
	_, err := fmt.Fprintln(w, p.text)
	return err
}
