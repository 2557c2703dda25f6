package answer

import (
	"context"
	"slices"
	"strings"
	"time"

	"dpsql/catalog"
	"dpsql/engine/internal/rows"
	"dpsql/engine/internal/slots"
	"dpsql/engine/internal/view"
	"dpsql/internal/released"
	"dpsql/sqlerr"
)

// lanes returns the tables that a statement needs a turn on, none if it reads no private row. All
// of its tables are among them, and all mechanisms if it asks one: these share a lease.
func (st *Statement) lanes() (ids []int64) {
	reads := false
	for i := range st.Asks {
		switch st.Asks[i].Best.Origin {
		case released.FromMechanism:
			reads = true
			ids = append(ids, slots.Mechanisms)
		case released.FromRows:
			reads = true
		}
	}
	if !reads {
		return nil
	}
	for i := range st.Parts {
		ids = append(ids, st.Parts[i].Table.ID)
	}
	return ids
}

// takeTurn waits for a turn on the statement's tables.
func (st *Statement) takeTurn(ctx context.Context) (*slots.Turn, error) {
	if st.waits != nil {
		st.waits()
	}
	user := st.Buyers.Of(st.Parts[0].Table.Account).User
	return st.Database.turns.Take(ctx, user, st.lanes(), func() ([]slots.Table, error) {
		now, err := st.Database.Current(ctx, 0)
		if err != nil {
			return nil, err
		}
		var tables []slots.Table
		for i := range st.Parts {
			t := st.Parts[i].Table
			if current := now.TableByID(t.ID); current != nil { // else it was dropped meanwhile, which planning will say
				t = current
			}
			tables = append(tables, slots.Table{ID: t.ID, AnswerTime: t.AnswerTime})
		}
		return tables, nil
	}, st.Database.raiseAnswerTimes)
}

// raiseAnswerTimes stores answer times that were doubled. They are doubled whether anybody still
// waits for the answer or not.
func (db *Database) raiseAnswerTimes(tables []slots.Table) error {
	return db.store.Write(context.Background(), func(tx *catalog.Tx) error {
		for _, t := range tables {
			if err := tx.RaiseAnswerTime(t.ID, t.AnswerTime); err != nil {
				return err
			}
		}
		return nil
	})
}

// leaveHeld gives up the mechanisms at the end of the slot.
func (st *Statement) leaveHeld() {
	st.turn.Publish()
	st.Database.Live.leave(st.Database)
}

// answerTime returns the longest answer time of the statement's tables.
func (st *Statement) answerTime() (longest time.Duration) {
	for i := range st.Parts {
		longest = max(longest, st.Parts[i].Table.AnswerTime)
	}
	return longest
}

// eachMillisecond is how many numbers a held statement may ask of rows for each millisecond of its
// answer time, so that none doubles that by its size alone. A number then may take 250 µs. It took 120 to
// 180 µs in statements of 100 to 10,000 groups, on a busy machine of two cores: it is planned again,
// counted, has its noise, and is stored. A place of a distribution took 10 to 20 µs, and a value that is looked
// for 2 to 10 µs: each counts as an eighth.
const (
	eachMillisecond = 4
	countsANumber   = 8
)

// fits refuses to hold a statement that asks rows for more numbers than its answer time has room for. It
// depends on the statement, on declarations and on the answer time, which are public.
func (st *Statement) fits() error {
	numbers, most := int64(0), eachMillisecond*st.answerTime().Milliseconds()
	for i := range st.Asks {
		a := &st.Asks[i]
		if a.Best.Origin != released.FromRows && a.Best.Origin != released.FromMechanism {
			continue
		}
		numbers += 1 + a.counts()/countsANumber
	}
	if numbers <= most {
		return nil
	}
	return sqlerr.New(sqlerr.Unsupported, "the statement asks the rows for %d numbers at once, at most %d in an answer time of %d ms", numbers, most, st.answerTime().Milliseconds()).
		WithHint("ask for fewer groups at a time, or ask a release; a curator can raise answer_time")
}

// explainedTurn returns the row of EXPLAIN that says when a held answer comes, none if the statement
// reads no private row.
func (st *Statement) explainedTurn() [][]any {
	lanes := st.lanes()
	if len(lanes) == 0 {
		return nil
	}
	longest := st.answerTime()
	text := strings.Trim(view.AnswerTime(longest+slots.Settling(longest)), "'") + " from when its turn comes"
	if slices.Contains(lanes, slots.Mechanisms) {
		text += ", and as long again behind a comparison that fires"
	}
	return [][]any{{"answer time", nil, nil, nil, nil, nil, text + ": a table has one statement at a time that reads rows"}}
}

// read and publish are Request.read and Request.publish for all requests of the statement.
func (st *Statement) read(sn *rows.Snapshot) { Request{turn: st.turn}.read(sn) }

func (st *Statement) publish() { Request{turn: st.turn}.publish() }
