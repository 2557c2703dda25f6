package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/internal/period"
	"dpsql/internal/seeds"
	"dpsql/noise"
	"dpsql/sqlerr"
)

var historiesRun = flag.Int("histories", 3, "how many random histories of a table with periods are run; 1000 with -long")

// TestRandomHistories lives through two years of tables that grow: rows are inserted, updated and
// deleted, releases refreshed, parts dropped, bought again and retired, questions asked, and the
// process dies between a charge and its draw. A model in Go knows the rows, the parts, and what each
// month has to pay. After each history the ledger must have, for every month, exactly what the model
// has. Statements must be refused where the model says so and nowhere else. An answer that costs
// nothing must have been bought before. And margins must hold the truth 95 times in 100: of answers
// from parts the first of each history, since later ones share its noise, and all direct answers.
//
// A correct program fails by chance in the last of these only: with probability 1e-7 for each of the
// two, by leastCovered.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	runs := *historiesRun
	if *long {
		runs = max(runs, 1000)
	}
	var parts, direct covered
	for run := range runs {
		seed := seeds.Of(t) + uint64(run)
		h := newGrowth(t, seed)
		for range 60 {
			h.step()
		}
		h.compare()
		h.db.Close()
		if t.Failed() {
			t.Fatalf("history %d, seed %d:\n%s", run, seed, h.told)
		}
		parts.add(h.parts)
		direct.add(h.direct)
		os.RemoveAll(filepath.Dir(h.path))
	}
	t.Logf("%d histories: %d of %d answers from parts within their margins, %d of %d direct ones", runs, parts.hits, parts.all, direct.hits, direct.all)
	for what, c := range map[string]covered{"from parts": parts, "direct": direct} {
		if least := leastCovered(c.all, 0.95); c.hits < least {
			t.Errorf("%d of %d answers %s are within their margins, want at least %d", c.hits, c.all, what, least)
		}
	}
}

// leastCovered returns the largest k such that at least k of n independent events of a probability
// happen, except with probability 1e-7, by the exact binomial law.
func leastCovered(n int, probability float64) int {
	below := 0.0
	for k := range n + 1 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		if below += math.Exp(a - b - c + float64(k)*math.Log(probability) + float64(n-k)*math.Log1p(-probability)); below > 1e-7 {
			return k
		}
	}
	return n
}

// covered counts answers, and those within their margins.
type covered struct{ hits, all int }

func (c *covered) add(d covered) { c.hits, c.all = c.hits+d.hits, c.all+d.all }

func (c *covered) note(value, truth int64, margin float64) {
	c.all++
	if math.Abs(float64(value-truth)) <= margin {
		c.hits++
	}
}

const (
	firstMonth, lastMonth = 2026 * 12, 2026*12 + 23 // those of the declared domain
	day                   = 24 * time.Hour
	partEpsilon           = "0.4"
)

// visitRow is a row of the model; a zero date is NULL.
type visitRow struct {
	id   int64
	sex  string
	date time.Time
}

// question counts rows of a sex, "" for both, from one day to another, but for those of a month
// in between, 0 for none.
type question struct {
	sex      string
	from, to time.Time
	without  int64
}

func (q question) has(d time.Time) bool {
	return !d.IsZero() && !d.Before(q.from) && !d.After(q.to) && (q.without == 0 || monthOf(d) != q.without)
}

func (q question) where() string {
	text := fmt.Sprintf("visited BETWEEN '%s' AND '%s'", q.from.Format(time.DateOnly), q.to.Format(time.DateOnly))
	if q.without != 0 {
		text += fmt.Sprintf(" AND strftime('%%Y-%%m', visited) <> '%s'", monthName(q.without))
	}
	if q.sex != "" {
		text += " AND sex = '" + q.sex + "'"
	}
	return text
}

func (q question) count(rows []visitRow) (n int64) {
	for _, v := range rows {
		if (q.sex == "" || v.sex == q.sex) && q.has(v.date) {
			n++
		}
	}
	return n
}

// growth is a database and the model of it.
type growth struct {
	t      *testing.T
	random *rand.Rand
	path   string
	db     *engine.DB
	s      *engine.Session
	now    time.Time
	told   string

	rows    []visitRow
	nextID  int64
	parts0  map[int64][]visitRow // by month, the rows of its part when it was built
	had     map[int64]bool       // months that have or had a part
	retired map[int64]bool
	epsilon map[int64]accounting.Epsilon // spent, by month
	rho     map[int64]accounting.Rho
	bought  map[string]bool // questions that have a stored answer, with accuracy and last month
	prices  map[int]accounting.Rho
	caps    accounting.Caps
	asked   bool // a question was answered from parts
	parts   covered
	direct  covered
}

func monthOf(at time.Time) int64 { return int64(at.Year())*12 + int64(at.Month()) - 1 }

func monthName(n int64) string { return fmt.Sprintf("%04d-%02d", n/12, n%12+1) }

func dayOf(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
}

func newGrowth(t *testing.T, seed uint64) *growth {
	h := &growth{t: t, random: rand.New(rand.NewPCG(seed, 1)), path: filepath.Join(t.TempDir(), "history.db"), now: dayOf(2026, 1, 10),
		parts0: make(map[int64][]visitRow), had: make(map[int64]bool), retired: make(map[int64]bool), epsilon: make(map[int64]accounting.Epsilon),
		rho: make(map[int64]accounting.Rho), bought: make(map[string]bool), prices: make(map[int]accounting.Rho)}
	h.open(h.path)
	fill(t, h.s, `CREATE TABLE raw_visits (id INTEGER PRIMARY KEY, sex TEXT, visited TEXT)`)
	h.must(`CREATE PRIVATE TABLE visits (sex TEXT IN ('F', 'M'), visited DATE BETWEEN '2026-01-01' AND '2027-12-31') FROM raw_visits
		WITH (epsilon = 4, delta = 1e-6, interactive = 0.75, period = 'month of visited')`)
	h.must(`CREATE RELEASE monthly ON visits USING PROJECTION WITH (epsilon = ` + partEpsilon + `) EACH PERIOD`)
	err := h.db.Store().Read(t.Context(), func(tx *catalog.Tx) error {
		all, err := tx.Accounts()
		h.caps = all[0].Caps
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	h.insert(200)
	return h
}

func (h *growth) open(path string) {
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	db.SetNow(func() time.Time { return h.now })
	h.path, h.db, h.s = path, db, db.NewSession()
}

func (h *growth) tell(format string, args ...any) {
	h.told += h.now.Format(time.DateTime) + " " + fmt.Sprintf(format, args...) + "\n"
}

// exec runs a statement, and returns the code of its error.
func (h *growth) exec(text string) (*engine.Result, sqlerr.Code, error) {
	h.tell("%s", text)
	r, err := h.s.Exec(context.Background(), text, nil)
	var e *sqlerr.Error
	if err != nil && !errors.As(err, &e) {
		h.t.Fatal(err)
	}
	if e != nil {
		return r, e.Code, e
	}
	return r, "", nil
}

func (h *growth) must(text string) *engine.Result {
	h.t.Helper()
	r, _, err := h.exec(text)
	if err != nil {
		h.t.Fatalf("%v\n%s", err, h.told)
	}
	return r
}

// expect compares the code of a statement's error with that of the model.
func (h *growth) expect(what string, got, want sqlerr.Code, err error) {
	h.t.Helper()
	if got != want {
		h.t.Errorf("%s: %q (%v), want %q", what, got, err, want)
	}
}

// step does one thing.
func (h *growth) step() {
	switch n := h.random.IntN(20); {
	case n < 4:
		h.now = h.now.Add(time.Duration(h.random.IntN(70*24)) * time.Hour)
		if h.now.After(dayOf(2028, 1, 20)) {
			h.now = dayOf(2028, 1, 20)
		}
	case n < 5:
		h.now = h.now.Add(-time.Duration(h.random.IntN(20*24)) * time.Hour) // a clock that goes back
		if h.now.Before(dayOf(2026, 1, 2)) {
			h.now = dayOf(2026, 1, 2)
		}
	case n < 8:
		h.insert(1 + h.random.IntN(40))
	case n < 9:
		h.change()
	case n < 12:
		h.refresh()
	case n < 13:
		h.drop()
	case n < 14:
		h.again()
	case n < 15:
		h.retire()
	default:
		h.ask()
	}
}

// running is the month that runs, as far as the table has months.
func (h *growth) running() int64 { return monthOf(h.now) }

func (h *growth) randomDate() time.Time {
	switch h.random.IntN(12) {
	case 0:
		return time.Time{}
	case 1:
		return dayOf(2025, 12, 1).Add(time.Duration(h.random.IntN(900)) * day) // also outside the domain, and to come
	}
	return dayOf(2026, 1, 1).Add(time.Duration(h.random.IntN(int(h.now.Sub(dayOf(2025, 12, 1))/day))) * day)
}

func dateText(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.Format(time.DateOnly)
}

func (h *growth) write(do func(tx *catalog.Tx, exec func(text string, args ...any))) {
	err := h.db.Store().Write(context.Background(), func(tx *catalog.Tx) (err error) {
		do(tx, func(text string, args ...any) {
			if _, failed := tx.SQL().ExecContext(context.Background(), text, args...); failed != nil {
				err = failed
			}
		})
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *growth) insert(n int) {
	h.tell("%d rows come", n)
	h.write(func(_ *catalog.Tx, exec func(string, ...any)) {
		for range n {
			v := visitRow{h.nextID, []string{"F", "M"}[h.random.IntN(2)], h.randomDate()}
			h.nextID++
			h.rows = append(h.rows, v)
			exec(`INSERT INTO raw_visits VALUES (?, ?, ?)`, v.id, v.sex, dateText(v.date))
		}
	})
}

// change updates some rows, which may go to another month, and deletes some.
func (h *growth) change() {
	h.tell("rows change")
	h.write(func(_ *catalog.Tx, exec func(string, ...any)) {
		for range h.random.IntN(20) {
			i := h.random.IntN(len(h.rows))
			if h.random.IntN(3) == 0 && len(h.rows) > 10 {
				exec(`DELETE FROM raw_visits WHERE id = ?`, h.rows[i].id)
				h.rows = slices.Delete(slices.Clone(h.rows), i, i+1)
				continue
			}
			h.rows = slices.Clone(h.rows)
			h.rows[i].date = h.randomDate()
			exec(`UPDATE raw_visits SET visited = ? WHERE id = ?`, dateText(h.rows[i].date), h.rows[i].id)
		}
	})
}

// ofMonth returns the rows of a month, as they are now.
func (h *growth) ofMonth(n int64) (rows []visitRow) {
	rows = []visitRow{}
	for _, v := range h.rows {
		if !v.date.IsZero() && monthOf(v.date) == n {
			rows = append(rows, v)
		}
	}
	return rows
}

// pays charges a part in the model, if its month can pay.
func (h *growth) pays(n int64) bool {
	e := epsilonOf(h.t, partEpsilon)
	if h.epsilon[n]+e > h.caps.ReleaseEpsilon {
		return false
	}
	h.epsilon[n] += e
	return true
}

func (h *growth) built(n int64) { h.parts0[n], h.had[n] = h.ofMonth(n), true }

// crashing has the process die at the first draw of what follows, one time in four: the
// database is then that of the moment before. died reports whether it came to a draw.
func (h *growth) crashing() (died func() bool) {
	if h.random.IntN(4) > 0 {
		return func() bool { return false }
	}
	to := filepath.Join(h.t.TempDir(), "history.db")
	copied := false
	h.db.SetRandom(func() *noise.Source {
		for _, suffix := range []string{"", "-wal", "-mark"} {
			if data, err := os.ReadFile(h.path + suffix); err == nil && !copied {
				if err := os.WriteFile(to+suffix, data, 0o600); err != nil {
					h.t.Error(err)
				}
			}
		}
		copied = true
		return noise.NewSource()
	})
	return func() bool {
		if !copied {
			h.db.SetRandom(noise.NewSource)
			return false
		}
		h.tell("the process dies at the draw")
		h.db.Close()
		os.RemoveAll(filepath.Dir(h.path))
		h.open(to)
		return true
	}
}

func (h *growth) refresh() {
	var due []int64
	for n := int64(firstMonth); n <= min(lastMonth, h.running()-1); n++ {
		if !h.had[n] && !h.retired[n] {
			due = append(due, n)
		}
	}
	died := h.crashing()
	_, code, err := h.exec(`REFRESH RELEASE monthly`)
	if died() { // at the draw for the first one that can pay
		for _, n := range due {
			if h.pays(n) {
				return
			}
		}
	}
	want := sqlerr.Code("")
	for _, n := range due {
		if h.pays(n) {
			h.built(n)
		} else {
			want = sqlerr.Budget
		}
	}
	h.expect("REFRESH", code, want, err)
}

func (h *growth) month() int64 { return firstMonth + h.random.Int64N(24) }

func (h *growth) drop() {
	n := h.month()
	_, code, err := h.exec(`DROP RELEASE monthly PERIOD '` + monthName(n) + `'`)
	want := sqlerr.Unknown
	if h.parts0[n] != nil {
		want = ""
		delete(h.parts0, n)
	}
	h.expect("DROP", code, want, err)
}

// again builds a part that is named, mostly one that is there.
func (h *growth) again() {
	n := h.month()
	for m := range h.parts0 {
		if h.random.IntN(3) > 0 {
			n = m
		}
	}
	text, replace := `REFRESH RELEASE monthly PERIOD '`+monthName(n)+`'`, h.random.IntN(2) == 0
	if replace {
		text += ` AGAIN`
	}
	died := h.crashing()
	_, code, err := h.exec(text)
	want := sqlerr.Code("")
	dead := died()
	switch builds := h.parts0[n] == nil || replace; {
	case h.retired[n] && builds, n >= h.running():
		want = sqlerr.Invalid
	case builds && !h.pays(n):
		want = sqlerr.Budget
	case builds && !dead:
		h.built(n)
	}
	if !dead {
		h.expect("REFRESH PERIOD", code, want, err)
	}
}

func (h *growth) retire() {
	n := h.month()
	if h.random.IntN(3) > 0 { // most histories retire few months
		return
	}
	_, code, err := h.exec(`RETIRE PERIOD '` + monthName(n) + `' OF visits`)
	want := sqlerr.Invalid
	if n < h.running() {
		want, h.retired[n] = "", true
	}
	h.expect("RETIRE", code, want, err)
	if want == "" && h.random.IntN(2) == 0 { // and the rows go
		h.write(func(_ *catalog.Tx, exec func(string, ...any)) {
			exec(`DELETE FROM raw_visits WHERE visited LIKE ?`, monthName(n)+"-%")
			h.rows = slices.DeleteFunc(slices.Clone(h.rows), func(v visitRow) bool { return !v.date.IsZero() && monthOf(v.date) == n })
		})
	}
}

func (h *growth) randomQuestion() (q question) {
	q.sex = []string{"", "F", "M"}[h.random.IntN(3)]
	if h.random.IntN(3) > 0 { // whole months, mostly such that have parts
		first := h.month()
		if known := slices.Sorted(maps.Keys(h.parts0)); len(known) > 0 && h.random.IntN(3) > 0 {
			first = known[h.random.IntN(len(known))]
		}
		last := min(lastMonth, first+h.random.Int64N(4))
		q.from, q.to = dayOf(int(first/12), time.Month(first%12+1), 1), dayOf(int(last/12), time.Month(last%12+2), 1).Add(-day)
		if last-first > 1 && h.random.IntN(2) == 0 {
			q.without = first + 1
		}
		return q
	}
	q.from = dayOf(2026, 1, 1).Add(time.Duration(h.random.IntN(730)) * day)
	q.to = q.from.Add(time.Duration(h.random.IntN(90)) * day)
	if last := dayOf(2027, 12, 31); q.to.After(last) {
		q.to = last
	}
	return q
}

// ask asks a question of parts or directly.
func (h *growth) ask() {
	q := h.randomQuestion()
	end := dayOf(h.now.Year(), h.now.Month()+1, 1).Add(-day) // of the running month
	if q.to.After(end) {
		q.to = end
	}
	if q.without == monthOf(q.to) { // the same question has one text
		q.to = dayOf(int(q.without/12), time.Month(q.without%12+1), 1).Add(-day)
	}
	if q.without >= monthOf(q.to) {
		q.without = 0
	}
	var touched []int64
	for n := monthOf(q.from); n <= monthOf(q.to) && !q.to.Before(q.from); n++ {
		if n != q.without {
			touched = append(touched, n)
		}
	}
	if h.random.IntN(2) == 0 {
		h.askParts(q, touched)
	} else {
		h.askRows(q, touched)
	}
}

func (h *growth) askParts(q question, touched []int64) {
	h.must(`SET accuracy = default`)
	h.must(`SET mechanism = monthly`)
	r, code, err := h.exec(`SELECT COUNT(*) FROM visits WHERE ` + q.where())
	var truth int64
	want := sqlerr.Code("")
	for _, n := range touched {
		if h.parts0[n] == nil {
			want = sqlerr.Uncovered
		}
		truth += q.count(h.parts0[n])
	}
	h.expect("the parts", code, want, err)
	if err != nil || want != "" {
		return
	}
	if r.Answer.Cost.Rho != 0 || r.Answer.Cost.Epsilon != 0 {
		h.t.Errorf("an answer of parts cost %v", r.Answer.Cost)
	}
	if len(touched) > 0 && !h.asked {
		h.asked = true
		h.parts.note(r.Rows[0][0].(int64), truth, r.Answer.Margins[0][0].(float64))
	}
}

func (h *growth) askRows(q question, touched []int64) {
	accuracy := []int{60, 150}[h.random.IntN(2)]
	h.must(fmt.Sprintf(`SET accuracy = %d`, accuracy))
	h.must(`SET mechanism = direct`)
	key := func(accuracy int) string { return fmt.Sprint(q.where(), accuracy) }
	known := h.bought[key(accuracy)] || accuracy == 150 && h.bought[key(60)]
	died := h.crashing()
	r, code, err := h.exec(`SELECT COUNT(*) FROM visits WHERE ` + q.where())
	dead := died()
	if len(touched) == 0 {
		if code != "" || r.Rows[0][0] != int64(0) || r.Answer.Cost.Rho != 0 {
			h.t.Errorf("a question of no month: %v, %v", r, err)
		}
		return
	}
	if known {
		if code != "" || r.Answer.Cost.Rho != 0 {
			h.t.Errorf("%s was bought before, and now: %v", q.where(), err)
		}
		return
	}
	gone := slices.ContainsFunc(touched, func(n int64) bool { return h.retired[n] })
	price, priced := h.prices[accuracy]
	short := priced && slices.ContainsFunc(touched, func(n int64) bool { return h.rho[n]+price > h.caps.InteractiveRho })
	switch {
	case dead:
	case gone:
		h.expect("a retired month", code, sqlerr.Invalid, err)
	case short:
		h.expect("a month without budget", code, sqlerr.Budget, err)
	case priced:
		h.expect("the rows", code, "", err)
	}
	if code != "" && !dead {
		return
	}
	if !dead {
		price = h.lastRho()
		if h.prices[accuracy] = price; r.Answer.Cost.Rho != price.Float() || price == 0 {
			h.t.Errorf("an answer cost %v, and the ledger has %v", r.Answer.Cost, price)
		}
		h.direct.note(r.Rows[0][0].(int64), q.count(h.rows), r.Answer.Margins[0][0].(float64))
		h.bought[key(accuracy)] = true
	} else if !priced {
		price = h.lastRho()
	}
	for _, n := range touched {
		h.rho[n] += price
	}
}

// lastRho returns what the last line of the ledger charges.
func (h *growth) lastRho() (last accounting.Rho) {
	err := h.db.Store().Read(context.Background(), func(tx *catalog.Tx) error {
		lines, err := tx.Ledger()
		last = lines[len(lines)-1].Amount.Rho
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return last
}

// compare compares the ledger with the model, month by month, and verifies it.
func (h *growth) compare() {
	err := h.db.Store().Read(context.Background(), func(tx *catalog.Tx) error {
		all, err := tx.Accounts()
		if err != nil {
			return err
		}
		spent, err := tx.Spent(all[0].ID)
		if err != nil {
			return err
		}
		for n := int64(firstMonth - 3); n <= lastMonth+3; n++ {
			got := spent.Most(period.Of(period.Only(n)))
			if want := (accounting.Amount{Epsilon: h.epsilon[n], Rho: h.rho[n]}); got != want {
				h.t.Errorf("%s has spent %v, the model %v", monthName(n), got, want)
			}
		}
		return tx.VerifyLedger()
	})
	if err != nil {
		h.t.Fatal(err)
	}
	parts, err := h.s.DB().View(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	if got := len(parts.Parts(parts.Templates[0].ID)); got != len(h.parts0) {
		h.t.Errorf("%d parts, the model has %d", got, len(h.parts0))
	}
}
