// Command ask asks a database of dpsql one question, as an analyst. After the
// README's demonstration:
//
//	go run ./examples/ask demo.db
package main

import (
	"database/sql"
	"fmt"
	"log"
	"os"

	_ "dpsql"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: ask DATABASE")
	}
	db, err := sql.Open("dpsql", os.Args[1]+"?role=analyst&confidence=0.99")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	var count int
	var margin float64
	err = db.QueryRow(`SELECT COUNT(*) AS n, MARGIN(n) FROM adult WHERE age BETWEEN ? AND ?`, 30, 39).Scan(&count, &margin)
	if err != nil {
		log.Fatal(err) // a *sqlerr.Error, with a code and a hint
	}
	fmt.Printf("%d ± %.0f\n", count, margin)
}
