package dpsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/jmoiron/sqlx"

	"dpsql/sqlerr"
)

// Every setting and option can stand in the data source name.
func Example_dataSourceName() {
	path, remove := clinic()
	defer remove()
	db, err := sql.Open("dpsql", path+"?role=analyst&readonly=true&busy_timeout=2s"+
		"&mechanism=projection&accuracy=50&confidence=0.99&clamp=on&unverified=off&margins=proven&times=text")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SHOW SETTINGS`)
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, value)
	}
	// Output:
	// mechanism projection
	// accuracy 50
	// confidence 0.99
	// clamp on
	// unverified off
	// margins proven
}

// A grouped answer is a row a group; a declared NULL is a group, too.
func Example_groups() {
	path, remove := clinic()
	defer remove()
	db, err := sql.Open("dpsql", path+"?role=analyst")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	rows, err := db.QueryContext(ctx,
		`SELECT sex, COUNT(*) AS n, MARGIN(n) FROM visits WHERE age < :age GROUP BY sex`, sql.Named("age", 20))
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var sex sql.NullString
		var n int64
		var margin sql.NullFloat64 // NULL where no error bar is known
		if err := rows.Scan(&sex, &n, &margin); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %d ± %.0f\n", sex.String, n, margin.Float64)
	}
	if err := rows.Err(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// F 200 ± 0
	// M 200 ± 0
}

// Whoever is refused is told what to do instead.
func Example_refusals() {
	path, remove := clinic()
	defer remove()
	db, err := sql.Open("dpsql", path+"?role=analyst")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	_, begin := db.Begin()
	_, drop := db.Exec(`DROP RELEASE cells`)
	for _, err := range []error{begin, drop} {
		var e *sqlerr.Error
		if errors.As(err, &e) {
			fmt.Println(e.Code, "-", e.Message)
		}
	}
	// Output:
	// unsupported - what an answer costs is spent at once: only a read-only transaction can begin
	// forbidden - the analyst role may not declare, drop or export
}

// Libraries over database/sql work unchanged.
func Example_sqlx() {
	path, remove := clinic()
	defer remove()
	db, err := sqlx.Open("dpsql", path+"?role=analyst")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	var groups []struct {
		Sex    sql.NullString  `db:"sex"`
		N      int64           `db:"n"`
		Margin sql.NullFloat64 `db:"margin"`
	}
	err = db.Select(&groups, `SELECT sex, COUNT(*) AS n, MARGIN(n) AS margin FROM visits WHERE age IN (?) GROUP BY sex`, []int{40, 42, 44})
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range groups {
		fmt.Printf("%s %d ± %.0f\n", g.Sex.String, g.N, g.Margin.Float64)
	}
	// Output:
	// F 60 ± 0
	// M 0 ± 0
}
