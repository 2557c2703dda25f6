package catalog

import (
	"fmt"
	"math"
	"testing"

	"dpsql/accounting"
)

func BenchmarkCharge(b *testing.B) {
	s := open(b, dbPath(b))
	a := &Account{Bases: []string{"raws"}, Caps: accounting.Caps{ReleaseEpsilon: math.MaxInt64 / 2}}
	write(b, s, func(tx *Tx) error { return tx.CreateAccount(a) })
	b.ReportAllocs()
	for b.Loop() {
		if err := charge(s, a.ID, KindReleases, epsilon(1, 0)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAnswers(b *testing.B) {
	s := open(b, dbPath(b))
	table := &Table{Name: "t", Columns: clinicColumns()}
	write(b, s, func(tx *Tx) error {
		if err := tx.AddTable(table); err != nil {
			return err
		}
		for i := range 1000 {
			if err := tx.PutAnswer(&Answer{TableID: table.ID, Query: fmt.Sprint("q", i), Kind: AnswerDirect}); err != nil {
				return err
			}
		}
		return nil
	})
	b.ReportAllocs()
	for b.Loop() {
		read(b, s, func(tx *Tx) error { _, err := tx.Answers(table.ID, "q500"); return err })
	}
}
