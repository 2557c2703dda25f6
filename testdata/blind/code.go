// Command code writes the tables of this folder: the records of public data sets, with a
// code 0, 1, … for each value. From the top of the repository, with the folder
// of the files that README.md names:
//
//	go run testdata/blind/code.go FOLDER testdata/blind
//
// The domains are those of the questionnaires and scales, and bins end at round numbers.
package main

import (
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// table is one file to write.
type table struct {
	from, to string
	columns  []column
}

// column is a column to write. code returns the code of a record, whose fields get
// returns by name.
type column struct {
	name string
	code func(get func(string) string) int
}

var tables = []table{
	{"diamonds.csv", "diamonds.csv.gz", []column{
		{"carat", binned("carat", .3, .4, .5, .7, .9, 1, 1.25, 1.5, 2)},
		{"cut", listed("cut", "Fair", "Good", "Very Good", "Premium", "Ideal")},
		{"color", listed("color", "D", "E", "F", "G", "H", "I", "J")},
		{"clarity", listed("clarity", "I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF")},
		{"depth", binned("depth", 58, 60, 62, 64)},
		{"table", binned("table", 55, 57, 59, 61)},
		{"price", binned("price", 500, 1000, 1500, 2000, 3000, 5000, 7500, 10_000, 15_000)},
	}},
	{"randhie.csv", "randhie.csv.gz", []column{
		{"visits", binned("mdvis", 1, 2, 3, 5, 10, 20)},
		{"coinsurance", logged("lncoins", 1+1, 1+40, 1+75, 1+98)},
		{"deductible", listed("idp", "0", "1")},
		{"incentive", logged("lpi", 2, 250, 500, 750, 1000)},
		{"maximum", logged("fmde", 2, 500, 1000, 2000)},
		{"limitation", binned("physlm", math.SmallestNonzeroFloat64, 1)},
		{"diseases", binned("disea", 5, 10, 15, 20, 30)},
		{"health", func(get func(string) string) int {
			return 1*number(get("hlthg")) + 2*number(get("hlthf")) + 3*number(get("hlthp"))
		}},
	}},
	{"birdstrikes.csv", "birdstrikes.csv.gz", []column{
		{"division", func(get func(string) string) int {
			return slices.IndexFunc(divisions, func(states string) bool {
				return slices.Contains(strings.Split(states, ", "), get("Origin State"))
			})
		}},
		{"month", func(get func(string) string) int { return number(strings.Split(get("Flight Date"), "-")[1]) - 1 }},
		{"time", listed("Time of day", "Dawn", "Day", "Dusk", "Night")},
		{"phase", listed("Phase of flight", "Parked", "Taxi", "Take-off run", "Climb", "En Route", "Descent", "Approach", "Landing Roll")},
		{"speed", func(get func(string) string) int {
			if get("Speed IAS in knots") == "" {
				return 0
			}
			return 1 + binned("Speed IAS in knots", 100, 150, 200, 250)(get)
		}},
		{"size", listed("Wildlife Size", "Small", "Medium", "Large")},
		{"damage", func(get func(string) string) int {
			return max(0, 1+slices.Index([]string{"None", "Minor", "Medium", "Substantial"}, get("Effect Amount of damage")))
		}},
	}},
	{"earners.csv", "earners.csv.gz", []column{
		{"earnings", binned("earnings", 5, 7.5, 10, 12.5, 15, 20, 25, 30, 40)},
		{"gender", listed("gender", "male", "female")},
		{"age", binned("age", 25, 30, 35, 40, 45, 50, 55, 60)},
		{"region", listed("region", "Northeast", "Midwest", "South", "West")},
		{"education", listed("education", "6", "8", "9", "10", "11", "12", "13", "14", "16", "18", "19", "20")},
	}},
	{"lectures.csv", "lectures.csv.gz", []column{
		{"student", listed("studage", "2", "4", "6", "8")},
		{"lecture", listed("lectage", "1", "2", "3", "4", "5", "6")},
		{"service", listed("service", "0", "1")},
		{"department", listed("dept", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "14", "15")},
		{"rating", listed("y", "1", "2", "3", "4", "5")},
	}},
	{"pupils.csv", "pupils.csv.gz", []column{
		{"grade", listed("gr", "K", "1", "2", "3")},
		{"class", listed("cltype", "small", "reg", "reg+A")},
		{"degree", listed("hdeg", "NA", "ASSOC", "BS/BA", "MS/MA/MEd", "MA+", "Ed.S", "Ed.D/Ph.D")},
		{"ladder", listed("clad", "NA", "NOT", "APPR", "PROB", "PEND", "1", "2", "3")},
		{"experience", func(get func(string) string) int {
			if get("exp") == "NA" {
				return 0
			}
			return 1 + binned("exp", 1, 5, 10, 15, 20)(get)
		}},
		{"teacher", listed("trace", "NA", "W", "B", "A", "H", "I", "O")},
		{"lunch", listed("ses", "NA", "F", "N")},
		{"school", listed("schtype", "inner", "suburb", "rural", "urban")},
		{"sex", listed("sx", "NA", "M", "F")},
		{"ethnicity", listed("eth", "NA", "W", "B", "A", "H", "I", "O")},
	}},
}

// divisions are those of the US Census Bureau.
var divisions = []string{
	"Connecticut, Maine, Massachusetts, New Hampshire, Rhode Island, Vermont",
	"New Jersey, New York, Pennsylvania",
	"Illinois, Indiana, Michigan, Ohio, Wisconsin",
	"Iowa, Kansas, Minnesota, Missouri, Nebraska, North Dakota, South Dakota",
	"Delaware, DC, Florida, Georgia, Maryland, North Carolina, South Carolina, Virginia, West Virginia",
	"Alabama, Kentucky, Mississippi, Tennessee",
	"Arkansas, Louisiana, Oklahoma, Texas",
	"Arizona, Colorado, Idaho, Montana, Nevada, New Mexico, Utah, Wyoming",
	"Alaska, California, Hawaii, Oregon, Washington",
}

// binned returns how many of the bounds are at most the field's number.
func binned(name string, bounds ...float64) func(func(string) string) int {
	return func(get func(string) string) int {
		x, err := strconv.ParseFloat(get(name), 64)
		if err != nil {
			return -1
		}
		return len(bounds) - len(slices.DeleteFunc(slices.Clone(bounds), func(b float64) bool { return b <= x }))
	}
}

// logged is binned for a field that is the logarithm of its number.
func logged(name string, bounds ...float64) func(func(string) string) int {
	logs := make([]float64, len(bounds))
	for i, b := range bounds {
		logs[i] = math.Log(b)
	}
	return binned(name, logs...)
}

// listed returns the place of the field in a list.
func listed(name string, values ...string) func(func(string) string) int {
	return func(get func(string) string) int { return slices.Index(values, get(name)) }
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1000
	}
	return n
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: code FROM TO")
	}
	for _, t := range tables {
		if err := t.write(os.Args[1], os.Args[2]); err != nil {
			log.Fatalf("%s: %v", t.from, err)
		}
	}
}

// write writes the table with its rows sorted, which makes the file smaller.
func (t table) write(from, to string) error {
	in, err := os.Open(filepath.Join(from, t.from))
	if err != nil {
		return err
	}
	defer in.Close()
	records, err := csv.NewReader(in).ReadAll()
	if err != nil {
		return err
	}
	var rows [][]int
	for _, record := range records[1:] {
		row := make([]int, len(t.columns))
		for i, c := range t.columns {
			if row[i] = c.code(func(name string) string { return record[slices.Index(records[0], name)] }); row[i] < 0 {
				return fmt.Errorf("no code in column %s for %q", c.name, record)
			}
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, slices.Compare[[]int])
	out, err := os.Create(filepath.Join(to, t.to))
	if err != nil {
		return err
	}
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := csv.NewWriter(packed)
	text := make([]string, len(t.columns))
	for i, c := range t.columns {
		text[i] = c.name
	}
	w.Write(text)
	for _, row := range rows {
		for i, v := range row {
			text[i] = strconv.Itoa(v)
		}
		w.Write(text)
	}
	w.Flush()
	return cmp.Or(w.Error(), packed.Close(), out.Close())
}
