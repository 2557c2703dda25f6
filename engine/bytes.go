package engine

import (
	"math"
	"strconv"
	"strings"

	"dpsql/sqlerr"
	"dpsql/sqlfront"
)

// units are the units of sizes in memory.
var units = []struct {
	name string
	size float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}}

// bytes returns a size in memory: a number of bytes, or a text as '64 MiB'.
func (o *options) bytes(name string, otherwise, lo, hi int64) int64 {
	option := o.find(name)
	if option == nil {
		return otherwise
	}
	text, unit := strings.TrimSpace(option.Value), 1.0
	for _, u := range units {
		if n := len(text) - len(u.name); option.Kind != sqlfront.Number && n > 0 && strings.EqualFold(text[n:], u.name) {
			text, unit = strings.TrimSpace(text[:n]), u.size
			break
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	if x *= unit; err != nil || x != math.Trunc(x) || x < float64(lo) || x > float64(hi) {
		o.fail(sqlerr.New(sqlerr.Invalid, "%s must be a size from %d to %d bytes", name, lo, hi).
			WithHint("%s = %d, or %[1]s = '64 MiB'", name, otherwise), option.Position)
		return otherwise
	}
	return int64(x)
}
