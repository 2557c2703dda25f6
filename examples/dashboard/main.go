// Command dashboard serves a page's data: visits by month, with error bars, as JSON.
//
//	go run ./examples/dashboard -listen localhost:8080 visits.db
//	curl 'localhost:8080/visits?ward=A&ward=B&from=2024-01-01'
//
// It opens the file as an analyst who can write nothing, so that a request can buy nothing, whatever it asks.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"time"

	"dpsql"
	"dpsql/sqlerr"
)

const question = `SELECT date_trunc('month', came) AS month, COUNT(*) AS visits FROM visits WHERE ward IN (?) AND came >= ? GROUP BY month`

func main() {
	listen := flag.String("listen", "localhost:8080", "address")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: dashboard [-listen ADDRESS] DATABASE")
	}
	db, err := sql.Open("dpsql", flag.Arg(0)+"?role=analyst&readonly=true")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	log.New(os.Stderr, "", 0).Print(http.ListenAndServe(*listen, handler(db, 2*time.Second)))
}

// handler answers within a time.
func handler(db *sql.DB, within time.Duration) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /visits", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), within)
		defer cancel()
		page, err := visits(ctx, db, r)
		if err != nil {
			page = failed(err)
			w.WriteHeader(status(err))
		}
		json.NewEncoder(w).Encode(page)
	})
	return mux
}

// series is what the page draws.
type series struct {
	Confidence float64  `json:"confidence"`
	Points     []point  `json:"points"`
	Warnings   []string `json:"warnings,omitempty"`
}

// point is a month. The margin is null where none is known.
type point struct {
	Month  any      `json:"month"`
	Visits any      `json:"visits"`
	Margin *float64 `json:"margin"`
}

func visits(ctx context.Context, db *sql.DB, r *http.Request) (any, error) {
	from, err := time.Parse(time.DateOnly, r.FormValue("from"))
	if err != nil {
		return nil, sqlerr.New(sqlerr.Invalid, "from is not a date such as 2024-12-31")
	}
	a, err := dpsql.Ask(ctx, db, question, r.Form["ward"], from)
	if err != nil {
		return nil, err
	}
	s := series{Confidence: a.Confidence, Warnings: a.Warnings}
	for _, row := range a.Rows {
		s.Points = append(s.Points, point{row[0].Value, row[1].Value, row[1].Margin})
	}
	return s, nil
}

// failed is what the page shows: errors of dpsql have no value of a row, and a hint.
func failed(err error) any {
	out := map[string]string{"error": err.Error()}
	var e *sqlerr.Error
	if errors.As(err, &e) {
		out["hint"] = e.Hint
	}
	return out
}

func status(err error) int {
	if errors.Is(err, context.DeadlineExceeded) {
		return http.StatusServiceUnavailable
	}
	switch sqlerr.CodeOf(err) {
	case sqlerr.Invalid, sqlerr.Malformed, sqlerr.Unsupported, sqlerr.Unknown:
		return http.StatusBadRequest
	case sqlerr.Uncovered, sqlerr.ReadOnly:
		return http.StatusNotFound // no release answers this
	case sqlerr.Cancelled, sqlerr.Busy:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
