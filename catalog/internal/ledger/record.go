package ledger

import (
	"crypto/sha256"
	"encoding/binary"
)

// Encoding is the canonical form of a record: what kind of record it is, then its
// values in a fixed order, numbers as 8 bytes and texts after their length. Two
// records of a kind have the same encoding only if all their values are equal;
// lists say how long they are.
type Encoding []byte

// Encode begins the encoding of a record of a kind.
func Encode(kind string) Encoding { return Encoding(nil).Texts("dpsql " + kind + " 1") }

// Numbers adds numbers.
func (e Encoding) Numbers(all ...int64) Encoding {
	for _, n := range all {
		e = binary.BigEndian.AppendUint64(e, uint64(n))
	}
	return e
}

// Texts adds texts, each after its length.
func (e Encoding) Texts(all ...string) Encoding {
	for _, s := range all {
		e = append(e.Numbers(int64(len(s))), s...)
	}
	return e
}

// Flag adds whether something is there.
func (e Encoding) Flag(present bool) Encoding {
	if present {
		return e.Numbers(1)
	}
	return e.Numbers(0)
}

// Columns adds column indexes; nil, which means all, differs from none.
func (e Encoding) Columns(all []int) Encoding {
	e = e.Flag(all != nil).Numbers(int64(len(all)))
	for _, c := range all {
		e = e.Numbers(int64(c))
	}
	return e
}

// Digest returns the SHA-256 of the encoding.
func (e Encoding) Digest() [32]byte { return sha256.Sum256(e) }

// Roll says which records there are: how many, and a digest over them. The roll
// of a set has the exclusive or of the digests of its keys, so that records can
// join and leave in any order. The roll of a chain has the digest of its last
// record.
type Roll struct {
	Count int64
	Sum   [sha256.Size]byte
}

// RollOf returns the roll of a set of records with these keys.
func RollOf[T any](all []T, key func(*T) string) (r Roll) {
	for i := range all {
		r = r.With(key(&all[i]))
	}
	return r
}

// With returns the roll with a key that it does not have yet.
func (r Roll) With(key string) Roll { return r.toggle(key, 1) }

// Without returns the roll without a key that it has.
func (r Roll) Without(key string) Roll { return r.toggle(key, -1) }

func (r Roll) toggle(key string, count int64) Roll {
	r.Count += count
	for i, b := range Encode("key").Texts(key).Digest() {
		r.Sum[i] ^= b
	}
	return r
}

// Follow returns the roll of a chain of records after one more: the digest of a
// record covers that of the record before it.
func (r Roll) Follow(e Encoding) Roll {
	return Roll{Count: r.Count + 1, Sum: append(e, r.Sum[:]...).Digest()}
}
