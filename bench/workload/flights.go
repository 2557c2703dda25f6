package workload

import (
	"fmt"
	"slices"
	"strconv"
)

// Flights returns the flights table over origin, destination, day of the week and hour,
// 8.7e6 cells. file is flights.csv.gz. airports is airports.csv, whose codes are the
// domain of both airports.
func Flights(file, airports string) (*Table, error) {
	names, err := airportCodes(airports)
	if err != nil {
		return nil, err
	}
	n := int64(len(names))
	u, err := grid([]string{"origin", "destination", "dow", "dep_hour"}, []int64{n, n, 7, 24})
	if err != nil {
		return nil, err
	}
	counts := make(map[uint64]int64)
	err = eachRecord(file, []string{"origin", "destination", "dow", "dep_hour"}, func(fields []string) error {
		from, ok := slices.BinarySearch(names, fields[0])
		to, okay := slices.BinarySearch(names, fields[1])
		day := slices.Index(days, fields[2])
		hour, err := strconv.Atoi(fields[3])
		if !ok || !okay || day < 0 || err != nil || hour < 0 || hour > 23 {
			return fmt.Errorf("%s: a flight outside the domains: %q", file, fields)
		}
		counts[uint64(((from*len(names)+to)*7+day)*24+hour)]++
		return nil
	})
	return newTable("flights, 4 columns", u, counts), err
}

var days = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// airportCodes returns the codes of the airports, sorted.
func airportCodes(file string) (codes []string, err error) {
	err = eachRecord(file, []string{"iata"}, func(fields []string) error {
		codes = append(codes, fields[0])
		return nil
	})
	slices.Sort(codes)
	return codes, err
}
