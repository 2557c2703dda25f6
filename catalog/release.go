package catalog

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dpsql/accounting"
	"dpsql/catalog/internal/ledger"
	"dpsql/period"
	"dpsql/query"
	"dpsql/sqlerr"
)

// Release describes a published release. ReleasePayload reads its bytes.
type Release struct {
	ID         int64
	Name       string
	TableID    int64
	Table      string // the table's name; filled in when read
	Columns    []int  // the table's columns it covers, ascending; nil for all
	Using      string // "projection", "marginals" or "smw"
	Params     json.RawMessage
	Epsilon    accounting.Epsilon
	Delta      accounting.Delta
	MaxSupport uint64
	Span       period.Range // the periods whose rows it was built from; All without periods
	Template   int64        // the template that it is a part of; 0 for none
	CreatedAt  time.Time
	Size       int64 // of the payload, in bytes

	sum []byte // SHA-256 of the payload
}

// Unfinished reports, from what Params say, whether the release is yet to be completed, at no cost.
func (r *Release) Unfinished() bool {
	var about struct{ Unfitted bool }
	return json.Unmarshal(r.Params, &about) == nil && about.Unfitted
}

// AnySupport is the MaxSupport of a release without a bound.
const AnySupport = math.MaxInt64

func (tx *Tx) selectRelease() string {
	return `SELECT id, name, table_id, ` + nameOfTable + `, columns, method, params, epsilon, delta,
	max_support, ` + tx.selectSpan() + `, ` + tx.since(periodsVersion, "template", "0") + `, created_at, size, sha256, digest
	FROM dpsql_releases NOT INDEXED WHERE dropped_at IS NULL ORDER BY CAST(name AS TEXT)`
}

func scanRelease(row record) (r Release, err error) {
	var columns, params, at string
	var support int64
	var span storedSpan
	var digest []byte
	err = row.Scan(&r.ID, &r.Name, &r.TableID, &r.Table, &columns, &r.Using, &params, &r.Epsilon, &r.Delta,
		&support, &span.first, &span.last, &r.Template, &at, &r.Size, &r.sum, &digest)
	if err != nil {
		return r, err
	}
	r.Params, r.MaxSupport, r.Span = json.RawMessage(params), uint64(support), span.value()
	if r.Columns, err = decodeColumns(columns); err != nil {
		return r, err
	}
	if r.CreatedAt, err = parseTime(at); err != nil {
		return r, err
	}
	return r, checkDigest("release "+r.Name, r.encoding(), digest)
}

func (r *Release) encoding() ledger.Encoding {
	e := ledger.Encode("release").Numbers(r.ID).Texts(r.Name).Numbers(r.TableID).Columns(r.Columns).Texts(r.Using, string(r.Params)).
		Numbers(int64(r.Epsilon), int64(r.Delta), int64(r.MaxSupport)).Texts(formatTime(r.CreatedAt)).
		Numbers(r.Size).Texts(string(r.sum))
	e = encodeSpan(e, r.Span)
	if r.Template != 0 {
		e = e.Texts("part of").Numbers(r.Template)
	}
	return e
}

// Releases lists the releases of a table by name, of all tables when table is 0.
func (tx *Tx) Releases(table int64) ([]Release, error) {
	all, err := list(tx, scanRelease, tx.selectRelease())
	if err == nil {
		err = checkComplete(tx, rollReleases, all, func(r *Release) string { return key(r.ID) })
	}
	return slices.DeleteFunc(all, func(r Release) bool { return table != 0 && r.TableID != table }), err
}

// Release returns the release of that name, nil when there is none.
func (tx *Tx) Release(name string) (*Release, error) {
	all, err := tx.Releases(0)
	return pick(all, func(r *Release) bool { return query.SameName(r.Name, name) }), err
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
	columns, err := encodeColumns(r.Columns)
	if err != nil {
		return err
	}
	params, err := encodeJSON(r.Params)
	if err != nil {
		return err
	}
	tx.complete(t, &r.CreatedAt, &r.Span)
	sum, span := checksum(payload), spanOf(r.Span)
	id, err := tx.insert(`INSERT INTO dpsql_releases (name, table_id, columns, method, params, epsilon, delta,
		max_support, size, sha256, period_first, period_last, template, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.Name, r.TableID, columns, r.Using, params, r.Epsilon, r.Delta,
		int64(r.MaxSupport), len(payload), sum, span.first, span.last, r.Template, formatTime(r.CreatedAt))
	if err != nil {
		return err
	}
	r.ID, r.Params, r.Size, r.sum = id, json.RawMessage(params), int64(len(payload)), sum
	if err := tx.seal("dpsql_releases", id, r.encoding()); err != nil {
		return err
	}
	if err := tx.addToRoll(rollReleases, key(id)); err != nil {
		return err
	}
	return tx.writePayload(ownerRelease, id, payload)
}

// ReleasePayload returns the release's bytes. Errors: Corrupt when they are not the
// bytes that were stored.
func (tx *Tx) ReleasePayload(r *Release) ([]byte, error) {
	payload, err := tx.readPayload(ownerRelease, r.ID, r.Size, r.sum)
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
	if err := tx.deletePayload(ownerRelease, r.ID); err != nil {
		return err
	}
	if _, err := tx.exec(`UPDATE dpsql_releases SET dropped_at = ? WHERE id = ?`, formatTime(tx.stamp()), r.ID); err != nil {
		return err
	}
	return tx.removeFromRoll(rollReleases, key(r.ID))
}

// checkTable returns a table, and refuses one that was dropped.
func (tx *Tx) checkTable(id int64) (*Table, error) {
	all, err := tx.Tables()
	if err != nil {
		return nil, err
	}
	t := pick(all, func(t *Table) bool { return t.ID == id })
	if t == nil {
		return nil, sqlerr.New(sqlerr.Unknown, "the private table was dropped meanwhile")
	}
	return t, nil
}

// complete gives a new release or mechanism of a table what its caller left out: the moment, and
// All as the span over a table without periods. Elsewhere the zero span is the period of number 0.
func (tx *Tx) complete(t *Table, createdAt *time.Time, span *period.Range) {
	if createdAt.IsZero() {
		*createdAt = tx.stamp()
	}
	if t.Period == "" && *span == (period.Range{}) {
		*span = period.All
	}
}

// checkName refuses a name that a release, a template or a mechanism has: statements refer
// to them by name alone.
func (tx *Tx) checkName(name string) error {
	releases, err := tx.releaseNames()
	if err != nil {
		return err
	}
	template, err := tx.Template(name)
	if err != nil {
		return err
	}
	mechanism, err := tx.Mechanism(name)
	if err != nil {
		return err
	}
	release := pick(releases, func(r *Release) bool { return query.SameName(r.Name, name) })
	switch {
	case template != nil:
		return sqlerr.New(sqlerr.Invalid, "the release %s exists", template.Name)
	case release != nil:
		return sqlerr.New(sqlerr.Invalid, "the release %s exists", release.Name)
	case mechanism != nil:
		return sqlerr.New(sqlerr.Invalid, "the mechanism %s exists", mechanism.Name)
	}
	return nil
}

// releaseNames lists the releases with their ID and Name alone. A release of each day has thousands
// of parts, and each new one looks for its name among them.
func (tx *Tx) releaseNames() ([]Release, error) {
	all, err := list(tx, func(row record) (r Release, err error) {
		err = row.Scan(&r.ID, &r.Name)
		return r, err
	}, `SELECT id, name FROM dpsql_releases NOT INDEXED WHERE dropped_at IS NULL`)
	if err == nil {
		err = checkComplete(tx, rollReleases, all, func(r *Release) string { return key(r.ID) })
	}
	return all, err
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
	ID        int64
	Name      string
	TableID   int64
	Table     string          // the table's name; filled in when read
	Columns   []int           // the table's columns that parts cover, ascending; nil for all
	Using     string          // "projection" or "marginals"
	Options   json.RawMessage // of the statement, in a form that its writer knows
	Early     bool            // the running period gets a part too
	CreatedAt time.Time
}

const selectTemplate = `SELECT id, name, table_id, ` + nameOfTable + `, columns, method, options, early, created_at, digest
	FROM dpsql_templates NOT INDEXED WHERE dropped_at IS NULL ORDER BY CAST(name AS TEXT)`

func scanTemplate(row record) (t Template, err error) {
	var columns, options, at string
	var digest []byte
	err = row.Scan(&t.ID, &t.Name, &t.TableID, &t.Table, &columns, &t.Using, &options, &t.Early, &at, &digest)
	if err != nil {
		return t, err
	}
	t.Options = json.RawMessage(options)
	if t.Columns, err = decodeColumns(columns); err != nil {
		return t, err
	}
	if t.CreatedAt, err = parseTime(at); err != nil {
		return t, err
	}
	return t, checkDigest("release "+t.Name, t.encoding(), digest)
}

func (t *Template) encoding() ledger.Encoding {
	return ledger.Encode("template").Numbers(t.ID).Texts(t.Name).Numbers(t.TableID).Columns(t.Columns).
		Texts(t.Using, string(t.Options)).Flag(t.Early).Texts(formatTime(t.CreatedAt))
}

// Templates lists the templates of a table by name, of all tables when table is 0.
func (tx *Tx) Templates(table int64) ([]Template, error) {
	if tx.version < periodsVersion {
		return nil, nil
	}
	all, err := list(tx, scanTemplate, selectTemplate)
	if err == nil {
		err = checkComplete(tx, rollTemplates, all, func(t *Template) string { return key(t.ID) })
	}
	return slices.DeleteFunc(all, func(t Template) bool { return table != 0 && t.TableID != table }), err
}

// Template returns the template of that name, nil when there is none.
func (tx *Tx) Template(name string) (*Template, error) {
	all, err := tx.Templates(0)
	return pick(all, func(t *Template) bool { return query.SameName(t.Name, name) }), err
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
	columns, err := encodeColumns(t.Columns)
	if err != nil {
		return err
	}
	options, err := encodeJSON(t.Options)
	if err != nil {
		return err
	}
	t.CreatedAt, t.Options = tx.stamp(), json.RawMessage(options)
	t.ID, err = tx.insert(`INSERT INTO dpsql_templates (name, table_id, columns, method, options, early, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		t.Name, t.TableID, columns, t.Using, options, t.Early, formatTime(t.CreatedAt))
	if err != nil {
		return err
	}
	if err := tx.seal("dpsql_templates", t.ID, t.encoding()); err != nil {
		return err
	}
	return tx.addToRoll(rollTemplates, key(t.ID))
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
	if _, err := tx.exec(`UPDATE dpsql_templates SET dropped_at = ? WHERE id = ?`, formatTime(tx.stamp()), t.ID); err != nil {
		return err
	}
	return tx.removeFromRoll(rollTemplates, key(t.ID))
}

// PartsEver returns the periods for which a template has a part or had one, which was dropped.
func (tx *Tx) PartsEver(template int64) (period.Ranges, error) {
	if tx.version < periodsVersion {
		return nil, nil
	}
	all, err := list(tx, func(row record) (r period.Range, err error) {
		var s storedSpan
		err = row.Scan(&s.first, &s.last)
		return s.value(), err
	}, `SELECT period_first, period_last FROM dpsql_releases WHERE template = ?`, template)
	return period.Of(all...), err
}
