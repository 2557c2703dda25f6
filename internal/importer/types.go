package importer

import (
	"strconv"
	"strings"
)

// The types of columns.
const (
	typeInteger = "INTEGER"
	typeReal    = "REAL"
	typeText    = "TEXT"
)

// seen records which kinds of values a column has had.
type seen struct {
	integer, large bool // large: integers that a REAL would round
	point, comma   bool // fractions with a decimal point, and with a decimal comma
	real, text     bool // real: fractions, once it is known how they are written
}

// maxExact is the largest n such that a REAL holds every integer up to n.
const maxExact = 1 << 53

// add adds a field that is not empty, without blanks around it. It reports whether the field
// is a number with a point or none, and whether it is one with a comma.
func (s *seen) add(field string) (number, comma bool) {
	if n, ok := integer(field); ok {
		s.integer = true
		s.large = s.large || n > maxExact || n < -maxExact
		return true, false
	}
	switch whole, fraction, ok := strings.Cut(field, ","); {
	case isNumber(field):
		s.point = true
		return true, false
	case ok && isNumber(whole+"."+fraction) && fraction != "":
		s.comma = true
		return false, true
	}
	s.text = true
	return false, false
}

// with takes the fractions with one decimal mark for numbers, and those with the other for
// texts.
func (s seen) with(decimal byte) seen {
	other := s.comma
	if s.real = s.point; decimal == ',' {
		s.real, other = s.comma, s.point
	}
	s.text = s.text || other
	return s
}

// typ returns the type that loses nothing. A column that has fractions together with
// integers that a REAL would round is TEXT, and so is a column of empty fields only.
func (s seen) typ() string {
	switch {
	case s.text, s.real && s.large:
		return typeText
	case s.real:
		return typeReal
	case s.integer:
		return typeInteger
	}
	return typeText
}

// fitting returns the type with which the column goes into a table's column of a
// declared type. It returns false if that would lose something. It checks only the
// types that this package declares; a column of any other type takes the values as they
// are.
func (s seen) fitting(declared string) (string, bool) {
	switch strings.ToUpper(declared) {
	case typeText:
		return typeText, true
	case typeInteger:
		return typeInteger, !s.text && !s.real
	case typeReal:
		return typeReal, !s.text && !s.large
	}
	return s.typ(), true
}

// integer reads an integer in canonical form, as it would be printed. It refuses 007,
// +5 and -0, and integers of more than 64 bits.
func integer(field string) (int64, bool) {
	if len(field) > 20 {
		return 0, false
	}
	digits := field
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if digits == "" || !allDigits(digits) || digits[0] == '0' && field != "0" {
		return 0, false
	}
	n, err := strconv.ParseInt(field, 10, 64)
	return n, err == nil
}

// isNumber reports whether the field is a decimal that a REAL can hold. It refuses
// digits alone: integer has refused them already for something that a REAL would lose,
// too, a leading zero or the last digits.
func isNumber(field string) bool {
	if !isDecimal(field) {
		return false
	}
	_, err := strconv.ParseFloat(field, 64)
	return err == nil // else it is out of range
}

// isDecimal reports whether the text is digits with a point or an exponent:
// -?(0|[1-9][0-9]*)?(.[0-9]*)?([eE][+-]?[0-9]+)?, with a digit before the exponent and
// at least one of point and exponent.
func isDecimal(s string) bool {
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	whole, s := leadingDigits(s)
	if len(whole) > 1 && whole[0] == '0' {
		return false
	}
	fraction, marked := "", false
	if s != "" && s[0] == '.' {
		marked = true
		fraction, s = leadingDigits(s[1:])
	}
	if len(whole)+len(fraction) == 0 {
		return false
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		marked = true
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		return s != "" && allDigits(s)
	}
	return marked && s == ""
}

func leadingDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

func allDigits(s string) bool {
	digits, rest := leadingDigits(s)
	return rest == "" && digits == s
}
