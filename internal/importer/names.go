package importer

import (
	"strings"

	"dpsql/sqlerr"
)

// maxColumns is SQLite's limit on the columns of a table.
const maxColumns = 2000

// checkNames refuses names that cannot all be columns of one table.
func checkNames(path string, names []string) error {
	if len(names) > maxColumns {
		return sqlerr.New(sqlerr.Invalid, "file %s has %d columns; a table has at most %d", path, len(names), maxColumns)
	}
	at := make(map[string]int)
	for i, name := range names {
		if name == "" || strings.ContainsFunc(name, isControl) {
			return sqlerr.New(sqlerr.Invalid, "column %d of file %s has no name, or one with a control character", i+1, path)
		}
		if j, twice := at[folded(name)]; twice {
			return sqlerr.New(sqlerr.Invalid, "columns %d and %d of file %s have the same name", j, i+1, path)
		}
		at[folded(name)] = i + 1
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
