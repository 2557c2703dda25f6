package main

import (
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"dpsql/bench/report"
	"dpsql/engine"
)

// cost compares builds and direct counts over PostgreSQL with the statements that one
// would send without privacy.
func (b *bench) cost(s *report.Section) error {
	n := min(b.upto, size(b, 10_000_000, 10_000))
	server, err := newServerPlace()
	if err != nil {
		return missing(err, s)
	}
	defer server.close()
	t := &report.Table{Head: []string{"what", "rows", "bare, ms", "dpsql, ms", "ratio", "target"}}
	if err := b.addCount(t, server, n/100); err != nil {
		return err
	}
	if err := server.grow(n); err != nil {
		return err
	}
	s.Say(`Up to %s rows in one table of PostgreSQL %s. The bare statements are timed by psql (\timing), rows received and dropped; dpsql's from outside, in processes of their own. The least
of %d builds and of %d counts, psql's and dpsql's in turn.`, power(n), server.version(), costReps, countReps)
	for _, shape := range shapes {
		bare, built, err := b.costOfBuild(server, shape)
		if err != nil {
			return err
		}
		b.known.rowTime, b.known.rows, b.known.perCell = bare, float64(n), max(0, built-bare)/float64(shape.cells)
		t.Add("release of "+shape.name, power(n), 1000*bare, 1000*built, built/bare, "at most 1.5: "+met(built <= 1.5*bare))
		b.note("  %s: %.3g s, bare %.3g s", shape.name, built, bare)
	}
	if err := b.addCount(t, server, n); err != nil {
		return err
	}
	own, err := b.ownCost()
	if err != nil {
		return err
	}
	b.note("  count of a small file: %.3g ms", 1000*own)
	t.Add("direct count, in a file", power(fewRows), "", 1000*own, "", "")
	s.Show("", t)
	s.Say(`The last row has next to nothing to count. It shows what a direct answer takes by itself: mostly the two durable transactions of its charge and of the answer. A server
adds a transaction there, its snapshot, and the comparison of the table's definition with the declared one.`)
	return b.wire(s, server)
}

// fewRows is a number of rows that takes no time to count.
const fewRows = 1000

// ownCost returns the shortest time of a direct answer over few rows of a file.
func (b *bench) ownCost() (float64, error) {
	dir, err := os.MkdirTemp("", "dpsql-bench")
	if err != nil {
		return 0, err
	}
	p, err := newFilePlace(dir)
	if err != nil {
		return 0, err
	}
	defer p.close()
	if err := p.grow(fewRows); err != nil {
		return 0, err
	}
	_, private := countsOf(p)
	out, err := p.run(private...)
	if err != nil {
		return 0, err
	}
	return slices.Min(out.Seconds[2:]), nil
}

// addCount adds the row of direct counts over n rows.
func (b *bench) addCount(t *report.Table, p *serverPlace, n int) error {
	if p.rows < n {
		if err := p.grow(n); err != nil {
			return err
		}
	}
	bare, counted, err := b.costOfCount(p)
	if err != nil {
		return err
	}
	b.note("  count: %.3g ms, bare %.3g ms", 1000*counted, 1000*bare)
	most := 1.1*bare + 0.002
	t.Add("direct count", power(n), 1000*bare, 1000*counted, counted/bare, fmt.Sprintf("at most %s ms: %s", report.Number(1000*most), met(counted <= most)))
	return nil
}

func met(ok bool) string {
	if ok {
		return "met"
	}
	return "missed"
}

// costReps and countReps are how often the two sides are timed.
const costReps, countReps = 5, 20

// costOfBuild returns the shortest times of the bare GROUP BY and of a build.
func (b *bench) costOfBuild(p *serverPlace, sh shape) (bare, built float64, err error) {
	bare, built = math.Inf(1), math.Inf(1)
	for range costReps {
		plain, err := p.timed(fmt.Sprintf("SELECT %s, count(*) FROM flights GROUP BY %s", sh.columns, sh.columns))
		if err != nil {
			return 0, 0, err
		}
		out, err := p.run(buildOf(sh, p.serial()))
		if err != nil {
			return 0, 0, err
		}
		bare, built = min(bare, slices.Min(plain)), min(built, out.Seconds[0])
	}
	return bare, built, nil
}

// costOfCount returns the shortest times of a bare count and of a direct answer.
func (b *bench) costOfCount(p *serverPlace) (bare, counted float64, err error) {
	plain, private := countsOf(p)
	bareTimes, err := p.timed(plain...)
	if err != nil {
		return 0, 0, err
	}
	out, err := p.run(private...)
	if err != nil {
		return 0, 0, err
	}
	return slices.Min(bareTimes), slices.Min(out.Seconds[2:]), nil
}

// countsOf returns the counts that are timed, and the same counts for dpsql, after two
// settings. Each count has its own condition, because a repeated one would be answered
// from store.
func countsOf(p rowPlace) (plain, private []string) {
	private = []string{"SET accuracy = 10", "SET mechanism = direct"}
	for i := range countReps {
		condition := fmt.Sprintf("hour = %d AND destination < %d", i%24, 50+p.serial()%170)
		plain = append(plain, "SELECT count(*) FROM flights WHERE "+condition)
		private = append(private, "SELECT COUNT(*) FROM flights WHERE "+condition)
	}
	return plain, private
}

// timed returns how long psql waited for the rows of each statement, in seconds.
func (p *serverPlace) timed(statements ...string) ([]float64, error) {
	text, err := p.cluster.Exec("\\timing on\n\\o /dev/null\n" + strings.Join(statements, ";\n") + ";\n")
	if err != nil {
		return nil, err
	}
	var times []float64
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[0] != "Time:" {
			continue
		}
		ms, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return nil, err
		}
		times = append(times, ms/1000)
	}
	if len(times) != len(statements) {
		return nil, fmt.Errorf("psql timed %d of %d statements", len(times), len(statements))
	}
	return times, nil
}

func (p *serverPlace) version() string {
	v, err := p.cluster.Exec("SHOW server_version")
	if err != nil {
		return "of unknown version"
	}
	return v
}

// wire measures what a build receives.
func (b *bench) wire(s *report.Section, p *serverPlace) error {
	if _, err := p.run(`CREATE SOURCE link USING POSTGRES WITH (dsn_env = 'DPSQL_BENCH_LINK')`,
		strings.Replace(fmt.Sprintf(declareFlights, "link.public.flights"), "TABLE flights", "TABLE linked", 1)); err != nil {
		return err
	}
	t := &report.Table{Head: []string{"release", "cells of the universe", "received", "bytes a cell"}}
	for _, shape := range shapes {
		before := p.link.Sent()
		if _, err := p.run(strings.Replace(buildOf(shape, p.serial()), "ON flights", "ON linked", 1)); err != nil {
			return err
		}
		sent := float64(p.link.Sent() - before)
		b.known.cellBytes = sent / float64(shape.cells)
		t.Add(shape.columns, float64(shape.cells), size10(sent), b.known.cellBytes)
	}
	s.Say("Cells come over the wire, not rows:")
	s.Show("wire", t)
	return nil
}

// Real flights: texts without a domain, and a column of whole numbers.
const (
	declareReal = `CREATE PRIVATE TABLE flights (origin TEXT, destination TEXT, delay INTEGER BETWEEN -60 AND 300) FROM %s
		WITH (epsilon = 100, delta = 1e-8)`
	buildRoutes = `CREATE RELEASE routes ON flights (origin, destination) USING PROJECTION WITH (epsilon = 1, memory = '8 MiB')`
	buildDelays = `CREATE RELEASE delays ON flights (origin, delay) USING PROJECTION WITH (epsilon = 1, memory = '8 MiB')`
	askRoute    = `SELECT COUNT(*) FROM flights WHERE origin = 'SFO' AND destination = 'LAX'`
	askDelays   = `SELECT AVG(delay) FROM flights WHERE origin = 'SFO'`
)

// realFlights imports real flights. It builds and asks the same releases of them in a
// file and in PostgreSQL.
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
	s.Say(`The flights of %s (-flights names the file; package/data/flights-3m.parquet of "npm pack vega-datasets" has three million), %s rows, imported by .import in %s s. A route is a pair of texts without a domain, so cells are named by fingerprints. Each
row of the table is a process of its own. The answers are timed after the process has opened its database.`, filepath.Base(b.flights), report.Number(float64(rows)), report.Number(seconds))
	t := &report.Table{Head: []string{"source", "release of routes, s", "release of origins and delays, s", "one route, ms", "AVG of an origin, ms", "peak, MiB"}}
	if err := addReal(t, "SQLite", at, fmt.Sprintf(declareReal, "raw")); err != nil {
		return err
	}
	server, err := newServerPlace()
	if err != nil {
		if err := missing(err, s); err != nil {
			return err
		}
		s.Show("", t)
		return nil
	}
	defer server.close()
	if err := copyRows(at.path, server); err != nil {
		return err
	}
	away := &rowsAt{path: filepath.Join(dir, "warehouse.db"), env: server.env}
	err = addReal(t, "PostgreSQL", away, `CREATE SOURCE warehouse USING POSTGRES WITH (dsn_env = 'DPSQL_BENCH_DSN')`, fmt.Sprintf(declareReal, "warehouse.public.real"))
	s.Show("", t)
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
