package catalog

import (
	"dpsql/catalog/internal/ledger"
)

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

// History lists the mechanism's updates numbered from or more, in order.
// Errors: Corrupt when one of them is not as it was written, or missing.
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
