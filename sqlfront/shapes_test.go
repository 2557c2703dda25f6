package sqlfront

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// outcome is everything that parsing and binding a statement gives.
func outcome(p *Parser, table Table, text string) string {
	s, err := p.Parse(text)
	if err != nil {
		return fmt.Sprintf("%+v", err)
	}
	if e, ok := s.(*Explain); ok {
		s = e.Select
	}
	sel, ok := s.(*Select)
	if !ok {
		return reflect.TypeOf(s).String()
	}
	b, err := sel.Bind(table, nil)
	if err != nil {
		return fmt.Sprintf("%+v", err)
	}
	return fmt.Sprintf("%+v", *b)
}

// TestShapesShareSyntax parses all examples with one Parser from several
// goroutines, each example also with other numbers and texts, which have its
// shape: each means what it means to a Parser of its own.
func TestShapesShareSyntax(t *testing.T) {
	var table declared
	var tables []declared // of each text
	var texts []string
	other := regexp.MustCompile(`\b[0-9]+\b|'[^']*'`)
	for _, e := range examples(t) {
		if e.want == "table" {
			table = declare(t, e.text)
			continue
		}
		texts, tables = append(texts, e.text), append(tables, table)
		for _, with := range []string{"1", "'F'", "'it''s'"} {
			texts, tables = append(texts, other.ReplaceAllString(e.text, with)), append(tables, table)
		}
	}
	want := make([]string, len(texts))
	for i, text := range texts {
		want[i] = outcome(new(Parser), tables[i], text)
	}
	var shared Parser
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i, text := range texts {
				if got := outcome(&shared, tables[i], text); got != want[i] {
					t.Errorf("%s\nalone: %s\nafter others of its shape: %s", text, want[i], got)
				}
			}
		})
	}
	all.Wait()
	if n := len(shared.known); n == 0 || n > len(texts)/3 {
		t.Errorf("%d statements have %d shapes", len(texts), n)
	}
}

// TestShapesAreBounded parses more shapes than are remembered, and one too long.
func TestShapesAreBounded(t *testing.T) {
	var p Parser
	for i := range maxShapes + 10 {
		list := strings.Repeat("1, ", i%200) + "1" + strings.Repeat(" OR age = 1", i/200)
		text := "SELECT COUNT(*) FROM people WHERE age IN (" + strings.Replace(list, "1 OR", "1) OR", 1)
		if i < 200 {
			text += ")"
		}
		if _, err := p.Parse(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if n := len(p.known); n > maxShapes || n == 0 {
			t.Fatalf("%d shapes are remembered after %d", n, i+1)
		}
	}
	before := len(p.known)
	if _, err := p.Parse("SELECT COUNT(*) FROM people WHERE age IN (1" + strings.Repeat(", 1", maxShape) + ")"); err != nil || len(p.known) != before {
		t.Errorf("%v; a long shape is remembered", err)
	}
}
