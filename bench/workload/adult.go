package workload

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// AdultConjunctions returns the 5,000 random conjunctions on six columns of the Adult
// table, 13,440 cells, on which peers were measured. file is adult.csv. A query
// confines four of the columns to one to three values each.
func AdultConjunctions(file string) (*Workload, error) {
	table, err := AdultFew(file)
	if err != nil {
		return nil, err
	}
	w, err := Conjunctions(table, 5000, SeedOfW2)
	if err == nil {
		w.Name = "W2"
	}
	return w, err
}

// SeedOfW2 is the seed of the conjunctions of W2.
const SeedOfW2 = 20240607

// ConjunctionsInSQL returns the conditions of the queries of Conjunctions. Values are written as ordinals.
func ConjunctionsInSQL(t *Table, k int, seed uint64) (conditions []string) {
	random := NewSplitmix(seed)
	for range k {
		conditions = append(conditions, randomConjunction(t, random).sql(t))
	}
	return conditions
}

// Products returns k conditions, each of which confines every column to a random non-empty set of its values, as the
// queries of Covid do. Values are written as ordinals.
func Products(t *Table, k int, seed uint64) (conditions []string) {
	random := NewSplitmix(seed)
	for range k {
		var c conjunction
		for i, column := range t.Universe.Columns() {
			var values []uint64
			for len(values) == 0 {
				for v := range column.Domain.Size() {
					if random.Below(2) == 1 {
						values = append(values, v)
					}
				}
			}
			c.columns, c.values = append(c.columns, i), append(c.values, values)
		}
		conditions = append(conditions, c.sql(t))
	}
	return conditions
}

// sql writes the conjunction as a condition.
func (c conjunction) sql(t *Table) string {
	var terms []string
	for i, column := range c.columns {
		terms = append(terms, fmt.Sprintf(`"%s" IN (%s)`, t.Universe.Columns()[column].Name, strings.ReplaceAll(strings.Trim(fmt.Sprint(c.values[i]), "[]"), " ", ", ")))
	}
	return strings.Join(terms, " AND ")
}

// Conjunctions returns k random conjunctions on a table, each of which confines four of
// its columns to one to three values each.
func Conjunctions(t *Table, k int, seed uint64) (*Workload, error) {
	w := &Workload{Name: "conjunctions on " + t.Name, Table: t}
	random := NewSplitmix(seed)
	projected := make(map[string]*Table)
	for range k {
		c := randomConjunction(t, random)
		q, err := product(t.Universe, c.columns, c.values)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprint(c.columns)
		if projected[name] == nil {
			projected[name] = t.Project(c.columns)
		}
		short, _ := q.Project(c.columns)
		w.Queries = append(w.Queries, Query{q, projected[name].Count(short)})
	}
	return w, nil
}

// conjunction confines columns, in ascending order, to sets of ordinals.
type conjunction struct {
	columns []int
	values  [][]uint64
}

func randomConjunction(t *Table, random *Splitmix) (c conjunction) {
	columns := t.Universe.Columns()
	all := make([]int, len(columns))
	for i := range all {
		all[i] = i
	}
	shuffle(all, 4, random)
	c.columns = slices.Sorted(slices.Values(all[:4]))
	for _, i := range c.columns {
		size := columns[i].Domain.Size()
		m := min(1+random.Below(3), size-1)
		values := make([]uint64, size)
		for v := range values {
			values[v] = uint64(v)
		}
		shuffle(values, int(m), random)
		c.values = append(c.values, slices.Sorted(slices.Values(values[:m])))
	}
	return c
}

// shuffle moves n random items to the front.
func shuffle[T any](items []T, n int, random *Splitmix) {
	for j := range n {
		k := j + int(random.Below(uint64(len(items)-j)))
		items[j], items[k] = items[k], items[j]
	}
}

// String returns the conjunction as "column:value,value;column:value".
func (c conjunction) String() string {
	text := ""
	for i, column := range c.columns {
		if i > 0 {
			text += ";"
		}
		text += strconv.Itoa(column) + ":"
		for j, v := range c.values[i] {
			if j > 0 {
				text += ","
			}
			text += strconv.FormatUint(v, 10)
		}
	}
	return text
}

// Adult returns the Adult table over all of its 14 columns, 6.4e17 cells.
func Adult(file string) (*Table, error) {
	return readGrid(file, "Adult, 14 columns",
		[]string{"age", "workclass", "fnlwgt", "education-num", "marital-status", "occupation", "relationship", "race",
			"sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income>50K"},
		[]int64{85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2})
}

// blindTable is a table of testdata/blind, whose README describes it.
type blindTable struct {
	name, file string
	columns    []string
	sizes      []int64
}

// Blind returns three tables on which no choice of fits was made: diamonds, the RAND Health
// Insurance Experiment and bird strikes. folder is testdata/blind.
func Blind(folder string) ([]*Table, error) {
	return readBlind(folder, []blindTable{
		{"diamonds", "diamonds.csv.gz", []string{"carat", "cut", "color", "clarity", "depth", "table", "price"}, []int64{10, 5, 7, 8, 5, 5, 10}},
		{"RAND HIE", "randhie.csv.gz", []string{"visits", "coinsurance", "deductible", "incentive", "maximum", "limitation", "diseases", "health"},
			[]int64{7, 5, 2, 6, 5, 3, 6, 4}},
		{"bird strikes", "birdstrikes.csv.gz", []string{"division", "month", "time", "phase", "speed", "size", "damage"}, []int64{9, 12, 4, 8, 6, 3, 5}},
	})
}

// BlindToMargins returns three tables on which no choice of simulated margins was made:
// earners, ratings of lectures and pupils. folder is testdata/blind.
func BlindToMargins(folder string) ([]*Table, error) {
	return readBlind(folder, []blindTable{
		{"earners", "earners.csv.gz", []string{"earnings", "gender", "age", "region", "education"}, []int64{10, 2, 9, 4, 12}},
		{"lectures", "lectures.csv.gz", []string{"student", "lecture", "service", "department", "rating"}, []int64{4, 6, 2, 14, 5}},
		{"pupils", "pupils.csv.gz", []string{"grade", "class", "degree", "experience", "teacher", "lunch", "school", "sex", "ethnicity"},
			[]int64{4, 3, 7, 7, 7, 3, 4, 3, 7}},
	})
}

func readBlind(folder string, all []blindTable) (tables []*Table, err error) {
	for _, g := range all {
		t, err := readGrid(filepath.Join(folder, g.file), g.name, g.columns, g.sizes)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// readGrid reads the named columns, coded 0 … size−1, of a CSV file.
func readGrid(file, name string, names []string, sizes []int64) (*Table, error) {
	domains := make([][]string, len(sizes))
	for i, size := range sizes {
		domains[i] = numbers(0, size-1)
	}
	return readValues(file, name, names, domains)
}

// numbers returns the numbers from low to high as text.
func numbers(low, high int64) (texts []string) {
	for v := low; v <= high; v++ {
		texts = append(texts, strconv.FormatInt(v, 10))
	}
	return texts
}

// readValues reads the named columns of a CSV file and codes a value by its place in its
// column's domain.
func readValues(file, name string, names []string, domains [][]string) (*Table, error) {
	sizes, codes := make([]int64, len(domains)), make([]map[string]uint64, len(domains))
	for i, domain := range domains {
		sizes[i], codes[i] = int64(len(domain)), make(map[string]uint64)
		for code, text := range domain {
			codes[i][text] = uint64(code)
		}
	}
	u, err := grid(names, sizes)
	if err != nil {
		return nil, err
	}
	counts := make(map[uint64]int64)
	err = eachRecord(file, names, func(fields []string) error {
		cell := uint64(0)
		for i, text := range fields {
			code, ok := codes[i][text]
			if !ok {
				return fmt.Errorf("%s: %q is not in the domain of column %s", file, text, names[i])
			}
			cell = cell*uint64(sizes[i]) + code
		}
		counts[cell]++
		return nil
	})
	return newTable(name, u, counts), err
}

// eachRecord calls use with the named fields of each record of a CSV file with a
// header, compressed if it is named .gz.
func eachRecord(file string, names []string, use func(fields []string) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	r := io.Reader(f)
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return err
		}
	}
	records := csv.NewReader(r)
	records.ReuseRecord = true
	header, err := records.Read()
	if err != nil {
		return err
	}
	at := make([]int, len(names))
	for i, name := range names {
		if at[i] = slices.Index(header, name); at[i] < 0 {
			return fmt.Errorf("the file has no column %s", name)
		}
	}
	fields := make([]string, len(names))
	for {
		record, err := records.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for i, j := range at {
			fields[i] = record[j]
		}
		if err := use(fields); err != nil {
			return err
		}
	}
}

// AdultFew returns the six columns of the Adult table that AdultConjunctions asks,
// 13,440 cells.
func AdultFew(file string) (*Table, error) {
	return readGrid(file, "Adult, 6 columns",
		[]string{"sex", "race", "education-num", "marital-status", "relationship", "income>50K"}, []int64{2, 5, 16, 7, 6, 2})
}

// AdultMore returns eight columns of the Adult table, 1.8e6 cells.
func AdultMore(file string) (*Table, error) {
	return readGrid(file, "Adult, 8 columns",
		[]string{"workclass", "education-num", "marital-status", "occupation", "relationship", "race", "sex", "income>50K"},
		[]int64{9, 16, 7, 15, 6, 5, 2, 2})
}

// PUMS returns five columns of the PUMS table, of 1,000 rows; file is PUMS.csv.
func PUMS(file string) (*Table, error) {
	return readGrid(file, "PUMS, 5 columns", []string{"age", "sex", "educ", "race", "married"}, []int64{100, 2, 17, 7, 2})
}

// LowOrder returns all counts of the marginals over so many columns of a table.
func LowOrder(t *Table, order int) (*Workload, error) {
	w := &Workload{Name: fmt.Sprintf("all %d-way marginals of %s", order, t.Name), Table: t}
	columns := t.Universe.Columns()
	var each func(columns []int, from int) error
	each = func(set []int, from int) error {
		if len(set) == order {
			counts, err := Marginal(t, set)
			w.Queries = append(w.Queries, counts...)
			return err
		}
		for c := from; c < len(columns); c++ {
			if err := each(append(set, c), c+1); err != nil {
				return err
			}
		}
		return nil
	}
	return w, each(nil, 0)
}

// Marginal returns the counts of the marginal over some columns, by the codes of its cells.
func Marginal(t *Table, set []int) (counts []Query, err error) {
	marginal := t.Project(set)
	ordinals := make([]uint64, len(set))
	for code := range marginal.Size() {
		marginal.Ordinals(code, ordinals)
		values := make([][]uint64, len(set))
		for i, o := range ordinals {
			values[i] = []uint64{o}
		}
		q, err := product(t.Universe, set, values)
		if err != nil {
			return nil, err
		}
		counts = append(counts, Query{q, marginal.At(code)})
	}
	return counts, nil
}
