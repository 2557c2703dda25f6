package catalog

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"dpsql/query"
	"dpsql/sqlerr"
)

// ExportRelease writes a new SQLite file that holds what is needed to answer
// from the release, all of it public: the table's name and unit, the columns that
// the release covers with their domains, the release and its payload. No raw rows, source, account, ledger, answers or other
// releases. The file is in journal mode DELETE, so it can be read anywhere; when
// anything fails, no file is left. Errors: Unknown release; Invalid when the file
// exists; IO.
func (s *Store) ExportRelease(ctx context.Context, release, path string) error {
	return s.translate(ctx, s.exportRelease(ctx, release, path))
}

func (s *Store) exportRelease(ctx context.Context, name, path string) error {
	target, err := resolve(path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(target); err == nil {
		return targetExists(target)
	}
	table, release, payload, err := s.exported(ctx, name)
	if err != nil {
		return err
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
	if err := s.writeExport(ctx, temp.Name(), table, release, payload); err != nil {
		return err
	}
	if err := placeNew(temp.Name(), target); os.IsExist(err) {
		return targetExists(target)
	} else if err != nil {
		return fileError("create", target, err)
	}
	return syncDirectory(filepath.Dir(target))
}

// exported reads the public part of a release and its table.
func (s *Store) exported(ctx context.Context, name string) (table *Table, release *Release, payload []byte, err error) {
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
		table = &Table{Name: private.Name, Columns: release.over(private.Columns), Unit: private.Unit, MaxRows: private.MaxRows}
		return nil
	})
	return table, release, payload, err
}

// over returns those of the table's columns that the release covers.
func (r *Release) over(columns []query.Column) []query.Column {
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
		copied.TableID, copied.Columns = table.ID, nil // the table has what it covers
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

// syncDirectory makes a new name durable.
func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fileError("sync", path, err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fileError("sync", path, err)
	}
	return nil
}
