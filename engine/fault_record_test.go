package engine_test

import (
	"database/sql"
	"encoding/binary"
	"testing"
)

// field is where a value of a record stands in a database file.
type field struct {
	name       string
	start, end int // of its bytes
}

// fields finds the values of the records of a table or an index that fits one page. What
// of a record is not of a value is a field "header".
func fields(t *testing.T, content []byte, path, table string) (all []field) {
	t.Helper()
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	var root int
	if err := raw.QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = ?`, table).Scan(&root); err != nil {
		t.Fatal(table, err)
	}
	at := (root - 1) * 4096
	page := content[at : at+4096]
	const tableLeaf, indexLeaf = 13, 10 // the latter of a table WITHOUT ROWID too
	if page[0] != tableLeaf && page[0] != indexLeaf {
		t.Fatalf("%s does not fit one page", table)
	}
	names := columnNamesOf(t, raw, table)
	for i := range int(binary.BigEndian.Uint16(page[3:])) {
		start := int(binary.BigEndian.Uint16(page[8+2*i:]))
		p := start
		varint(page, &p) // the record's length
		if page[0] == tableLeaf {
			varint(page, &p) // the row's id
		}
		value := p
		value += int(varint(page, &p))
		all = append(all, field{"header", at + start, at + value})
		for c, header := 0, value; p < header; c++ {
			size := valueSize(varint(page, &p))
			if size > 0 && value < len(page) { // the rest of a large one is elsewhere
				all = append(all, field{names[c], at + value, at + min(value+size, len(page))})
			}
			value += size
		}
	}
	return all
}

func columnNamesOf(t *testing.T, db *sql.DB, table string) (all []string) {
	t.Helper()
	rows, err := db.Query(`SELECT name FROM (SELECT name, cid AS n FROM pragma_table_info(?1)
		UNION ALL SELECT COALESCE(name, 'id'), seqno FROM pragma_index_xinfo(?1)) ORDER BY n`, table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// varint reads a number as SQLite's records have them.
func varint(b []byte, at *int) (n uint64) {
	for i := range 9 {
		c := b[*at]
		*at++
		if i == 8 {
			return n<<8 | uint64(c)
		}
		n = n<<7 | uint64(c&0x7f)
		if c < 0x80 {
			break
		}
	}
	return n
}

// valueSize returns the length of a value of a serial type.
func valueSize(serial uint64) int {
	if serial >= 12 {
		return int(serial-12) / 2
	}
	return [...]int{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0}[serial]
}
