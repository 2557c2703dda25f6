package catalog

import (
	"encoding/json"
	"time"

	"dpsql/sqlerr"
)

// AnswerKind tells how an answer came about, which decides its margin.
type AnswerKind string

// The kinds of stored answers.
const (
	AnswerDirect   AnswerKind = "direct"
	AnswerFired    AnswerKind = "smw-fired"
	AnswerVerified AnswerKind = "smw-unfired"
)

// Answer is an answer paid for once, which serves again at no cost.
type Answer struct {
	ID          int64
	TableID     int64
	Query       string // canonical text
	Kind        AnswerKind
	Via         string // the mechanism's name, or "direct"
	MechanismID int64  // 0 for a direct answer
	Estimate    int64
	Law         json.RawMessage // what the margin is computed from, at any confidence
	CreatedAt   time.Time
}

// PutAnswer stores an answer beside those that exist for its query, and sets
// a.ID, and a.CreatedAt unless the caller did.
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
	return tx.join(rollAnswers, answerKey(a.ID, a.TableID, sum))
}

// answerKey is what an answer is in the roll of all: what AnswerKeys reads of
// it, and what it is found by.
func answerKey(id, table int64, sum []byte) string {
	return key(id) + " " + key(table) + " " + string(sum)
}

func (a *Answer) encoding() encoding {
	return encode("answer").numbers(a.ID, a.TableID).texts(a.Query, string(a.Kind), a.Via).
		numbers(a.MechanismID, a.Estimate).texts(string(a.Law), formatTime(a.CreatedAt))
}

const selectAnswer = `SELECT id, table_id, query, kind, via, COALESCE(mechanism, 0), estimate, law, created_at, digest
	FROM dpsql_answers `

// Answers lists the stored answers to a query on a table, given as canonical
// text, oldest first. Those of a dropped table are found only under its old id.
func (tx *Tx) Answers(table int64, query string) ([]Answer, error) {
	all, err := list(tx, scanAnswer, selectAnswer+`WHERE table_id = ? AND sha256 = ? ORDER BY id`, table, checksum([]byte(query)))
	for i := range all {
		if all[i].TableID != table || all[i].Query != query { // no two texts have one SHA-256
			return nil, corrupt("the stored answers of the catalog are not where they belong")
		}
	}
	return all, err
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
	return a, row.verify("a stored answer", a.encoding(), digest)
}
