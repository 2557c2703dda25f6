package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
)

// pointsHead is the header of stored points.
var pointsHead = []string{"chart", "series", "reference", "x", "y", "half"}

// WritePoints writes the points of charts as CSV. half is empty if an interval is not
// known.
func WritePoints(w io.Writer, charts []*Chart) error {
	out := csv.NewWriter(w)
	out.Write(pointsHead)
	for _, c := range charts {
		for _, s := range c.Series {
			for _, p := range s.Points {
				half := ""
				if !math.IsNaN(p.Y.Half) {
					half = precise(p.Y.Half)
				}
				out.Write([]string{c.Name, s.Name, strconv.FormatBool(s.Reference), precise(p.X), precise(p.Y.Mean), half})
			}
		}
	}
	out.Flush()
	return out.Error()
}

func precise(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// ReadPoints reads what WritePoints wrote. The charts have names and series, but no
// texts.
func ReadPoints(r io.Reader) ([]*Chart, error) {
	records, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	var charts []*Chart
	for i, record := range records {
		if i == 0 || len(record) != len(pointsHead) {
			continue
		}
		if n := len(charts); n == 0 || charts[n-1].Name != record[0] {
			charts = append(charts, &Chart{Name: record[0]})
		}
		reference, err := strconv.ParseBool(record[2])
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", i+1, err)
		}
		numbers := [3]float64{2: math.NaN()}
		for k, text := range record[3:] {
			if text == "" && k == 2 {
				continue
			}
			if numbers[k], err = strconv.ParseFloat(text, 64); err != nil {
				return nil, fmt.Errorf("record %d: %w", i+1, err)
			}
		}
		charts[len(charts)-1].add(record[1], numbers[0], Estimate{Mean: numbers[1], Half: numbers[2]}, reference)
	}
	return charts, nil
}
