//go:build js

package around

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall/js"

	"dpsql/internal/calendar"
	"dpsql/sqlerr"
	"dpsql/sqlfront/syntax"
	"dpsql/sqlfront/types"
)

// page is a connection to sql.js, SQLite in the browser. It has no authorizer, no limits and no collations of ours: a
// statement can hurt only the tab of who asks it, and what may be named is checked before it gets here.
// In the place of the collation moment, a function of that name is around what is compared, see asMoments.
type page struct{ db js.Value }

// canonical is the function moment.
var canonical = sync.OnceValue(func() js.Value {
	f := js.FuncOf(func(_ js.Value, args []js.Value) any {
		if args[0].Type() == js.TypeString {
			return calendar.Canonical(args[0].String())
		}
		return args[0]
	}).Value
	js.Global().Get("Object").Call("defineProperty", f, "length", map[string]any{"value": 1}) // of its arguments
	return f
})

// collates says that no collation is there. What is grouped, sorted, or joined by USING is compared as it is written; withTypes
// refuses it where some of it may be dates and some moments.
const collates = false

// asMoments returns what stands for a comparison of which an operand is a time, or nil.
func (w *walker) asMoments(n syntax.Node) syntax.Node {
	moment := func(e *syntax.Expr) {
		*e = syntax.Placed(&syntax.Call{Path: []syntax.Ident{{Text: "moment"}}, Words: []string{""}, Args: []syntax.Expr{syntax.Copy(*e, w.asTyped)}}, *e)
	}
	var out syntax.Node
	var operands []*syntax.Expr
	switch n := n.(type) {
	case *syntax.Binary:
		if c := *n; c.Quantifier == "" && (strings.Contains("<=>!", c.Op[:1]) || strings.HasPrefix(c.Op, "IS")) {
			out, operands = &c, []*syntax.Expr{&c.X, &c.Y}
		}
	case *syntax.Between:
		c := *n
		out, operands = &c, []*syntax.Expr{&c.X, &c.Low, &c.High}
	case *syntax.In:
		if _, ok := n.Set.(*syntax.Subquery); ok {
			c := *n
			out, operands = &c, []*syntax.Expr{&c.X}
		} else if set, ok := n.Set.(*syntax.Tuple); ok {
			c, items := *n, *set
			items.Items, c.Set = slices.Clone(set.Items), &items
			out, operands = &c, []*syntax.Expr{&c.X}
			for i := range items.Items {
				operands = append(operands, &items.Items[i])
			}
		}
	case *syntax.Case:
		if n.Of != nil {
			c := *n
			c.Whens = slices.Clone(n.Whens)
			out, operands = &c, []*syntax.Expr{&c.Of}
			for i := range c.Whens {
				operands = append(operands, &c.Whens[i].If)
			}
		}
	}
	if !slices.ContainsFunc(operands, func(e *syntax.Expr) bool { return types.IsTime(w.whole[*e]) }) {
		return nil
	}
	for _, e := range operands {
		moment(e)
	}
	if c, ok := out.(*syntax.In); ok {
		if set, ok := c.Set.(*syntax.Subquery); ok { // (WITH looked (x) AS (…) SELECT moment(x) FROM looked)
			name, x := syntax.Ident{Text: "looked"}, []syntax.Ident{{Text: "x"}}
			item := syntax.Item{X: &syntax.Column{Path: x}}
			moment(&item.X)
			c.Set = syntax.Placed(&syntax.Subquery{Query: &syntax.Query{With: []*syntax.CommonTable{{Name: name, Columns: x, Query: syntax.Copy(set.Query, w.asTyped)}},
				Body: &syntax.Block{Items: []syntax.Item{item}, From: []syntax.Source{&syntax.Table{Path: []syntax.Ident{name}}}}}}, set)
		}
	}
	if c, ok := out.(*syntax.Case); ok {
		for i := range c.Whens {
			c.Whens[i].Then = syntax.Copy(c.Whens[i].Then, w.asTyped)
		}
		if c.Else != nil {
			c.Else = syntax.Copy(c.Else, w.asTyped)
		}
	}
	return out
}

// connect returns a connection to globalThis.dpsqlSQL, which initSqlJs gave.
func connect(context.Context, func(do action, name, of, database string) bool) (sqlite, error) {
	sql := js.Global().Get("dpsqlSQL")
	if sql.IsUndefined() {
		return nil, sqlerr.New(sqlerr.Unsupported, "this statement needs SQLite, which is not here").
			WithHint("one SELECT of counts, with conditions and groups of one table, needs none")
	}
	p := &page{}
	err := thrown(func() {
		p.db = sql.Get("Database").New()
		p.db.Call("create_function", "moment", canonical())
	})
	return p, err
}

func (p *page) close() { thrown(func() { p.db.Call("close") }) }

// exec implements sqlite.
func (p *page) exec(_ context.Context, script string, rows ...[]any) error {
	if len(rows) == 0 || len(rows[0]) == 0 {
		return thrown(func() { p.db.Call("exec", unquoted(script)) })
	}
	return thrown(func() {
		for _, row := range rows {
			text, args := bound(script, row)
			p.db.Call("run", unquoted(text), args)
		}
	})
}

// read implements sqlite.
func (p *page) read(_ context.Context, statement string, args []any, row func([]any) error) (names []string, err error) {
	failed := thrown(func() {
		text, values := bound(statement, args)
		s := p.db.Call("prepare", unquoted(text), values)
		defer s.Call("free")
		columns := s.Call("getColumnNames")
		for i := range columns.Length() {
			names = append(names, columns.Index(i).String())
		}
		exact := js.ValueOf(map[string]any{"useBigInt": true})
		for row != nil && err == nil && s.Call("step").Bool() {
			if values := cells(s.Call("get", js.Null(), exact)); size(values) > maxLength {
				err = tooBig
			} else {
				err = row(values)
			}
		}
	})
	if failed != nil {
		err = failed
	}
	return names, err
}

// cells returns the values of a row. Package js does not know a BigInt, so each is made an object first.
func cells(row js.Value) []any {
	row = row.Call("map", js.Global().Get("Object"))
	out := make([]any, row.Length())
	for i := range out {
		switch v := row.Index(i); v.Get("constructor").Get("name").String() {
		case "BigInt":
			out[i], _ = strconv.ParseInt(v.Call("toString").String(), 10, 64)
		case "Number":
			out[i] = v.Call("valueOf").Float()
		case "String":
			out[i] = v.Call("valueOf").String()
		case "Uint8Array":
			bytes := make([]byte, v.Length())
			js.CopyBytesToGo(bytes, v)
			out[i] = bytes
		}
	}
	return out
}

// size returns the bytes of the texts of a row.
func size(row []any) (n int) {
	for _, v := range row {
		switch v := v.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return n
}

// tooBig is what SQLite says of a value that is longer than its limit, which sql.js does not set.
const tooBig failure = "string or blob too big"

// failure is what sql.js says of a statement that failed. It throws no code.
type failure string

// Error implements error.
func (f failure) Error() string { return string(f) }

// Code returns SQLite's code for its words. Where there is no limit a text that is too long ends the memory.
func (f failure) Code() int {
	switch f {
	case "database or disk is full":
		return codeFull
	case tooBig, "out of memory":
		return codeTooBig
	case "datatype mismatch":
		return codeMismatch
	}
	return codeError
}

// thrown returns as an error what a function's calls of JavaScript throw.
func thrown(f func()) (err error) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case js.Error:
			err = failure(strings.TrimPrefix(e.Error(), "JavaScript error: "))
		default:
			panic(e)
		}
	}()
	f()
	return nil
}

// pieces calls a function for each piece of a statement: a quoted name or text with its quotes, or what is between two of them.
func pieces(statement string, piece func(text string)) {
	for statement != "" {
		end := strings.IndexAny(statement, "'\"")
		if end < 0 {
			end = len(statement)
		} else if end == 0 { // a doubled quote begins the next piece
			end = 2 + strings.IndexByte(statement[1:], statement[0])
			if end == 1 {
				end = len(statement)
			}
		}
		piece(statement[:end])
		statement = statement[end:]
	}
}

// unquoted writes names in double quotes with others: sql.js takes a name that nothing has for a text. It leaves the collation
// out that it lacks.
func unquoted(statement string) string {
	var out strings.Builder
	pieces(statement, func(text string) {
		before := out.String()
		switch inside := strings.ReplaceAll(strings.Trim(text, `"`), "`", "``"); {
		case text[0] == '\'':
			out.WriteString(text)
		case text[0] != '"':
			out.WriteString(strings.ReplaceAll(text, " COLLATE moment", ""))
		case inside == "moment" && strings.HasSuffix(before, " COLLATE "):
			out.Reset()
			out.WriteString(strings.TrimSuffix(before, " COLLATE "))
		case strings.HasSuffix(before, "`"): // a doubled quote is one in a name
			out.Reset()
			out.WriteString(before[:len(before)-1] + `"` + inside + "`")
		default:
			out.WriteString("`" + inside + "`")
		}
	})
	return out.String()
}

// bound writes those arguments into a statement that sql.js would bind as others: it makes REALs of integers beyond 32 bits,
// and integers of whole REALs. It returns the rest.
func bound(statement string, args []any) (text string, rest []any) {
	if len(args) == 0 {
		return statement, nil
	}
	var out strings.Builder
	rest = []any{}
	pieces(statement, func(text string) {
		for text[0] != '\'' && text[0] != '"' && len(args) > 0 {
			before, after, ok := strings.Cut(text, "?")
			if !ok {
				break
			}
			out.WriteString(before)
			switch v := args[0].(type) {
			case nil:
				out.WriteString("NULL")
			case int64:
				out.WriteString("(" + strconv.FormatInt(v, 10) + ")")
			case float64:
				if v == float64(int32(v)) {
					out.WriteString("(" + strconv.FormatFloat(v, 'f', 1, 64) + ")")
					break
				}
				out.WriteString("?")
				rest = append(rest, v)
			case []byte:
				out.WriteString(fmt.Sprintf("x'%X'", v))
			default:
				out.WriteString("?")
				rest = append(rest, v)
			}
			if text, args = after, args[1:]; text == "" {
				return
			}
		}
		out.WriteString(text)
	})
	return out.String(), rest
}
