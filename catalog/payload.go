package catalog

import (
	"bytes"
	"crypto/sha256"
)

// The owners of payloads.
const (
	ownerRelease   = "release"
	ownerMechanism = "mechanism"
)

// maxPart keeps each stored part, and SQLite's copy of it in memory, far below
// the engine's limit of 10^9 bytes a value.
const maxPart = 16 << 20

func checksum(payload []byte) []byte {
	sum := sha256.Sum256(payload)
	return sum[:]
}

func (tx *Tx) writePayload(owner string, id int64, payload []byte) error {
	for part := 0; len(payload) > 0; part++ {
		n := min(tx.store.partSize, len(payload))
		_, err := tx.exec(`INSERT INTO dpsql_payloads (owner, owner_id, part, data) VALUES (?, ?, ?, ?)`,
			owner, id, part, payload[:n])
		if err != nil {
			return err
		}
		payload = payload[n:]
	}
	return nil
}

// readPayload returns the stored bytes, and nil when they are not size bytes
// with that checksum.
func (tx *Tx) readPayload(owner string, id, size int64, sum []byte) ([]byte, error) {
	parts, err := list(tx, scanBytes, `SELECT data FROM dpsql_payloads WHERE owner = ? AND owner_id = ? ORDER BY part`, owner, id)
	if err != nil {
		return nil, err
	}
	payload := []byte{}
	if len(parts) == 1 {
		payload = parts[0]
	} else {
		payload = bytes.Join(parts, nil)
	}
	if int64(len(payload)) != size || !bytes.Equal(checksum(payload), sum) {
		return nil, nil
	}
	return nonNil(payload), nil
}

func (tx *Tx) deletePayload(owner string, id int64) error {
	_, err := tx.exec(`DELETE FROM dpsql_payloads WHERE owner = ? AND owner_id = ?`, owner, id)
	return err
}

func scanBytes(row record) (data []byte, err error) {
	err = row.Scan(&data)
	return data, err
}
