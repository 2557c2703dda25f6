package dpsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "dpsql"
	"dpsql/engine"
	"dpsql/sqlerr"
)

// clinic makes a database with 1,000 visits and a release of two columns at
// ε = 50, whose noise is 0 for all practical purposes, so that the examples
// print the same each time.
func clinic() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "dpsql")
	if err != nil {
		log.Fatal(err)
	}
	csv := "sex,age\n"
	for i := range 1000 {
		csv += fmt.Sprintf("%c,%d\n", "FM"[i%2], i%50)
	}
	if err := os.WriteFile(filepath.Join(dir, "visits.csv"), []byte(csv), 0o600); err != nil {
		log.Fatal(err)
	}
	path = filepath.Join(dir, "clinic.db")
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	s := db.NewSession()
	s.SetDirectory(dir)
	ctx := context.Background()
	if _, err := s.Import(ctx, engine.Import{Path: "visits.csv", Table: "raw_visits"}); err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{
		`CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), age INTEGER BETWEEN 0 AND 99)
			FROM raw_visits WITH (epsilon = 100, delta = 1e-6)`,
		`CREATE RELEASE cells ON visits USING PROJECTION WITH (epsilon = 50)`,
	} {
		if _, err := s.Exec(ctx, text, nil); err != nil {
			log.Fatal(err)
		}
	}
	return path, func() { os.RemoveAll(dir) }
}

// A program asks as an analyst, through database/sql.
func Example() {
	path, remove := clinic()
	defer remove()
	db, err := sql.Open("dpsql", path+"?role=analyst")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	var n int64
	var margin float64
	err = db.QueryRow(`SELECT COUNT(*) AS n, MARGIN(n) FROM visits WHERE sex = ? AND age < ?`, "F", 20).Scan(&n, &margin)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d ± %.0f\n", n, margin)
	// Output: 200 ± 0
}

// SET lasts as long as a sql.Conn.
func Example_settings() {
	path, remove := clinic()
	defer remove()
	db, err := sql.Open("dpsql", path+"?role=analyst")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, `SET confidence = 0.99`); err != nil {
		log.Fatal(err)
	}
	var name, value string
	rows, err := conn.QueryContext(ctx, `SHOW SETTINGS`)
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&name, &value); err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, value)
	}
	// Output:
	// mechanism auto
	// accuracy default
	// confidence 0.99
	// clamp off
	// unverified on
	// margins proven
}

// Errors carry a code for programs and a hint for people.
func Example_errors() {
	path, remove := clinic()
	defer remove()
	db, err := sql.Open("dpsql", path+"?role=analyst")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	var n int64
	err = db.QueryRow(`SELECT COUNT(*) FROM visits WHERE aeg < 20`).Scan(&n)
	var e *sqlerr.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code, "at", e.Position)
		fmt.Println(e.Message)
		fmt.Println(e.Hint)
	}
	// Output:
	// unknown at 35
	// no column aeg in table visits
	// did you mean age?
}

// A prepared statement takes its arguments at each call.
func Example_prepared() {
	path, remove := clinic()
	defer remove()
	db, err := sql.Open("dpsql", path)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	st, err := db.Prepare(`SELECT COUNT(*) FROM visits WHERE age BETWEEN ? AND ?`)
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	for _, decade := range []int{0, 10, 60} {
		var n int64
		if err := st.QueryRow(decade, decade+9).Scan(&n); err != nil {
			log.Fatal(err)
		}
		fmt.Println(decade, n)
	}
	// Output:
	// 0 200
	// 10 200
	// 60 0
}
