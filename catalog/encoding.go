package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
)

// encoding is the canonical form of a record, of which its digest is the
// SHA-256: what kind of record it is, then its values in a fixed order, numbers
// as 8 bytes and texts after their length. Two records of a kind have the same
// encoding only if all their values are equal; lists say how long they are.
type encoding []byte

func encode(kind string) encoding { return encoding(nil).texts("dpsql " + kind + " 1") }

func (e encoding) numbers(all ...int64) encoding {
	for _, n := range all {
		e = binary.BigEndian.AppendUint64(e, uint64(n))
	}
	return e
}

func (e encoding) texts(all ...string) encoding {
	for _, s := range all {
		e = append(e.numbers(int64(len(s))), s...)
	}
	return e
}

// flag adds whether something is there.
func (e encoding) flag(is bool) encoding {
	if is {
		return e.numbers(1)
	}
	return e.numbers(0)
}

// columns adds column indexes; nil, which means all, differs from none.
func (e encoding) columns(all []int) encoding {
	e = e.flag(all != nil).numbers(int64(len(all)))
	for _, c := range all {
		e = e.numbers(int64(c))
	}
	return e
}

func (e encoding) digest() [32]byte { return sha256.Sum256(e) }

// verify compares a record with the digest that was stored with it.
func verify(what string, e encoding, stored []byte) error {
	digest := e.digest()
	if bytes.Equal(digest[:], stored) {
		return nil
	}
	return corrupt("the record of %s does not match its checksum", what)
}

// seal stores the digest of a record that was just written.
func (tx *Tx) seal(table string, id int64, e encoding) error {
	digest := e.digest()
	_, err := tx.exec(`UPDATE `+table+` SET digest = ? WHERE id = ?`, digest[:], id)
	return err
}
