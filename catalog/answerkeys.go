package catalog

import (
	"crypto/sha256"
	"encoding/binary"
)

// AnswerKey says, in eight bytes of a digest, that a query on a table may have
// a stored answer. Two queries share a key with probability 2^-64.
type AnswerKey struct {
	ID, TableID int64 // of the answer, and of its table
	Key         uint64
}

// KeyOf returns the Key that answers to a query have, given as canonical text.
func KeyOf(query string) uint64 {
	sum := sha256.Sum256([]byte(query))
	return binary.BigEndian.Uint64(sum[:8])
}

// AnswerKeys calls f for the stored answers with an id above after, in order
// and limit at most. Answers are never changed or deleted, and get ascending ids.
func (tx *Tx) AnswerKeys(after int64, limit int, f func(AnswerKey)) error {
	return each(tx, func(row record) error {
		var k AnswerKey
		var sum []byte
		if err := row.Scan(&k.ID, &k.TableID, &sum); err != nil {
			return err
		}
		if len(sum) < 8 {
			return corrupt("a stored answer cannot be read")
		}
		k.Key = binary.BigEndian.Uint64(sum)
		f(k)
		return nil
	}, `SELECT id, table_id, sha256 FROM dpsql_answers WHERE id > ? ORDER BY id LIMIT ?`, after, limit)
}
