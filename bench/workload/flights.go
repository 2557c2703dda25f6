package workload

import (
	"slices"
	"strings"
)

// Flights returns the flights table over origin, destination, day of the week and hour,
// 8.7e6 cells. file is flights.csv.gz. airports is airports.csv, whose codes are the
// domain of both airports.
func Flights(file, airports string) (*Table, error) {
	codes, err := distinct(airports, "iata")
	if err != nil {
		return nil, err
	}
	return readValues(file, "flights, 4 columns", []string{"origin", "destination", "dow", "dep_hour"}, [][]string{codes, codes, days, numbers(0, 23)})
}

// FlightsByState returns the flights table over month, day of the week, hour and state of
// origin, 52,416 cells. The files are those of Flights.
func FlightsByState(file, airports string) (*Table, error) {
	states, err := distinct(airports, "state")
	if err != nil {
		return nil, err
	}
	return readValues(file, "flights by state", []string{"month", "dow", "dep_hour", "origin_state"}, [][]string{numbers(1, 6), days, numbers(0, 23), states})
}

var days = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// distinct returns the values of a column of a CSV file, sorted.
func distinct(file, column string) (values []string, err error) {
	err = eachRecord(file, []string{column}, func(fields []string) error {
		values = append(values, strings.Clone(fields[0]))
		return nil
	})
	slices.Sort(values)
	return slices.Compact(values), err
}
