package catalog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"dpsql/catalog/internal/ledger"
	"dpsql/sqlerr"
)

// AnswerKind is the way in which an answer was computed. It decides the margin.
type AnswerKind string

// The kinds of stored answers.
const (
	AnswerDirect       AnswerKind = "direct"
	AnswerUnits        AnswerKind = "units"  // a number of units, bought like a direct answer
	AnswerValues       AnswerKind = "values" // a number of values, bought like a direct answer
	AnswerFired        AnswerKind = "smw-fired"
	AnswerVerified     AnswerKind = "smw-unfired"
	AnswerDistribution AnswerKind = "distribution" // of a column: its noisy numbers stand in Law
)

// QuerySum is the SHA-256 of a query's canonical text. An answer is stored under it, and not
// under the text, so that what it takes in the file does not grow with the query.
type QuerySum [sha256.Size]byte

// SumOf returns the sum of a query, given as canonical text.
func SumOf(query string) QuerySum { return sha256.Sum256([]byte(query)) }

// Answer is a stored answer. It was paid for once and serves again at no cost.
type Answer struct {
	ID          int64
	TableID     int64
	Query       QuerySum
	Kind        AnswerKind
	Via         string // the mechanism's name, or "direct"
	MechanismID int64  // 0 for a direct answer
	Estimate    int64
	Law         json.RawMessage // the law of its noise, from which its margin is computed
	CreatedAt   time.Time
}

// PutAnswer stores an answer beside others of its query. It sets a.ID, and a.CreatedAt
// unless the caller did.
func (tx *Tx) PutAnswer(a *Answer) error {
	switch a.Kind {
	case AnswerDirect, AnswerUnits, AnswerValues, AnswerFired, AnswerVerified, AnswerDistribution:
	default:
		return sqlerr.New(sqlerr.Internal, "an answer has an unknown kind")
	}
	law, err := compact(a.Law)
	if err != nil {
		return err
	}
	var mechanism any
	if a.MechanismID != 0 {
		mechanism = a.MechanismID
	}
	if a.CreatedAt.IsZero() {
		a.CreatedAt = tx.stamp()
	}
	a.ID, err = tx.insert(`INSERT INTO dpsql_answers (table_id, sha256, kind, via, mechanism, estimate, law, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, a.TableID, a.Query[:], string(a.Kind), a.Via,
		mechanism, a.Estimate, string(law), formatTime(a.CreatedAt))
	if err != nil {
		return err
	}
	a.Law = law
	digest := a.encoding().Digest()
	if _, err := tx.exec(`UPDATE dpsql_answers SET digest = ? WHERE id = ?`, digest[:], a.ID); err != nil {
		return err
	}
	_, err = tx.exec(`INSERT INTO dpsql_answer_counts (table_id, sha256, answers) VALUES (?, ?, 1)
		ON CONFLICT DO UPDATE SET answers = answers + 1`, a.TableID, a.Query[:])
	return err
}

func (a *Answer) encoding() ledger.Encoding {
	return ledger.Encode("answer").Numbers(a.ID, a.TableID).Texts(string(a.Query[:]), string(a.Kind), a.Via).
		Numbers(a.MechanismID, a.Estimate).Texts(string(a.Law), formatTime(a.CreatedAt))
}

const selectAnswer = `SELECT id, table_id, sha256, kind, via, COALESCE(mechanism, 0), estimate, law, created_at, digest
	FROM dpsql_answers `

// Answers lists the stored answers to a query on a table, given as canonical
// text, oldest first. Answers of a dropped table are found only under its old id.
// Errors: Corrupt when one is missing.
func (tx *Tx) Answers(table int64, query string) ([]Answer, error) {
	sum := SumOf(query)
	all, err := list(tx, scanAnswer, selectAnswer+`WHERE table_id = ? AND sha256 = ? ORDER BY id`, table, sum[:])
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].TableID != table || all[i].Query != sum {
			return nil, corrupt("the stored answers of the catalog are not where they belong")
		}
	}
	count, err := find(tx, scanNumber, `SELECT answers FROM dpsql_answer_counts WHERE table_id = ? AND sha256 = ?`, table, sum[:])
	if err == nil && count != nil && *count > int64(len(all)) {
		err = corrupt("a stored answer to the query is missing")
	}
	return all, err
}

// HasAnswers reports whether any query on a table has a stored answer, or one that is
// missing.
func (tx *Tx) HasAnswers(table int64) (bool, error) {
	n, err := find(tx, scanNumber, `SELECT EXISTS (SELECT 1 FROM dpsql_answers WHERE table_id = ?1)
		OR EXISTS (SELECT 1 FROM dpsql_answer_counts WHERE table_id = ?1)`, table)
	return n != nil && *n != 0, err
}

// Answers is Tx.Answers in a Read of its own.
func (s *Store) Answers(ctx context.Context, table int64, query string) ([]Answer, error) {
	return Get(ctx, s, func(tx *Tx) ([]Answer, error) { return tx.Answers(table, query) })
}

// maxLookUp bounds how many queries one statement looks up, since others wait for it.
const maxLookUp = 1 << 10

// Unanswered reports, for each query, whether it certainly has no stored answer. Most
// queries have none. One statement without a transaction finds that out for many of
// them in 3 µs each, or 10 µs for a single one. Answers takes 35 µs (BenchmarkAnswers).
func (s *Store) Unanswered(ctx context.Context, table int64, queries []string) []bool {
	unanswered := make([]bool, 0, len(queries))
	for some := range slices.Chunk(queries, maxLookUp) {
		unanswered = append(unanswered, s.lookUp(ctx, table, some)...)
	}
	return unanswered
}

// lookUp is Unanswered for up to maxLookUp queries. If it fails, nothing is certain.
func (s *Store) lookUp(ctx context.Context, table int64, queries []string) []bool {
	sums := make([]string, len(queries))
	for i, q := range queries {
		sum := SumOf(q)
		sums[i] = hex.EncodeToString(sum[:])
	}
	list := `["` + strings.Join(sums, `","`) + `"]`
	unanswered := make([]bool, len(queries))
	err := s.onProbe(ctx, func(conn *sql.Conn) error {
		rows, err := conn.QueryContext(ctx, `SELECT key FROM json_each(?2), dpsql_schema WHERE version = ?3
			AND NOT EXISTS (SELECT 1 FROM dpsql_answer_counts WHERE table_id = ?1 AND sha256 = unhex(value))
			AND NOT EXISTS (SELECT 1 FROM dpsql_answers WHERE table_id = ?1 AND sha256 = unhex(value))`,
			table, list, s.latest())
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var i int
			if err := rows.Scan(&i); err != nil {
				return err
			}
			unanswered[i] = true
		}
		return rows.Err()
	})
	if err != nil {
		clear(unanswered)
	}
	return unanswered
}

func scanAnswer(row record) (a Answer, err error) {
	var law, at string
	var sum, digest []byte
	err = row.Scan(&a.ID, &a.TableID, &sum, &a.Kind, &a.Via, &a.MechanismID, &a.Estimate, &law, &at, &digest)
	if err != nil {
		return a, err
	}
	if len(sum) != len(a.Query) {
		return a, corrupt("the record of a stored answer has no sum of its query")
	}
	a.Query = QuerySum(sum)
	a.Law = json.RawMessage(law)
	if a.CreatedAt, err = parseTime(at); err != nil {
		return a, err
	}
	if want := a.encoding().Digest(); !bytes.Equal(want[:], digest) {
		return a, corrupt("the record of a stored answer does not match its checksum")
	}
	return a, nil
}
