package post

import (
	"cmp"
	"math"
	"math/big"
)

// compare orders two values as SQLite does: NULL, numbers by value, texts byte
// by byte.
func compare(a, b any) int {
	if c := cmp.Compare(class(a), class(b)); c != 0 || a == nil {
		return c
	}
	switch a := a.(type) {
	case string:
		return cmp.Compare(a, b.(string))
	case int64:
		if n, ok := b.(int64); ok {
			return cmp.Compare(a, n)
		}
		return compareMixed(a, b.(float64))
	case float64:
		if n, ok := b.(int64); ok {
			return -compareMixed(n, a)
		}
		return cmp.Compare(a, b.(float64))
	}
	return 0
}

func class(v any) int {
	switch v.(type) {
	case nil:
		return 0
	case string:
		return 2
	}
	return 1
}

// compareMixed compares exactly: not every integer is a float64.
func compareMixed(n int64, x float64) int {
	if math.IsInf(x, 0) {
		return cmp.Compare(0, x)
	}
	return new(big.Float).SetInt64(n).Cmp(big.NewFloat(x))
}

// known is SQL's three-valued truth.
type known uint8

const (
	unknown known = iota
	no
	yes
)

// truth reads a value as a condition. No text gets here.
func truth(v any) known {
	switch v := v.(type) {
	case int64:
		return of(v != 0)
	case float64:
		return of(v != 0)
	}
	return unknown
}

func of(b bool) known {
	if b {
		return yes
	}
	return no
}

// value writes a truth as SQLite does: 1, 0 or NULL.
func (k known) value() any {
	switch k {
	case yes:
		return int64(1)
	case no:
		return int64(0)
	}
	return nil
}

func (k known) not() known {
	switch k {
	case yes:
		return no
	case no:
		return yes
	}
	return unknown
}

// toReal returns a number as a float64; NULL and texts are 0.
func toReal(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// toInteger returns a number cut to an integer, saturating, as SQLite does
// before %.
func toInteger(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case float64:
		switch {
		case v >= math.MaxInt64:
			return math.MaxInt64
		case v <= math.MinInt64:
			return math.MinInt64
		}
		return int64(v)
	}
	return 0
}

// real64 returns a float64 as a value: SQLite has no NaN.
func real64(x float64) any {
	if math.IsNaN(x) {
		return nil
	}
	return x
}
