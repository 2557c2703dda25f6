package catalog_test

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"dpsql/catalog"
	"dpsql/sqlerr"
)

func TestAnswers(t *testing.T) {
	s := open(t, dbPath(t))
	_, table := declare(t, s, "raws")
	m := &catalog.Mechanism{Name: "live", TableID: table}
	text := strings.Repeat("long query ", 10_000)
	write(t, s, func(tx *catalog.Tx) error { return tx.AddMechanism(m, nil) })
	want := []catalog.Answer{
		{TableID: table, Query: text, Kind: catalog.AnswerDirect, Via: "direct", Estimate: math.MinInt64, Law: json.RawMessage(`{"law":"dgauss(17/3)"}`)},
		{TableID: table, Query: text, Kind: catalog.AnswerFired, Via: "live", MechanismID: m.ID, Estimate: 57},
		{TableID: table, Query: text, Kind: catalog.AnswerVerified, Via: "live", MechanismID: m.ID, Estimate: 0, Law: json.RawMessage(`[1]`)},
	}
	write(t, s, func(tx *catalog.Tx) error {
		for i := range want {
			if err := tx.PutAnswer(&want[i]); err != nil {
				return err
			}
		}
		return nil
	})
	want[1].Law = json.RawMessage("{}")
	read(t, s, func(tx *catalog.Tx) error {
		got, err := tx.Answers(table, text)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		for _, other := range []string{"", text[1:], strings.ToUpper(text)} {
			if got, err := tx.Answers(table, other); len(got) != 0 || err != nil {
				t.Errorf("%d answers to another query, %v", len(got), err)
			}
		}
		return err
	})
	for _, bad := range []catalog.Answer{{TableID: table, Kind: "guess"}, {TableID: table, Kind: catalog.AnswerDirect, Law: json.RawMessage("{")}} {
		wantCode(t, s.Write(context.Background(), func(tx *catalog.Tx) error { return tx.PutAnswer(&bad) }), sqlerr.Internal)
	}
}
