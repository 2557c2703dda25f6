package report

import (
	"encoding/csv"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Commit is the head of the column that says at which commit a row was measured.
const Commit = "commit"

// estimated matches the text of a number or an Estimate, which a remark in parentheses
// may follow.
var estimated = regexp.MustCompile(`^(-?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)(?: ± ([0-9][0-9,.e+-]*))?(?: \(([^)]*)\))?$`)

// fields are a cell as CSV has it: a number, or a text; the half-width of its interval; and
// a remark.
func fields(cell string) (value, half, remark string) {
	plain := strings.NewReplacer(",", "")
	if cell == "–" {
		return "", "", ""
	}
	m := estimated.FindStringSubmatch(cell)
	if m == nil {
		return cell, "", ""
	}
	return plain.Replace(m[1]), plain.Replace(m[2]), m[3]
}

// CSV writes the table with the commit in the first column. A column of estimates has their
// half-widths in a column of its own behind it, whose head ends in ±, and remarks in
// another. Numbers have no commas.
func (t *Table) CSV(w io.Writer, commit string) error {
	records := make([][]string, len(t.Rows)+1)
	records[0] = []string{Commit}
	for i := range t.Rows {
		records[i+1] = []string{commit}
	}
	for column, head := range t.Head {
		heads := []string{head, head + " ±", head + ", remark"}
		cells := make([][3]string, len(t.Rows))
		used := [3]bool{true}
		for i, r := range t.Rows {
			if column < len(r) {
				cells[i][0], cells[i][1], cells[i][2] = fields(r[column])
			}
			used[1], used[2] = used[1] || cells[i][1] != "", used[2] || cells[i][2] != ""
		}
		for k := range heads {
			if !used[k] {
				continue
			}
			records[0] = append(records[0], heads[k])
			for i := range cells {
				records[i+1] = append(records[i+1], cells[i][k])
			}
		}
	}
	out := csv.NewWriter(w)
	out.WriteAll(records)
	return out.Error()
}

// ReadCSV reads what CSV wrote, the head first. The commit is that of the last row.
func ReadCSV(r io.Reader) (rows [][]string, commit string, err error) {
	rows, err = csv.NewReader(r).ReadAll()
	for i, row := range rows {
		commit, rows[i] = row[0], slices.Clone(row[1:])
	}
	return rows, commit, err
}
