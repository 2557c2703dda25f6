package server

// verbTable are the verbs by the word that begins them. What begins otherwise is a question about the
// catalog, or a statement of the engine.
var verbTable = withRefused(map[string]*verbForm{
	"BEGIN":      {parse: parseBegin, run: (*conn).beginBlock},
	"START":      {word: "BEGIN", tag: "START TRANSACTION", parse: parseStart, run: (*conn).beginBlock},
	"COMMIT":     {ends: true, parse: parseCommit, run: (*conn).endBlock},
	"END":        {word: "COMMIT", ends: true, parse: parseCommit, run: (*conn).endBlock},
	"ROLLBACK":   {ends: true, parse: parseRollback, run: (*conn).rollBackBlock},
	"ABORT":      {word: "ROLLBACK", ends: true, parse: parseRollback, run: (*conn).rollBackBlock},
	"SAVEPOINT":  {parse: parseName, run: (*conn).addSavepoint},
	"RELEASE":    {parse: parseRelease, run: (*conn).releaseSavepoint},
	"SET":        {parse: parseSet, run: (*conn).runSet},
	"RESET":      {parse: parseReset, run: (*conn).reset},
	"SHOW":       {parse: parseShow, columns: shownColumns, run: (*conn).show},
	"DISCARD":    {parse: parseDiscard, run: (*conn).discard},
	"PREPARE":    {parse: parsePrepare, run: (*conn).prepare},
	"EXECUTE":    {parse: parseExecute, columns: (*conn).namedColumns, run: (*conn).executeNamed},
	"DEALLOCATE": {parse: parseDeallocate, run: (*conn).deallocate},
	"DECLARE":    {tag: "DECLARE CURSOR", parse: parseDeclare, run: (*conn).declare},
	"FETCH":      {parse: parseFetch, columns: (*conn).cursorColumns, run: (*conn).fetch},
	"MOVE":       {parse: parseFetch, run: (*conn).move},
	"CLOSE":      {tag: "CLOSE CURSOR", parse: parseAllOrName, run: (*conn).closeCursor},
	"COPY":       {parse: parseCopy, run: (*conn).copyOut},
	"UNLISTEN":   {parse: func(p *verbParser, _ *verb) { p.take() }, run: doNothing},
	"REFRESH":    {parse: parseRefresh},
}, "LISTEN", "NOTIFY", "LOCK", "DO", "CALL", "INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "VACUUM", "ANALYZE",

	"COMMENT", "SECURITY", "CLUSTER", "REINDEX", "LOAD", "CHECKPOINT", "IMPORT", "REASSIGN")

// withRefused adds verbs of PostgreSQL that the server refuses.
func withRefused(all map[string]*verbForm, words ...string) map[string]*verbForm {
	for _, word := range words {
		all[word] = &verbForm{parse: parseRefused}
	}
	return all
}

func doNothing(_ *conn, v *verb) (*output, error) { return v.done(), nil }

// parseRefresh refuses REFRESH, but REFRESH RELEASE, which is the engine's.
func parseRefresh(p *verbParser, v *verb) {
	if p.left = p.at("RELEASE"); !p.left {
		parseRefused(p, v)
	}
}
