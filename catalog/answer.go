package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"dpsql/catalog/internal/ledger"
	"dpsql/sqlerr"
)

// AnswerKind says how an answer came about, which decides its margin.
type AnswerKind string

// The kinds of stored answers.
const (
	AnswerDirect   AnswerKind = "direct"
	AnswerFired    AnswerKind = "smw-fired"
	AnswerVerified AnswerKind = "smw-unfired"
)

// Answer is a stored answer. It was paid for once and serves again at no cost.
type Answer struct {
	ID          int64
	TableID     int64
	Query       string // canonical text
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
	case AnswerDirect, AnswerFired, AnswerVerified:
	default:
		return sqlerr.New(sqlerr.Internal, "an answer has an unknown kind")
	}
	law, err := encodeJSON(a.Law)
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
	sum := checksum([]byte(a.Query))
	a.ID, err = tx.insert(`INSERT INTO dpsql_answers (table_id, sha256, query, kind, via, mechanism, estimate, law, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, a.TableID, sum, a.Query, string(a.Kind), a.Via,
		mechanism, a.Estimate, law, formatTime(a.CreatedAt))
	if err != nil {
		return err
	}
	a.Law = json.RawMessage(law)
	if err := tx.seal("dpsql_answers", a.ID, a.encoding()); err != nil {
		return err
	}
	_, err = tx.exec(`INSERT INTO dpsql_answer_counts (table_id, sha256, answers) VALUES (?, ?, 1)
		ON CONFLICT DO UPDATE SET answers = answers + 1`, a.TableID, sum)
	return err
}

func (a *Answer) encoding() ledger.Encoding {
	return ledger.Encode("answer").Numbers(a.ID, a.TableID).Texts(a.Query, string(a.Kind), a.Via).
		Numbers(a.MechanismID, a.Estimate).Texts(string(a.Law), formatTime(a.CreatedAt))
}

const selectAnswer = `SELECT id, table_id, query, kind, via, COALESCE(mechanism, 0), estimate, law, created_at, digest
	FROM dpsql_answers `

// Answers lists the stored answers to a query on a table, given as canonical
// text, oldest first. Answers of a dropped table are found only under its old id.
// Errors: Corrupt when one is missing.
func (tx *Tx) Answers(table int64, query string) ([]Answer, error) {
	sum := checksum([]byte(query))
	all, err := list(tx, scanAnswer, selectAnswer+`WHERE table_id = ? AND sha256 = ? ORDER BY id`, table, sum)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].TableID != table || all[i].Query != query { // no two texts have one SHA-256
			return nil, corrupt("the stored answers of the catalog are not where they belong")
		}
	}
	if tx.version < answerCountsVersion {
		return all, nil
	}
	count, err := find(tx, scanNumber, `SELECT answers FROM dpsql_answer_counts WHERE table_id = ? AND sha256 = ?`, table, sum)
	if err == nil && count != nil && *count > int64(len(all)) {
		err = corrupt("a stored answer to the query is missing")
	}
	return all, err
}

// Answers is Tx.Answers in a Read of its own. Most queries have no stored answer,
// and every count that is asked is looked up: one statement without a transaction
// says so in 7 µs, a Read in 35 (BenchmarkAnswers), more than the rest of a free
// answer.
func (s *Store) Answers(ctx context.Context, table int64, query string) (all []Answer, err error) {
	if none, err := s.noAnswers(ctx, table, checksum([]byte(query))); err == nil && none {
		return nil, nil
	}
	err = s.Read(ctx, func(tx *Tx) error {
		all, err = tx.Answers(table, query)
		return err
	})
	return all, err
}

// noAnswers reports whether it is certain that a query has no stored answer, by
// one statement without a transaction around it.
func (s *Store) noAnswers(ctx context.Context, table int64, sum []byte) (none bool, err error) {
	err = s.onProbe(ctx, func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, `SELECT version = ?3 AND NOT EXISTS (SELECT 1 FROM dpsql_answer_counts WHERE table_id = ?1 AND sha256 = ?2)
			AND NOT EXISTS (SELECT 1 FROM dpsql_answers WHERE table_id = ?1 AND sha256 = ?2) FROM dpsql_schema`,
			table, sum, s.latest()).Scan(&none)
	})
	return none, err
}

func scanAnswer(row record) (a Answer, err error) {
	var law, at string
	var digest []byte
	err = row.Scan(&a.ID, &a.TableID, &a.Query, &a.Kind, &a.Via, &a.MechanismID, &a.Estimate, &law, &at, &digest)
	if err != nil {
		return a, err
	}
	a.Law = json.RawMessage(law)
	if a.CreatedAt, err = parseTime(at); err != nil {
		return a, err
	}
	return a, checkDigest("a stored answer", a.encoding(), digest)
}
