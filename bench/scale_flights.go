package main

import (
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"dpsql/bench/report"
	"dpsql/engine"
)

// Real flights: texts without a domain, and a column of whole numbers.
const (
	declareReal = `CREATE PRIVATE TABLE flights (origin TEXT, destination TEXT, delay INTEGER BETWEEN -60 AND 300) FROM %s
		WITH (epsilon = 100, delta = 1e-8)`
	buildRoutes = `CREATE RELEASE routes ON flights (origin, destination) USING PROJECTION WITH (epsilon = 1, memory = '8 MiB')`
	buildDelays = `CREATE RELEASE delays ON flights (origin, delay) USING PROJECTION WITH (epsilon = 1, memory = '8 MiB')`
	askRoute    = `SELECT COUNT(*) FROM flights WHERE origin = 'SFO' AND destination = 'LAX'`
	askDelays   = `SELECT AVG(delay) FROM flights WHERE origin = 'SFO'`
)

// realFlights imports real flights, and builds and asks the same releases of them in
// a file and in PostgreSQL.
func (b *bench) realFlights(s *report.Section) error {
	dir, err := os.MkdirTemp("", "dpsql-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	at := &rowsAt{path: filepath.Join(dir, "flights.db")}
	rows, seconds, err := importRows(at.path, b.flights)
	if err != nil {
		return err
	}
	s.Say(`The flights of %s (-flights names the file; package/data/flights-3m.parquet of "npm pack vega-datasets" has three million), %s rows, imported by .import in %s s. A route is a pair of texts without a domain, so that cells are named by fingerprints. Each
row of the table is a process of its own; the answers are made once the process has opened its database.`, filepath.Base(b.flights), report.Number(float64(rows)), report.Number(seconds))
	t := &report.Table{Head: []string{"source", "release of routes, s", "release of origins and delays, s", "one route, ms", "AVG of an origin, ms", "peak, MiB"}}
	if err := addReal(t, "SQLite", at, fmt.Sprintf(declareReal, "raw")); err != nil {
		return err
	}
	server, err := newServerPlace()
	if err != nil {
		if err := missing(err, s); err != nil {
			return err
		}
		s.Show(t)
		return nil
	}
	defer server.close()
	if err := copyRows(at.path, server); err != nil {
		return err
	}
	away := &rowsAt{path: filepath.Join(dir, "warehouse.db"), env: server.env}
	err = addReal(t, "PostgreSQL", away, `CREATE SOURCE warehouse USING POSTGRES WITH (dsn_env = 'DPSQL_BENCH_DSN')`, fmt.Sprintf(declareReal, "warehouse.public.real"))
	s.Show(t)
	return err
}

// importRows imports a file as the table raw.
func importRows(path, file string) (rows int64, seconds float64, err error) {
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	file, err = filepath.Abs(file)
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	done, err := db.NewSession().Import(context.Background(), engine.Import{Path: file, Table: "raw"})
	return done.Rows, time.Since(start).Seconds(), err
}

// addReal declares the rows, and builds and asks two releases.
func addReal(t *report.Table, name string, at *rowsAt, declare ...string) error {
	if _, err := at.run(declare...); err != nil {
		return err
	}
	built, err := at.run(buildRoutes, buildDelays)
	if err != nil {
		return err
	}
	asked, err := at.run(askRoute, askDelays, askRoute, askDelays)
	if err != nil {
		return err
	}
	t.Add(name, built.Seconds[0], built.Seconds[1], 1e3*asked.Seconds[2], 1e3*asked.Seconds[3], built.Peak/(1<<20))
	return nil
}

// copyRows copies raw to the table real of a server.
func copyRows(path string, p *serverPlace) error {
	if _, err := p.cluster.Exec(`CREATE TABLE real (origin text, destination text, delay integer)`); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	file, err := os.Create(filepath.Join(filepath.Dir(path), "real.csv"))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := writeRows(csv.NewWriter(file), db); err != nil {
		return err
	}
	if _, err := file.Seek(0, 0); err != nil {
		return err
	}
	if err := p.cluster.Copy("real", file); err != nil {
		return err
	}
	_, err = p.cluster.Exec(`VACUUM ANALYZE real`)
	return err
}

func writeRows(w *csv.Writer, db *sql.DB) error {
	rows, err := db.Query(`SELECT origin, destination, delay FROM raw`)
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := w.Write([]string{"origin", "destination", "delay"}); err != nil {
		return err
	}
	for rows.Next() {
		var origin, destination string
		var delay int64
		if err := rows.Scan(&origin, &destination, &delay); err != nil {
			return err
		}
		if err := w.Write([]string{origin, destination, strconv.FormatInt(delay, 10)}); err != nil {
			return err
		}
	}
	w.Flush()
	return errors.Join(rows.Err(), w.Error())
}
