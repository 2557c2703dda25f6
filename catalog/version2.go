package catalog

// version2 adds a digest to every record that matters, and the rolls, which say
// which records there are. Columns, base tables and payloads are covered by the
// records they belong to, a public table by its roll.
const version2 = `
ALTER TABLE dpsql_accounts ADD COLUMN digest BLOB NOT NULL DEFAULT x'';
ALTER TABLE dpsql_tables ADD COLUMN digest BLOB NOT NULL DEFAULT x'';
ALTER TABLE dpsql_releases ADD COLUMN digest BLOB NOT NULL DEFAULT x'';
ALTER TABLE dpsql_mechanisms ADD COLUMN digest BLOB NOT NULL DEFAULT x'';
ALTER TABLE dpsql_history ADD COLUMN digest BLOB NOT NULL DEFAULT x'';
ALTER TABLE dpsql_answers ADD COLUMN digest BLOB NOT NULL DEFAULT x'';

CREATE TABLE dpsql_rolls (
	owner  INTEGER NOT NULL,
	name   TEXT NOT NULL,
	count  INTEGER NOT NULL,
	sum    BLOB NOT NULL,
	PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
INSERT INTO dpsql_rolls VALUES (0, 'catalog', 0, randomblob(32));

DROP TRIGGER dpsql_history_update;
`

const historyUpdate = `CREATE TRIGGER dpsql_history_update BEFORE UPDATE ON dpsql_history
BEGIN SELECT RAISE(ABORT, 'a history is append-only'); END`

// sealAll writes the digests and rolls of all records there are, as they are
// read: of damage that came before, only what contradicts itself is noticed.
func (tx *Tx) sealAll() error {
	for _, part := range []func(*Tx) error{(*Tx).sealAccounts, (*Tx).sealTables, (*Tx).sealReleases,
		(*Tx).sealMechanisms, (*Tx).sealHistories, (*Tx).sealAnswers} {
		if err := part(tx); err != nil {
			return err
		}
	}
	_, err := tx.exec(historyUpdate)
	return err
}

// sealAccounts seals the ledger, the accounts and the public tables.
func (tx *Tx) sealAccounts() error {
	c, err := tx.verify()
	if err != nil {
		return err
	}
	if err := tx.setRoll(0, rollLedger, c.end()); err != nil {
		return err
	}
	publics, err := tx.Publics()
	if err != nil {
		return err
	}
	if err := tx.setRoll(0, rollPublics, rollOf(publics, func(name *string) string { return *name })); err != nil {
		return err
	}
	accounts, err := tx.Accounts()
	return sealEach(tx, "dpsql_accounts", accounts, err, rollAccounts, func(a *Account) (int64, string, encoding) {
		return a.ID, key(a.ID), a.encoding()
	})
}

func (tx *Tx) sealTables() error {
	all, err := tx.tables(rollDeclared, ``, ``)
	err = sealEach(tx, "dpsql_tables", all, err, rollDeclared, func(t *Table) (int64, string, encoding) {
		return t.ID, key(t.ID), t.encoding()
	})
	if err != nil {
		return err
	}
	live, err := tx.Tables()
	if err != nil {
		return err
	}
	return tx.setRoll(0, rollTables, rollOf(live, func(t *Table) string { return key(t.ID) }))
}

func (tx *Tx) sealReleases() error {
	all, err := tx.Releases(0)
	return sealEach(tx, "dpsql_releases", all, err, rollReleases, func(r *Release) (int64, string, encoding) {
		return r.ID, key(r.ID), r.encoding()
	})
}

func (tx *Tx) sealMechanisms() error {
	all, err := tx.Mechanisms(0)
	return sealEach(tx, "dpsql_mechanisms", all, err, rollMechanisms, func(m *Mechanism) (int64, string, encoding) {
		return m.ID, key(m.ID), m.encoding()
	})
}

func (tx *Tx) sealAnswers() error {
	all, err := list(tx, scanAnswer, selectAnswer)
	if err != nil {
		return err
	}
	for _, a := range all {
		if err := tx.seal("dpsql_answers", a.ID, a.encoding()); err != nil {
			return err
		}
	}
	return nil
}

// sealEach seals the records of a set that were read, or failed to be. Of each
// it is told the id, the key in the set, and the encoding.
func sealEach[T any](tx *Tx, table string, all []T, err error, set string, of func(*T) (int64, string, encoding)) error {
	if err != nil {
		return err
	}
	for i := range all {
		id, _, e := of(&all[i])
		if err := tx.seal(table, id, e); err != nil {
			return err
		}
	}
	return tx.setRoll(0, set, rollOf(all, func(one *T) string { _, key, _ := of(one); return key }))
}

func (tx *Tx) sealHistories() error {
	all, err := tx.Mechanisms(0)
	if err != nil {
		return err
	}
	for _, m := range all {
		if err := tx.sealHistory(m.ID); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) sealHistory(mechanism int64) error {
	rows, err := tx.History(mechanism, 1)
	if err != nil {
		return err
	}
	var last roll
	for _, h := range rows {
		last = h.follow(mechanism, last)
		if h.Seq != last.count {
			return corrupt("update %d of the mechanism's history is missing", last.count)
		}
		if _, err := tx.exec(`UPDATE dpsql_history SET digest = ? WHERE mechanism = ? AND seq = ?`, last.sum[:], mechanism, h.Seq); err != nil {
			return err
		}
	}
	return tx.setRoll(mechanism, rollHistory, last)
}
