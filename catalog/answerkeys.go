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
	return keyOf(sum[:])
}

func keyOf(sum []byte) uint64 { return binary.BigEndian.Uint64(sum) }

// AnswersRead remembers which answers AnswerKeys has read; at first none.
type AnswersRead struct {
	last int64 // the highest id
	roll roll
}

// AnswerKeys calls f for the stored answers that were not read yet, in order
// and limit at most. Answers are never changed or deleted, and get ascending
// ids. Errors: Corrupt when some are missing, or are not for the queries they
// were stored for.
func (tx *Tx) AnswerKeys(read *AnswersRead, limit int, f func(AnswerKey)) error {
	n := 0
	err := each(tx, func(row record) error {
		var k AnswerKey
		var sum []byte
		if err := row.Scan(&k.ID, &k.TableID, &sum); err != nil {
			return err
		}
		if len(sum) < 8 {
			return corrupt("a stored answer cannot be read")
		}
		k.Key = keyOf(sum)
		read.last, read.roll = k.ID, read.roll.with(answerKey(k.ID, k.TableID, sum), 1)
		n++
		f(k)
		return nil
	}, `SELECT id, table_id, sha256 FROM dpsql_answers NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?`, read.last, limit)
	if err != nil || n == limit || tx.version < sealedVersion {
		return err
	}
	stored, err := tx.roll(0, rollAnswers)
	if err != nil || n == 0 && stored.count < read.roll.count {
		return err // what was read before is of a later snapshot
	}
	return stored.compare(rollAnswers, read.roll)
}
