package engine_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/stored"
	"dpsql/engine/internal/view"
	"dpsql/mechanisms/smw"
	"dpsql/query"
	"dpsql/sqlerr"
)

// fuzzTable is a table of two columns, one of any text, without a file.
func fuzzTable(t testing.TB) *view.Table {
	t.Helper()
	age, err := query.NewRange(0, 9, true)
	if err != nil {
		t.Fatal(err)
	}
	columns := []query.Column{{Name: "age", Domain: age}, {Name: "zip", Domain: query.Unbounded()}}
	u, err := query.NewUniverse(columns)
	if err != nil {
		t.Fatal(err)
	}
	return &view.Table{Table: catalog.Table{ID: 1, Name: "p", Source: "raw", Columns: columns, Account: 1, MaxRows: 1}, Universe: u}
}

// fuzzParams are parameters as a mechanism stores them.
func fuzzParams(t testing.TB, alpha float64, update smw.Update) []byte {
	t.Helper()
	r := smw.Request{Alpha: alpha, MaxSupport: 100, Queries: 1000, Beta: 0.05, NHat: 5000, NHatBound: 20, Sensitivity: 2, MaxWeight: 1,
		Update: update, RunEpsilon: func(int64) *big.Rat { return big.NewRat(7, 2) }}
	if alpha == 0 {
		r.MaxUpdates = 20
	}
	p, err := smw.Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// readable fails unless an error is one that stored state may give.
func readable(t *testing.T, err error) bool {
	t.Helper()
	switch code := sqlerr.CodeOf(err); {
	case err == nil:
		return true
	case code == sqlerr.Corrupt, code == sqlerr.Unsupported, code == sqlerr.Uncovered, code == sqlerr.Budget:
	default:
		t.Fatalf("stored state gives %v (%s)", err, code)
	}
	return false
}

// FuzzStoredMechanism decodes a mechanism's record, the prior it is stored with, τ,
// and a history of lines "noisy query". Nothing of it makes dpsql fail otherwise
// than with an error that says so; what is accepted is written back alike, and a
// hypothesis made of it answers within the rows it stands for.
func FuzzStoredMechanism(f *testing.F) {
	for i, p := range [][]byte{fuzzParams(f, 0, smw.Projection), fuzzParams(f, 0, smw.Paper), fuzzParams(f, 0.9, smw.Projection)} {
		f.Add(p, []byte("0123456789abcdef"), int64(i-1), "70 age{3: zip{'x': 1}}\n-4 age{NULL, 2..3: zip{'a', 'b': 1}}")
		f.Add(p, []byte("short"), int64(math.MaxInt64), "9000000000000000000 age{0..9: zip{NULL: 1}}\n0 0")
	}
	f.Add(append([]byte(`{"prior":"classes",`), fuzzParams(f, 0, smw.Projection)[1:]...), []byte("\x01\x01\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00"), int64(1), "")
	f.Add([]byte(`{"s":1,"updates":-1,"max_weight":0,"eps1":"1/0","eps2":"1e999999"}`), []byte{}, int64(0), "1 1")
	t := fuzzTable(f)
	f.Fuzz(func(tt *testing.T, params, prior []byte, tau int64, lines string) {
		m := &catalog.Mechanism{ID: 1, Name: "m", TableID: 1, Params: params, Updates: 20, RunsStarted: 1, Run: &catalog.OpenRun{Number: 1, Tau: tau}}
		p, err := stored.ReadMechanism(m)
		if !readable(tt, err) {
			return
		}
		sameParams(tt, p)
		l, err := answer.Reopen(t, m, prior)
		if !readable(tt, err) || !readable(tt, l.Resume(m, nil, parseHistory(lines))) {
			return
		}
		if _, err := l.Run.Test(50, 40, stream(1)); err != nil && sqlerr.CodeOf(err) != sqlerr.Internal {
			tt.Fatal(err)
		}
		plausible(tt, t.Universe, p.Params, l.Hypothesis)
	})
}

// sameParams encodes the parameters and decodes them again.
func sameParams(t *testing.T, p stored.MechanismParams) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatalf("%+v cannot be written: %v", p, err)
	}
	again, err := stored.ReadMechanism(&catalog.Mechanism{Params: text})
	if err != nil {
		t.Fatalf("%s cannot be read: %v", text, err)
	}
	if back, err := json.Marshal(again); err != nil || !bytes.Equal(back, text) {
		t.Fatalf("%s comes back as %s", text, back)
	}
}

// parseHistory reads lines "noisy query", numbered from 1.
func parseHistory(lines string) (rows []catalog.HistoryRow) {
	for line := range strings.SplitSeq(lines, "\n") {
		number, text, _ := strings.Cut(line, " ")
		noisy, _ := strconv.ParseInt(number, 10, 64)
		rows = append(rows, catalog.HistoryRow{Seq: int64(len(rows)) + 1, Query: text, Noisy: noisy})
	}
	return rows[:min(len(rows), 8)]
}

// plausible asks the hypothesis queries that the parameters admit.
func plausible(t *testing.T, u *query.Universe, p smw.Params, h *smw.Hypothesis) {
	t.Helper()
	columns := u.Columns()
	one := query.Where(u, 1, columns[1].Domain.SetOf(query.Text("x")))
	for _, age := range []int64{0, 3, 9} {
		q, err := query.Where(u, 0, columns[0].Domain.SetOf(query.Int(age))).And(one)
		if err != nil {
			t.Fatal(err)
		}
		if p.Admits(q) != nil {
			continue
		}
		if n := h.Count(q); n < 0 || n > p.NHat*p.MaxWeight {
			t.Fatalf("the hypothesis counts %d of %d rows", n, p.NHat)
		}
	}
	if w := p.UnfiredMargin(0.95); w < p.Threshold {
		t.Fatalf("a margin of %d, below the threshold %d", w, p.Threshold)
	}
}

// FuzzStoredHypothesis decodes a release that SMW built. What is accepted answers
// within the rows it stands for, and states no margin below its threshold.
func FuzzStoredHypothesis(f *testing.F) {
	for _, c := range []*stored.Class{{Free: 1}, {Free: -1, Workload: []string{"age{3: zip{'x': 1}}", "1"}}} {
		h := stored.HypothesisPayload{Version: 1, Class: c, Complete: true,
			Steps: []stored.Step{{Query: "age{3: zip{'x': 1}}", Noisy: 70}, {Query: "age{NULL, 2..3: zip{'a', 'b': 1}}", Noisy: -4}}}
		if err := json.Unmarshal(fuzzParams(f, 0, smw.Projection), &h.Params); err != nil {
			f.Fatal(err)
		}
		payload, err := json.Marshal(h)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
	}
	u := fuzzTable(f).Universe
	f.Fuzz(func(t *testing.T, payload []byte) {
		h, err := stored.DecodeHypothesis(u, payload)
		if !readable(t, err) {
			return
		}
		p := h.Published.Params
		plausible(t, u, p.Params, h.Learned)
		q := query.Where(u, 0, u.Columns()[0].Domain.SetOf(query.Int(3)))
		if w, known, err := h.Margin(q, 0.95); err != nil || known && !(w >= float64(p.Threshold)) {
			t.Fatalf("margin %v, %v", w, err)
		}
	})
}
