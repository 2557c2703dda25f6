package catalog

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"dpsql/accounting"
	"dpsql/catalog/internal/ledger"
	"dpsql/internal/period"
	"dpsql/sqlerr"
)

// Mechanism is the record of an interactive mechanism: what it reserved, how much of
// that was used, and the run that is open, if any.
type Mechanism struct {
	ID          int64              `json:"-"`
	Name        string             `json:"-"`
	TableID     int64              `json:"-"`
	Table       string             `json:"-"`       // the table's name; filled in when read
	Columns     []int              `json:"columns"` // the table's columns it covers, ascending; nil for all
	Params      json.RawMessage    `json:"params"`
	Epsilon     accounting.Epsilon `json:"epsilon"` // as declared
	Rho         accounting.Rho     `json:"rho"`     // reserved at its creation
	RunRho      accounting.Rho     `json:"run_rho"` // what one run costs, of Rho
	Updates     int64              `json:"updates"` // B, the runs reserved
	RunsStarted int64              `json:"-"`       // charged, 0 … Updates
	RunsEnded   int64              `json:"-"`       // the last run that was open and has ended; EndRun maintains it
	Comparisons int64              `json:"-"`       // made so far, those of open runs included
	Run         *OpenRun           `json:"-"`       // nil between runs
	Leased      bool               `json:"-"`       // a process makes comparisons, or died making them
	Span        period.Range       `json:"periods"` // the periods whose rows it reads, and that it was charged to; All without periods
	CreatedAt   time.Time          `json:"created_at"`
	StateSize   int64              `json:"state_size"`   // in bytes
	StateSHA256 checksum           `json:"state_sha256"` // of the state
}

// OpenRun is a run of the sparse vector technique that has not fired. Tau is the noise
// of its threshold, which is as secret as a row.
type OpenRun struct {
	Number int64 `json:"number"`
	Tau    int64 `json:"tau"`
}

// runCounter has what changes with every run. It is an object of its own, whose parent is the mechanism.
type runCounter struct {
	id          int64
	Started     int64    `json:"runs_started"`
	Ended       int64    `json:"runs_ended"`
	Comparisons int64    `json:"comparisons"`
	Run         *OpenRun `json:"run"`
	Leased      bool     `json:"leased"`
}

func counterFrom(o *object, c *runCounter) (runCounter, error) {
	c.id = o.id
	return *c, nil
}

func (m *Mechanism) counter(ended int64) *runCounter {
	return &runCounter{Started: m.RunsStarted, Ended: ended, Comparisons: m.Comparisons, Run: m.Run, Leased: m.Leased}
}

// runCounter returns the counter of a mechanism.
func (tx *Tx) runCounter(mechanism int64) (*runCounter, error) {
	c, err := one(tx, kindCounter, childOf(mechanism), counterFrom)
	if err == nil && c == nil {
		err = corrupt("the runs of mechanism %d are missing from the catalog", mechanism)
	}
	return c, err
}

// mechanismFrom returns the function that makes a mechanism of its object.
func (tx *Tx) mechanismFrom() func(*object, *Mechanism) (Mechanism, error) {
	return func(o *object, m *Mechanism) (found Mechanism, err error) {
		m.ID, m.Name, m.TableID = o.id, o.name, o.parent
		if m.Table, err = tx.nameOfTable(o); err != nil {
			return found, err
		}
		c, err := tx.runCounter(o.id)
		if err != nil {
			return found, err
		}
		m.RunsStarted, m.RunsEnded, m.Comparisons, m.Run, m.Leased = c.Started, c.Ended, c.Comparisons, c.Run, c.Leased
		if !m.consistent() {
			return found, corrupt("the counters of mechanism %s contradict each other", m.Name)
		}
		return *m, nil
	}
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

// Mechanisms lists the mechanisms of a table by name, of all tables when table
// is 0.
func (tx *Tx) Mechanisms(table int64) ([]Mechanism, error) {
	found, err := all(tx, kindMechanism, tx.mechanismFrom())
	return slices.DeleteFunc(found, func(m Mechanism) bool { return table != 0 && m.TableID != table }), err
}

// Mechanism returns the mechanism of that name, nil when there is none.
func (tx *Tx) Mechanism(name string) (*Mechanism, error) {
	return one(tx, kindMechanism, named(name), tx.mechanismFrom())
}

// MechanismByID returns the mechanism with the id. Errors: Unknown when it was
// dropped.
func (tx *Tx) MechanismByID(id int64) (*Mechanism, error) {
	m, err := one(tx, kindMechanism, withID(id), tx.mechanismFrom())
	if err == nil && m == nil {
		err = sqlerr.New(sqlerr.Unknown, "the mechanism was dropped")
	}
	return m, err
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
	if m.Params, err = compact(m.Params); err != nil {
		return err
	}
	if err := tx.complete(t, &m.CreatedAt, &m.Span); err != nil {
		return err
	}
	m.StateSize, m.StateSHA256 = int64(len(state)), sha256.Sum256(state)
	if m.ID, err = tx.create(kindMechanism, m.Name, m.TableID, m); err != nil {
		return err
	}
	if _, err := tx.create(kindCounter, "", m.ID, &runCounter{}); err != nil {
		return err
	}
	if err := tx.writePayload(m.ID, state); err != nil {
		return err
	}
	return tx.UpdateMechanism(m)
}

// MechanismState returns the public state given to AddMechanism. Errors: Corrupt
// when it is not what was stored.
func (tx *Tx) MechanismState(m *Mechanism) ([]byte, error) {
	state, err := tx.readPayload(m.ID, m.StateSize, m.StateSHA256)
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
	c, err := tx.runCounter(m.ID)
	if err == nil {
		err = tx.replace(kindCounter, c.id, m.counter(ended))
	}
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
	if err := tx.deletePayload(m.ID); err != nil {
		return err
	}
	c, err := tx.runCounter(m.ID)
	if err != nil {
		return err
	}
	m.Run, m.Leased = nil, false
	if err := tx.replace(kindCounter, c.id, m.counter(m.RunsEnded)); err != nil {
		return err
	}
	if err := tx.drop(kindCounter, c.id); err != nil {
		return err
	}
	return tx.drop(kindMechanism, m.ID)
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
