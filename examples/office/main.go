// Office makes a folder with a file of admissions and a script that asks twenty questions about
// them:
//
//	go run ./examples/office -rows 1000000 office
//	go run ./cmd/dpsql -f office/questions.sql office/office.db
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"dpsql/internal/admissions"
)

func main() {
	rows := flag.Int("rows", 1_000_000, "admissions")
	seed := flag.Uint64("seed", 1, "of the random patients")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: office [-rows N] [-seed N] FOLDER")
		os.Exit(2)
	}
	if err := fill(flag.Arg(0), *rows, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "office:", err)
		os.Exit(1)
	}
}

func fill(folder string, rows int, seed uint64) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(folder, "admissions.csv"))
	if err != nil {
		return err
	}
	defer file.Close()
	if err := admissions.Write(file, rows, seed); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "questions.sql"), []byte(admissions.Questions), 0o644)
}
