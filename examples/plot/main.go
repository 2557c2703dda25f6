// Command plot asks a private table a grouped question and draws the answer
// with its error bars. It is an ordinary program over database/sql:
//
//	go run ./examples/plot census.db ages.svg
//	go run ./examples/plot census.db sexes.svg 'SELECT sex, COUNT(*) AS n, MARGIN(n) FROM adult GROUP BY sex'
//
// The statement returns a number or a label, a count, and the count's margin.
// Without one the program asks for the ages of docs/tutorial.md.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	_ "dpsql"
	"dpsql/sqlerr"
)

const question = `SELECT age, COUNT(*) AS persons, MARGIN(persons) FROM adult GROUP BY age`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, explained(err))
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 || len(args) > 3 {
		return errors.New("usage: plot DATABASE FILE.svg [SELECT]")
	}
	text := question
	if len(args) == 3 {
		text = args[2]
	}
	db, err := sql.Open("dpsql", args[0]+"?role=analyst&readonly=true")
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, err := ask(ctx, db, text)
	if err != nil {
		return err
	}
	return a.draw(args[1])
}

// answer is what is drawn: points with error bars.
type answer struct {
	x, y   string // the names of the columns
	points []point
}

type point struct {
	label  string
	count  float64
	margin sql.NullFloat64 // NULL where no error bar is known
}

// ask runs a statement of three columns.
func ask(ctx context.Context, db *sql.DB, text string) (answer, error) {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return answer{}, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return answer{}, err
	}
	if len(columns) != 3 {
		return answer{}, fmt.Errorf("the statement returns %d columns, not a label, a count and its margin", len(columns))
	}
	a := answer{x: columns[0], y: columns[1]}
	for rows.Next() {
		var label sql.NullString // a declared NULL is a group, too
		var p point
		if err := rows.Scan(&label, &p.count, &p.margin); err != nil {
			return answer{}, err
		}
		if p.label = "NULL"; label.Valid {
			p.label = label.String
		}
		a.points = append(a.points, p)
	}
	return a, rows.Err()
}

// explained adds the hint to an error of dpsql.
func explained(err error) string {
	var e *sqlerr.Error
	if errors.As(err, &e) && e.Hint != "" {
		return e.Error() + "\nhint: " + e.Hint
	}
	return err.Error()
}
