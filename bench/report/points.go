package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
)

// pointsHead is the header of stored points.
var pointsHead = []string{Commit, "series", "reference", "x", "y", "half"}

// WritePoints writes the points of a chart as CSV. half is empty if an interval is not
// known.
func (c *Chart) WritePoints(w io.Writer, commit string) error {
	out := csv.NewWriter(w)
	out.Write(pointsHead)
	for _, s := range c.Series {
		for _, p := range s.Points {
			half := ""
			if !math.IsNaN(p.Y.Half) {
				half = precise(p.Y.Half)
			}
			out.Write([]string{commit, s.Name, strconv.FormatBool(s.Reference), precise(p.X), precise(p.Y.Mean), half})
		}
	}
	out.Flush()
	return out.Error()
}

func precise(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// ReadPoints adds the points that WritePoints wrote to the chart.
func (c *Chart) ReadPoints(r io.Reader) error {
	in := csv.NewReader(r)
	in.FieldsPerRecord = len(pointsHead)
	records, err := in.ReadAll()
	if err != nil {
		return err
	}
	for i, record := range records {
		if i == 0 {
			continue
		}
		reference, err := strconv.ParseBool(record[2])
		if err != nil {
			return fmt.Errorf("record %d: %w", i+1, err)
		}
		numbers := [3]float64{2: math.NaN()}
		for k, text := range record[3:] {
			if text == "" && k == 2 {
				continue
			}
			if numbers[k], err = strconv.ParseFloat(text, 64); err != nil {
				return fmt.Errorf("record %d: %w", i+1, err)
			}
		}
		c.add(record[1], numbers[0], Estimate{Mean: numbers[1], Half: numbers[2]}, reference)
	}
	return nil
}
