package dpsql

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"

	"dpsql/driver"
	"dpsql/engine"
	"dpsql/sqlerr"
)

// Querier is a *sql.DB, a *sql.Conn, or anything else that asks through one.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Answer is the answer to a query, with what is known of it. Of a statement that names no private table, such as SHOW, it
// has columns and rows alone.
type Answer struct {
	Columns    []string  // their names
	Rows       [][]Value // as many values in each as there are columns
	Confidence float64   // the probability that a true value lies from Low to High, for each value on its own
	Via        string    // the release or mechanism that answered, "direct" for what was bought, or "constant" where no row can count; several are joined by ", "
	Mechanism  string    // its kind: "projection", "marginals", "smw", "direct" or "constant"
	Support    string    // m, how many combinations of values the query selects; "least to largest" for several queries
	Cost       Cost      // what was charged for this answer
	Verified   bool      // every number has a margin, or is public
	Simulated  bool      // margins come from simulations: no theorem stands behind them
	AsOf       time.Time // when rows were read of periods that had not ended; zero if there are none
	Warnings   []string  // for people
}

// Cost is what a statement added to the ledger. It is 0 for what a release answers, and for what was bought before.
type Cost struct {
	Epsilon float64 // of the account for releases
	Rho     float64 // zero-concentrated divergence, of the account for answers
}

// Value is a value of a row.
type Value struct {
	Value  any      // an int64, a float64, a string, a time.Time, or nil for NULL
	Margin *float64 // how far the true value may be off, in days for a date; nil if the value is public, or no margin is known
	Low    any      // the ends of the interval, as float64 or time.Time; nil where Margin is
	High   any
}

// Ask asks a query and returns all of its answer:
//
//	a, err := dpsql.Ask(ctx, db, `SELECT sex, COUNT(*) FROM visits WHERE age < ? GROUP BY sex`, 20)
//
// Values are those that Scan would give to an any. Errors are those of db.
func Ask(ctx context.Context, db Querier, query string, args ...any) (*Answer, error) {
	var r *engine.Result
	rows, err := db.QueryContext(driver.Report(ctx, func(done *engine.Result) { r = done }), query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if r == nil {
		return nil, sqlerr.New(sqlerr.Invalid, "Ask needs a database of the driver dpsql")
	}
	a := &Answer{Rows: [][]Value{}, Warnings: r.Warnings}
	if a.Columns, err = rows.Columns(); err != nil {
		return nil, err
	}
	for rows.Next() {
		row, into := make([]Value, len(a.Columns)), make([]any, len(a.Columns))
		for i := range row {
			into[i] = &row[i].Value
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		a.Rows = append(a.Rows, row)
	}
	if of := r.Answer; of != nil {
		a.Confidence, a.Via, a.Mechanism, a.Support, a.Cost = of.Confidence, of.Via, of.Mechanism, of.Support, Cost(of.Cost)
		a.Verified, a.Simulated, a.AsOf = of.Verified, of.Simulated, of.AsOf
		for n, row := range a.Rows {
			for i := range row {
				row[i].bound(of.Margins[n][i], of.Intervals[n][i])
			}
		}
	}
	return a, rows.Err()
}

// bound sets the margin of a value and the ends of its interval.
func (v *Value) bound(margin, interval any) {
	m, known := margin.(float64)
	if !known || math.IsInf(m, 0) || math.IsNaN(m) {
		return
	}
	switch i := interval.(type) {
	case engine.Interval:
		v.Margin, v.Low, v.High = &m, i.Low, i.High
	case engine.Span:
		v.Margin, v.Low, v.High = &m, i.Low, i.High
		if _, isTime := v.Value.(time.Time); isTime {
			v.Low, v.High = driver.Time(i.Low), driver.Time(i.High)
		}
	}
}

// String returns the value as people read it: "1204 ± 31", "2024-12-31", or "NULL".
func (v Value) String() string {
	text := fmt.Sprint(v.Value)
	switch x := v.Value.(type) {
	case nil:
		return "NULL"
	case time.Time:
		text = strings.TrimSuffix(x.Format(time.DateTime), " 00:00:00")
	case float64:
		text = fmt.Sprintf("%.6g", x)
	}
	if v.Margin != nil {
		text += fmt.Sprintf(" ± %.3g", *v.Margin)
	}
	return text
}
