package engine_test

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/engine/internal/schemas"
	"dpsql/engine/internal/view"
	"dpsql/sqlerr"
	"dpsql/sqlfront"
	"dpsql/sqlfront/syntax"
)

// tally counts what the kills interrupted.
type tally map[string]int

// String lists the counts, largest first.
func (a tally) String() string {
	var b strings.Builder
	for _, what := range slices.SortedFunc(maps.Keys(a), func(x, y string) int { return cmp.Or(a[y]-a[x], strings.Compare(x, y)) }) {
		fmt.Fprintf(&b, "\n%6d %s", a[what], what)
	}
	return b.String()
}

// witness watches one file over several lives.
type witness struct {
	t      *testing.T
	path   string
	random *rand.Rand
	tally  tally

	last   *picture
	tau    map[runKey]int64       // of the runs that were seen open
	over   map[runKey]bool        // runs that were seen open and later were not
	direct map[accounting.Rho]int // printed direct answers by their cost
	fired  map[string]bool        // printed firings

	compared map[string]bool // answers that mechanisms printed
}

type runKey struct{ mechanism, run int64 }

func newWitness(t *testing.T, path string, random *rand.Rand, counts tally) *witness {
	return &witness{t: t, path: path, random: random, tally: counts, last: &picture{},
		tau: map[runKey]int64{}, over: map[runKey]bool{}, direct: map[accounting.Rho]int{}, fired: map[string]bool{}, compared: map[string]bool{}}
}

// watch starts children and kills them.
func (w *witness) watch(left *atomic.Int64, lives int) {
	if err := w.look(nil); err != nil {
		w.t.Error(err)
		return
	}
	defer w.goOn()
	for n := range lives {
		if left.Add(-1) < 0 {
			return
		}
		if err := w.live(uint64(n)); err != nil {
			w.t.Errorf("%s, life %d: %v", filepath.Base(w.path), n, err)
			return
		}
		w.tally["kills"]++
	}
}

// goOn checks that SQLite, too, finds the file sound, and that it still serves after all
// the kills.
func (w *witness) goOn() {
	db, err := engine.Open(w.path, engine.Options{})
	if err != nil {
		w.t.Error(err)
		return
	}
	defer db.Close()
	var sound string
	err = db.Store().Read(context.Background(), func(tx *catalog.Tx) error {
		return tx.SQL().QueryRowContext(context.Background(), `PRAGMA integrity_check`).Scan(&sound)
	})
	if err != nil || sound != "ok" {
		w.t.Errorf("%s: %s, %v", w.path, sound, err)
	}
	s := db.NewSession()
	for _, text := range []string{wardMechanism("last", "ward"), `SET mechanism = last`, `SELECT COUNT(*) FROM ward WHERE age = 5`,
		`DROP MECHANISM last`, `SET mechanism = direct`, `SET accuracy = 12`, `SELECT COUNT(*) FROM ward WHERE age = 6`} {
		if _, err := s.Exec(context.Background(), text, nil); err != nil && sqlerr.CodeOf(err) != sqlerr.Budget {
			w.t.Errorf("%s: %s: %v", w.path, text, err)
		}
	}
}

// live starts a child and kills it. For four of five it takes a picture after the first
// statement and then lets the child go on.
func (w *witness) live(n uint64) error {
	open := w.last.open()
	l, err := begin(w.path, w.last.current(), n, w.random.Uint64())
	if err != nil {
		return err
	}
	defer l.end()
	longest := 16 * time.Millisecond
	if w.random.IntN(10) == 0 { // long enough to print what was bought
		longest = 200 * time.Millisecond
	}
	patience := time.Duration(w.random.Int64N(int64(longest)))
	if w.random.IntN(5) > 0 {
		if err := w.meet(l, open); err != nil {
			return err
		}
	}
	time.Sleep(patience)
	if err := l.end(); err != nil {
		return err
	}
	before := w.last
	if err := w.look(l.lines); err != nil {
		return err
	}
	w.classify(before, l.unfinished())
	if len(l.lines) > 1 {
		return w.atRest(open)
	}
	return nil
}

// meet waits for a child's first statement, takes a picture, and lets the child go on.
func (w *witness) meet(l *life, open []wardRecord) error {
	select {
	case <-l.first:
	case <-l.ended:
		return errors.New("a child ended before its first statement")
	case <-time.After(10 * time.Minute):
		return errors.New("the first statement of a child did not end in ten minutes")
	}
	if err := w.look(nil); err != nil {
		return err
	}
	if err := w.atRest(open); err != nil {
		return err
	}
	_, err := l.stdin.Write([]byte{1})
	return err
}

// atRest checks that the runs that a dead process left open are over, after a later
// process has asked the mechanism. They are erased, recorded in the ledger, and paid for.
func (w *witness) atRest(open []wardRecord) error {
	for _, m := range open {
		now := w.last.byID[m.id]
		switch {
		case now.run != nil && *now.run == *m.run:
			return fmt.Errorf("run %d of %s went on after a crash", *m.run, m.name)
		case now.ended < *m.run || now.started < m.started:
			return fmt.Errorf("after a crash in run %d of %s, %d runs are started and %d ended", *m.run, m.name, now.started, now.ended)
		case !w.last.tells(fmt.Sprintf("run %d of %d ended", *m.run, m.updates), m.name):
			return fmt.Errorf("the ledger does not tell of the crash in run %d of %s", *m.run, m.name)
		}
	}
	return nil
}

// classify counts what a kill interrupted, as the file and the output show it.
func (w *witness) classify(before *picture, unfinished map[int]string) {
	met := func(what string, yes bool) {
		if yes {
			w.tally["kills: "+what]++
		}
	}
	met("a statement was in flight", len(unfinished) > 0)
	for _, kind := range unfinished {
		w.tally["in flight: "+kind]++
	}
	now := w.last
	met("a direct answer was charged, not stored", now.unstored() > before.unstored())
	met("a release was charged, not stored", now.unbuilt() > before.unbuilt())
	met("a row count was charged, not stored", now.uncounted() > before.uncounted())
	met("a direct answer was stored, not printed", len(now.direct)-w.printed() > before.unprinted)
	met("a firing was stored, not printed", len(now.history)-len(w.fired) > before.unseen)
	now.unprinted, now.unseen = len(now.direct)-w.printed(), len(now.history)-len(w.fired)
	for _, m := range now.byID {
		then := before.byID[m.id]
		met("a run was open", m.leased && m.run != nil)
		met("a run was charged, its τ not stored", m.run == nil && !m.dropped && m.ended < m.started && then.started < m.started)
	}
}

func (w *witness) printed() (n int) {
	for _, k := range w.direct {
		n += k
	}
	return n
}

// look takes a new picture of the file and checks it on its own, against the last picture,
// and against the output of a child.
func (w *witness) look(printed []said) error {
	db, err := engine.Open(w.path, engine.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	now, err := photograph(db)
	if err != nil {
		return err
	}
	now.unprinted, now.unseen = w.last.unprinted, w.last.unseen
	for _, check := range []func() error{
		func() error { return now.checkBudget() },
		func() error { return now.checkRecords() },
		func() error { return now.follows(w.last) },
		func() error { return w.checkRuns(now) },
		func() error { return w.checkPrinted(db, now, printed) },
		func() error { return w.checkComparisons(now) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	w.last = now
	return nil
}

// checkRuns checks that no run that was over is open again, and that no run changes its τ.
func (w *witness) checkRuns(now *picture) error {
	open := map[runKey]bool{}
	for _, m := range now.byID {
		if m.run == nil {
			continue
		}
		key := runKey{m.id, *m.run}
		open[key] = true
		if w.over[key] {
			return fmt.Errorf("run %d of %s is open again", *m.run, m.name)
		}
		if tau, seen := w.tau[key]; seen && tau != *m.tau {
			return fmt.Errorf("run %d of %s has another τ", *m.run, m.name)
		}
		w.tau[key] = *m.tau
	}
	for key := range w.tau {
		if !open[key] {
			w.over[key] = true
		}
	}
	return nil
}

// checkPrinted checks what a child printed against the file. The file must hold every
// output that was paid for or cannot be drawn again.
func (w *witness) checkPrinted(db *engine.DB, now *picture, printed []said) error {
	if len(printed) == 0 {
		return nil
	}
	v, err := db.View(context.Background())
	if err != nil {
		return err
	}
	var agreed []string // unfired answers since the lease was last given back
	for _, s := range printed {
		if !s.Done {
			continue
		}
		if s.Code != "" {
			if !slices.Contains(expectedCodes[s.Kind], s.Code) {
				return fmt.Errorf("%s: %s", s.Text, s.Via)
			}
			continue
		}
		switch s.Kind {
		case "direct", "values", "order":
			w.tally["printed: "+s.Kind]++
			if err := w.checkDirect(v, now, s); err != nil {
				return err
			}
		case "first", "ask":
			kept, err := w.checkAsked(db, v, now, s)
			if err != nil {
				return err
			}
			if kept != "" {
				agreed = append(agreed, kept)
			}
		case "yield":
			for _, key := range agreed {
				if m := now.byName[key[:strings.Index(key, "|")]]; !m.dropped && !now.agreed[key] {
					return fmt.Errorf("the lease was given back without the answer %s", key)
				}
			}
			agreed = nil
		default:
			if name := strings.Fields(s.Text)[2+strings.Count(s.Kind, "table")]; !now.did[s.Kind+" "+name] && !now.did["drop "+s.Kind+" "+name] {
				return fmt.Errorf("%s: done, and the file does not know", s.Text)
			}
		}
	}
	return nil
}

// expectedCodes are the errors that concurrent statements may get.
var expectedCodes = map[string][]sqlerr.Code{
	"direct": {sqlerr.Budget}, "values": {sqlerr.Budget}, "order": {sqlerr.Budget}, "release": {sqlerr.Budget}, "mechanism": {sqlerr.Budget},
	"first": {sqlerr.Unknown}, "ask": {sqlerr.Unknown}, "drop mechanism": {sqlerr.Unknown},
}

// canonical returns the canonical text of a SELECT on ward.
func canonical(v *view.View, text string) (string, error) {
	statement, err := syntax.Parse(text)
	if err != nil {
		return "", err
	}
	sel := statement.(*syntax.Select)
	t, err := v.Selected(sel)
	if err != nil {
		return "", err
	}
	b, err := sqlfront.Bind(sel, schemas.Bindable(context.Background(), nil, t, time.Now(), nil, nil, nil), nil)
	if err != nil {
		return "", err
	}
	return b.Queries[0].String(), nil
}

// sumOf returns the sum of a query as readRecords writes it.
func sumOf(query string) string {
	sum := catalog.SumOf(query)
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// checkDirect checks that a printed answer is stored, and that there are as many charges
// of its cost as such answers.
func (w *witness) checkDirect(v *view.View, now *picture, s said) error {
	q, err := canonical(v, s.Text)
	if err != nil {
		return err
	}
	stored := false
	switch s.Kind {
	case "order": // of age, whose quantile is no estimate
		beginning := sumOf("order of column 1: "+q) + "|"
		stored = slices.ContainsFunc(now.direct, func(have string) bool { return strings.HasPrefix(have, beginning) })
	case "values":
		stored = now.has(now.direct, fmt.Sprintf("%s|%d", sumOf("values of column 2: "+q), s.Value))
	default:
		stored = now.has(now.direct, fmt.Sprintf("%s|%d", sumOf(q), s.Value))
	}
	if !stored {
		return fmt.Errorf("%s: the answer %d was printed and is not stored", s.Text, s.Value)
	}
	if s.Rho == 0 {
		return nil
	}
	w.direct[s.Rho]++
	charged := 0
	for _, e := range now.entries {
		if e.Action == "direct answer" && e.Amount.Rho == s.Rho {
			charged++
		}
	}
	if charged < w.direct[s.Rho] {
		return fmt.Errorf("%s: %d answers of ρ = %v were printed and %d charged", s.Text, w.direct[s.Rho], s.Rho, charged)
	}
	return nil
}
