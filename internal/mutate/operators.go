package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A mutant is one change of one expression or statement.
type mutant struct {
	pkg        string // its folder
	function   string // such as (*Run).Test
	operator   string // what is done
	source     string // the text that it is done to, on one line, with #2 where it is the second such
	equivalent string // why no test can tell, "" if one must

	file    string
	content func() []byte // the file, changed: few are asked for it
}

// id names a mutant by what stays when files are moved and lines change.
func (m mutant) id() string {
	return strings.Join([]string{m.pkg, m.function, m.operator, m.source}, "\t")
}

// String returns the mutant for people.
func (m mutant) String() string { return strings.ReplaceAll(m.id(), "\t", " | ") }

// swaps are operators and what each becomes.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR, token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.SHL: token.SHR, token.SHR: token.SHL, token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
}

// renames are functions and methods, and what each becomes.
var renames = map[string]string{"min": "max", "max": "min", "Add": "Sub", "Sub": "Add", "Floor": "Ceil", "Ceil": "Floor"}

// mutantsOf returns the mutants of a package, in the order of its files.
func mutantsOf(dir string) (all []mutant, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found, err := mutantsIn(dir, file, text)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	seen := map[string]int{}
	for i, m := range all {
		if seen[m.id()]++; seen[m.id()] > 1 {
			all[i].source += " #" + strconv.Itoa(seen[m.id()])
		}
	}
	return all, nil
}

// mutantsIn returns the mutants of a file.
func mutantsIn(dir, file string, text []byte) (all []mutant, err error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := func(p token.Pos) int { return set.Position(p).Offset }
	for _, d := range f.Decls {
		function, ok := d.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		for _, e := range editsOf(function.Body) {
			from, to := at(e.from), at(e.to)
			all = append(all, mutant{
				pkg: dir, function: nameOf(function), operator: e.operator, source: oneLine(text[at(e.node.Pos()):at(e.node.End())]),
				file: file, content: func() []byte { return slices.Concat(text[:from], []byte(e.text), text[to:]) },
			})
		}
	}
	return all, nil
}

// nameOf returns the name of a function, behind the type of its receiver.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	var b bytes.Buffer
	format.Node(&b, token.NewFileSet(), f.Recv.List[0].Type)
	return "(" + b.String() + ")." + f.Name.Name
}

// oneLine returns the beginning of a text, with one space wherever it has some.
func oneLine(text []byte) string {
	s := []rune(strings.Join(strings.Fields(string(text)), " "))
	return string(s[:min(len(s), 80)])
}

// An edit puts text in the place of [from, to), for an operator on a node.
type edit struct {
	node     ast.Node
	operator string
	from, to token.Pos
	text     string
}

// editsOf returns all edits within a body.
func editsOf(body *ast.BlockStmt) (all []edit) {
	add := func(n ast.Node, from, to token.Pos, text, operator string, about ...any) {
		all = append(all, edit{node: n, from: from, to: to, text: text, operator: fmt.Sprintf(operator, about...)})
	}
	swap := func(n ast.Node, op token.Token, at token.Pos) {
		if other, ok := swaps[op]; ok {
			add(n, at, at+token.Pos(len(op.String())), other.String(), "%s to %s", op, other)
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			swap(n, n.Op, n.OpPos)
			if n.Op == token.ADD || n.Op == token.SUB || n.Op == token.MUL || n.Op == token.QUO {
				add(n, n.X.End(), n.End(), "", "drop right")
			}
			if n.Op == token.ADD || n.Op == token.MUL {
				add(n, n.Pos(), n.Y.Pos(), "", "drop left")
			}
		case *ast.BasicLit:
			if v, err := strconv.ParseInt(n.Value, 0, 32); err == nil && n.Kind == token.INT {
				add(n, n.Pos(), n.End(), strconv.FormatInt(v+1, 10), "%s to %d", n.Value, v+1)
			}
		case *ast.IfStmt:
			add(n, n.Cond.Pos(), n.Cond.End(), "false", "never")
		case *ast.IncDecStmt, *ast.ExprStmt:
			add(n, n.Pos(), n.End(), "", "drop")
		case *ast.AssignStmt:
			if swap(n, n.Tok, n.TokPos); n.Tok != token.DEFINE && n.Tok != token.ASSIGN {
				add(n, n.Pos(), n.End(), "", "drop")
			}
		case *ast.RangeStmt:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name != "_" && n.Tok == token.DEFINE {
				add(n, n.Body.Lbrace+1, n.Body.Lbrace+1, " if "+key.Name+" == 0 { continue };", "skip first")
			}
		case *ast.CallExpr:
			if name := called(n); name != nil && renames[name.Name] != "" {
				add(n, name.Pos(), name.End(), renames[name.Name], "%s to %s", name.Name, renames[name.Name])
			}
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				add(n, n.Pos(), n.Pos()+1, "", "drop !")
			}
		}
		return true
	})
	return all
}

// called returns the name of what a call calls, nil for none.
func called(c *ast.CallExpr) *ast.Ident {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f
	case *ast.SelectorExpr:
		return f.Sel
	}
	return nil
}
