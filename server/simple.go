package server

import (
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/engine"
	"dpsql/internal/places"
)

// query answers a message of the simple protocol. Its statements run in order, and those
// after one that fails do not.
func (c *conn) query(text string) error {
	c.dropUnnamed()
	if err := c.queries(text); err != nil {
		return err
	}
	return c.turnOver()
}

func (c *conn) dropUnnamed() {
	delete(c.statements, "")
	delete(c.portals, "")
}

// queries runs the statements of a text, none of them if one is malformed. An error of theirs
// goes to the client; one that is returned ends the connection.
func (c *conn) queries(text string) error {
	defer func() { c.several, c.passing = false, 0 }()
	all, err := c.parseAll(text)
	if err != nil {
		c.failed(err.error, err.at)
		return nil
	}
	if len(all) == 0 {
		c.send(&pgproto3.EmptyQueryResponse{})
	}
	c.several = len(all) > 1
	for _, one := range all {
		if err := c.simple(one.statement); err != nil && c.lost == nil {
			c.failed(err, one.at)
			return nil
		}
		if c.lost != nil {
			return c.lost
		}
	}
	return nil
}

// mostStatements bounds the statements of a text, which is parsed whole.
const mostStatements = 1000

// parsedStatement is one statement of a text.
type parsedStatement struct {
	statement *statement
	at        func(position int) int // where a position in it is in the text
}

// misplaced is an error in a text.
type misplaced struct {
	error
	at func(position int) int
}

// parseAll parses the statements of a text.
func (c *conn) parseAll(text string) ([]parsedStatement, *misplaced) {
	if !utf8.ValidString(text) {
		return nil, &misplaced{error: failure("22021", "the statement is not UTF-8")}
	}
	var all []parsedStatement
	for scanner := engine.NewScanner(strings.NewReader(text)); ; {
		in, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		at := func(position int) int { return textPosition(text, in, position) }
		var st *statement
		switch {
		case err != nil:
		case in.Command:
			err = commanded(in)
		default:
			c.passing += places.Statement(len(in.Text))
			if err = c.keep("", 0); err == nil {
				st, err = c.newStatement(in.Text, nil)
			}
		}
		if err == nil && len(st.types) > 0 {
			err = failure("42P02", "there is no parameter $1").withHint("prepare the statement, and give its arguments")
		}
		if err != nil {
			return nil, &misplaced{err, at}
		}
		if !st.empty() {
			all = append(all, parsedStatement{st, at})
		}
		if len(all) > mostStatements {
			return nil, &misplaced{failure("54000", "a text has more than %d statements", mostStatements).withHint("send them one by one"), nil}
		}
	}
}

// textPosition returns the character of a text at which a position of one of its statements is.
func textPosition(text string, in engine.Input, position int) int {
	line, column := in.Locate(position)
	for line > 1 {
		_, after, ok := strings.Cut(text, "\n")
		if !ok {
			break
		}
		column += utf8.RuneCountInString(text[:len(text)-len(after)])
		text, line = after, line-1
	}
	return column
}

// simple runs a statement in the simple protocol.
func (c *conn) simple(st *statement) error {
	if err := c.admitted(st); err != nil {
		return err
	}
	out, err := c.run(st, arguments{})
	if err != nil {
		return err
	}
	passing := c.passing
	defer func() { c.passing = passing }()
	c.passing += out.weight()
	c.settle()
	c.notify(out)
	if out.copied != nil {
		return c.sendCopy(out)
	}
	if len(out.columns) > 0 {
		if err := c.sendColumns(out.columns, nil); err != nil {
			return err
		}
	}
	if err := c.sendRows(out, nil, 0, len(out.rows)); err != nil {
		return err
	}
	c.complete(out, len(out.rows))
	return nil
}

// oneStatement returns the one statement of a text, "" if it has none.
func oneStatement(text string) (string, error) {
	scanner := engine.NewScanner(strings.NewReader(text))
	first, err := scanner.Next()
	switch {
	case errors.Is(err, io.EOF):
		return "", nil
	case err != nil:
		return "", err
	case first.Command:
		return "", commanded(first)
	}
	if _, err := scanner.Next(); !errors.Is(err, io.EOF) {
		return "", failure("42601", "a prepared statement cannot have several statements")
	}
	return text, nil
}
