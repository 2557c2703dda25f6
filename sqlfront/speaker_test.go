package sqlfront_test

import (
	"strings"

	"dpsql/query"
)

// A speaker draws expressions over a table's columns.
type speaker struct {
	c    chooser
	u    *query.Universe
	left int // operations that may still be drawn
}

// column draws a column of a type, and a literal where there is none.
func (s *speaker) column(t query.Type) string {
	i := s.c(len(s.u.Columns()))
	for range s.u.Columns() {
		if col := s.u.Columns()[i]; col.Domain.Type() == t {
			return s.c.of(col.Name, col.Name, `"`+strings.ToUpper(col.Name)+`"`, "t."+col.Name, "("+col.Name+")")
		}
		i = (i + 1) % len(s.u.Columns())
	}
	if t == query.TypeText {
		return "'a'"
	}
	return "1"
}

func (s *speaker) number() string {
	if s.left--; s.left < 0 || s.c(4) == 0 {
		if s.c(3) > 0 {
			return s.column(query.TypeInteger)
		}
		return s.c.of("0", "1", "2", "3", "-1", "7", "2.5", "0.1", "1e3", "1e308", "NULL", "TRUE", "9223372036854775807", "-9223372036854775808", "(4)", "9223372036854775808")
	}
	switch s.c(16) {
	case 0, 1, 2, 3:
		return s.part(s.number) + s.c.of(" + ", " - ", "+", "- ") + s.part(s.number)
	case 4, 5:
		return s.part(s.number) + s.c.of(" * ", "*", " / ") + s.part(s.number)
	case 6, 7:
		return s.part(s.number) + " % " + s.c.of("2", "3", "-2", s.part(s.number))
	case 8:
		return s.c.of("- ", "+", "~") + s.part(s.number)
	case 9:
		return s.part(s.number) + s.c.of(" & ", " | ", " << ", " >> ") + s.part(s.number)
	case 10:
		return s.choice(s.number)
	case 11:
		return s.c.of("abs(", "ABS(") + s.number() + ")"
	case 12:
		return "length(" + s.c.of(s.text(), s.number()) + ")"
	case 13:
		return s.c.of("min", "max", "coalesce", "ifnull", "nullif") + "(" + s.number() + ", " + s.number() + ")"
	case 14:
		return "(" + s.condition() + ")"
	}
	return "iif(" + s.condition() + ", " + s.number() + ", " + s.number() + ")"
}

func (s *speaker) text() string {
	if s.left--; s.left < 0 || s.c(3) > 0 {
		if s.c(3) > 0 {
			return s.column(query.TypeText)
		}
		// A number in quotes beside a number is that number, as in PostgreSQL and not as in SQLite: so none is a literal.
		return s.c.of("''", "'a'", "'B'", "'ab'", "lower('10')", "lower('2.5')", "upper(' 3')", "'é'", "'zzz'", "NULL")
	}
	switch s.c(6) {
	case 0:
		return s.c.of("lower(", "upper(", "LOWER(") + s.text() + ")"
	case 1:
		return "substr(" + s.text() + ", " + s.c.of("1", "-1", "2", "0", s.number()) + s.c.of("", ", 1", ", -1", ", 2", ", "+s.number()) + ")"
	case 2:
		return s.choice(s.text)
	case 3:
		return s.c.of("min", "max", "coalesce", "ifnull", "nullif") + "(" + s.text() + ", " + s.text() + ")"
	}
	return s.column(query.TypeText)
}

func (s *speaker) choice(value func() string) string {
	text := "CASE "
	if s.c(2) == 0 {
		text += s.part(s.number) + " WHEN " + s.part(s.number)
	} else {
		text += "WHEN " + s.condition()
	}
	text += " THEN " + value()
	if s.c(3) == 0 {
		text += " WHEN " + s.c.of("0", "NULL", "1") + " THEN " + value()
	}
	return text + s.c.of("", " ELSE "+value()) + " END"
}

// part draws an operand, with and without parentheses: so precedence counts.
func (s *speaker) part(draw func() string) string {
	if s.c(3) == 0 {
		return "(" + draw() + ")"
	}
	return draw()
}

// value draws a number or a text.
func (s *speaker) value() string {
	if s.c(2) == 0 {
		return s.part(s.number)
	}
	return s.part(s.text)
}

// pair draws two values that mostly compare well.
func (s *speaker) pair() (string, string) {
	switch s.c(8) {
	case 0:
		return s.value(), s.value()
	case 1:
		return s.column(query.TypeInteger), s.column(query.TypeText)
	case 2, 3:
		return s.part(s.text), s.part(s.text)
	}
	return s.part(s.number), s.part(s.number)
}

func (s *speaker) condition() string {
	if s.left--; s.left >= 0 && s.c(3) == 0 {
		switch s.c(7) {
		case 0:
			return "NOT " + s.part(s.condition)
		case 6: // pins a column
			return s.column(query.TypeText) + s.c.of(" = 'a'", " IN ('a', 'B', '10')") + " AND " + s.part(s.condition)
		case 1:
			return s.part(s.condition) + s.c.of(" IS NULL", " IS NOT TRUE", " IS FALSE", " IS TRUE", " IS NOT FALSE", " NOTNULL", " IS (TRUE)")
		}
		return s.part(s.condition) + s.c.of(" AND ", " OR ") + s.part(s.condition)
	}
	x, y := s.pair()
	not := s.c.of("", "", "NOT ")
	switch s.c(14) {
	case 0, 1, 2, 3:
		return x + s.c.of(" = ", " <> ", " < ", " <= ", " > ", " >= ", "==", "!=") + y
	case 4:
		return x + s.c.of(" IS ", " IS NOT ", " IS DISTINCT FROM ", " IS NOT DISTINCT FROM ") + y
	case 5:
		_, z := s.pair()
		return x + " " + not + "IN (" + y + s.c.of("", ", "+z, ", NULL", ", 1, 2, 3", ", 'a', 'b'") + ")"
	case 6:
		return x + " " + not + "BETWEEN " + y + " AND " + s.c.of("3", "'c'", y, "NULL")
	case 7:
		pattern := s.c.of("'a%'", "'%B%'", "'_'", "'%_b%c'", "'1%'", "'\\%'", "''", "'É%'", "NULL", "'%'", s.text())
		return s.value() + " " + not + "LIKE " + pattern + s.c.of("", "", ` ESCAPE '\'`, " ESCAPE '%'", " ESCAPE '_'")
	case 8:
		return s.value() + " " + not + "GLOB " + s.c.of("'a*'", "'[a-b]*'", "'[^a]?'", "'*[0-9]'", "'[]-]'", "'['", "'[a-]*'", "'?'", s.text())
	case 9:
		return x + s.c.of(" IS NULL", " IS NOT NULL", " ISNULL", " NOT NULL")
	case 10, 11:
		return s.row(x, y)
	}
	return s.part(s.number)
}

func (s *speaker) row(x, y string) string {
	v, w := s.pair()
	left, right := "("+x+", "+v+")", "("+y+", "+w+")"
	if s.c(3) == 0 {
		list := s.c.of("(0, 1), (1, 1)", "(1, NULL), (2, 'a')", "('a', 'b')", "(NULL, 2), (3, 3), (lower('1'), 0)")
		return left + s.c.of(" IN ", " NOT IN ") + "(VALUES " + list + ")"
	}
	return left + s.c.of(" = ", " <> ", " < ", " <= ", " > ", " >= ", " IS ", " IS NOT ") + right
}
