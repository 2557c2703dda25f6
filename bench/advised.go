package main

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpsql/bench/report"
	"dpsql/bench/workload"
	"dpsql/engine"
)

// advisedWorkload is a table and statements about it, in SQL.
type advisedWorkload struct {
	name       string
	table      *workload.Table
	statements []advisedStatement
}

// advisedStatement is a statement of a workload. What is measured are the answers to asked, which
// has one aggregate each, in the last column: the statement itself, or the count and the sum of an average.
type advisedStatement struct {
	class, text string
	asked       []string
}

const (
	classCounts   = "counts"
	classGroups   = "counts by groups"
	classSums     = "sums by groups"
	classAverages = "averages by groups"
)

// counted is a COUNT of the rows with a condition.
func counted(where string) advisedStatement {
	text := "SELECT COUNT(*) FROM t WHERE " + where
	return advisedStatement{classCounts, text, []string{text}}
}

// grouped is an aggregate by columns.
func grouped(class, aggregate, columns string) advisedStatement {
	of := func(aggregate string) string {
		return fmt.Sprintf("SELECT %s, %s FROM t GROUP BY %s", columns, aggregate, columns)
	}
	s := advisedStatement{class, of(aggregate), []string{of(aggregate)}}
	if class == classAverages {
		s.asked = []string{of("COUNT(*)"), of("SUM" + strings.TrimPrefix(aggregate, "AVG"))}
	}
	return s
}

// advised asks ADVISE about workloads, builds each of its proposals as it says, answers the workload,
// and compares the errors with the margins that were predicted.
func (b *bench) advised(s *report.Section) error {
	list, err := b.advisedWorkloads()
	if err != nil {
		return err
	}
	s.Say(`Every workload is a file of statements. ADVISE reads it with ε = 1 and δ = 10⁻⁶, and no rows. Each of its proposals is then built on the rows by the statements that it prints, in a new database
each time, and every statement is asked. *Direct* buys the statements one by one within the margins that were said, from an account of the same ε and δ. *Measured over predicted* is 1.96 times the root mean
square of the errors, each divided by the margin of 95 %% that was predicted for its statement: 1 for normal noise, 0.93 for a single draw of Laplace noise. The error is that of the middle of the interval, which
is what the margin is about: a fitted table's value lies elsewhere in the interval, and usually nearer to the truth. *Value* has the same for what is printed. *Within* is the share of the errors of the middle
that are at most the margin. The margins of an average are those of its count and its sum. ± is a standard error from release to release, by bootstrap; it is itself rough. The aim is a ratio of 0.8 to 1.25.`)
	table := &report.Table{Head: []string{"workload", "proposal", "class", "answers", "releases", "predicted margins", "measured over predicted", "within", "value"}}
	order := &report.Table{Head: []string{"workload", "proposal", "predicted mean margin", "measured mean error", "over the best"}}
	least, most, within, all := math.Inf(1), 0.0, 0, 0
	var missed, behind []string
	worst := 0.0
	for _, w := range list {
		b.note("  %s", w.name)
		ways, err := b.follow(w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		best := math.Inf(1)
		for _, way := range ways {
			best = min(best, way.mean().Mean)
			for _, r := range way.ratios(b.seed) {
				table.Add(w.name, way.name, r.class, report.Number(float64(r.answers)), len(way.errors), r.margins, fmt.Sprintf("%.2f ± %.2f", r.ratio, r.error), fmt.Sprintf("%.1f %%", 100*r.within), fmt.Sprintf("%.2f", r.value))
				b.note("      %s, %s: %.2f ± %.2f, value %.2f", way.name, r.class, r.ratio, r.error, r.value)
				all++
				least, most = min(least, r.ratio), max(most, r.ratio)
				if r.ratio >= 0.8 && r.ratio <= 1.25 {
					within++
				} else {
					missed = append(missed, fmt.Sprintf("%s, %s, %s: %.2f ± %.2f", w.name, way.name, r.class, r.ratio, r.error))
				}
			}
		}
		for i, way := range ways {
			predicted := "none"
			if way.predicted > 0 {
				predicted = report.Number(way.predicted)
			}
			mean := way.mean()
			b.note("      %s: predicted %s, measured %v", way.name, predicted, mean)
			order.Add(w.name, way.name, predicted, mean, fmt.Sprintf("%.2f", mean.Mean/best))
			if i == 0 {
				worst = max(worst, mean.Mean/best)
				if mean.Mean > 1.1*best {
					behind = append(behind, fmt.Sprintf("%s (%.2f)", w.name, mean.Mean/best))
				}
			}
		}
	}
	s.Show("", table)
	s.Say("%d of %d ratios lie within 0.8 and 1.25; all lie between %.2f and %.2f. Missed: %s.", within, all, least, most, orNone(missed, "; "))
	s.Say(`Is the first proposal the best one? *Predicted* is what ADVISE orders by: the geometric mean over the statements of the root mean square of each one's margins. *Measured* is the geometric mean of the root
mean square errors of the values that are printed, margin or not. *All columns* is the plain way, an identity release of every column of the table, which ADVISE does not propose; of pupils it would have 8 million cells. *Direct* is listed for
comparison only: it spends from the other account.`)
	s.Show("order", order)
	s.Say("The first proposal has at worst %.2f times the error of the best of its workload, other ways included. It is more than a tenth behind in: %s.", worst, orNone(behind, ", "))
	return nil
}

func orNone(list []string, separator string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, separator)
}

// repsOf is the number of databases that each proposal for a table is built in.
func (b *bench) repsOf(t *workload.Table) int {
	if b.quick {
		return 2
	}
	if t.Size() < 1<<12 {
		return 2 * b.reps
	}
	return b.reps
}

// advisedWorkloads are the workloads: W2, products of W3's family, flights, and tables that no choice was made on.
func (b *bench) advisedWorkloads() (list []advisedWorkload, err error) {
	adult, err := workload.AdultFew(b.testdata + "/adult/adult.csv")
	if err != nil {
		return nil, err
	}
	covid, err := workload.Covid()
	if err != nil {
		return nil, err
	}
	list = []advisedWorkload{{name: "W3", table: covid.Table, statements: conditions(workload.Products(covid.Table, 50, b.seed))}}
	if b.quick {
		list[0].statements = append(list[0].statements[:5], grouped(classAverages, "AVG(age)", "gender"))
		return list, nil
	}
	list = append(list, advisedWorkload{name: "W2", table: adult, statements: conditions(workload.ConjunctionsInSQL(adult, 50, workload.SeedOfW2))},
		advisedWorkload{name: "Adult, by groups", table: adult, statements: []advisedStatement{
			grouped(classGroups, "COUNT(*)", `sex, "income>50K"`), grouped(classGroups, "COUNT(*)", `race, "marital-status"`), grouped(classGroups, "COUNT(*)", `"education-num", "income>50K"`),
			counted(`"education-num" >= 13 AND "income>50K" = 1`), counted(`"education-num" < 9`), counted(`"income>50K" = 1`), counted(`sex = 1 AND "income>50K" = 0`), counted(`race = 2`), counted(`race = 0 AND "marital-status" >= 4`),
			grouped(classSums, `SUM("education-num")`, `"income>50K"`), grouped(classSums, `SUM("education-num")`, "relationship"), grouped(classAverages, `AVG("education-num")`, `race`),
		}})
	flights, err := workload.FlightsByState(b.testdata+"/flights/flights.csv.gz", b.testdata+"/flights/airports.csv")
	if err != nil {
		return nil, err
	}
	list = append(list, advisedWorkload{name: "flights", table: flights, statements: []advisedStatement{
		grouped(classGroups, "COUNT(*)", "month"), grouped(classGroups, "COUNT(*)", "origin_state"), grouped(classGroups, "COUNT(*)", "dow, dep_hour"), grouped(classGroups, "COUNT(*)", "month, origin_state"),
		counted("dep_hour < 6"), counted("dep_hour BETWEEN 17 AND 21 AND dow >= 5"), counted("dow = 2"), counted("origin_state = 3 AND month = 1"), counted("origin_state IN (4, 5, 9, 40)"), counted("month >= 3"),
	}})
	for _, read := range []func(folder string) ([]*workload.Table, error){workload.Blind, workload.BlindToMargins} {
		tables, err := read(b.testdata + "/blind")
		if err != nil {
			return nil, err
		}
		for _, t := range tables {
			if statements := blindStatements[t.Name]; statements != nil {
				list = append(list, advisedWorkload{t.Name, t, statements})
			}
		}
	}
	return list, nil
}

// blindStatements are statements on the blind tables, by the questions that their columns suggest.
var blindStatements = map[string][]advisedStatement{
	"diamonds": {
		grouped(classGroups, "COUNT(*)", "cut, color"), grouped(classGroups, "COUNT(*)", "clarity"), grouped(classGroups, "COUNT(*)", "carat, price"),
		counted("price >= 7 AND cut = 4"), counted("carat >= 5"), grouped(classAverages, "AVG(price)", "cut"),
	},
	"RAND HIE": {
		grouped(classGroups, "COUNT(*)", "coinsurance, visits"), grouped(classGroups, "COUNT(*)", "health, limitation"), counted("diseases >= 3 AND health >= 2"), counted("visits = 0"), counted("visits >= 5 AND coinsurance = 0"), counted("limitation = 2"), counted("health = 3"),
		grouped(classSums, "SUM(visits)", "coinsurance"), grouped(classAverages, "AVG(visits)", "health"),
	},
	"bird strikes": {
		grouped(classGroups, "COUNT(*)", "month"), grouped(classGroups, "COUNT(*)", "phase, damage"), grouped(classGroups, "COUNT(*)", "size, damage"), counted("size = 2 AND damage >= 3"), counted("phase = 6"), counted("phase IN (2, 3) AND damage = 1"), counted("month BETWEEN 5 AND 8"), counted("size = 0"),
	},
	"earners": {
		grouped(classGroups, "COUNT(*)", "earnings, gender"), grouped(classGroups, "COUNT(*)", "region, education"), grouped(classAverages, "AVG(earnings)", "education"),
		grouped(classSums, "SUM(earnings)", "gender, age"), counted("earnings >= 8 AND gender = 1"), counted("earnings = 0"), counted("education >= 9 AND region = 2"), counted("region = 3"), counted("education < 3"),
	},
	"lectures": {
		grouped(classGroups, "COUNT(*)", "department, rating"), grouped(classAverages, "AVG(rating)", "department"), grouped(classAverages, "AVG(rating)", "student, lecture"),
		grouped(classSums, "SUM(rating)", "student"), counted("rating = 4 AND department < 5"), counted("rating <= 1"), counted("student = 3 AND lecture >= 3"), counted("department = 7"),
	},
	"pupils": {
		grouped(classGroups, "COUNT(*)", "grade, class"), grouped(classGroups, "COUNT(*)", "school, lunch"), grouped(classGroups, "COUNT(*)", "ethnicity"), counted("grade = 1 AND class = 0"), counted("lunch = 1 AND school = 0"), counted("class = 2"), counted("school = 2"),
		grouped(classAverages, "AVG(experience)", "school"),
	},
}

// conditions returns the counts of conditions.
func conditions(list []string) (statements []advisedStatement) {
	for _, where := range list {
		statements = append(statements, counted(where))
	}
	return statements
}

// followed is a proposal, or another way to answer a workload, and what came of it.
type followed struct {
	name      string
	creates   []string
	direct    bool
	predicted float64      // the mean that ADVISE orders by, 0 if it said none
	margins   [][2]float64 // of each statement: of its first and last aggregate; 0 if none was predicted
	errors    [][]wayError // of each repetition
	classes   []string     // of each statement
}

// wayError is the error of one number.
type wayError struct {
	statement, part int
	middle, value   float64
}

// follow asks for advice on a workload and follows it.
func (b *bench) follow(w advisedWorkload) ([]*followed, error) {
	dir, err := os.MkdirTemp("", "dpsql-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	base := filepath.Join(dir, "base.db")
	if err := writeCodes(base, w.table); err != nil {
		return nil, err
	}
	truth, err := w.truth(base)
	if err != nil {
		return nil, err
	}
	ways, err := w.advice(dir)
	if err != nil {
		return nil, err
	}
	if w.table.Size() > 1<<20 { // too many for an identity release in the memory that it may have
		return ways, w.run(b, base, dir, ways, truth)
	}
	ways = append(ways, &followed{name: "all columns", creates: []string{fmt.Sprintf("CREATE RELEASE plain ON t USING PROJECTION WITH (epsilon = 1, transform = identity, max_support = %d)", w.table.Size())},
		margins: make([][2]float64, len(w.statements)), classes: ways[0].classes})
	return ways, w.run(b, base, dir, ways, truth)
}

// run builds the ways and asks them.
func (w advisedWorkload) run(b *bench, base, dir string, ways []*followed, truth [][]map[string]float64) error {
	for _, way := range ways {
		b.note("    %s", way.name)
		for n := range b.repsOf(w.table) {
			path := filepath.Join(dir, fmt.Sprintf("%s-%d", way.name, n), "t.db")
			errors, err := w.build(base, path, way, truth)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			way.errors = append(way.errors, errors)
			if err := os.RemoveAll(filepath.Dir(path)); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeCodes writes a table's rows as codes, one column each, into the table raw of a new file.
func writeCodes(path string, t *workload.Table) error {
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer raw.Close()
	names, marks := columnNames(t), make([]string, len(t.Universe.Columns()))
	for i := range marks {
		marks[i] = "?"
	}
	tx, err := raw.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if _, err := tx.Exec("CREATE TABLE raw (" + strings.Join(names, " INTEGER, ") + " INTEGER)"); err != nil {
		return err
	}
	insert, err := tx.Prepare("INSERT INTO raw VALUES (" + strings.Join(marks, ", ") + ")")
	if err != nil {
		return err
	}
	defer insert.Close()
	ordinals, values := make([]uint64, len(names)), make([]any, len(names))
	for _, c := range t.Cells {
		t.Ordinals(c.Code, ordinals)
		for i, o := range ordinals {
			values[i] = int64(o)
		}
		for range c.Count {
			if _, err := insert.Exec(values...); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

// columnNames returns the quoted names of a table's columns.
func columnNames(t *workload.Table) (names []string) {
	for _, c := range t.Universe.Columns() {
		names = append(names, `"`+c.Name+`"`)
	}
	return names
}

// declaration declares a table in both accounts, of ε = 1 and δ = 10⁻⁶ each.
func declaration(t *workload.Table) string {
	var columns []string
	for i, name := range columnNames(t) {
		columns = append(columns, fmt.Sprintf("%s INTEGER BETWEEN 0 AND %d", name, t.Universe.Columns()[i].Domain.Size()-1))
	}
	return "CREATE PRIVATE TABLE t (" + strings.Join(columns, ", ") + ") FROM raw WITH (epsilon = 2, delta = 2e-6, interactive = 0.5)"
}

// truth returns the true numbers of each statement and part, by the keys of their groups.
func (w advisedWorkload) truth(path string) ([][]map[string]float64, error) {
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	all := make([][]map[string]float64, len(w.statements))
	for i, s := range w.statements {
		for _, text := range s.asked {
			numbers, err := numbersOf(raw, strings.Replace(text, "FROM t", "FROM raw", 1))
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], numbers)
		}
	}
	return all, nil
}

// numbersOf returns the last column of a result by its other columns.
func numbersOf(raw *sql.DB, text string) (map[string]float64, error) {
	rows, err := raw.Query(text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	numbers := make(map[string]float64)
	for rows.Next() {
		row, to := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		numbers[fmt.Sprint(row[:len(row)-1]...)] = number(row[len(row)-1])
	}
	return numbers, rows.Err()
}

// number returns a number of a result; 0 for NULL, the sum of no rows.
func number(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// advice asks ADVISE about the workload. The rows are not there.
func (w advisedWorkload) advice(dir string) ([]*followed, error) {
	empty := filepath.Join(dir, "empty.db")
	if err := writeCodes(empty, &workload.Table{Universe: w.table.Universe}); err != nil {
		return nil, err
	}
	var texts, classes []string
	for _, s := range w.statements {
		texts, classes = append(texts, s.text+";\n"), append(classes, s.class)
	}
	file := filepath.Join(dir, "workload.sql")
	if err := os.WriteFile(file, []byte(strings.Join(texts, "")), 0o600); err != nil {
		return nil, err
	}
	r, err := w.asked(empty, declaration(w.table), "ADVISE '"+file+"' WITH (epsilon = 1, delta = 1e-6)")
	if err != nil {
		return nil, err
	}
	var ways []*followed
	for _, row := range r.Rows {
		name, part := row[1].(string), row[2].(string)
		if len(ways) == 0 || ways[len(ways)-1].name != name {
			ways = append(ways, &followed{name: name, direct: name == "direct", predicted: number(row[4]), margins: make([][2]float64, len(w.statements)), classes: classes})
		}
		at := ways[len(ways)-1]
		n := 0
		switch create, is := row[3].(string); {
		case part == "create" && is:
			at.creates = append(at.creates, create)
		case part != "create":
			if _, err := fmt.Sscanf(part, "statement %d", &n); err != nil {
				return nil, err
			}
			at.margins[n-1] = [2]float64{number(row[4]), number(row[4])}
			if len(w.statements[n-1].asked) > 1 {
				at.margins[n-1] = [2]float64{number(row[5]), number(row[6])}
			}
		}
	}
	return ways, nil
}

// asked runs statements in a new session and returns the last result.
func (w advisedWorkload) asked(path string, texts ...string) (r *engine.Result, err error) {
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	session := db.NewSession()
	for _, text := range texts {
		if r, err = session.Exec(context.Background(), text, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	return r, nil
}

// build makes what a way says in a copy of the rows, asks the workload there, and returns the errors.
func (w advisedWorkload) build(base, path string, way *followed, truth [][]map[string]float64) (errors []wayError, err error) {
	if err := copyFile(base, path); err != nil {
		return nil, err
	}
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	session := db.NewSession()
	for _, text := range append([]string{declaration(w.table)}, way.creates...) {
		if _, err := session.Exec(context.Background(), text, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
	}
	for i, s := range w.statements {
		for part, text := range s.asked {
			if way.direct {
				if err := session.Set("accuracy", fmt.Sprint(way.margins[i][part])); err != nil {
					return nil, err
				}
			}
			r, err := session.Exec(context.Background(), text, nil)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", text, err)
			}
			for n, row := range r.Rows {
				last := len(row) - 1
				true := truth[i][part][fmt.Sprint(row[:last]...)]
				e := wayError{i, part, math.NaN(), number(row[last]) - true}
				if between, ok := r.Answer.Intervals[n][last].(engine.Interval); ok {
					e.middle = (between.Low+between.High)/2 - true
				}
				errors = append(errors, e)
			}
		}
	}
	return errors, nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// classRatio compares the errors of a class of statements with the margins that were predicted.
type classRatio struct {
	class        string
	answers      int     // of one release
	margins      string  // the range of those predicted
	ratio, error float64 // 1.96 times the root mean square of the errors of the middle over the margins, and its standard error
	within       float64 // the share of these that are at most the margin
	value        float64 // the ratio of the values
}

const classOfAll = "all"

// ratios returns the ratios of each class with predicted margins, and of all if there are several.
func (w *followed) ratios(seed uint64) (list []classRatio) {
	classes := slices.Compact(slices.Sorted(slices.Values(w.classes)))
	if len(classes) > 1 {
		classes = append(classes, classOfAll)
	}
	random := workload.NewSplitmix(seed)
	for _, class := range classes {
		r := classRatio{class: class}
		middles, values := make([][]float64, len(w.errors)), []float64{}
		least, most := math.Inf(1), 0.0
		for n, release := range w.errors {
			for _, e := range release {
				margin := w.margins[e.statement][e.part]
				if margin == 0 || class != classOfAll && class != w.classes[e.statement] {
					continue
				}
				least, most = min(least, margin), max(most, margin)
				middles[n], values = append(middles[n], e.middle/margin), append(values, e.value/margin)
				if math.Abs(e.middle) <= margin {
					r.within++
				}
			}
		}
		if r.answers = len(middles[0]); r.answers == 0 {
			continue
		}
		r.margins = report.Number(least)
		if most > least {
			r.margins += " to " + report.Number(most)
		}
		r.ratio, r.value = normal95*rootMeanSquare(slices.Concat(middles...)), normal95*rootMeanSquare(values)
		r.within /= float64(len(values))
		again := make([]float64, 200)
		for i := range again {
			var all []float64
			for range middles {
				all = append(all, middles[random.Below(uint64(len(middles)))]...)
			}
			again[i] = normal95 * rootMeanSquare(all)
		}
		r.error = deviation(again)
		list = append(list, r)
	}
	return list
}

// normal95 is how many standard deviations of a normal variable hold 95 % of it on both sides.
const normal95 = 1.959964

func rootMeanSquare(all []float64) float64 {
	sum := 0.0
	for _, x := range all {
		sum += x * x
	}
	return math.Sqrt(sum / float64(len(all)))
}

// deviation returns the standard deviation of some numbers.
func deviation(all []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range all {
		sum, squares = sum+x, squares+x*x
	}
	n := float64(len(all))
	return math.Sqrt(max(0, squares/n-sum/n*sum/n))
}

// mean returns the geometric mean over the statements of the root mean square errors of the values: the mean
// over the releases of that of each one.
func (w *followed) mean() report.Estimate {
	means := make([]float64, len(w.errors))
	for n, release := range w.errors {
		squares, count := make([]float64, len(w.classes)), make([]float64, len(w.classes))
		for _, e := range release {
			squares[e.statement] += e.value * e.value
			count[e.statement]++
		}
		sum := 0.0
		for i := range squares {
			sum += math.Log(max(1, math.Sqrt(squares[i]/count[i])))
		}
		means[n] = math.Exp(sum / float64(len(squares)))
	}
	return report.Of(means)
}
