// Command label writes the Adult table as people read it: labels for codes, ages
// in years, hours as hours. From the top of the repository:
//
//	go run testdata/adult/label.go | gzip -9n >testdata/adult/people.csv.gz
package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strconv"
)

// columns are those of adult.csv that are written, and their new names. What
// they count from is added to a number.
var columns = []struct {
	coded, name string
	from        int
}{
	{"age", "age", 16},
	{"workclass", "workclass", 0},
	{"education-num", "education", 0},
	{"marital-status", "marital_status", 0},
	{"occupation", "occupation", 0},
	{"relationship", "relationship", 0},
	{"race", "race", 0},
	{"sex", "sex", 0},
	{"hours-per-week", "hours_per_week", 1},
	{"native-country", "native_country", 0},
	{"income>50K", "income", 0},
}

func main() {
	if err := label("testdata/adult", os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// label reads the coded table and its labels in folder and writes the table to w.
func label(folder string, w io.Writer) error {
	var labels map[string]map[string]string
	text, err := os.ReadFile(folder + "/adult-labels.json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &labels); err != nil {
		return err
	}
	f, err := os.Open(folder + "/adult.csv")
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	written := make([]string, len(columns))
	for i, c := range columns {
		written[i] = c.name
	}
	out.Write(written)
	for _, row := range rows[1:] {
		for i, c := range columns {
			code := row[slices.Index(rows[0], c.coded)]
			written[i] = labels[c.coded][code]
			switch written[i] {
			case "?": // UCI's missing value
				written[i] = "unknown"
			case "":
				n, err := strconv.Atoi(code)
				if err != nil {
					return fmt.Errorf("%s: %w", c.coded, err)
				}
				written[i] = strconv.Itoa(n + c.from)
			}
		}
		out.Write(written)
	}
	out.Flush()
	return out.Error()
}
