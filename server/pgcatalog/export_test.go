package pgcatalog

import "dpsql/sqlfront/syntax"

// tokens returns the tokens of a statement, none if it has what are no tokens.
func tokens(sql string) []syntax.Token {
	list, _ := syntax.Postgres.Lex(sql)
	return list
}

// read reads a statement as package server does.
func read(sql string) ([]syntax.Token, *syntax.Query) {
	list := tokens(sql)
	if list == nil {
		return nil, nil
	}
	q, _ := Parse(list)
	return list, q
}
