package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dpsql/accounting"
	"dpsql/catalog"
	"dpsql/engine"
	"dpsql/engine/internal/answer"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
)

// checkAsked checks that an answer with the margin of a firing is in the history. For an
// unfired answer it returns the key under which the answer is stored later.
func (w *witness) checkAsked(db *engine.DB, v *view.View, now *picture, s said) (string, error) {
	if !s.Verified {
		return "", nil
	}
	m, ok := now.byName[s.Via]
	if !ok {
		return "", fmt.Errorf("%s: answered by %s, which the file does not know", s.Text, s.Via)
	}
	fired, err := db.Answers().Margin(catalog.AnswerFired, m.params, 0.95)
	if err != nil {
		return "", err
	}
	unfired, err := db.Answers().Margin(catalog.AnswerVerified, m.params, 0.95)
	if err != nil || fired == unfired {
		return "", fmt.Errorf("margins do not tell firings: %v, %v, %v", fired, unfired, err)
	}
	q, err := canonical(v, s.Text)
	if err != nil {
		return "", err
	}
	key := fmt.Sprintf("%s|%s|%d", m.name, q, s.Value)
	w.compared[key] = true
	switch s.Margin {
	case unfired:
		return fmt.Sprintf("%s|%s|%d", m.name, sumOf(q), s.Value), nil
	case fired:
		if !now.history[key] {
			return "", fmt.Errorf("%s: %d was printed after a firing that the history does not have", s.Text, s.Value)
		}
		w.fired[key] = true
		return "", nil
	}
	return "", fmt.Errorf("%s: the margin %v is neither %v nor %v", s.Text, s.Margin, fired, unfired)
}

// wardRecord is a stored mechanism. Dropped ones are included.
type wardRecord struct {
	id                      int64
	table                   string
	name                    string
	params                  json.RawMessage
	rho, runRho             accounting.Rho
	updates, started, ended int64
	comparisons             int64
	run, tau                *int64
	leased, dropped         bool
}

// checkComparisons checks that no mechanism was asked more often than the file counts. The
// file's count includes the block that a process reserves by leaving its run open.
func (w *witness) checkComparisons(now *picture) error {
	made := map[string]int64{}
	for key := range w.compared {
		made[key[:strings.Index(key, "|")]]++
	}
	for _, m := range now.byID {
		var p released.MechanismParams
		if err := json.Unmarshal(m.params, &p); err != nil {
			return err
		}
		counted := m.comparisons
		if m.leased && m.run != nil {
			counted += answer.ComparisonBlock(p.Params)
		}
		if made[m.name] > counted && !m.dropped {
			return fmt.Errorf("%s answered %d queries, and the file counts %d comparisons", m.name, made[m.name], counted)
		}
	}
	return nil
}

// picture is the content of the file at one moment.
type picture struct {
	entries  []catalog.Entry
	caps     map[int64]accounting.Caps
	byID     map[int64]wardRecord
	byName   map[string]wardRecord
	direct   []string        // question|estimate, sorted; that of a distribution is its number of rows
	history  map[string]bool // mechanism|query|noisy
	agreed   map[string]bool // mechanism|query|noisy, of unfired answers
	fired    int             // stored answers of firings
	did      map[string]bool // "release x", "drop release x" and so on
	releases int
	counted  int // tables with N̂

	unprinted, unseen int // stored and not printed, in earlier pictures: direct answers, and firings
}

// photograph takes a picture in one snapshot, after SHOW LEDGER has verified the chain.
func photograph(db *engine.DB) (*picture, error) {
	ctx := context.Background()
	shown, err := db.NewSession().Exec(ctx, `SHOW LEDGER`, nil)
	if err != nil {
		return nil, err
	}
	p := &picture{caps: map[int64]accounting.Caps{}, byID: map[int64]wardRecord{}, byName: map[string]wardRecord{},
		history: map[string]bool{}, agreed: map[string]bool{}, did: map[string]bool{}}
	err = db.Store().Read(ctx, func(tx *catalog.Tx) error {
		var err error
		if p.entries, err = tx.Ledger(); err != nil {
			return err
		}
		accounts, err := tx.Accounts()
		if err != nil {
			return err
		}
		for _, a := range accounts {
			p.caps[a.ID] = a.Caps
		}
		if err := p.readMechanisms(ctx, tx); err != nil {
			return err
		}
		return p.readRecords(ctx, tx)
	})
	if err == nil && len(p.entries) < len(shown.Rows) {
		err = errors.New("SHOW LEDGER lists more than there is")
	}
	return p, err
}

func (p *picture) readMechanisms(ctx context.Context, tx *catalog.Tx) error {
	rows, err := tx.SQL().QueryContext(ctx, `SELECT m.id, (SELECT t.name FROM dpsql_objects t WHERE t.id = m.parent), m.name, m.body -> '$.params', m.body ->> '$.rho', m.body ->> '$.run_rho', m.body ->> '$.updates',
		c.body ->> '$.runs_started', c.body ->> '$.runs_ended', c.body ->> '$.comparisons', c.body ->> '$.run.number', c.body ->> '$.run.tau', c.body ->> '$.leased',
		m.dropped_at IS NOT NULL FROM dpsql_objects m JOIN dpsql_objects c ON c.kind = 'run counter' AND c.parent = m.id WHERE m.kind = 'mechanism'`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var m wardRecord
		var params string
		if err := rows.Scan(&m.id, &m.table, &m.name, &params, &m.rho, &m.runRho, &m.updates, &m.started, &m.ended, &m.comparisons, &m.run, &m.tau, &m.leased, &m.dropped); err != nil {
			return err
		}
		m.params = json.RawMessage(params)
		p.byID[m.id], p.byName[m.name] = m, m
	}
	return rows.Err()
}

// readRecords reads the records that statements left, as text.
func (p *picture) readRecords(ctx context.Context, tx *catalog.Tx) error {
	rows, err := tx.SQL().QueryContext(ctx, `
		SELECT 'did', iif(dropped_at IS NULL, '', 'drop ') || iif(kind = 'private table', 'table', kind) || ' ' || name FROM dpsql_objects
		WHERE kind IN ('release', 'mechanism', 'private table')
		UNION ALL SELECT 'counted', '' FROM dpsql_objects WHERE kind = 'private table' AND body -> '$.nhat' IS NOT NULL
		UNION ALL SELECT 'history', m.name || '|' || h.query || '|' || h.noisy FROM dpsql_history h JOIN dpsql_objects m ON m.id = h.mechanism
		UNION ALL SELECT kind, CASE WHEN kind IN ('direct', 'values', 'distribution') THEN '' ELSE via || '|' END || hex(sha256) || '|' || estimate FROM dpsql_answers`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var what, text string
		if err := rows.Scan(&what, &text); err != nil {
			return err
		}
		switch what {
		case "did":
			p.did[text] = true
			p.releases += strings.Count(text, "release ")
		case "counted":
			p.counted++
		case "history":
			p.history[text] = true
		case string(catalog.AnswerDirect), string(catalog.AnswerValues), string(catalog.AnswerDistribution):
			p.direct = append(p.direct, text)
		case string(catalog.AnswerFired):
			p.fired++
		case string(catalog.AnswerVerified):
			p.agreed[text] = true
		}
	}
	slices.Sort(p.direct)
	return rows.Err()
}

func (p *picture) has(sorted []string, text string) bool {
	_, ok := slices.BinarySearch(sorted, text)
	return ok
}

// lines counts the lines of an action in the ledger. An empty object matches any.
func (p *picture) lines(action, object string) (n int) {
	for _, e := range p.entries {
		if e.Action == action && (object == "" || e.Object == object) {
			n++
		}
	}
	return n
}

// tells reports whether the ledger has a line whose action begins with the text.
func (p *picture) tells(beginning, object string) bool {
	return slices.ContainsFunc(p.entries, func(e catalog.Entry) bool {
		return e.Object == object && strings.HasPrefix(e.Action, beginning)
	})
}

func (p *picture) unstored() int  { return p.lines("direct answer", "") - len(p.direct) }
func (p *picture) unbuilt() int   { return p.lines("create release", "") - p.releases }
func (p *picture) uncounted() int { return p.lines("number of rows", "") - p.counted }

// open returns the mechanisms that are marked as leased and have an open run.
func (p *picture) open() (out []wardRecord) {
	for _, m := range p.byID {
		if m.leased && m.run != nil {
			out = append(out, m)
		}
	}
	return out
}

// current returns the mechanism on ward. There is at most one.
func (p *picture) current() string {
	for _, m := range p.byID {
		if !m.dropped && m.table == "ward" {
			return m.name
		}
	}
	return "none"
}

// checkBudget adds up the ledger. No account ever exceeded its caps, and nothing was given
// back except what mechanisms had reserved for runs that never started.
func (p *picture) checkBudget() error {
	spent := map[int64]accounting.Amount{}
	returned := map[string]bool{}
	for _, e := range p.entries {
		was := spent[e.Account]
		sum, ok := was.Add(e.Amount)
		back := e.Amount.Epsilon < 0 || e.Amount.Delta < 0 || e.Amount.Rho < 0
		caps := p.caps[e.Account]
		if !ok || !back && e.Amount != (accounting.Amount{}) && !caps.Fits(was, e.Amount) {
			return fmt.Errorf("row %d of the ledger passes the caps", e.Seq)
		}
		spent[e.Account] = sum
		if !back {
			continue
		}
		m := p.byName[e.Object]
		started := 0
		for n := range m.updates {
			started += p.lines(fmt.Sprintf("run %d of %d", n+1, m.updates), m.name)
		}
		most := accounting.Amount{Rho: -m.runRho * accounting.Rho(m.updates-int64(started))}
		if e.Action != "return unused runs" || !m.dropped || returned[m.name] || e.Amount != most {
			return fmt.Errorf("row %d of the ledger gives %v back for %s, dropped %v, of which %d runs of %d at %v were started",
				e.Seq, e.Amount, e.Object, m.dropped, started, m.updates, m.runRho)
		}
		returned[m.name] = true
	}
	return nil
}

// checkRecords compares the records with the ledger. Every existing object was paid for,
// and a dropped one keeps no threshold.
func (p *picture) checkRecords() error {
	if p.unstored() < 0 || p.unbuilt() < 0 || p.uncounted() < 0 {
		return fmt.Errorf("%d direct answers, %d releases and %d row counts are not charged", max(0, -p.unstored()), max(0, -p.unbuilt()), max(0, -p.uncounted()))
	}
	if reserved := p.lines("reserve mechanism", ""); reserved != len(p.byID) {
		return fmt.Errorf("%d mechanisms are reserved and %d exist or did", reserved, len(p.byID))
	}
	if len(p.history) != p.fired {
		return fmt.Errorf("%d firings are in histories and %d among the answers", len(p.history), p.fired)
	}
	for _, m := range p.byID {
		learned := 0
		for key := range p.history {
			if strings.HasPrefix(key, m.name+"|") {
				learned++
			}
		}
		var runs int64
		for n := range m.updates {
			runs += int64(p.lines(fmt.Sprintf("run %d of %d", n+1, m.updates), m.name))
		}
		switch {
		case p.lines("reserve mechanism", m.name) != 1:
			return fmt.Errorf("%s was reserved %d times", m.name, p.lines("reserve mechanism", m.name))
		case runs != m.started || m.started > m.updates || m.ended > m.started || int64(learned) > m.ended:
			return fmt.Errorf("%s: %d runs in the ledger, %d started, %d ended, %d fired", m.name, runs, m.started, m.ended, learned)
		case (m.run == nil) != (m.tau == nil), m.dropped && (m.run != nil || m.leased):
			return fmt.Errorf("%s, dropped %v, leased %v: run %v, τ %v", m.name, m.dropped, m.leased, m.run != nil, m.tau != nil)
		case m.run != nil && (*m.run <= m.ended || *m.run != m.started):
			return fmt.Errorf("run %d of %s is open after %d were started and %d ended", *m.run, m.name, m.started, m.ended)
		}
	}
	return nil
}

// follows checks that the file only grew: the ledger continues the last one.
func (p *picture) follows(before *picture) error {
	if len(p.entries) < len(before.entries) || !slices.Equal(p.entries[:len(before.entries)], before.entries) {
		return errors.New("the ledger is not the one that was")
	}
	for id, m := range before.byID {
		if now := p.byID[id]; now.started < m.started || now.ended < m.ended || m.dropped && !now.dropped {
			return fmt.Errorf("%s went back to an earlier state", m.name)
		}
	}
	for _, text := range before.direct {
		if !p.has(p.direct, text) {
			return fmt.Errorf("the direct answer %s is gone", text)
		}
	}
	for key := range before.history {
		if !p.history[key] {
			return fmt.Errorf("the firing %s is gone", key)
		}
	}
	return nil
}
