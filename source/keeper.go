package source

import "dpsql/query"

// Keeper chooses the rows that are kept of each unit, for readers of other
// databases. It keeps at most MaxRows rows of a unit in memory, and the number
// of each of its distinct rows.
type Keeper struct{ keeper *keeper }

// NewKeeper returns a keeper for a table with a unit, which calls yield with the
// canonical values of each row that is kept. The values are good until it
// returns.
func NewKeeper(t Table, yield func([]query.Value)) Keeper { return Keeper{newKeeper(t, yield)} }

// Add takes a row inside the declared domains, with all its canonical values,
// which may be reused afterwards. The rows of a unit come one after the other;
// the unit is an INTEGER or a TEXT.
func (k Keeper) Add(unit query.Value, tuple []query.Value) { k.keeper.add(unitOf(unit), tuple) }

// Flush ends the rows of the last unit.
func (k Keeper) Flush() { k.keeper.flush() }

func unitOf(v query.Value) unit {
	if v.IsInt() {
		return unit{kind: unitInteger, n: v.Int64()}
	}
	return unit{kind: unitText, bytes: v.Str()}
}
