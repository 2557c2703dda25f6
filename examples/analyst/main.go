// Command analyst asks one question and prints the answer with its margins, who gave it and what it cost.
//
//	go run ./examples/analyst visits.db "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
//	go run ./examples/analyst -accuracy 50 visits.db "SELECT COUNT(*) FROM visits WHERE ward = 'A'"
//
// Without -accuracy nothing is bought.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"

	"dpsql"
	"dpsql/sqlerr"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, explained(err))
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("analyst", flag.ContinueOnError)
	var s dpsql.Settings
	flags.Float64Var(&s.Accuracy, "accuracy", 0, "buy what is not known within so many counts")
	flags.Float64Var(&s.Confidence, "confidence", 0.95, "of the margins")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return errors.New("usage: analyst [-accuracy N] [-confidence C] DATABASE SELECT")
	}
	db, err := sql.Open("dpsql", flags.Arg(0)+"?role=analyst")
	if err != nil {
		return err
	}
	defer db.Close()
	a, err := dpsql.Ask(dpsql.With(ctx, s), db, flags.Arg(1))
	if err != nil {
		return err
	}
	return show(out, a)
}

func show(out io.Writer, a *dpsql.Answer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(a.Columns, "\t"))
	for _, row := range a.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = v.String()
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if a.Via != "" {
		fmt.Fprintf(out, "± at %g %% · %s · ρ = %.2g\n", 100*a.Confidence, a.Via, a.Cost.Rho)
	}
	for _, w := range a.Warnings {
		fmt.Fprintln(out, "warning:", w)
	}
	return nil
}

// explained adds the hint to an error of dpsql.
func explained(err error) string {
	var e *sqlerr.Error
	if errors.As(err, &e) && e.Hint != "" {
		return e.Error() + "\nhint: " + e.Hint
	}
	return err.Error()
}
