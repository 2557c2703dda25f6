package catalog

import (
	"encoding/json"
	"slices"
	"time"

	"dpsql/catalog/internal/ledger"
	"dpsql/period"
	"dpsql/query"
	"dpsql/sqlerr"
)

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
	if err := tx.checkTable(t.TableID); err != nil {
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
