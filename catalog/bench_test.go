package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"dpsql/accounting"
	"dpsql/catalog"
)

func BenchmarkCharge(b *testing.B) {
	s := open(b, dbPath(b))
	a := &catalog.Account{Bases: []string{"raws"}, Caps: accounting.Caps{ReleaseEpsilon: math.MaxInt64 / 2}}
	write(b, s, func(tx *catalog.Tx) error { return tx.CreateAccount(a) })
	b.ReportAllocs()
	for b.Loop() {
		if err := charge(s, a.ID, catalog.KindReleases, epsilon(1, 0)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAnswers(b *testing.B) {
	s := open(b, dbPath(b))
	table := &catalog.Table{Name: "t", Columns: clinicColumns()}
	write(b, s, func(tx *catalog.Tx) error {
		if err := tx.AddTable(table); err != nil {
			return err
		}
		for i := range 1000 {
			if err := tx.PutAnswer(&catalog.Answer{TableID: table.ID, Query: catalog.SumOf(fmt.Sprint("q", i)), Kind: catalog.AnswerDirect}); err != nil {
				return err
			}
		}
		return nil
	})
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Answers(context.Background(), table.ID, "q500"); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, n := range []int{1, 1024} {
		queries := make([]string, n)
		for i := range queries {
			queries[i] = fmt.Sprint("q", 5000+i)
		}
		b.Run(fmt.Sprint("none of ", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := s.Unanswered(context.Background(), table.ID, queries); slices.Contains(got, false) {
					b.Fatal("an answer was found")
				}
			}
		})
	}
}

// BenchmarkVersion asks for the state of the file, as every statement does.
func BenchmarkVersion(b *testing.B) {
	s := open(b, dbPath(b))
	addPublic(b, s, "p")
	b.ReportAllocs()
	for b.Loop() {
		if v, err := s.Version(context.Background()); err != nil || !v.Known() {
			b.Fatal(v, err)
		}
	}
}

// BenchmarkListings reads what a statement reads before it is planned: the
// public part of a catalog with two tables, four releases and two mechanisms.
func BenchmarkListings(b *testing.B) {
	s := open(b, dbPath(b))
	for i := range 2 {
		_, table := declare(b, s, fmt.Sprintf("t%dx", i))
		write(b, s, func(tx *catalog.Tx) error {
			for j := range 2 {
				if err := tx.AddRelease(&catalog.Release{Name: fmt.Sprint("r", i, j), TableID: table}, nil); err != nil {
					return err
				}
			}
			return tx.AddMechanism(&catalog.Mechanism{Name: fmt.Sprint("m", i), TableID: table}, nil)
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		read(b, s, func(tx *catalog.Tx) error {
			_, err1 := tx.Publics()
			_, err2 := tx.Tables()
			_, err3 := tx.Releases(0)
			_, err4 := tx.Mechanisms(0)
			_, err5 := tx.Accounts()
			_, err6 := tx.MostSpent(1)
			return errors.Join(err1, err2, err3, err4, err5, err6)
		})
	}
}
