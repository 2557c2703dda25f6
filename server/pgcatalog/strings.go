package pgcatalog

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"dpsql/sqlerr"
)

// This file has the functions of texts, numbers and arrays, and aggregates.

// fail stops at what a function cannot do with its arguments.
func (r *run) fail(format string, args ...any) {
	fail(sqlerr.New(sqlerr.Invalid, format, args...).At(r.call.at))
}

// made counts a text that a function made, and returns it.
func (r *run) made(s string) string {
	r.spend(len(s))
	return s
}

// text returns an argument as text.
func (r *run) text(i int, v any) string { return r.made(r.catalog.output(v, r.call.args[i].typ)) }

// ofText is a function of one text.
func ofText(f func(string) string) evaluation {
	return func(r *run, a []any) any { return r.made(f(a[0].(string))) }
}

// trimmed cuts characters off, blanks if there is no second argument.
func trimmed(f func(s, cutset string) string) evaluation {
	return func(_ *run, a []any) any {
		if len(a) == 1 {
			return f(a[0].(string), " ")
		}
		return f(a[0].(string), a[1].(string))
	}
}

func quoteLiteral(s string) string {
	s = strings.ReplaceAll(s, "'", "''")
	if strings.Contains(s, `\`) {
		return "E'" + strings.ReplaceAll(s, `\`, `\\`) + "'"
	}
	return "'" + s + "'"
}

func quoteNullable(r *run, a []any) any {
	if a[0] == nil {
		return "NULL"
	}
	return r.made(quoteLiteral(a[0].(string)))
}

func length(_ *run, a []any) any { return characters(a[0].(string)) }

func characters(s string) int64 { return int64(len([]rune(s))) }

func octetLength(_ *run, a []any) any { return int64(len(a[0].(string))) }

func startsWith(_ *run, a []any) any { return strings.HasPrefix(a[0].(string), a[1].(string)) }

func replaced(r *run, a []any) any {
	s, from, to := a[0].(string), a[1].(string), a[2].(string)
	if from == "" {
		return s
	}
	r.spend(len(s) + strings.Count(s, from)*len(to))
	return strings.ReplaceAll(s, from, to)
}

func substring(r *run, a []any) any {
	s := []rune(a[0].(string))
	from, to := a[1].(int64), int64(math.MaxInt32)
	if len(a) > 2 {
		if a[2].(int64) < 0 {
			fail(sqlerr.New(sqlerr.Invalid, "negative substring length not allowed"))
		}
		to = from + a[2].(int64)
	}
	low, high := min(max(from, 1), int64(len(s))+1), min(max(to, 1), int64(len(s))+1)
	if high < low {
		return ""
	}
	return r.made(string(s[low-1 : high-1]))
}

// matching is the part of a text that a regular expression, or its first group, matches.
func matching(r *run, a []any) any {
	r.work(len(a[0].(string)))
	m := r.pattern(a[1].(string), false, false).FindStringSubmatch(a[0].(string))
	if m == nil {
		return nil
	}
	return m[min(1, len(m)-1)]
}

func position(_ *run, a []any) any {
	before, _, found := strings.Cut(a[0].(string), a[1].(string))
	return either(found, characters(before)+1, int64(0))
}

func splitPart(r *run, a []any) any {
	parts := strings.Split(a[0].(string), a[1].(string))
	r.spend(16 * len(parts))
	if n := a[2].(int64); n >= 1 && n <= int64(len(parts)) {
		return parts[n-1]
	}
	return ""
}

func parseIdent(_ *run, a []any) any {
	schema, name := splitName(a[0].(string))
	if schema == "" {
		return textArray(name)
	}
	return textArray(schema, name)
}

func left(_ *run, a []any) any {
	s, n := []rune(a[0].(string)), a[1].(int64)
	if n < 0 {
		n = max(0, int64(len(s))+n)
	}
	return string(s[:min(n, int64(len(s)))])
}

func regexpReplace(r *run, a []any) any {
	flags := ""
	if len(a) > 3 {
		flags = a[3].(string)
	}
	if strings.Trim(flags, "gi") != "" {
		unsupported(0, "a flag of regexp_replace other than g and i")
	}
	s, p := a[0].(string), r.pattern(a[1].(string), false, strings.Contains(flags, "i"))
	to := expansion(a[2].(string))
	r.spend((len(s) + 1) * (len(to) + 1))
	if strings.Contains(flags, "g") {
		return p.ReplaceAllString(s, to)
	}
	m := p.FindStringSubmatchIndex(s)
	if m == nil {
		return s
	}
	return s[:m[0]] + string(p.ExpandString(nil, to, s, m)) + s[m[1]:]
}

// expansion returns a replacement, with \1 and \& for groups, as package regexp has it.
func expansion(text string) string {
	var to strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && digit(text[i+1]):
			i++
			to.WriteString("${" + text[i:i+1] + "}")
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '&':
			i++
			to.WriteString("${0}")
		case text[i] == '$':
			to.WriteString("$$")
		default:
			to.WriteByte(text[i])
		}
	}
	return to.String()
}

func regexpSplit(r *run, a []any) any {
	var out []any
	for _, part := range r.pattern(a[1].(string), false, false).Split(a[0].(string), -1) {
		r.spend(16)
		out = append(out, part)
	}
	return out
}

func concat(r *run, a []any) any { return r.joined("", a, 0) }

func concatWithSeparator(r *run, a []any) any {
	if a[0] == nil {
		return nil
	}
	return r.joined(r.text(0, a[0]), a, 1)
}

// joined joins the texts of arguments from one on.
func (r *run) joined(separator string, a []any, from int) string {
	var parts []string
	for i := from; i < len(a); i++ {
		if a[i] != nil {
			r.spend(len(separator))
			parts = append(parts, r.text(i, a[i]))
		}
	}
	return strings.Join(parts, separator)
}

// format is format() with %s, %I, %L and %%.
func format(r *run, a []any) any {
	if a[0] == nil {
		return nil
	}
	var out strings.Builder
	pattern, next := r.text(0, a[0]), 1
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			out.WriteByte(pattern[i])
			continue
		}
		i++
		switch {
		case i == len(pattern) || strings.IndexByte("sIL%", pattern[i]) < 0:
			unsupported(r.call.at, "a specifier of format() other than %%s, %%I and %%L")
		case pattern[i] == '%':
			out.WriteByte('%')
			continue
		case next == len(a):
			r.fail("too few arguments for format()")
		}
		out.WriteString(r.made(r.formatted(pattern[i], next, a[next])))
		next++
	}
	return r.made(out.String())
}

// formatted is what format() makes of an argument.
func (r *run) formatted(specifier byte, i int, v any) string {
	switch {
	case v == nil && specifier == 'I':
		r.fail("null values cannot be formatted as an SQL identifier")
	case v == nil:
		return either(specifier == 'L', "NULL", "").(string)
	case specifier == 'I':
		return quoteIdent(r.text(i, v))
	case specifier == 'L':
		return quoteLiteral(r.text(i, v))
	}
	return r.text(i, v)
}

// jsonObject is json_build_object with the values that catalogs have.
func jsonObject(r *run, a []any) any {
	if len(a)%2 != 0 {
		r.fail("argument list must have even number of elements")
	}
	var pairs []string
	for i := 0; i < len(a); i += 2 {
		if a[i] == nil {
			r.fail("argument 1 cannot be null")
		}
		pairs = append(pairs, strconv.Quote(r.text(i, a[i]))+" : "+r.json(i+1, a[i+1]))
	}
	return r.made("{" + strings.Join(pairs, ", ") + "}")
}

// json returns an argument in JSON.
func (r *run) json(i int, v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v == true)
	case int64, float64:
		if !isReg(r.call.args[i].typ) {
			return r.text(i, v)
		}
	}
	return strconv.Quote(r.text(i, v))
}

func absolute(_ *run, a []any) any { return max(a[0].(int64), -a[0].(int64)) }

func modulo(r *run, a []any) any {
	n, ok := remainder(a[0].(int64), a[1].(int64))
	if !ok {
		r.fail("division by zero")
	}
	return n
}

// dimension computes a number of an array that has elements, in its only dimension.
func dimension(of func(*array) int) evaluation {
	return func(_ *run, a []any) any {
		if l := a[0].(*array); a[1] == int64(1) && len(l.elements) > 0 {
			return int64(of(l))
		}
		return nil
	}
}

func (a *array) upper() int { return a.lower + len(a.elements) - 1 }

func dimensions(_ *run, a []any) any { return either(len(a[0].(*array).elements) > 0, int64(1), nil) }

func arrayPosition(_ *run, a []any) any {
	l, ok := a[0].(*array)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(l.elements, func(v any) bool { return keyOf(v) == keyOf(a[1]) })
	return either(i >= 0, int64(i+l.lower), nil)
}

func arrayToString(r *run, a []any) any {
	list, ok := a[0].(*array)
	separator, known := a[1].(string)
	if !ok || !known {
		return nil
	}
	element := ElementOf(r.call.args[0].typ)
	var parts []string
	for _, v := range list.elements {
		r.spend(len(separator) + 16)
		if v != nil {
			parts = append(parts, r.made(r.catalog.output(v, element)))
		} else if len(a) > 2 && a[2] != nil {
			parts = append(parts, r.made(a[2].(string)))
		}
	}
	return strings.Join(parts, separator)
}

func stringToArray(r *run, a []any) any {
	s, ok := a[0].(string)
	if !ok {
		return nil
	}
	separator, ok := a[1].(string)
	parts := []string{s}
	switch {
	case s == "":
		parts = nil
	case !ok:
		parts = strings.Split(s, "")
	case separator != "":
		parts = strings.Split(s, separator)
	}
	r.spend(32 * len(parts))
	return textArray(parts...)
}

func cardinality(_ *run, a []any) any { return int64(len(a[0].(*array).elements)) }

func series(r *run, a []any) any {
	var out []any
	from, to, step := a[0].(int64), a[1].(int64), int64(1)
	if len(a) > 2 {
		step = a[2].(int64)
	}
	if step == 0 {
		r.fail("step size cannot equal zero")
	}
	for v := from; step > 0 && v <= to || step < 0 && v >= to; v += step {
		r.step()
		r.spend(32)
		out = append(out, v)
		if step > 0 && v > to-step || step < 0 && v < to-step {
			break
		}
	}
	return out
}

// itemsOf returns an argument that is an array, and counts its elements.
func itemsOf(r *run, v any) *array {
	a := v.(*array)
	for range a.elements {
		r.step()
	}
	return a
}

func unnest(r *run, a []any) any { return itemsOf(r, a[0]).elements }

func noRows(*run, []any) any { return nil }

func subscripts(r *run, a []any) any {
	var out []any
	list := itemsOf(r, a[0])
	if a[1] != int64(1) {
		return nil
	}
	for i := range list.elements {
		out = append(out, int64(i+list.lower))
	}
	return out
}

func expandArray(r *run, a []any) any {
	var out []any
	for i, v := range itemsOf(r, a[0]).elements {
		out = append(out, record{v, int64(i + 1)})
	}
	return out
}

// stringAgg joins the texts of rows, each with the separator that its row has.
func stringAgg(r *run, rows []any) any {
	var out strings.Builder
	some := false
	for _, row := range rows {
		s, ok := row.(record)[0].(string)
		if !ok {
			continue
		}
		if separator, ok := row.(record)[1].(string); ok && some {
			out.WriteString(r.made(separator))
		}
		out.WriteString(r.made(s))
		some = true
	}
	return either(some, out.String(), nil)
}

// extreme is the least or the greatest array of the rows.
func extreme(sign int) evaluation {
	return func(_ *run, rows []any) any {
		var best any
		for _, row := range rows {
			if v := row.(record)[0]; v != nil && (best == nil || compare(v, best)*sign > 0) {
				best = v
			}
		}
		return best
	}
}
