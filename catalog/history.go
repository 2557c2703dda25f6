package catalog

// HistoryRow is one update of a mechanism: the query that fired, as canonical
// text, and the noisy count published for it.
type HistoryRow struct {
	Seq   int64 // 1, 2, …
	Query string
	Noisy int64
}

// AppendHistory appends an update to the mechanism's history, which cannot be
// changed afterwards, and returns its number.
func (tx *Tx) AppendHistory(mechanism int64, query string, noisy int64) (seq int64, err error) {
	if _, err := tx.MechanismByID(mechanism); err != nil {
		return 0, err
	}
	last, err := find(tx, scanInt, `SELECT COALESCE(MAX(seq), 0) FROM dpsql_history WHERE mechanism = ?`, mechanism)
	if err != nil {
		return 0, err
	}
	seq = *last + 1 // an aggregate always has a row
	_, err = tx.exec(`INSERT INTO dpsql_history (mechanism, seq, query, noisy) VALUES (?, ?, ?, ?)`, mechanism, seq, query, noisy)
	return seq, err
}

// History lists the mechanism's updates numbered from or more, in order.
func (tx *Tx) History(mechanism, from int64) ([]HistoryRow, error) {
	return list(tx, scanHistory, `SELECT seq, query, noisy FROM dpsql_history WHERE mechanism = ? AND seq >= ? ORDER BY seq`, mechanism, from)
}

func scanHistory(row scanner) (h HistoryRow, err error) {
	err = row.Scan(&h.Seq, &h.Query, &h.Noisy)
	return h, err
}
