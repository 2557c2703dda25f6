package catalog

// HistoryRow is one update of a mechanism: the query that fired, as canonical
// text, and the noisy count published for it.
type HistoryRow struct {
	Seq   int64 // 1, 2, …
	Query string
	Noisy int64
}

// follow returns the roll of a mechanism's history after one more row: the
// digest of a row covers that of the row before it.
func (h HistoryRow) follow(mechanism int64, before roll) roll {
	e := encode("history").numbers(mechanism, h.Seq).texts(h.Query).numbers(h.Noisy)
	return roll{count: before.count + 1, sum: append(e, before.sum[:]...).digest()}
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
	h := HistoryRow{Seq: last.count + 1, Query: query, Noisy: noisy}
	next := h.follow(mechanism, last)
	_, err = tx.exec(`INSERT INTO dpsql_history (mechanism, seq, query, noisy, digest) VALUES (?, ?, ?, ?, ?)`,
		mechanism, h.Seq, query, noisy, next.sum[:])
	if err != nil {
		return 0, err
	}
	return h.Seq, tx.setRoll(mechanism, rollHistory, next)
}

// History lists the mechanism's updates numbered from or more, in order.
// Errors: Corrupt when one of them is not as it was written, or missing.
func (tx *Tx) History(mechanism, from int64) ([]HistoryRow, error) {
	from = max(1, from)
	var last roll // the row before
	var all []HistoryRow
	err := each(tx, func(row record) error {
		var h HistoryRow
		var digest []byte
		if err := row.Scan(&h.Seq, &h.Query, &h.Noisy, &digest); err != nil {
			return err
		}
		next := roll{count: h.Seq}
		copy(next.sum[:], digest)
		if h.Seq >= from {
			if next != h.follow(mechanism, last) {
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
		err = corrupt("update %d of the mechanism's history is missing", min(last.count, end.count)+1)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}
