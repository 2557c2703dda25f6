package catalog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

func TestReleases(t *testing.T) {
	s := open(t, dbPath(t))
	s.SetPartSize(1000)
	_, table := declare(t, s, "raws")
	created := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	releases := []*catalog.Release{
		{Name: "adm_cells", TableID: table, Columns: []int{0, 2}, Using: "projection", Params: json.RawMessage(`{"clip":32}`),
			Epsilon: 5, Delta: 6, MaxSupport: math.MaxInt64, CreatedAt: created},
		{Name: "b", TableID: table, Using: "smw"},
		{Name: "c", TableID: table, Using: "smw", Columns: []int{}},
	}
	payloads := [][]byte{[]byte("payload\x00\xff"), bytes.Repeat([]byte{1, 2, 3}, 999), nil}
	write(t, s, func(tx *catalog.Tx) error {
		for i, r := range releases {
			if err := tx.AddRelease(r, payloads[i]); err != nil {
				return err
			}
		}
		return nil
	})
	read(t, s, func(tx *catalog.Tx) error {
		for i, r := range releases {
			got, err := tx.Release(strings.ToUpper(r.Name))
			if err != nil {
				return err
			}
			want := *r
			want.Table = "raw"
			if want.Params == nil {
				want.Params = json.RawMessage("{}")
			}
			if !reflect.DeepEqual(got, &want) {
				t.Errorf("got %+v, want %+v", got, &want)
			}
			payload, err := tx.ReleasePayload(got)
			if err != nil || payload == nil || !bytes.Equal(payload, payloads[i]) || got.Size != int64(len(payload)) {
				t.Errorf("%s: payload of %d bytes, %v", r.Name, len(payload), err)
			}
		}
		all, err1 := tx.Releases(0)
		mine, err2 := tx.Releases(table)
		none, err3 := tx.Releases(table + 1)
		if len(all) != 3 || len(mine) != 3 || len(none) != 0 || err1 != nil || err2 != nil || err3 != nil {
			t.Errorf("listings of %d, %d, %d; %v %v %v", len(all), len(mine), len(none), err1, err2, err3)
		}
		return nil
	})
	for _, r := range []*catalog.Release{{Name: "ADM_CELLS", TableID: table}, {Name: "big", TableID: table, MaxSupport: math.MaxInt64 + 1}} {
		wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddRelease(r, nil) }), sqlerr.Invalid)
	}
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddMechanism(&catalog.Mechanism{Name: "B", TableID: table}, nil) }), sqlerr.Invalid)
	wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.AddRelease(&catalog.Release{Name: "x", TableID: 99}, nil) }), sqlerr.Unknown)
}

func TestDamagedPayload(t *testing.T) {
	for name, damage := range map[string]string{
		"bit flip":     `UPDATE dpsql_payloads SET data = CAST(X'00' || SUBSTR(data, 2) AS BLOB) WHERE part = 0`,
		"part missing": `DELETE FROM dpsql_payloads WHERE part = 1`,
		"all missing":  `DELETE FROM dpsql_payloads`,
		"swapped":      `UPDATE dpsql_payloads SET part = 1 - part + 10; UPDATE dpsql_payloads SET part = part - 10`,
		"size":         `UPDATE dpsql_releases SET size = size - 1; UPDATE dpsql_mechanisms SET state_size = state_size - 1`,
	} {
		path := dbPath(t)
		s := open(t, path)
		_, table := declare(t, s, "raws")
		s.SetPartSize(1000)
		payload := append([]byte{0x80}, make([]byte, s.PartSize())...)
		write(t, s, func(tx *catalog.Tx) error {
			if err := tx.AddRelease(&catalog.Release{Name: "r", TableID: table}, payload); err != nil {
				return err
			}
			return tx.AddMechanism(&catalog.Mechanism{Name: "m", TableID: table}, payload)
		})
		raw(t, path, damage)
		wantCode(t, s.Read(context.Background(), func(tx *catalog.Tx) error {
			r, err := tx.Release("r")
			if err != nil {
				return err
			}
			_, err = tx.ReleasePayload(r)
			return err
		}), sqlerr.Corrupt)
		wantCode(t, s.Read(context.Background(), func(tx *catalog.Tx) error {
			m, err := tx.Mechanism("m")
			if err != nil {
				return err
			}
			_, err = tx.MechanismState(m)
			return err
		}), sqlerr.Corrupt)
		if err := s.ExportRelease(context.Background(), "r", path+".out"); sqlerr.CodeOf(err) != sqlerr.Corrupt {
			t.Errorf("%s: export gave %v", name, err)
		}
	}
}
