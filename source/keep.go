package source

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"dpsql/query"
)

// keeper keeps at most L rows of each unit. It is given the rows inside the
// declared domains, those of a unit one after the other, and yields the ones
// that are kept.
//
// Every row of a unit has a rank, the HMAC-SHA256 of the unit, the row's
// canonical values and its number among the unit's rows equal to it, and the L
// rows of the lowest ranks are kept. So what is kept of a unit is a function of
// the key, the unit and the multiset of its rows, and of nothing else: not of
// their order or rowids, of other units, or of the query. The unit is part of
// it so that each draws its own sample: were the ranks those of the values
// alone, all units would keep the same few values and lose the others. A unit that comes or goes therefore takes at
// most L kept rows with it and leaves all others as they are, which bounds the
// change of a count of weights up to W by L·W, and of the cells by L in ℓ1.
type keeper struct {
	limit int64
	yield func([]query.Value)
	mac   hash.Hash

	unit   unit              // whose rows are coming; the zero unit before the first
	rows   []ranked          // of the unit; once seen is not nil a heap, the highest rank first
	seen   map[string]uint64 // how often each row came; nil while there are no more than L
	buffer []byte
}

// ranked is a row and, once its unit has more than L, its rank.
type ranked struct {
	rank  [sha256.Size]byte
	tuple []query.Value
}

func newKeeper(t Table, yield func([]query.Value)) *keeper {
	return &keeper{limit: t.MaxRows, yield: yield, mac: hmac.New(sha256.New, t.Key)}
}

// add takes a row of a unit. The tuple may be reused afterwards.
func (k *keeper) add(u unit, tuple []query.Value) {
	if u != k.unit {
		k.flush()
		k.unit = u
	}
	if int64(len(k.rows)) < k.limit {
		k.append(tuple)
		return
	}
	if k.seen == nil {
		k.rankAll()
	}
	if rank := k.rank(tuple); bytes.Compare(rank[:], k.rows[0].rank[:]) < 0 {
		k.rows[0].rank = rank
		copy(k.rows[0].tuple, tuple)
		k.sink(0)
	}
}

// flush yields the rows kept of the unit and forgets them.
func (k *keeper) flush() {
	for _, r := range k.rows {
		k.yield(r.tuple)
	}
	k.rows, k.seen = k.rows[:0], nil
}

// append adds a copy of the row, in the memory of an earlier unit's if it can.
func (k *keeper) append(tuple []query.Value) {
	n := len(k.rows)
	if n == cap(k.rows) {
		k.rows = append(k.rows, ranked{})
	}
	k.rows = k.rows[:n+1]
	k.rows[n].tuple = append(k.rows[n].tuple[:0], tuple...)
}

// rankAll ranks the first L rows of a unit when it turns out to have more.
func (k *keeper) rankAll() {
	k.seen = make(map[string]uint64)
	for i := range k.rows {
		k.rows[i].rank = k.rank(k.rows[i].tuple)
	}
	for i := len(k.rows)/2 - 1; i >= 0; i-- {
		k.sink(i)
	}
}

// rank returns the rank of the next row of the unit.
func (k *keeper) rank(tuple []query.Value) (rank [sha256.Size]byte) {
	k.buffer = appendCanonical(k.unit.appendTo(k.buffer[:0]), tuple)
	earlier := k.seen[string(k.buffer)]
	k.seen[string(k.buffer)] = earlier + 1
	k.buffer = binary.BigEndian.AppendUint64(k.buffer, earlier)
	k.mac.Reset()
	k.mac.Write(k.buffer)
	k.mac.Sum(rank[:0])
	return rank
}

// sink restores the heap below position i.
func (k *keeper) sink(i int) {
	for {
		highest := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(k.rows); child++ {
			if bytes.Compare(k.rows[child].rank[:], k.rows[highest].rank[:]) > 0 {
				highest = child
			}
		}
		if highest == i {
			return
		}
		k.rows[i], k.rows[highest] = k.rows[highest], k.rows[i]
		i = highest
	}
}

// appendCanonical appends an encoding of the values that no other values of as
// many columns share, nor begin with. It must not change: the rows kept, and so
// all true counts, depend on it.
func appendCanonical(buffer []byte, tuple []query.Value) []byte {
	for _, v := range tuple {
		switch {
		case v.IsNull():
			buffer = append(buffer, 0)
		case v.IsInt():
			buffer = binary.BigEndian.AppendUint64(append(buffer, 1), uint64(v.Int64()))
		default:
			buffer = binary.AppendUvarint(append(buffer, 2), uint64(len(v.Str())))
			buffer = append(buffer, v.Str()...)
		}
	}
	return buffer
}
