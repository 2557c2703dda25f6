// Command plot asks a private table a grouped question and draws the answer
// with its error bars. It is an ordinary program over database/sql:
//
//	go run ./examples/plot census.db ages.svg
//	go run ./examples/plot census.db hours.svg 'SELECT sex, AVG(hours_per_week) AS mean, LOW(mean), HIGH(mean) FROM adult GROUP BY sex'
//
// The statement returns a number or a label, an answer, and the ends of its interval.
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

const question = `SELECT age, COUNT(*) AS persons, LOW(persons), HIGH(persons) FROM adult GROUP BY age`

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
	db, err := sql.Open("dpsql", args[0]+"?role=analyst&readonly=true&times=text")
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
	label     string
	value     sql.NullFloat64 // an average can be NULL
	low, high sql.NullFloat64 // NULL where no error bar is known
}

// ask runs a statement of four columns.
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
	if len(columns) != 4 {
		return answer{}, fmt.Errorf("the statement returns %d columns, not a label, an answer, its LOW and its HIGH", len(columns))
	}
	a := answer{x: columns[0], y: columns[1]}
	for rows.Next() {
		var label sql.NullString // a declared NULL is a group, too
		var p point
		if err := rows.Scan(&label, &p.value, &p.low, &p.high); err != nil {
			return answer{}, err
		}
		if !p.value.Valid {
			continue
		}
		if p.label = "NULL"; label.Valid {
			p.label = label.String
		}
		a.points = append(a.points, p)
	}
	if len(a.points) == 0 && rows.Err() == nil {
		return a, errors.New("the answer has no value to draw")
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
