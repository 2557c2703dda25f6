package postgres

import (
	"strings"
	"sync"

	"dpsql/sqlerr"
)

// unfit are the base tables that were found to have a row on which reading fails.
// Views are vouched for, and foreign tables promised, to have none; where one has,
// the error tells of it without noise. So it is told once: all that reads the
// table is refused from then on, before anything is asked of its rows, whatever is
// asked.
type unfit struct {
	sync.Mutex
	bases map[string]bool
}

func (u *unfit) add(bases []string) {
	u.Lock()
	defer u.Unlock()
	if u.bases == nil {
		u.bases = make(map[string]bool)
	}
	for _, b := range bases {
		u.bases[b] = true
	}
}

// refused returns the error for a source that reads an unfit table, else nil.
func (u *unfit) refused(bases []string, source string) error {
	u.Lock()
	defer u.Unlock()
	for _, b := range bases {
		if u.bases[b] {
			return faultRow.of(source)
		}
	}
	return nil
}

// faultRow is all that is said of errors that can depend on a row, whichever
// they are.
var faultRow = fault{sqlerr.Invalid, "the database refused a column or an expression",
	"a table, a column, its type on a shard or what a view calls may have changed; once that is mended open the file again, until then the table is refused"}

// rowStates are the beginnings of the SQLSTATEs that can depend on a row: what is
// not supported for a value, cardinality, data, constraints, functions,
// collations and operators, and faults inside the server.
var rowStates = []string{"0A", "21", "22", "23", "2F", "38", "39", "42", "44", "P0", "XX000"}

// ofRow reports whether an error of the server can depend on a row.
func ofRow(err error) bool {
	state := stateOf(err)
	for _, s := range rowStates {
		if strings.HasPrefix(state, s) {
			return state != "42501" // a right that is missing
		}
	}
	return false
}
