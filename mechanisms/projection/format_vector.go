package projection

import (
	"encoding/binary"
	"math"
)

// encodeVector writes the bytes of a word (1, 2, 4 or 8), a word for every
// coordinate, the lowest word standing for one that does not fit, and then those
// coordinates in order as 64-bit numbers.
func encodeVector(v vector) []byte {
	width := v.width()
	out := make([]byte, 1, 1+v.len()*uint64(width))
	out[0] = byte(width)
	if c, ok := v.(*compact[int8]); ok {
		return encodeBytes(out, c)
	}
	var large []int64
	for i := range v.len() {
		x := v.at(i)
		if isWord(x, width) {
			out = appendWord(out, x, width)
			continue
		}
		out = appendWord(out, lowest(width), width)
		large = append(large, x)
	}
	for _, x := range large {
		out = binary.LittleEndian.AppendUint64(out, uint64(x))
	}
	return out
}

// decodeVector reads a vector of n coordinates. It accepts only what
// encodeVector writes.
func decodeVector(n uint64, b []byte) (vector, error) {
	if len(b) == 0 {
		return nil, damaged("its sketch is missing")
	}
	width := int(b[0])
	b = b[1:]
	switch width {
	default:
		return nil, damaged("its sketch has words of an unknown size")
	case 1, 2, 4, 8:
	}
	if n > uint64(len(b))/uint64(width) {
		return nil, damaged("its sketch is cut short")
	}
	v := newVector(n, width)
	words, large := b[:n*uint64(width)], b[n*uint64(width):]
	if c, ok := v.(*compact[int8]); ok {
		return decodeBytes(c, words, large)
	}
	for i := range n {
		x := wordAt(words, i, width)
		if x == lowest(width) {
			if len(large) < 8 {
				return nil, damaged("its sketch is cut short")
			}
			x, large = int64(binary.LittleEndian.Uint64(large)), large[8:]
			if isWord(x, width) {
				return nil, damaged("its sketch is not in normal form")
			}
		}
		if !v.add(i, x) {
			return nil, damaged("a coordinate of its sketch is out of range")
		}
	}
	if len(large) > 0 {
		return nil, damaged("its sketch is too long")
	}
	return v, nil
}

// encodeBytes is encodeVector for words of one byte, which nearly all sketches
// have.
func encodeBytes(out []byte, c *compact[int8]) []byte {
	var large []byte
	for i, w := range c.words {
		out = append(out, byte(w))
		if int64(w) == c.escape {
			large = binary.LittleEndian.AppendUint64(large, uint64(c.large[uint64(i)]))
		}
	}
	return append(out, large...)
}

// decodeBytes is decodeVector for words of one byte.
func decodeBytes(c *compact[int8], words, large []byte) (vector, error) {
	for i, b := range words {
		c.words[i] = int8(b)
		if int64(int8(b)) != c.escape {
			continue
		}
		if len(large) < 8 {
			return nil, damaged("its sketch is cut short")
		}
		x := int64(binary.LittleEndian.Uint64(large))
		large = large[8:]
		if isWord(x, 1) || x == math.MinInt64 {
			return nil, damaged("its sketch is not in normal form")
		}
		c.large[uint64(i)] = x
	}
	if len(large) > 0 {
		return nil, damaged("its sketch is too long")
	}
	return c, nil
}

// isWord reports whether x is stored as a word of its own.
func isWord(x int64, width int) bool {
	low := lowest(width)
	return x > low && x <= -(low+1)
}

func appendWord(out []byte, x int64, width int) []byte {
	switch width {
	case 1:
		return append(out, byte(x))
	case 2:
		return binary.LittleEndian.AppendUint16(out, uint16(x))
	case 4:
		return binary.LittleEndian.AppendUint32(out, uint32(x))
	}
	return binary.LittleEndian.AppendUint64(out, uint64(x))
}

func wordAt(b []byte, i uint64, width int) int64 {
	switch width {
	case 1:
		return int64(int8(b[i]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b[2*i:])))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return int64(binary.LittleEndian.Uint64(b[8*i:]))
}
