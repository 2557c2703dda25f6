package postgres

import "strings"

// tree is a node of a view's stored definition: its kind, and the values of each field.
// A value is an atom (a string), a *tree, or a list of values.
type tree struct {
	kind   string
	fields map[string][]any
}

// atom returns the first value of a field if it is an atom. <> is no value.
func (n *tree) atom(field string) string {
	if len(n.fields[field]) > 0 {
		if s, ok := n.fields[field][0].(string); ok && s != "<>" {
			return s
		}
	}
	return ""
}

// node returns the first value of a field if it is a node, else nil.
func (n *tree) node(field string) *tree {
	if len(n.fields[field]) > 0 {
		below, _ := n.fields[field][0].(*tree)
		return below
	}
	return nil
}

// has reports whether a field has a value.
func (n *tree) has(field string) bool {
	values := n.fields[field]
	return len(values) > 0 && values[0] != "<>"
}

// list returns the values of a field that is a list.
func (n *tree) list(field string) []any {
	if len(n.fields[field]) > 0 {
		if l, ok := n.fields[field][0].([]any); ok {
			return l
		}
	}
	return nil
}

// each calls f with all nodes of a value, parents before children. Nil nodes are
// skipped.
func each(value any, f func(*tree)) {
	switch v := value.(type) {
	case []any:
		for _, below := range v {
			each(below, f)
		}
	case *tree:
		if v == nil {
			return
		}
		f(v)
		for _, values := range v.fields {
			each(values, f)
		}
	}
}

// treeReader reads the server's text form of nodes: {KIND :field value …}, lists in
// parentheses, bytes in brackets, and atoms in which a backslash escapes a character.
type treeReader struct{ rest string }

// maxDepth bounds the recursion.
const maxDepth = 5_000

// readTree returns the value that a text stands for, or false if it stands for none.
func readTree(text string) (any, bool) {
	r := treeReader{text}
	v, ok := r.value(r.token(), 0)
	return v, ok && r.token() == ""
}

// token returns the next bracket or atom, or "" at the end.
func (r *treeReader) token() string {
	r.rest = strings.TrimLeft(r.rest, " \n\t")
	end := 0
	for end < len(r.rest) && !strings.ContainsRune(" \n\t(){}[]", rune(r.rest[end])) {
		if r.rest[end] == '\\' {
			end++
		}
		end++
	}
	if end == 0 && r.rest != "" {
		end = 1
	}
	end = min(end, len(r.rest))
	token := r.rest[:end]
	r.rest = r.rest[end:]
	return token
}

func (r *treeReader) value(token string, depth int) (any, bool) {
	switch {
	case depth > maxDepth || token == "":
		return nil, false
	case token == "(":
		return r.values(")", depth)
	case token == "[":
		return r.values("]", depth)
	case token == "{":
		return r.node(depth)
	case len(token) == 1 && strings.Contains(")]}", token):
		return nil, false
	}
	return token, true
}

func (r *treeReader) values(end string, depth int) (any, bool) {
	out := []any{}
	for {
		token := r.token()
		if token == end {
			return out, true
		}
		v, ok := r.value(token, depth+1)
		if !ok {
			return nil, false
		}
		out = append(out, v)
	}
}

// node reads a node after its brace. Whatever follows a field's name is a value, even
// if it looks like a name.
func (r *treeReader) node(depth int) (any, bool) {
	n := &tree{kind: r.token(), fields: make(map[string][]any)}
	field := ""
	for {
		token := r.token()
		switch {
		case token == "}":
			return n, true
		case strings.HasPrefix(token, ":") && (field == "" || len(n.fields[field]) > 0):
			if field = token[1:]; n.fields[field] != nil {
				return nil, false
			}
			n.fields[field] = []any{}
			continue
		}
		v, ok := r.value(token, depth+1)
		if !ok || field == "" {
			return nil, false
		}
		n.fields[field] = append(n.fields[field], v)
	}
}
