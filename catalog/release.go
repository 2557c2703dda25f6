package catalog

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dpsql/accounting"
	"dpsql/internal/period"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Release describes a published release. ReleasePayload reads its bytes.
type Release struct {
	ID         int64              `json:"-"`
	Name       string             `json:"-"`
	TableID    int64              `json:"-"`
	Table      string             `json:"-"`       // the table's name; filled in when read
	Columns    []int              `json:"columns"` // the table's columns it covers, ascending; nil for all
	Using      string             `json:"using"`   // "projection", "marginals" or "smw"
	Params     json.RawMessage    `json:"params"`
	Epsilon    accounting.Epsilon `json:"epsilon"`
	Delta      accounting.Delta   `json:"delta"`
	MaxSupport uint64             `json:"max_support"`
	Span       period.Range       `json:"periods"`            // the periods whose rows it was built from; All without periods
	Template   int64              `json:"template,omitempty"` // the template that it is a part of; 0 for none
	CreatedAt  time.Time          `json:"created_at"`
	Size       int64              `json:"size"`   // of the payload, in bytes
	SHA256     checksum           `json:"sha256"` // of the payload
}

// Unfinished reports, from what Params say, whether the release is yet to be completed, at no cost.
func (r *Release) Unfinished() bool {
	var about struct{ Unfitted bool }
	return json.Unmarshal(r.Params, &about) == nil && about.Unfitted
}

// AnySupport is the MaxSupport of a release without a bound.
const AnySupport = math.MaxInt64

// releaseFrom returns the function that makes a release of its object.
func (tx *Tx) releaseFrom() func(*object, *Release) (Release, error) {
	return func(o *object, r *Release) (found Release, err error) {
		r.ID, r.Name, r.TableID = o.id, o.name, o.parent
		r.Table, err = tx.nameOfTable(o)
		return *r, err
	}
}

// nameOfTable returns the name of the table that an object belongs to.
func (tx *Tx) nameOfTable(o *object) (string, error) {
	tables, err := tx.living(kindTable)
	if err != nil {
		return "", err
	}
	if t := pick(tables, withID(o.parent)); t != nil {
		return t.name, nil
	}
	return "", corrupt("the table of %s is missing", o)
}

// Releases lists the releases of a table by name, of all tables when table is 0.
func (tx *Tx) Releases(table int64) ([]Release, error) {
	found, err := all(tx, kindRelease, tx.releaseFrom())
	return slices.DeleteFunc(found, func(r Release) bool { return table != 0 && r.TableID != table }), err
}

// Release returns the release of that name, nil when there is none.
func (tx *Tx) Release(name string) (*Release, error) {
	return one(tx, kindRelease, named(name), tx.releaseFrom())
}

// AddRelease stores a release with its payload and sets r.ID and r.Size, and
// r.CreatedAt unless the caller did. The zero r.Span of a table without periods becomes
// All. Errors: Invalid when a release or mechanism has the name, or max_support is above
// 2^63−1.
func (tx *Tx) AddRelease(r *Release, payload []byte) error {
	if err := tx.checkName(r.Name); err != nil {
		return err
	}
	t, err := tx.checkTable(r.TableID)
	if err != nil {
		return err
	}
	if r.MaxSupport > AnySupport {
		return sqlerr.New(sqlerr.Invalid, "max_support = %d is too large", r.MaxSupport)
	}
	if r.Params, err = compact(r.Params); err != nil {
		return err
	}
	if err := tx.complete(t, &r.CreatedAt, &r.Span); err != nil {
		return err
	}
	r.Size, r.SHA256 = int64(len(payload)), sha256.Sum256(payload)
	if r.ID, err = tx.create(kindRelease, r.Name, r.TableID, r); err != nil {
		return err
	}
	if err := tx.writePayload(r.ID, payload); err != nil || r.Template == 0 {
		return err
	}
	return tx.notePart(r)
}

// ReleasePayload returns the release's bytes. Errors: Corrupt when they are not the
// bytes that were stored.
func (tx *Tx) ReleasePayload(r *Release) ([]byte, error) {
	payload, err := tx.readPayload(r.ID, r.Size, r.SHA256)
	if err == nil && payload == nil {
		err = corrupt("release %s does not match its checksum", r.Name)
	}
	return payload, err
}

// DropRelease removes a release and its payload. Its cost stays spent. Errors:
// Unknown.
func (tx *Tx) DropRelease(name string) error {
	r, err := tx.Release(name)
	switch {
	case err != nil:
		return err
	case r == nil:
		return sqlerr.New(sqlerr.Unknown, "there is no release %s", name)
	}
	return tx.dropRelease(r)
}

func (tx *Tx) dropRelease(r *Release) error {
	if err := tx.deletePayload(r.ID); err != nil {
		return err
	}
	return tx.drop(kindRelease, r.ID)
}

// checkTable returns a table without its columns and row counts, and refuses one that was dropped.
func (tx *Tx) checkTable(id int64) (*Table, error) {
	t, err := one(tx, kindTable, withID(id), tableFrom)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, sqlerr.New(sqlerr.Unknown, "the private table was dropped meanwhile")
	}
	return t, nil
}

// complete gives a new release or mechanism of a table what its caller left out: the moment, and
// All as the span over a table without periods. Elsewhere the zero span is the period of number 0, and
// All is refused: nothing is about all periods of such a table.
func (tx *Tx) complete(t *Table, createdAt *time.Time, span *period.Range) error {
	if createdAt.IsZero() {
		*createdAt = tx.stamp()
	}
	*createdAt = createdAt.UTC().Truncate(time.Second)
	if t.Period == "" && *span == (period.Range{}) {
		*span = period.All
	}
	if t.Period != "" && *span == period.All {
		return sqlerr.New(sqlerr.Internal, "a release or mechanism of a table with periods has none")
	}
	return nil
}

// checkName refuses a name that a release, a template or a mechanism has: statements refer
// to them by name alone.
func (tx *Tx) checkName(name string) error {
	for _, taken := range []struct {
		kind  kind
		calls string
	}{{kindTemplate, "release"}, {kindRelease, "release"}, {kindMechanism, "mechanism"}} {
		objects, err := tx.living(taken.kind)
		if err != nil {
			return err
		}
		if o := pick(objects, named(name)); o != nil {
			return sqlerr.New(sqlerr.Exists, "the %s %s exists", taken.calls, o.name).Of(sqlerr.Thing)
		}
	}
	return nil
}

// ExportRelease writes a new SQLite file with what is needed to answer from the
// release. All of it is public: the table's name and unit, the columns that the
// release covers with their domains, the release and its payload. The file has no raw
// rows, source, account, ledger, answers or other releases. Its journal mode is
// DELETE, so it can be read anywhere. If anything fails, no file is left. Errors:
// Unknown release; Invalid when the file exists; IO.
func (s *Store) ExportRelease(ctx context.Context, release, path string) error {
	return s.translate(ctx, s.exportRelease(ctx, release, path))
}

func (s *Store) exportRelease(ctx context.Context, name, path string) error {
	return newPublicFile(path, func(temp string) error {
		table, release, payload, err := s.readPublicPart(ctx, name)
		if err != nil {
			return err
		}
		return s.writeExport(ctx, temp, table, release, payload)
	})
}

// Export writes a new file, which anybody may read. If anything fails, no file is left. Errors:
// those of write; Invalid when the file exists; IO.
func (s *Store) Export(ctx context.Context, path string, write func(io.Writer) error) error {
	return s.translate(ctx, newPublicFile(path, func(temp string) error {
		file, err := os.OpenFile(temp, os.O_WRONLY, 0)
		if err != nil {
			return fileError("write", path, err)
		}
		out := bufio.NewWriterSize(file, 1<<16)
		err = write(out)
		if err == nil {
			if err = errors.Join(out.Flush(), file.Sync()); err != nil {
				err = fileError("write", path, err)
			}
		}
		return errors.Join(err, file.Close())
	}))
}

// exported begins the action of a ledger line about an export.
const exported = "exported: "

// NoteExport writes a line of cost 0 that says what was exported of an account's tables, with which digest.
func (tx *Tx) NoteExport(account int64, object, digest string) error {
	return tx.append(Entry{Account: account, Kind: KindReleases, Action: exported + digest, Object: object, Over: period.All})
}

// ExportOf returns the first line about an export with the digest; 0 for none.
func (tx *Tx) ExportOf(digest string) (int64, error) {
	entries, err := tx.Ledger()
	for _, e := range entries {
		if e.Action == exported+digest {
			return e.Seq, err
		}
	}
	return 0, err
}

// newPublicFile makes a new file: fill fills a temporary one, which then gets the name.
func newPublicFile(path string, fill func(temp string) error) error {
	target, err := resolve(path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(target); err == nil {
		return targetExists(target)
	}
	temp, err := os.CreateTemp(filepath.Dir(target), newFile)
	if err != nil {
		return fileError("create", target, err)
	}
	defer os.Remove(temp.Name())
	if err := errors.Join(temp.Chmod(0o644), temp.Close()); err != nil { // public, as its content is
		return fileError("create", target, err)
	}
	defer os.Remove(temp.Name() + "-journal")
	if err := fill(temp.Name()); err != nil {
		return err
	}
	if err := placeNew(temp.Name(), target); os.IsExist(err) {
		return targetExists(target)
	} else if err != nil {
		return fileError("create", target, err)
	}
	return syncDirectory(filepath.Dir(target))
}

// readPublicPart reads the public part of a release and its table.
func (s *Store) readPublicPart(ctx context.Context, name string) (table *Table, release *Release, payload []byte, err error) {
	err = s.Read(ctx, func(tx *Tx) error {
		if release, err = tx.Release(name); err != nil {
			return err
		}
		if release == nil {
			return sqlerr.New(sqlerr.Unknown, "there is no release %s", name)
		}
		if payload, err = tx.ReleasePayload(release); err != nil {
			return err
		}
		private, err := tx.Table(release.Table)
		if err != nil {
			return err
		}
		if private == nil || private.ID != release.TableID {
			return corrupt("the table of release %s is missing", name)
		}
		columns, err := tx.columnsOver(private, release.Span)
		if err != nil {
			return err
		}
		table = &Table{Name: private.Name, Columns: release.coveredColumns(columns), Unit: private.Unit, MaxRows: private.MaxRows}
		return nil
	})
	return table, release, payload, err
}

// columnsOver returns a table's columns with only those values of its period's column that lie
// in a range of periods.
func (tx *Tx) columnsOver(t *Table, over period.Range) ([]query.Column, error) {
	if over == period.All || t.Period == "" {
		return t.Columns, nil
	}
	a, err := tx.Account(t.Account)
	if err != nil {
		return nil, err
	}
	return t.ColumnsIn(a.Partition, over), nil
}

// coveredColumns returns those of the table's columns that the release covers.
func (r *Release) coveredColumns(columns []query.Column) []query.Column {
	if r.Columns == nil {
		return columns
	}
	covered := make([]query.Column, len(r.Columns))
	for i, c := range r.Columns {
		covered[i] = columns[c]
	}
	return covered
}

// writeExport fills the empty file at temp.
func (s *Store) writeExport(ctx context.Context, temp string, table *Table, release *Release, payload []byte) error {
	out := newStore(temp, Options{BusyTimeout: s.options.BusyTimeout})
	out.journal = "delete"
	err := out.Write(ctx, func(tx *Tx) error {
		if err := tx.AddTable(table); err != nil {
			return err
		}
		copied := *release
		copied.TableID, copied.Columns = table.ID, nil // the exported table has only the covered columns
		copied.Span, copied.Template = period.All, 0   // and only the release's periods
		return tx.AddRelease(&copied, payload)
	})
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}

func targetExists(path string) error {
	return sqlerr.New(sqlerr.Invalid, "%s exists", path).WithHint("name a file that does not exist; nothing is overwritten")
}

// Template says how the part of a release for each period is built. It has no answers itself:
// its parts are Releases.
type Template struct {
	ID        int64           `json:"-"`
	Name      string          `json:"-"`
	TableID   int64           `json:"-"`
	Table     string          `json:"-"`       // the table's name; filled in when read
	Columns   []int           `json:"columns"` // the table's columns that parts cover, ascending; nil for all
	Using     string          `json:"using"`   // "projection" or "marginals"
	Options   json.RawMessage `json:"options"` // of the statement, in a form that its writer knows
	Early     bool            `json:"early"`   // the running period gets a part too
	Ever      period.Ranges   `json:"ever"`    // the periods for which it has a part or had one, which was dropped
	CreatedAt time.Time       `json:"created_at"`
}

// templateFrom returns the function that makes a template of its object.
func (tx *Tx) templateFrom() func(*object, *Template) (Template, error) {
	return func(o *object, t *Template) (found Template, err error) {
		if t.Ever == nil {
			return found, corrupt("the parts of release %s are not known", o.name)
		}
		t.ID, t.Name, t.TableID = o.id, o.name, o.parent
		t.Table, err = tx.nameOfTable(o)
		return *t, err
	}
}

// Templates lists the templates of a table by name, of all tables when table is 0.
func (tx *Tx) Templates(table int64) ([]Template, error) {
	found, err := all(tx, kindTemplate, tx.templateFrom())
	return slices.DeleteFunc(found, func(t Template) bool { return table != 0 && t.TableID != table }), err
}

// Template returns the template of that name, nil when there is none.
func (tx *Tx) Template(name string) (*Template, error) {
	return one(tx, kindTemplate, named(name), tx.templateFrom())
}

// AddTemplate stores a template and sets t.ID and t.CreatedAt. Errors: Invalid when a release,
// template or mechanism has the name.
func (tx *Tx) AddTemplate(t *Template) error {
	if err := tx.checkName(t.Name); err != nil {
		return err
	}
	if _, err := tx.checkTable(t.TableID); err != nil {
		return err
	}
	options, err := compact(t.Options)
	if err != nil {
		return err
	}
	t.CreatedAt, t.Options, t.Ever = tx.stamp(), options, period.Ranges{}
	t.ID, err = tx.create(kindTemplate, t.Name, t.TableID, t)
	return err
}

// notePart has the template of a release know that it has a part for its periods.
func (tx *Tx) notePart(r *Release) error {
	t, err := one(tx, kindTemplate, withID(r.Template), tx.templateFrom())
	switch {
	case err != nil:
		return err
	case t == nil:
		return corrupt("the template of release %s is missing", r.Name)
	}
	t.Ever = t.Ever.Union(period.Ranges{r.Span})
	return tx.replace(kindTemplate, t.ID, t)
}

// DropTemplate removes a template and its parts. What they cost stays spent. Errors: Unknown.
func (tx *Tx) DropTemplate(name string) error {
	t, err := tx.Template(name)
	switch {
	case err != nil:
		return err
	case t == nil:
		return sqlerr.New(sqlerr.Unknown, "there is no release %s", name)
	}
	parts, err := tx.Releases(t.TableID)
	if err != nil {
		return err
	}
	for _, r := range parts {
		if r.Template != t.ID {
			continue
		}
		if err := tx.dropRelease(&r); err != nil {
			return err
		}
	}
	return tx.drop(kindTemplate, t.ID)
}
