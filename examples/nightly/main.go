// Command nightly is a job: it declares what is not there, releases the quarters that have ended since, and writes
// visits by quarter and ward as CSV.
//
//	go run ./examples/nightly visits.db visits.csv
//
// The rows are in a table raw_visits of the file, with a ward and the day on which a patient came. To run it twice is to
// run it once: nothing is charged again. It ends with status 3 where the budget is out, as dpsql does, and 1 after any
// other error.
package main

import (
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"time"

	"dpsql"
	"dpsql/sqlerr"
)

const (
	table = `CREATE PRIVATE TABLE IF NOT EXISTS visits (ward TEXT IN ('A', 'B', 'C'), came DATE BETWEEN '2024-01-01' AND '2033-12-31')
		FROM raw_visits WITH (epsilon = 2, delta = 1e-6, period = 'quarter of came', time_zone = 'Europe/Berlin')`
	release = `CREATE RELEASE IF NOT EXISTS quarterly ON visits USING PROJECTION WITH (epsilon = %g) EACH PERIOD`
	refresh = `REFRESH RELEASE quarterly`

	question = `SELECT date_trunc('quarter', came) AS quarter, ward, COUNT(*) AS visits FROM visits WHERE came < ? GROUP BY quarter, ward`
)

func main() {
	epsilon := flag.Float64("epsilon", 0.5, "of each quarter's release")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: nightly [-epsilon E] DATABASE FILE.csv")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, flag.Arg(0), flag.Arg(1), *epsilon, time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, "nightly:", explained(err))
		os.Exit(status(err))
	}
}

func run(ctx context.Context, path, file string, epsilon float64, now time.Time) error {
	db, err := sql.Open("dpsql", path)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, text := range []string{table, fmt.Sprintf(release, epsilon), refresh} {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	begun := time.Date(now.Year(), (now.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC) // of the running quarter
	a, err := dpsql.Ask(ctx, db, question, begun)
	if err != nil {
		return err
	}
	return write(file, a)
}

// write writes an answer, each count with its margin. A reader sees the old file or the new one.
func write(file string, a *dpsql.Answer) error {
	lines := [][]string{{"quarter", "ward", "visits", "margin"}}
	for _, row := range a.Rows {
		margin := ""
		if m := row[2].Margin; m != nil {
			margin = strconv.FormatFloat(*m, 'f', 0, 64)
		}
		lines = append(lines, []string{row[0].String(), row[1].String(), fmt.Sprint(row[2].Value), margin})
	}
	out, err := os.Create(file + ".new")
	if err != nil {
		return err
	}
	err = errors.Join(csv.NewWriter(out).WriteAll(lines), out.Close())
	if err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func status(err error) int {
	if sqlerr.CodeOf(err) == sqlerr.Budget {
		return 3
	}
	return 1
}

// explained adds the hint to an error of dpsql.
func explained(err error) string {
	var e *sqlerr.Error
	if errors.As(err, &e) && e.Hint != "" {
		return e.Error() + "\nhint: " + e.Hint
	}
	return err.Error()
}
