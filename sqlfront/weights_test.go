package sqlfront_test

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpsql/query"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// drawWeights draws a public table of keys and two columns of weights, in steps
// that differ, with the rows that SQLite is to have.
func drawWeights(t *rapid.T) (p *sqlfront.PublicRows, insert string) {
	var steps []*query.Steps
	for range 2 {
		step := drawOf(t, "step", "0.001", "0.25", "0.1", "0.3", "2.5", "1", "1e-5")
		s := new(big.Rat)
		s.SetString(step)
		lo := rapid.Int64Range(-20, 5).Draw(t, "lowest")
		hi := lo + rapid.Int64Range(0, 40).Draw(t, "range")
		of, err := query.NewSteps(times(s, lo), times(s, hi), s, rapid.Bool().Draw(t, "null"))
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, &of)
	}
	p = &sqlfront.PublicRows{Columns: []string{"k", "w", "v", "region"}, Steps: []*query.Steps{nil, steps[0], steps[1], nil}}
	var rows []string
	for _, k := range []string{"x", "y", "unused"} {
		if rapid.IntRange(0, 4).Draw(t, "missing") == 0 && (k != "unused" || len(rows) > 0) {
			continue
		}
		row, texts := []any{k}, []string{"'" + k + "'"}
		for _, s := range steps {
			lo, hi, step := s.Texts()
			n := rapid.Int64Range(inSteps(lo, step), inSteps(hi, step)).Draw(t, "weight")
			if s.HasNull() && rapid.IntRange(0, 3).Draw(t, "NULL") == 0 {
				row, texts = append(row, nil), append(texts, "NULL")
				continue
			}
			row, texts = append(row, n), append(texts, strconv.FormatFloat(s.Number(n), 'g', -1, 64))
		}
		region := drawOf(t, "region", "north", "south")
		p.Rows = append(p.Rows, append(row, region))
		rows = append(rows, "("+strings.Join(append(texts, "'"+region+"'"), ", ")+")")
	}
	return p, strings.Join(rows, ", ")
}

func times(r *big.Rat, n int64) *big.Rat { return new(big.Rat).Mul(r, new(big.Rat).SetInt64(n)) }

// inSteps is a bound in steps.
func inSteps(bound, step string) int64 {
	b, _ := new(big.Rat).SetString(bound)
	s, _ := new(big.Rat).SetString(step)
	return new(big.Rat).Quo(b, s).Num().Int64()
}

// TestRandomWeights draws public tables of weights, and aggregates of them with
// conditions and groups, and compares the answers with SQLite's own.
func TestRandomWeights(t *testing.T) {
	j := newJoinable(t)
	if _, err := j.db.Exec(`CREATE TABLE risk (k TEXT, w REAL, v REAL, region TEXT)`); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		p, rows := drawWeights(t)
		if len(p.Rows) == 0 {
			t.Skip("no rows")
		}
		j.publics["risk"] = p
		if _, err := j.db.Exec(`DELETE FROM risk; INSERT INTO risk VALUES ` + rows); err != nil {
			t.Fatal(err)
		}
		var columns []string
		for range rapid.IntRange(1, 3).Draw(t, "aggregates") {
			columns = append(columns, drawOf(t, "aggregate", "SUM(w)", "AVG(w)", "TOTAL(w)", "SUM(w * 2)", "SUM(w - v)", "SUM(-w + 1)", "SUM(w * m)", "AVG(v * n + w)",
				"SUM(w * v)", "COUNT(w)", "COUNT(*)", "SUM(w > 0.5)", "SUM(CASE WHEN s = 'a' THEN w WHEN n > 0 THEN v END)", "AVG(CASE WHEN m > 5 THEN w ELSE v * 3 END)",
				"SUM(w) / COUNT(*)", "TOTAL(w) + TOTAL(v)", "ROUND(AVG(w), 2)"))
		}
		number := func() string {
			s := p.Steps[1]
			lo, hi, step := s.Texts()
			return strconv.FormatFloat(s.Number(rapid.Int64Range(inSteps(lo, step)-1, inSteps(hi, step)+1).Draw(t, "literal")), 'f', -1, 64)
		}
		condition := func() string {
			return drawOf(t, "condition", "w > "+number(), "w <= "+number(), "w = "+number(), "w IN ("+number()+", "+number()+", 7)", "w BETWEEN "+number()+" AND "+number(),
				"w IS NULL", "NOT v < 0.3", "w <> 0", "region = 'north'", "n > 0", "s IN ('a', 'B')", "1 = 1")
		}
		text := "SELECT " + strings.Join(columns, ", ") + " FROM sample JOIN risk ON sample.z = risk.k WHERE " + condition() + drawOf(t, "logic", " AND ", " OR ") + condition()
		if by := drawOf(t, "by", "", "region", "s, region", "w", "v, n", "w * 2"); by != "" {
			text = strings.Replace(text, "SELECT ", "SELECT "+by+", ", 1) + " GROUP BY " + by + " HAVING COUNT(*) > 0"
		}
		b, err := compile(j, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		// A sum of no rows is 0 here, as it is of TOTAL, and not NULL.
		want, err := j.selected(strings.ReplaceAll(text, "SUM(", "TOTAL("))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := j.answer(b).Rows
		for _, row := range append(got, want...) {
			for i, v := range row {
				switch v := v.(type) {
				case nil: // SQL's average of no rows
					row[i] = 0.0
				case int64: // a REAL that is none in SQLite, which looks at the values
					row[i] = float64(v)
				}
			}
		}
		if !sameRows(got, want, true) {
			t.Fatalf("%s\nwith %s:\n got %v\nwant %v", text, rows, got, want)
		}
	})
}

func TestRefusedWeights(t *testing.T) {
	j := newJoinable(t)
	half, err := query.NewSteps(new(big.Rat), big.NewRat(1, 1), big.NewRat(1, 2), false)
	if err != nil {
		t.Fatal(err)
	}
	j.publics["risk"] = &sqlfront.PublicRows{Columns: []string{"k", "w"}, Steps: []*query.Steps{nil, &half}, Rows: [][]any{{"x", int64(1)}, {"y", int64(2)}}}
	j.publics["twice"] = &sqlfront.PublicRows{Columns: []string{"k", "w"}, Steps: []*query.Steps{nil, &half}, Rows: [][]any{{"x", int64(1)}, {"x", int64(2)}}}
	for _, c := range []struct {
		text    string
		code    sqlerr.Code
		message string
	}{
		{"SELECT SUM(w) FROM sample JOIN twice ON z = k", sqlerr.Unsupported, "occurs twice in twice"},
		{"SELECT SUM(w) FROM sample JOIN risk ON n = w", sqlerr.Unsupported, "a join on anything but"},
		{"SELECT SUM(w / 2) FROM sample JOIN risk ON z = k", sqlerr.Unsupported, "dividing a REAL column"},
		{"SELECT SUM(w % 2) FROM sample JOIN risk ON z = k", sqlerr.Unsupported, "dividing a REAL column"},
		{"SELECT COUNT(*) FROM sample JOIN risk ON z = k WHERE w + 1 > 1", sqlerr.Unsupported, "computing with REAL column w"},
		{"SELECT COUNT(*) FROM sample JOIN risk ON z = k WHERE w > n", sqlerr.Unsupported, "computing with REAL column w"},
		{"SELECT COUNT(*) FROM sample JOIN risk ON z = k WHERE w", sqlerr.Unsupported, "computing with REAL column w"},
		{"SELECT SUM(ABS(w)) FROM sample JOIN risk ON z = k", sqlerr.Unsupported, "computing with REAL column w"},
		{"SELECT COUNT(*) FROM sample JOIN risk ON z = k WHERE w = 'much'", sqlerr.Invalid, "column w is REAL and is compared with 'much'"},
	} {
		_, err := compile(j, c.text)
		if sqlerr.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v, want %s: %s", c.text, err, c.code, c.message)
		}
	}
}

// TestWeightSensitivity wants the largest weight of a query to be what a row can
// change a sum by: the largest value, in units of the answer's factor.
func TestWeightSensitivity(t *testing.T) {
	j := newJoinable(t)
	rapid.Check(t, func(t *rapid.T) {
		p, _ := drawWeights(t)
		if len(p.Rows) == 0 {
			t.Skip("no rows")
		}
		j.publics["risk"] = p
		text := "SELECT " + drawOf(t, "aggregate", "SUM(w)", "SUM(w * 3 - v)", "AVG(w)") + " FROM sample JOIN risk ON sample.z = risk.k" +
			drawOf(t, "by", "", " GROUP BY region")
		b, err := compile(j, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, z := range []query.Value{query.Text("x"), query.Text("y"), query.Null()} {
			tuple := []query.Value{query.Int(1), query.Int(10), query.Null(), z}
			for k := range b.Slots {
				change := int64(0) // of one row, over all groups of a slot
				most := int64(0)
				for g := range b.Groups {
					q := b.Queries[g*len(b.Slots)+k]
					change += q.Weight(tuple)
					most = max(most, q.MaxWeight())
				}
				if change > most {
					t.Fatalf("%s: a row changes slot %d by %d, and its largest weight is %d", text, k, change, most)
				}
			}
		}
	})
}

func TestPublicColumns(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"CREATE PUBLIC TABLE risk (k TEXT, n INTEGER, w REAL BETWEEN 0 AND 1 STEP 0.001)", "k TEXT, n INTEGER, w REAL BETWEEN 0 AND 1 STEP 0.001"},
		{"CREATE PUBLIC TABLE IF NOT EXISTS risk (w REAL BETWEEN -2.50 AND +1e1 STEP 25e-1 OR NULL);", "w REAL BETWEEN -2.5 AND 10 STEP 2.5 OR NULL"},
		{"CREATE PUBLIC TABLE risk (w REAL)", "column w is REAL and has no BETWEEN"},
		{"CREATE PUBLIC TABLE risk (w REAL BETWEEN 0 AND 1)", "column w is REAL and has no STEP"},
		{"CREATE PUBLIC TABLE risk (w REAL BETWEEN 0 AND 1 STEP 0)", "the domain of column w: the step is not above 0"},
		{"CREATE PUBLIC TABLE risk (w REAL BETWEEN 0 AND 1 STEP 0.3)", "the domain of column w: the bound 1 is no multiple of the step 0.3"},
		{"CREATE PUBLIC TABLE risk (w REAL BETWEEN 1 AND 0 STEP 0.1)", "the domain of column w: the range is empty"},
		{"CREATE PUBLIC TABLE risk (w REAL BETWEEN 0 AND 1 STEP 1e-1000)", "the bound 1 is more than 10^9 steps"},
		{"CREATE PUBLIC TABLE risk (w REAL BETWEEN 0 AND 1 STEP 1e-9999)", "a number with an exponent beyond 1000"},
		{"CREATE PUBLIC TABLE risk (w REAL BETWEEN 0 AND x STEP 1)", "expected a number"},
		{"CREATE PUBLIC TABLE risk (n INTEGER BETWEEN 0 AND 1)", "a domain of a public column"},
		{"CREATE PUBLIC TABLE risk (n BLOB)", "the column type BLOB"},
		{"CREATE PUBLIC TABLE risk (n INTEGER, N TEXT)", "column N is declared twice"},
		{"CREATE PUBLIC TABLE risk ()", "expected a column"},
		{"CREATE PUBLIC TABLE risk (w TEXT) WITH (a = 1)", "after the end of the statement"},
	} {
		s, err := syntax.Parse(c.text)
		got := fmt.Sprint(err)
		if p, ok := s.(*syntax.CreatePublic); ok && err == nil {
			var columns []string
			for _, column := range p.Columns {
				text := column.Name.Text + " " + column.Type.String()
				if column.Steps != nil {
					text = column.Name.Text + " REAL " + column.Steps.String()
				}
				columns = append(columns, text)
			}
			got = strings.Join(columns, ", ")
		}
		if !strings.Contains(got, c.want) || err == nil && got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}
