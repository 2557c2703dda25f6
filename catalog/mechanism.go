package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"dpsql/accounting"
	"dpsql/catalog/internal/ledger"
	"dpsql/period"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Mechanism is the record of an interactive mechanism: what it reserved, how much of
// that was used, and the run that is open, if any.
type Mechanism struct {
	ID          int64
	Name        string
	TableID     int64
	Table       string // the table's name; filled in when read
	Columns     []int  // the table's columns it covers, ascending; nil for all
	Params      json.RawMessage
	Epsilon     accounting.Epsilon // as declared
	Rho         accounting.Rho     // reserved at its creation
	RunRho      accounting.Rho     // what one run costs, of Rho
	Updates     int64              // B, the runs reserved
	RunsStarted int64              // charged, 0 … Updates
	RunsEnded   int64              // the last run that was open and has ended; EndRun maintains it
	Comparisons int64              // made so far, those of open runs included
	Run         *OpenRun           // nil between runs
	Leased      bool               // a process makes comparisons, or died making them
	Span        period.Range       // the periods whose rows it reads, and that it was charged to; All without periods
	CreatedAt   time.Time

	stateSize int64
	stateSum  []byte
}

// OpenRun is a run of the sparse vector technique that has not fired. Tau is the noise
// of its threshold, which is as secret as a row.
type OpenRun struct{ Number, Tau int64 }

// nameOfTable selects the name of a record's table. Records are read from their tables
// and not from an index, because the two differ if one of them is damaged.
const nameOfTable = `(SELECT t.name FROM dpsql_tables t WHERE t.id = table_id)`

func (tx *Tx) selectMechanism() string {
	return `SELECT id, name, table_id, ` + nameOfTable + `, columns, params, epsilon, rho, run_rho, updates,
	runs_started, runs_ended, comparisons, run, tau, leased, ` + tx.selectSpan() + `, created_at, state_size, state_sha256, digest
	FROM dpsql_mechanisms NOT INDEXED WHERE dropped_at IS NULL `
}

func scanMechanism(row record) (m Mechanism, err error) {
	var columns, params, at string
	var run, tau *int64
	var span storedSpan
	var digest []byte
	err = row.Scan(&m.ID, &m.Name, &m.TableID, &m.Table, &columns, &params, &m.Epsilon, &m.Rho, &m.RunRho, &m.Updates,
		&m.RunsStarted, &m.RunsEnded, &m.Comparisons, &run, &tau, &m.Leased, &span.first, &span.last, &at, &m.stateSize, &m.stateSum, &digest)
	if err != nil {
		return m, err
	}
	if (run == nil) != (tau == nil) {
		return m, corrupt("the open run of mechanism %s cannot be read", m.Name)
	}
	if run != nil && tau != nil {
		m.Run = &OpenRun{Number: *run, Tau: *tau}
	}
	m.Params, m.Span = json.RawMessage(params), span.value()
	if m.Columns, err = decodeColumns(columns); err != nil {
		return m, err
	}
	if m.CreatedAt, err = parseTime(at); err != nil {
		return m, err
	}
	if !m.consistent() {
		return m, corrupt("the counters of mechanism %s contradict each other", m.Name)
	}
	return m, checkDigest("mechanism "+m.Name, m.encoding(), digest)
}

// consistent reports whether the counters can be those of a mechanism. Between the
// charge of a run and its τ, a run has started and none is open. A crash at that point
// leaves them so.
func (m *Mechanism) consistent() bool {
	if m.Rho < 0 || m.RunRho < 0 || m.Comparisons < 0 || m.RunsEnded < 0 ||
		m.RunsEnded > m.RunsStarted || m.RunsStarted > m.Updates {
		return false
	}
	if m.Updates > 0 && m.RunRho > m.Rho/accounting.Rho(m.Updates) {
		return false
	}
	return m.Run == nil || m.Run.Number == m.RunsStarted && m.Run.Number > m.RunsEnded
}

func (m *Mechanism) encoding() ledger.Encoding {
	e := ledger.Encode("mechanism").Numbers(m.ID).Texts(m.Name).Numbers(m.TableID).Columns(m.Columns).Texts(string(m.Params)).
		Numbers(int64(m.Epsilon), int64(m.Rho), int64(m.RunRho), m.Updates, m.RunsStarted, m.RunsEnded, m.Comparisons).
		Flag(m.Leased).Flag(m.Run != nil)
	if m.Run != nil {
		e = e.Numbers(m.Run.Number, m.Run.Tau)
	}
	return encodeSpan(e.Texts(formatTime(m.CreatedAt)).Numbers(m.stateSize).Texts(string(m.stateSum)), m.Span)
}

// Mechanisms lists the mechanisms of a table by name, of all tables when table
// is 0.
func (tx *Tx) Mechanisms(table int64) ([]Mechanism, error) {
	all, err := list(tx, scanMechanism, tx.selectMechanism()+`ORDER BY CAST(name AS TEXT)`)
	if err == nil {
		err = checkComplete(tx, rollMechanisms, all, func(m *Mechanism) string { return key(m.ID) })
	}
	return slices.DeleteFunc(all, func(m Mechanism) bool { return table != 0 && m.TableID != table }), err
}

// Mechanism returns the mechanism of that name, nil when there is none.
func (tx *Tx) Mechanism(name string) (*Mechanism, error) {
	all, err := tx.Mechanisms(0)
	return pick(all, func(m *Mechanism) bool { return query.SameName(m.Name, name) }), err
}

// MechanismByID returns the mechanism with the id. Errors: Unknown when it was
// dropped.
func (tx *Tx) MechanismByID(id int64) (*Mechanism, error) {
	m, err := find(tx, scanMechanism, tx.selectMechanism()+`AND id = ?`, id)
	if err != nil || m != nil {
		return m, err
	}
	if _, err := tx.Mechanisms(0); err != nil { // it is missing
		return nil, err
	}
	return nil, sqlerr.New(sqlerr.Unknown, "the mechanism was dropped")
}

// Charged returns the periods to which the mechanism over a table was charged. Those of a table with
// periods are Span, unless that is All: then an earlier dpsql, which took the zero range for all
// periods, charged it to period number 0. Such a mechanism must not be read.
func (m *Mechanism) Charged(t *Table) period.Ranges {
	if t.Period != "" && m.Span == period.All {
		return period.Ranges{period.Only(0)}
	}
	return period.Ranges{m.Span}
}

// AddMechanism stores a new mechanism with the public state that it starts from: its
// prior, which may be empty. It sets m.ID, and m.CreatedAt unless the caller did.
// The zero m.Span of a table without periods becomes All.
// Errors: Invalid when a release or mechanism has the name.
func (tx *Tx) AddMechanism(m *Mechanism, state []byte) error {
	if err := tx.checkName(m.Name); err != nil {
		return err
	}
	t, err := tx.checkTable(m.TableID)
	if err != nil {
		return err
	}
	columns, err := encodeColumns(m.Columns)
	if err != nil {
		return err
	}
	params, err := encodeJSON(m.Params)
	if err != nil {
		return err
	}
	tx.complete(t, &m.CreatedAt, &m.Span)
	sum, span := checksum(state), spanOf(m.Span)
	id, err := tx.insert(`INSERT INTO dpsql_mechanisms (name, table_id, columns, params, epsilon, rho, run_rho, updates,
		runs_started, runs_ended, comparisons, leased, period_first, period_last, state_size, state_sha256, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, FALSE, ?, ?, ?, ?, ?)`,
		m.Name, m.TableID, columns, params, m.Epsilon, m.Rho, m.RunRho, m.Updates, span.first, span.last, len(state), sum, formatTime(m.CreatedAt))
	if err != nil {
		return err
	}
	m.ID, m.Params, m.stateSize, m.stateSum = id, json.RawMessage(params), int64(len(state)), sum
	created := *m
	created.RunsStarted, created.RunsEnded, created.Comparisons, created.Run, created.Leased = 0, 0, 0, nil, false
	if err := tx.seal("dpsql_mechanisms", id, created.encoding()); err != nil {
		return err
	}
	if err := tx.addToRoll(rollMechanisms, key(id)); err != nil {
		return err
	}
	if err := tx.writePayload(ownerMechanism, id, state); err != nil {
		return err
	}
	return tx.UpdateMechanism(m)
}

// MechanismState returns the public state given to AddMechanism. Errors: Corrupt
// when it is not what was stored.
func (tx *Tx) MechanismState(m *Mechanism) ([]byte, error) {
	state, err := tx.readPayload(ownerMechanism, m.ID, m.stateSize, m.stateSum)
	if err == nil && state == nil {
		err = corrupt("the state of mechanism %s does not match its checksum", m.Name)
	}
	return state, err
}

// UpdateMechanism stores RunsStarted, Comparisons, Run and Leased.
//
// Privacy. No run may serve twice, no threshold may change under a run, and only
// EndRun ends one. So counters that fall, a run that ended and opens again, an open run
// that is missing, and a second Tau for it are refused with Internal: they are faults of
// dpsql.
func (tx *Tx) UpdateMechanism(m *Mechanism) error {
	stored, err := tx.MechanismByID(m.ID)
	if err != nil {
		return err
	}
	return tx.updateMechanism(stored, m, stored.RunsEnded)
}

// EndRun ends the run of m that is open, in m and in the catalog, and stores what
// UpdateMechanism does. A line of cost 0 in the ledger tells why the run ended.
//
// Privacy. An older copy of the file has the run open, with its τ, and would compare with
// it again. The mark of the line refuses such a copy.
func (tx *Tx) EndRun(m *Mechanism, why string) error {
	stored, err := tx.MechanismByID(m.ID)
	if err != nil {
		return err
	}
	if stored.Run == nil || m.Run == nil || *m.Run != *stored.Run {
		return sqlerr.New(sqlerr.Internal, "mechanism %s has another open run than the one that ends", m.Name)
	}
	t, err := tx.checkTable(m.TableID)
	if err != nil {
		return err
	}
	m.Run, tx.erases = nil, true
	if err := tx.updateMechanism(stored, m, stored.Run.Number); err != nil {
		return err
	}
	return tx.append(Entry{Account: t.Account, Kind: KindInteractive, Object: m.Name, Over: m.Span,
		Action: fmt.Sprintf("run %d of %d ended: %s", m.RunsEnded, m.Updates, why)})
}

func (tx *Tx) updateMechanism(stored, m *Mechanism, ended int64) error {
	if !mayFollow(stored, m, ended) {
		return sqlerr.New(sqlerr.Internal, "mechanism %s cannot go back to an earlier state", m.Name)
	}
	stored.RunsStarted, stored.RunsEnded, stored.Comparisons, stored.Run, stored.Leased = m.RunsStarted, ended, m.Comparisons, m.Run, m.Leased
	var run, tau any
	if m.Run != nil {
		run, tau = m.Run.Number, m.Run.Tau
	}
	digest := stored.encoding().Digest()
	_, err := tx.exec(`UPDATE dpsql_mechanisms SET runs_started = ?, runs_ended = ?, comparisons = ?, run = ?, tau = ?, leased = ?,
		digest = ? WHERE id = ?`, m.RunsStarted, ended, m.Comparisons, run, tau, m.Leased, digest[:], m.ID)
	if err == nil {
		m.RunsEnded = ended
	}
	return err
}

// mayFollow reports whether next may replace stored when the runs up to ended are
// over.
func mayFollow(stored, next *Mechanism, ended int64) bool {
	if next.RunsStarted < stored.RunsStarted || next.RunsStarted > stored.Updates || next.Comparisons < stored.Comparisons {
		return false
	}
	if stored.Run != nil && stored.Run.Number > ended {
		return next.Run != nil && *next.Run == *stored.Run && next.RunsStarted == stored.RunsStarted
	}
	return next.Run == nil || next.Run.Number > ended && next.Run.Number == next.RunsStarted
}

// DropMechanism ends a mechanism. Its threshold and state are deleted, its history
// stays. The caller gives unused runs back by Return. Errors: Unknown.
func (tx *Tx) DropMechanism(name string) error {
	m, err := tx.Mechanism(name)
	switch {
	case err != nil:
		return err
	case m == nil:
		return sqlerr.New(sqlerr.Unknown, "there is no mechanism %s", name)
	}
	tx.erases = m.Run != nil
	if err := tx.deletePayload(ownerMechanism, m.ID); err != nil {
		return err
	}
	_, err = tx.exec(`UPDATE dpsql_mechanisms SET dropped_at = ?, run = NULL, tau = NULL, leased = FALSE WHERE id = ?`,
		formatTime(tx.stamp()), m.ID)
	if err != nil {
		return err
	}
	return tx.removeFromRoll(rollMechanisms, key(m.ID))
}

// HistoryRow is one update of a mechanism: the query that fired, as canonical
// text, and the noisy count published for it.
type HistoryRow struct {
	Seq   int64 // 1, 2, …
	Query string
	Noisy int64
}

func (h HistoryRow) encoding(mechanism int64) ledger.Encoding {
	return ledger.Encode("history").Numbers(mechanism, h.Seq).Texts(h.Query).Numbers(h.Noisy)
}

// AppendHistory appends an update to the mechanism's history, which cannot be
// changed afterwards, and returns its number.
func (tx *Tx) AppendHistory(mechanism int64, query string, noisy int64) (seq int64, err error) {
	if _, err := tx.MechanismByID(mechanism); err != nil {
		return 0, err
	}
	last, err := tx.roll(mechanism, rollHistory)
	if err != nil {
		return 0, err
	}
	h := HistoryRow{Seq: last.Count + 1, Query: query, Noisy: noisy}
	next := last.Follow(h.encoding(mechanism))
	_, err = tx.exec(`INSERT INTO dpsql_history (mechanism, seq, query, noisy, digest) VALUES (?, ?, ?, ?, ?)`,
		mechanism, h.Seq, query, noisy, next.Sum[:])
	if err != nil {
		return 0, err
	}
	return h.Seq, tx.setRoll(mechanism, rollHistory, next)
}

// History lists the mechanism's updates from number from on, in order. Errors: Corrupt
// when one of them is missing or not as it was written.
func (tx *Tx) History(mechanism, from int64) ([]HistoryRow, error) {
	from = max(1, from)
	var last ledger.Roll // the row before
	var all []HistoryRow
	err := each(tx, func(row record) error {
		var h HistoryRow
		var digest []byte
		if err := row.Scan(&h.Seq, &h.Query, &h.Noisy, &digest); err != nil {
			return err
		}
		next := ledger.Roll{Count: h.Seq}
		copy(next.Sum[:], digest)
		if h.Seq >= from {
			if next != last.Follow(h.encoding(mechanism)) {
				return corrupt("update %d of the mechanism's history does not match its checksum", h.Seq)
			}
			all = append(all, h)
		}
		last = next
		return nil
	}, `SELECT seq, query, noisy, digest FROM dpsql_history WHERE mechanism = ? AND seq >= ? ORDER BY seq`, mechanism, from-1)
	if err != nil {
		return nil, err
	}
	end, err := tx.roll(mechanism, rollHistory)
	if err == nil && end != last {
		err = corrupt("update %d of the mechanism's history is missing", min(last.Count, end.Count)+1)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}
