package driver_test

import (
	"database/sql"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	"dpsql/driver"
	"dpsql/engine"
)

// people makes a database of three persons with a release that has no noise.
func people() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "dpsql")
	if err != nil {
		log.Fatal(err)
	}
	path = filepath.Join(dir, "people.db")
	raw, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = raw.Exec(`CREATE TABLE raw (sex TEXT); INSERT INTO raw VALUES ('F'), ('M'), ('F')`)
	}
	if err != nil {
		log.Fatal(err)
	}
	raw.Close()
	db, err := sql.Open("dpsql", path)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	for _, text := range []string{
		`CREATE PRIVATE TABLE people (sex TEXT IN ('F', 'M')) FROM raw WITH (epsilon = 100)`,
		`CREATE RELEASE cells ON people USING PROJECTION WITH (epsilon = 50)`,
	} {
		if _, err := db.Exec(text); err != nil {
			log.Fatal(err)
		}
	}
	return path, func() { os.RemoveAll(dir) }
}

// A query has its margin beside it.
func Example() {
	path, remove := people()
	defer remove()
	db, err := sql.Open("dpsql", path+"?role=analyst&confidence=0.99")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	var n int64
	var margin float64
	if err := db.QueryRow(`SELECT COUNT(*) AS n, MARGIN(n) FROM people WHERE sex = ?`, "F").Scan(&n, &margin); err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "±", margin)
	// Output: 2 ± 0
}

// The log of a program gets what people at a terminal read below an answer.
func ExampleNewConnector() {
	path, remove := people()
	defer remove()
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	connector, err := driver.NewConnector(path, driver.Options{
		Role:     engine.Analyst,
		Settings: driver.Settings{Confidence: 0.99},
		Logger:   slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})),
	})
	if err != nil {
		log.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	for _, sex := range []string{"F", "X"} {
		var n int64
		if err := db.QueryRow(`SELECT COUNT(*) FROM people WHERE sex = ?`, sex).Scan(&n); err != nil {
			log.Fatal(err)
		}
		fmt.Println(n)
	}
	// Output:
	// 2
	// level=WARN msg="sex = parameter 1 is outside the declared domain IN ('F', 'M'): it matches nothing"
	// 0
}
