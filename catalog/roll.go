package catalog

import (
	"crypto/sha256"
	"strconv"
)

// roll says which records there are: how many, and a digest over them. A
// record's own digest cannot tell that the record is missing; its roll does.
// The roll of a set has the sum, bit by bit, of the digests of its keys; the
// roll of a chain the digest of its last line.
type roll struct {
	count int64
	sum   [sha256.Size]byte
}

// The rolls of the catalog as a whole, which have the owner 0. A mechanism's
// history has one too, whose owner is the mechanism.
const (
	rollPublics    = "public tables"
	rollSteps      = "columns of public tables"
	rollSources    = "sources"
	rollAccounts   = "accounts"
	rollDeclared   = "declared tables" // dropped ones included
	rollTables     = "private tables"
	rollReleases   = "releases"
	rollMechanisms = "mechanisms"
	rollLedger     = "ledger"
	rollHistory    = "history"
	rollCatalog    = "catalog" // of nothing; its sum is the catalog's random name
)

func key(id int64) string { return strconv.FormatInt(id, 10) }

// with adds a key that is not in the set to it, or with by = −1 takes one out.
func (r roll) with(key string, by int64) roll {
	r.count += by
	for i, b := range encode("key").texts(key).digest() {
		r.sum[i] ^= b
	}
	return r
}

// roll returns a stored roll; one that was never written is empty. A
// transaction reads those of an owner once.
func (tx *Tx) roll(owner int64, name string) (roll, error) {
	if tx.version == 0 {
		return roll{}, nil // this transaction may still make the catalog
	}
	if all, read := tx.rolls[owner]; read {
		return all[name], nil
	}
	all := map[string]roll{}
	err := each(tx, func(row record) error {
		var name string
		var r roll
		var sum []byte
		err := row.Scan(&name, &r.count, &sum)
		copy(r.sum[:], sum)
		all[name] = r
		return err
	}, `SELECT name, count, sum FROM dpsql_rolls WHERE owner = ?`, owner)
	if err != nil {
		return roll{}, err
	}
	if tx.rolls == nil {
		tx.rolls = map[int64]map[string]roll{}
	}
	tx.rolls[owner] = all
	return all[name], nil
}

func (tx *Tx) setRoll(owner int64, name string, r roll) error {
	_, err := tx.exec(`INSERT INTO dpsql_rolls (owner, name, count, sum) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET count = excluded.count, sum = excluded.sum`, owner, name, r.count, r.sum[:])
	if all, read := tx.rolls[owner]; read && err == nil {
		all[name] = r
	}
	return err
}

// join adds a key to a set of the catalog.
func (tx *Tx) join(set, key string) error { return tx.turn(set, key, 1) }

// quit takes a key out of a set of the catalog.
func (tx *Tx) quit(set, key string) error { return tx.turn(set, key, -1) }

func (tx *Tx) turn(set, key string, by int64) error {
	r, err := tx.roll(0, set)
	if err != nil {
		return err
	}
	return tx.setRoll(0, set, r.with(key, by))
}

// rollOf returns the roll of a set.
func rollOf[T any](all []T, key func(*T) string) (r roll) {
	for i := range all {
		r = r.with(key(&all[i]), 1)
	}
	return r
}

// complete checks that all records of a set, and no others, were read.
func complete[T any](tx *Tx, set string, all []T, key func(*T) string) error {
	stored, err := tx.roll(0, set)
	if err != nil {
		return err
	}
	return stored.compare(set, rollOf(all, key))
}

// compare refuses what was found of a set when it is not what was stored.
func (r roll) compare(set string, found roll) error {
	if found != r {
		return corrupt("the catalog lists %d %s, which are not the %d that it has", r.count, set, found.count)
	}
	return nil
}
