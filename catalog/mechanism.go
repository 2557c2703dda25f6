package catalog

import (
	"encoding/json"
	"time"

	"dpsql/accounting"
	"dpsql/sqlerr"
)

// Mechanism is an interactive mechanism: what it reserved, how far it is, and
// the run that is open, if any.
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
	RunsEnded   int64              // the last run that was open and is no longer; kept by UpdateMechanism
	Comparisons int64              // made so far, with those of open runs
	Run         *OpenRun           // nil between runs
	Leased      bool               // a process is, or died, making comparisons
	CreatedAt   time.Time

	stateSize int64
	stateSum  []byte
}

// OpenRun is a run of the sparse vector technique that has not fired. Tau is
// the noise of its threshold; it is as secret as a row.
type OpenRun struct{ Number, Tau int64 }

const selectMechanism = `SELECT m.id, m.name, m.table_id, t.name, m.columns, m.params, m.epsilon, m.rho, m.run_rho, m.updates,
	m.runs_started, m.runs_ended, m.comparisons, m.run, m.tau, m.leased, m.created_at, m.state_size, m.state_sha256
	FROM dpsql_mechanisms m JOIN dpsql_tables t ON t.id = m.table_id WHERE m.dropped_at IS NULL `

func scanMechanism(row scanner) (m Mechanism, err error) {
	var columns, params, at string
	var run, tau *int64
	err = row.Scan(&m.ID, &m.Name, &m.TableID, &m.Table, &columns, &params, &m.Epsilon, &m.Rho, &m.RunRho, &m.Updates,
		&m.RunsStarted, &m.RunsEnded, &m.Comparisons, &run, &tau, &m.Leased, &at, &m.stateSize, &m.stateSum)
	if err != nil {
		return m, err
	}
	if run != nil && tau != nil {
		m.Run = &OpenRun{Number: *run, Tau: *tau}
	}
	m.Params = json.RawMessage(params)
	if m.Columns, err = decodeColumns(columns); err != nil {
		return m, err
	}
	m.CreatedAt, err = parseTime(at)
	return m, err
}

// Mechanisms lists the mechanisms of a table by name, of all tables when table
// is 0.
func (tx *Tx) Mechanisms(table int64) ([]Mechanism, error) {
	return list(tx, scanMechanism, selectMechanism+`AND ? IN (0, m.table_id) ORDER BY m.name`, table)
}

// Mechanism returns the mechanism of that name, nil when there is none.
func (tx *Tx) Mechanism(name string) (*Mechanism, error) {
	return find(tx, scanMechanism, selectMechanism+`AND m.name = ?`, name)
}

// MechanismByID returns the mechanism with the id. Errors: Unknown when it was
// dropped.
func (tx *Tx) MechanismByID(id int64) (*Mechanism, error) {
	m, err := find(tx, scanMechanism, selectMechanism+`AND m.id = ?`, id)
	if err == nil && m == nil {
		err = sqlerr.New(sqlerr.Unknown, "the mechanism was dropped")
	}
	return m, err
}

// AddMechanism stores a new mechanism, with the public state it starts from
// (its prior; may be empty), and sets m.ID, and m.CreatedAt unless the caller
// did. Errors: Invalid when a release or mechanism has the name.
func (tx *Tx) AddMechanism(m *Mechanism, state []byte) error {
	if err := tx.checkName(m.Name); err != nil {
		return err
	}
	if err := tx.checkTable(m.TableID); err != nil {
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
	if m.CreatedAt.IsZero() {
		m.CreatedAt = tx.stamp()
	}
	sum := checksum(state)
	id, err := tx.insert(`INSERT INTO dpsql_mechanisms (name, table_id, columns, params, epsilon, rho, run_rho, updates,
		runs_started, runs_ended, comparisons, leased, state_size, state_sha256, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, FALSE, ?, ?, ?)`,
		m.Name, m.TableID, columns, params, m.Epsilon, m.Rho, m.RunRho, m.Updates, len(state), sum, formatTime(m.CreatedAt))
	if err != nil {
		return err
	}
	m.ID, m.stateSize, m.stateSum = id, int64(len(state)), sum
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

// UpdateMechanism stores RunsStarted, Comparisons, Run and Leased, and keeps
// RunsEnded. Privacy needs that no run serves twice and no threshold changes
// under a run, so counters that fall, a run that ended and opens again, and a
// second Tau for an open run are refused (Internal): they are faults of dpsql.
func (tx *Tx) UpdateMechanism(m *Mechanism) error {
	stored, err := tx.MechanismByID(m.ID)
	if err != nil {
		return err
	}
	ended := stored.RunsEnded
	if stored.Run != nil && (m.Run == nil || m.Run.Number != stored.Run.Number) {
		ended = stored.Run.Number
	}
	if !follows(stored, m, ended) {
		return sqlerr.New(sqlerr.Internal, "mechanism %s cannot go back to an earlier state", m.Name)
	}
	var run, tau any
	if m.Run != nil {
		run, tau = m.Run.Number, m.Run.Tau
	}
	_, err = tx.exec(`UPDATE dpsql_mechanisms SET runs_started = ?, runs_ended = ?, comparisons = ?, run = ?, tau = ?, leased = ?
		WHERE id = ?`, m.RunsStarted, ended, m.Comparisons, run, tau, m.Leased, m.ID)
	if err == nil {
		m.RunsEnded = ended
	}
	return err
}

// follows reports whether next may come after stored, when the runs up to ended
// are over.
func follows(stored, next *Mechanism, ended int64) bool {
	if next.RunsStarted < stored.RunsStarted || next.RunsStarted > stored.Updates || next.Comparisons < stored.Comparisons {
		return false
	}
	if next.Run == nil {
		return true
	}
	if stored.Run != nil && stored.Run.Number == next.Run.Number && stored.Run.Tau != next.Run.Tau {
		return false
	}
	return next.Run.Number > ended && next.Run.Number == next.RunsStarted
}

// DropMechanism ends a mechanism: no threshold and no state stay. Its history
// stays on record; giving unused runs back is the caller's Return. Errors:
// Unknown.
func (tx *Tx) DropMechanism(name string) error {
	m, err := tx.Mechanism(name)
	switch {
	case err != nil:
		return err
	case m == nil:
		return sqlerr.New(sqlerr.Unknown, "there is no mechanism %s", name)
	}
	if err := tx.deletePayload(ownerMechanism, m.ID); err != nil {
		return err
	}
	_, err = tx.exec(`UPDATE dpsql_mechanisms SET dropped_at = ?, run = NULL, tau = NULL, leased = FALSE WHERE id = ?`,
		formatTime(tx.stamp()), m.ID)
	return err
}
