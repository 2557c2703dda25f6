package surround

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
)

// script is a text that is composed of parts of a statement.
type script struct {
	text   strings.Builder
	origin []int // for each character its position in the statement
	holes  []hole
	long   bool // it is too long to go on
}

// write writes a text that stands for what is at a position.
func (w *script) write(s string, position int) {
	if w.long = w.long || w.text.Len()+len(s) > maxText; w.long {
		return
	}
	w.text.WriteString(s)
	for range s {
		w.origin = append(w.origin, position)
	}
}

// copy writes characters as they stand in the statement, from a position up to another.
func (w *script) copy(statement []rune, from, to int) {
	for ; from < to; from++ {
		w.text.WriteRune(statement[from-1])
		w.origin = append(w.origin, from)
	}
}

// slice writes characters of a script, from an index up to another.
func (w *script) slice(text []rune, origin []int, from, to int) {
	w.text.WriteString(string(text[from:to]))
	w.origin = append(w.origin, origin[from:to]...)
}

// add writes another script.
func (w *script) add(s *script) {
	w.long = w.long || s.long
	for _, h := range s.holes {
		h.from, h.to = h.from+len(w.origin), h.to+len(w.origin)
		w.holes = append(w.holes, h)
	}
	w.text.WriteString(s.text.String())
	w.origin = append(w.origin, s.origin...)
}

// around returns the surroundings: the statement with its edits made. Their places are those
// of the statement.
func (c *cutter) around() (*Statement, error) {
	for i, t := range c.tokens {
		inside := func(e edit) bool { return e.first <= i && i <= e.last }
		if t.Parameter > 0 && !slices.ContainsFunc(c.edits, inside) {
			c.edits = append(c.edits, edit{i, i, "?" + strconv.Itoa(t.Parameter)})
		}
	}
	slices.SortStableFunc(c.edits, func(x, y edit) int { return cmp.Or(cmp.Compare(x.first, y.first), cmp.Compare(x.last, y.last)) })
	statement := []rune(c.written)
	ends := func(i int) int { return c.tokens[i].Position + utf8.RuneCountInString(c.tokens[i].Text) }
	var out script
	at := c.tokens[0].Position
	for _, e := range c.edits {
		if e.last < e.first {
			out.copy(statement, at, ends(e.last))
			at = ends(e.last)
			out.write(e.text, at-1)
			continue
		}
		place := c.tokens[e.first].Position
		out.copy(statement, at, place)
		out.write(e.text, place)
		at = ends(e.last)
	}
	out.copy(statement, at, ends(len(c.tokens)-1))
	if out.long || out.text.Len() > maxText {
		return nil, c.tooLong()
	}
	names := make([]string, len(c.cores))
	for i, core := range c.cores {
		names[i] = core.Table
	}
	around, err := parse(out.text.String(), names)
	if err != nil {
		return nil, c.at(0).Malformed("the statement cannot be read").WithHint("is there a closing parenthesis for each that opens?")
	}
	around.relocate(out.origin)
	around.Explain, around.Full = c.Explain, c.Full
	around.Tables = slices.DeleteFunc(around.Tables, func(t syntax.Name) bool {
		return slices.ContainsFunc(names, func(core string) bool { return query.SameName(core, t.Text) })
	})
	return around, nil
}

// relocate gives the tokens the positions of another text.
func (s *Statement) relocate(origin []int) {
	at := func(position int) int {
		if position < 1 || position > len(origin) {
			return position
		}
		return origin[position-1]
	}
	for i := range s.tokens {
		s.tokens[i].Position = at(s.tokens[i].Position)
	}
	for i := range s.Tables {
		s.Tables[i].Position = at(s.Tables[i].Position)
	}
	if e, ok := s.refusal.(*sqlerr.Error); ok {
		e.Position = at(e.Position)
	}
}

// textOf returns tokens as they are written.
func (c *cutter) textOf(first, last int) string {
	statement := []rune(c.written)
	from, to := c.tokens[first].Position, c.tokens[last].Position+utf8.RuneCountInString(c.tokens[last].Text)
	return string(statement[from-1 : to-1])
}
