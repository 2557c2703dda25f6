package engine_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsql/engine"
	"dpsql/sqlerr"
)

var flips = flag.Int("flips", 0, "bits that TestFlippedBits turns over in each column of each table; 0 means 1, or 4 with -long")

// trial is a statement, and whether what it says is drawn anew each time.
type trial struct {
	mechanism, text string
	noisy           bool
}

const other = `SELECT COUNT(*) FROM ward WHERE age = 7`

// firstWrite is the first trial that changes anything.
const firstWrite = 15

// trials read and use every kind of record. They are run in order.
var trials = []trial{
	{"auto", `SHOW LEDGER`, false}, {"auto", `SHOW TABLES`, false}, {"auto", `DESCRIBE ward`, false}, {"auto", `SHOW BUDGET`, false},
	{"auto", `SHOW RELEASES`, false}, {"auto", `SHOW MECHANISMS`, false},
	{"auto", `SHOW SOURCES`, false}, {"auto", `DESCRIBE afar`, false}, {"direct", `EXPLAIN SELECT COUNT(*) FROM afar WHERE age = 7`, false},
	{"r0", boughtOnce, false}, {"direct", boughtOnce, false}, {"m0", askedOnce, false},
	{"m0", `SELECT COUNT(*) FROM ward WHERE age IN (60, 65)`, false}, // fired
	{"m0", `EXPLAIN ` + askedNever, false}, {"direct", `EXPLAIN ` + askedNever, false},
	{"m0", askedNever, false}, // fires with probability below 1e-8
	{"direct", askedNever, true},
	{"auto", `CREATE PRIVATE TABLE again (diagnosis TEXT IN (SELECT code FROM codes)) FROM raw_ward WITH (epsilon = 1000, delta = 1e-6, interactive = 0.5)`, true},
	{"auto", `CREATE SOURCE lake USING POSTGRES WITH (dsn_env = 'LAKE_DSN')`, false}, {"auto", `SHOW SOURCES`, true},
	{"auto", `DROP MECHANISM m0`, false}, {"auto", `SHOW BUDGET`, false},
	{"auto", `CREATE RELEASE r1 ON ward USING PROJECTION WITH (epsilon = 1)`, false}, {"r1", `EXPLAIN ` + other, false},
	{"auto", `CREATE MECHANISM m1` + sure, false}, {"m1", `EXPLAIN ` + other, false}, {"auto", `SHOW BUDGET`, false},
}

// tryAll executes the trials and says how each came out.
func tryAll(path string) (all []string) {
	db, err := engine.Open(path, engine.Options{})
	if err != nil {
		return slices.Repeat([]string{refusedBecause(err)}, len(trials))
	}
	defer db.Close()
	for _, s := range trials {
		r, err := askVia(db, s.mechanism, s.text)
		if err != nil {
			all = append(all, refusedBecause(err))
			continue
		}
		text := fmt.Sprint(r.Columns, len(r.Rows), r.Warnings)
		if !s.noisy {
			text += fmt.Sprint(r.Rows)
		}
		if r.Answer != nil {
			text += fmt.Sprint(*r.Answer)
		}
		all = append(all, text)
	}
	return all
}

const refusedAs = "refused: "

func refusedBecause(err error) string { return refusedAs + err.Error() }

// knownContent is the sound database with a public table and with things dropped, and
// what its trials say.
func knownContent(t *testing.T) (content []byte, says []string) {
	t.Helper()
	s := newSound(t)
	path := filepath.Join(t.TempDir(), "ward.db")
	restore(t, path, s.content)
	db := open(t, path, engine.Options{})
	fill(t, db.NewSession(), `CREATE TABLE codes (code TEXT)`, `INSERT INTO codes VALUES ('E10'), ('E11')`, `CREATE TABLE odd (a)`)
	for _, text := range []string{`CREATE PUBLIC TABLE codes`, `CREATE PUBLIC TABLE odd`, `DROP PUBLIC TABLE odd`, wardTable("gone"),
		`CREATE RELEASE gone0 ON gone USING PROJECTION WITH (epsilon = 1)`, `DROP RELEASE gone0`,
		`CREATE MECHANISM gone1` + strings.Replace(sure, "200", "10", 1), `DROP MECHANISM gone1`, `DROP PRIVATE TABLE gone`} {
		must(t, db.NewSession(), text)
	}
	outsideOf(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	says = tryAll(path)
	for i, text := range says {
		if strings.HasPrefix(text, refusedAs) {
			t.Fatalf("%s: %s", trials[i].text, text)
		}
	}
	return content, says
}

// TestFlippedBits turns over single bits of every column of every table of the
// catalog, and of its indexes, one at a time, and then runs statements that read and use all of
// them. Each must say what it said before, or be refused as corrupt. Which bits
// are turned is random, as they are many; the test fails only if a damaged bit
// changes what is said, or, with probability below 1e-6 in all, if a query that
// should not fire does.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	content, want := knownContent(t)
	path := filepath.Join(t.TempDir(), "ward.db")
	restore(t, path, content)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	for _, table := range []string{"schema", "public", "sources", "accounts", "bases", "tables", "columns", "releases", "mechanisms",
		"payloads", "history", "answers", "answer_counts", "ledger", "rolls",
		"answers_query", "sources_live", "tables_live", "releases_live", "mechanisms_live"} {
		t.Run(table, func(t *testing.T) {
			noticed, harmless := tally{}, tally{}
			restore(t, path, content)
			byName := map[string][]field{}
			for _, f := range fields(t, content, path, "dpsql_"+table) {
				byName[f.name] = append(byName[f.name], f)
			}
			for name, all := range byName {
				for range sized(*flips, 1, 4) {
					f := all[random.IntN(len(all))]
					bit := 8*f.start + random.IntN(8*(f.end-f.start))
					flip(t, content, path, bit)
					if changed(t, fmt.Sprintf("bit %d of %s.%s", bit, table, name), tryAll(path), want) {
						noticed[name]++
					} else {
						harmless[name]++
					}
				}
			}
			t.Logf("noticed:%v\nof no effect:%v", noticed, harmless)
		})
	}
}

// TestStorageClasses turns over the lowest bit of each byte of the headers of
// records with names: it makes a text a blob of the same bytes, which nothing may
// be said differently for. By default it turns over every fourth byte, from a random
// one on, and with -long each of them.
func TestStorageClasses(t *testing.T) {
	t.Parallel()
	content, want := knownContent(t)
	path := filepath.Join(t.TempDir(), "ward.db")
	restore(t, path, content)
	every := sized(0, 4, 1)
	n := rand.IntN(every)
	t.Logf("every %d bytes, from byte %d on", every, n)
	for _, table := range []string{"releases", "mechanisms"} {
		restore(t, path, content)
		for _, f := range fields(t, content, path, "dpsql_"+table) {
			if f.name != "header" {
				continue
			}
			for at := f.start; at < f.end; at++ {
				if n++; n%every != 0 {
					continue
				}
				flip(t, content, path, 8*at)
				changed(t, fmt.Sprintf("byte %d of the header of %s", at-f.start, table), tryAll(path), want)
			}
		}
	}
}

// changed reports whether damage was noticed, and an error where a statement
// neither says what it said nor is refused as corrupt. A version of the catalog
// that does not exist is unsupported.
func changed(t *testing.T, damage string, got, want []string) (noticed bool) {
	t.Helper()
	failed := false
	for i := range want {
		switch corrupt := strings.HasPrefix(got[i], refusedAs+string(sqlerr.Corrupt)); {
		case got[i] == want[i]:
		case corrupt, strings.HasPrefix(got[i], refusedAs+string(sqlerr.Unsupported)) && strings.Contains(damage, "schema.version"):
			noticed = true
		case noticed && !strings.HasPrefix(got[i], refusedAs+string(sqlerr.Internal)) && i > 0 && dependsOnRefused(got, i):
		default:
			failed = true
			t.Errorf("%s: %s by %s\nsays %.300s\nnot  %.300s", damage, trials[i].text, trials[i].mechanism, got[i], want[i])
		}
		if failed {
			break
		}
	}
	return noticed
}

// dependsOnRefused reports whether a trial uses or lists what an earlier trial
// makes, which was refused.
func dependsOnRefused(got []string, i int) bool {
	return slices.ContainsFunc(got[:i], func(s string) bool { return strings.HasPrefix(s, refusedAs) }) &&
		(trials[i].mechanism == "r1" || trials[i].mechanism == "m1" || strings.Contains(trials[i].text, "SHOW BUDGET") || trials[i].text == `SHOW SOURCES`)
}

// TestDamageAnywhere turns over bits all over the file: structure, rows, indexes
// and free space included. No statement may panic or end in an internal error,
// no damage may give budget back, and nothing stored may answer otherwise. Which bits are turned is random.
func TestDamageAnywhere(t *testing.T) {
	t.Parallel()
	content, want := knownContent(t)
	path := filepath.Join(t.TempDir(), "ward.db")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 4))
	counts := tally{}
	for range 40 * sized(*flips, 1, 4) {
		bit := random.IntN(8 * len(content))
		switch random.IntN(3) {
		case 0:
			bit %= 8 * 4096 * 6 // the header and the schema
		case 1:
			bit = bit/(8*4096)*(8*4096) + bit%(8*64) // the header of a page
		}
		flip(t, content, path, bit)
		refused := false
		for i, got := range tryAll(path) {
			s := trials[i]
			switch {
			case got == want[i]:
				counts["as before"]++
			case strings.HasPrefix(got, refusedAs):
				refused = true
				code, _, _ := strings.Cut(strings.TrimPrefix(got, refusedAs), ":")
				counts["refused: "+code]++
				if code == string(sqlerr.Internal) || strings.HasPrefix(code, "panic") {
					t.Errorf("bit %d: %s by %s: %s", bit, s.text, s.mechanism, got)
				}
			case refused && i >= firstWrite: // what it depends on was refused
				counts["depends on what was refused"]++
			default:
				t.Errorf("bit %d: %s by %s\nsays %.500s\nnot  %.500s", bit, s.text, s.mechanism, got, want[i])
			}
		}
	}
	t.Log(counts)
}

// flip places content with one bit turned over.
func flip(t *testing.T, content []byte, path string, bit int) {
	t.Helper()
	damaged := bytes.Clone(content)
	damaged[bit/8] ^= 1 << (bit % 8)
	restore(t, path, damaged)
}
