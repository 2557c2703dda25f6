package catalog_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

var update = flag.Bool("update", false, "write testdata/objects.txt anew")

// storedObject is an object as SQLite has it.
type storedObject struct {
	id               int64
	kind, name, body string
	dropped          bool
}

// storedObjects returns the objects of a file, by id.
func storedObjects(t *testing.T, path string) (all []storedObject) {
	t.Helper()
	read(t, open(t, path), func(tx *catalog.Tx) error {
		rows, err := tx.SQL().QueryContext(t.Context(), `SELECT id, kind, COALESCE(name, ''), body, dropped_at IS NOT NULL FROM dpsql_objects ORDER BY id`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var o storedObject
			if err := rows.Scan(&o.id, &o.kind, &o.name, &o.body, &o.dropped); err != nil {
				return err
			}
			all = append(all, o)
		}
		return rows.Err()
	})
	return all
}

// TestStoredForms holds the bodies of objects to those of files that were written before. A change
// of one is a new version of the catalog.
func TestStoredForms(t *testing.T) {
	const golden = "testdata/objects.txt"
	var b bytes.Buffer
	for _, o := range storedObjects(t, stocked(t)) {
		fmt.Fprintf(&b, "%d %s %q %s\n", o.id, o.kind, o.name, o.body)
	}
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("the objects are\n%s\nwant\n%s", got, want)
	}
}

// optional are the fields that a body need not have.
var optional = map[string][]string{
	"account": {"unit", "periods"}, "private table": {"source_id", "nhat", "period"}, "public table": {"columns", "keys"}, "release": {"template"},
}

// free are the variants that are bodies as well: parameters are any JSON, and no columns are all.
var free = regexp.MustCompile(`^(array|other|null) (params|options)$|^null columns$`)

// TestBodiesAreStrict stores bodies that no dpsql writes, with checksums that fit: fields that are
// missing, unknown, twice there, called otherwise or of another type, and the same in another form.
func TestBodiesAreStrict(t *testing.T) {
	path := stocked(t)
	s, tried := open(t, path), 0
	for _, o := range storedObjects(t, path) {
		if o.dropped {
			continue
		}
		variants := map[string]string{"space": o.body + " ", "null": "null", "list": "[" + o.body + "]", "half": o.body[:len(o.body)/2]}
		begin := strings.IndexByte(o.body, '{') + 1
		variants["unknown"] = o.body[:begin] + `"later":1,` + o.body[begin:]
		var fields map[string]json.RawMessage
		whole, first := o.body, o.body
		if err := json.Unmarshal([]byte(o.body), &fields); err != nil { // a list: its first element
			var list []json.RawMessage
			if err := json.Unmarshal([]byte(o.body), &list); err != nil {
				t.Fatal(err)
			}
			first = string(list[0])
			if err := json.Unmarshal(list[0], &fields); err != nil {
				t.Fatal(err)
			}
		}
		for name, value := range fields {
			field := fmt.Sprintf(`"%s":%s`, name, value)
			if !strings.Contains(first, field) {
				t.Fatalf("%s is not as the field %s reads", first, field)
			}
			with := func(other string) string { return strings.Replace(whole, field, other, 1) }
			variants["twice "+name] = with(field + "," + field)
			variants["capital "+name] = with(strings.Replace(field, name, strings.ToUpper(name), 1))
			variants["array "+name] = with(fmt.Sprintf(`"%s":[[1]]`, name))
			variants["other "+name] = with(fmt.Sprintf(`"%s":%s`, name, map[bool]string{true: "7", false: `"seven"`}[value[0] == '"']))
			if string(value) != "null" {
				variants["null "+name] = with(fmt.Sprintf(`"%s":null`, name))
			}
			if !slices.Contains(optional[o.kind], name) {
				variants["without "+name] = regexp.MustCompile(`,}|{,|,,`).ReplaceAllStringFunc(with(""), func(s string) string { return strings.Replace(s, ",", "", 1) })
			}
		}
		for what, body := range variants {
			if free.MatchString(what) {
				continue
			}
			tried++
			err := s.Write(t.Context(), func(tx *catalog.Tx) error {
				if err := tx.Forge(o.id, body); err != nil {
					return err
				}
				_, err := everythingIn(tx)
				return cmp.Or(err, error(sqlerr.New(sqlerr.Invalid, "it is read")))
			})
			if sqlerr.CodeOf(err) != sqlerr.Corrupt {
				t.Errorf("%s %q, %s: %.300s: %v", o.kind, o.name, what, body, err)
			}
		}
	}
	if tried < 400 {
		t.Errorf("only %d bodies were tried", tried)
	}
}

// TestTextsThatAreNotUTF8 stores names that a file can have and JSON cannot hold.
func TestTextsThatAreNotUTF8(t *testing.T) {
	path := dbPath(t)
	s := open(t, path)
	account, table := declare(t, s, "raw\xffs")
	write(t, s, func(tx *catalog.Tx) error {
		return tx.AddTable(&catalog.Table{Name: "odd", Account: account, Columns: clinicColumns(), SourceSchema: "CREATE VIEW \xfe"})
	})
	read(t, open(t, path), func(tx *catalog.Tx) error {
		a, err := tx.Account(account)
		if err != nil || !slices.Equal(a.Bases, []string{"raw\xffs"}) {
			t.Errorf("bases %q, %v", a.Bases, err)
		}
		odd, err := tx.Table("odd")
		if err != nil || odd.SourceSchema != "CREATE VIEW \xfe" || odd.ID == table {
			t.Errorf("%+v, %v", odd, err)
		}
		return err
	})
	if text := base64.StdEncoding.EncodeToString([]byte("raw\xffs")); !strings.Contains(storedObjects(t, path)[0].body, text) {
		t.Errorf("%s is not in %s", text, storedObjects(t, path)[0].body)
	}
}
