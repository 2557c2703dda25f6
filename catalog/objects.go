package catalog

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dpsql/catalog/internal/ledger"
	"dpsql/query"
)

// kind is what an object of the catalog is.
type kind string

// The kinds of objects. A name is unique among the living objects of a kind.
const (
	kindPublic    kind = "public table"
	kindSource    kind = "source"
	kindAccount   kind = "account"
	kindTable     kind = "private table" // of an account
	kindColumns   kind = "column list"   // of a table: its columns, whose domains can be large
	kindRowCount  kind = "row count"     // of a table
	kindRelease   kind = "release"       // of a table
	kindTemplate  kind = "template"      // of a table
	kindMechanism kind = "mechanism"     // of a table
	kindCounter   kind = "run counter"   // of a mechanism: what changes with every run
	kindUser      kind = "user"
	kindGrant     kind = "grant" // of a table
	kindSecret    kind = "secret"
)

// few are the kinds that one query reads together: most transactions need some of them. Releases
// and row counts have an object for each period, users and their grants are many on a server, and
// column lists are large.
var few = []kind{kindPublic, kindSource, kindAccount, kindTable, kindTemplate, kindMechanism, kindCounter}

// plural names several objects of the kind, and the roll of the living ones.
func (k kind) plural() string { return string(k) + "s" }

// object is a row of dpsql_objects. The digest that is stored with it covers all of its fields.
type object struct {
	id     int64
	kind   kind
	name   string // "" for none
	parent int64  // the object that it belongs to; 0 for none
	body   string // the other fields as JSON, in the one form that encode gives
}

// String names the object in errors.
func (o *object) String() string {
	if o.name != "" {
		return string(o.kind) + " " + o.name
	}
	return fmt.Sprint(o.kind, " ", o.id)
}

func (o *object) digest() [32]byte {
	e := slices.Grow(ledger.Encode("object"), len(o.body)+len(o.name)+len(o.kind)+64)
	return e.Numbers(o.id).Texts(string(o.kind), o.name).Numbers(o.parent).Texts(o.body).Digest()
}

func (o *object) key() string { return key(o.id) }

func scanObject(row record) (o object, err error) {
	var digest sql.RawBytes
	if err := row.Scan(&o.id, &o.kind, &o.name, &o.parent, &o.body, &digest); err != nil {
		return o, err
	}
	if want := o.digest(); !bytes.Equal(want[:], digest) {
		return o, corrupt("the record of %s does not match its checksum", &o)
	}
	return o, nil
}

const selectObjects = `SELECT id, kind, COALESCE(name, ''), COALESCE(parent, 0), body, digest
	FROM dpsql_objects WHERE dropped_at IS NULL AND kind `

var selectFew = selectObjects + `IN ('` + strings.Trim(strings.ReplaceAll(fmt.Sprintf("%q", few), `" "`, `', '`), `["]`) + `') ORDER BY kind, name, id`

const selectKind = selectObjects + `= ? ORDER BY kind, name, id`

// living returns the objects of a kind that were not dropped, by name and then by id. A
// transaction reads them once, and keeps what it writes. Callers must not change them. Errors:
// Corrupt when an object is not as it was written, or when some are missing or too many.
func (tx *Tx) living(k kind) ([]object, error) {
	if all, read := tx.objects[k]; read || tx.version == 0 {
		return all, nil
	}
	kinds, found, err := []kind{k}, []object(nil), error(nil)
	if !tx.readFew && slices.Contains(few, k) {
		kinds, tx.readFew = few, true
		found, err = list(tx, scanObject, selectFew)
	} else {
		found, err = list(tx, scanObject, selectKind, k)
	}
	if err != nil {
		return nil, err
	}
	by := make(map[kind][]object)
	for _, o := range found {
		by[o.kind] = append(by[o.kind], o)
	}
	if tx.objects == nil {
		tx.objects = make(map[kind][]object)
	}
	for _, one := range kinds {
		if err := checkComplete(tx, one.plural(), by[one], (*object).key); err != nil {
			return nil, err
		}
		tx.objects[one] = by[one]
	}
	return tx.objects[k], nil
}

// all returns the living objects of a kind, by name and then by id: from makes each of its object
// and its body.
func all[B, T any](tx *Tx, k kind, from func(*object, *B) (T, error)) ([]T, error) {
	objects, err := tx.living(k)
	if err != nil || len(objects) == 0 {
		return nil, err
	}
	out := make([]T, len(objects))
	for i := range objects {
		if out[i], err = decode(&objects[i], from); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// one returns the living object of a kind that is wanted, nil when there is none.
func one[B, T any](tx *Tx, k kind, wanted func(*object) bool, from func(*object, *B) (T, error)) (*T, error) {
	objects, err := tx.living(k)
	if err != nil {
		return nil, err
	}
	o := pick(objects, wanted)
	if o == nil {
		return nil, nil
	}
	found, err := decode(o, from)
	if err != nil {
		return nil, err
	}
	return &found, nil
}

func named(name string) func(*object) bool {
	return func(o *object) bool { return query.SameName(o.name, name) }
}

func withID(id int64) func(*object) bool { return func(o *object) bool { return o.id == id } }

func childOf(id int64) func(*object) bool { return func(o *object) bool { return o.parent == id } }

// decode reads the body of an object, which must be what encode gives for what was read: so no
// field is missing, unknown, twice there or of another type. Errors: Corrupt.
func decode[B, T any](o *object, from func(*object, *B) (T, error)) (found T, err error) {
	var body B
	if json.Unmarshal([]byte(o.body), &body) == nil {
		again := bytes.NewBuffer(make([]byte, 0, len(o.body)+1))
		if encodeTo(again, &body) == nil && bytes.Equal(bytes.TrimSuffix(again.Bytes(), []byte("\n")), []byte(o.body)) {
			return from(o, &body)
		}
	}
	return found, corrupt("the record of %s cannot be read", o)
}

// encode returns the stored form of a body.
func encode(body any) (string, error) {
	var b bytes.Buffer
	err := encodeTo(&b, body)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func encodeTo(b *bytes.Buffer, body any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	return e.Encode(body)
}

// create stores a new object and returns its id, which no other object ever has.
func (tx *Tx) create(k kind, name string, parent int64, body any) (int64, error) {
	text, err := encode(body)
	if err != nil {
		return 0, err
	}
	if err := tx.prepare(); err != nil {
		return 0, err
	}
	ever, err := tx.roll(0, rollObjects)
	if err != nil {
		return 0, err
	}
	o := object{id: ever.Count + 1, kind: k, name: name, parent: parent, body: text}
	digest := o.digest()
	_, err = tx.exec(`INSERT INTO dpsql_objects (id, kind, name, parent, body, digest) VALUES (?, ?, NULLIF(?, ''), NULLIF(?, 0), ?, ?)`,
		o.id, k, name, parent, text, digest[:])
	if err != nil {
		return 0, err
	}
	delete(tx.objects, k) // to be read again, in order
	if err := tx.setRoll(0, rollObjects, ever.With(o.key())); err != nil {
		return 0, err
	}
	return o.id, tx.addToRoll(k.plural(), o.key())
}

// replace stores another body of a living object.
func (tx *Tx) replace(k kind, id int64, body any) error {
	objects, err := tx.living(k)
	if err != nil {
		return err
	}
	o := pick(objects, withID(id))
	if o == nil {
		return corrupt("%s %d is missing from the catalog", k, id)
	}
	if o.body, err = encode(body); err != nil {
		return err
	}
	digest := o.digest()
	_, err = tx.exec(`UPDATE dpsql_objects SET body = ?, digest = ? WHERE id = ?`, o.body, digest[:], id)
	return err
}

// drop takes an object from the living ones. Its row stays, so that its id is never used again.
func (tx *Tx) drop(k kind, id int64) error {
	if _, err := tx.exec(`UPDATE dpsql_objects SET dropped_at = ? WHERE id = ?`, formatTime(tx.stamp()), id); err != nil {
		return err
	}
	tx.objects[k] = slices.DeleteFunc(tx.objects[k], func(o object) bool { return o.id == id })
	return tx.removeFromRoll(k.plural(), key(id))
}
