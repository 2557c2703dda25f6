package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/engine"
	"dpsql/query"
	"dpsql/server/pgcatalog"
	"dpsql/sqlerr"
)

// conn is a connection. One goroutine runs it, but for interrupt and drain.
type conn struct {
	server  *Server
	verbs   map[string]*verbForm
	raw     net.Conn // as it was accepted
	net     net.Conn // with TLS, if there is
	tls     *tls.Conn
	binding []byte            // of TLS, for logins that are bound to it
	wire    *pgproto3.Backend // reads messages
	out     io.Writer         // takes them, see send
	log     *slog.Logger

	user    string
	folded  string // one for Ana and ANA, who are one user
	curator bool
	session *engine.Session
	number  uint32 // that clients know the connection by
	key     []byte // to cancel by

	settings   settings
	block      block
	implicit   *savepoint            // outside a block: what an error undoes, once a verb has run since the client's turn
	statements map[string]*statement // prepared, by name; "" is the unnamed one
	portals    map[string]*portal
	made       int     // portals
	described  *portal // whose columns the client has asked for and not been sent
	skipping   bool    // after an error, until the client's Sync
	several    bool    // the text that runs has several statements, which are one transaction
	passing    int     // bytes of the text that runs, and of the rows that are being sent
	held       int     // bytes that the user's account has for this connection
	endTurn    func()  // of the message that is answered, see turns
	waiting    []byte  // to be sent
	lost       error   // why nothing can be sent any more

	running atomic.Pointer[context.CancelFunc] // of the statement that runs
	ending  atomic.Pointer[fatalError]         // why the connection ends once no statement runs; nil if it does not
	ctx     context.Context                    // of the login
	stop    context.CancelFunc
	network string       // see scram.Network
	steps   atomic.Int32 // of the login that the client has made
}

// interrupt cancels the statement that runs, if one does.
func (c *conn) interrupt() {
	if cancel := c.running.Load(); cancel != nil {
		(*cancel)()
	}
}

// work has something done for a statement, in a context that ends with the statement_timeout, and that interrupt
// ends. A fault is an error of the statement alone: package engine lets go of all that a statement holds, and begins
// each anew.
func (c *conn) work(do func(ctx context.Context) error) (err error) {
	ctx, cancel := c.settings.deadline()
	defer cancel()
	defer c.running.Store(c.running.Swap(&cancel))
	defer func() {
		if fault := recover(); fault != nil {
			c.fault("a statement ended by a fault", fault)
			err = sqlerr.New(sqlerr.Internal, "the statement failed inside dpsql")
		}
	}()
	if why := c.ending.Load(); why != nil {
		return why
	}
	return do(ctx)
}

// fault counts a fault, and writes where it happened to the log: no value.
func (c *conn) fault(what string, fault any) {
	c.server.counts.Panics.Add(1)
	c.log.Error(what, "fault", fmt.Sprintf("%T", fault), "stack", stack())
}

// drain ends the connection once no statement runs.
func (c *conn) drain(why *fatalError) {
	c.ending.Store(why)
	c.stop()
	c.raw.SetReadDeadline(time.Now())
}

var (
	errDraining = &fatalError{"57P01", "the server is shutting down"}
	errCrowded  = &fatalError{"53300", "there are too many connections"}
)

// block is a transaction block. Nothing that was charged is given back by it: it keeps to the
// protocol, and may be one in which nothing is bought.
type block struct {
	begun, aborted bool
	readOnly       bool
	start          savepoint
	savepoints     []savepoint
}

// savepoint is what a transaction block, or the rest of one, is rolled back to.
type savepoint struct {
	name                      string
	readOnly                  bool
	changed, local, displaced map[string]string // see settings
	engine                    engine.Settings
	portals                   int // how many had been made
	bytes                     int // about what it takes
}

func (b *block) open() bool { return b.begun }

func (b *block) fail() { b.aborted = b.begun }

func (b *block) status() byte {
	switch {
	case b.aborted:
		return 'E'
	case b.begun:
		return 'T'
	}
	return 'I'
}

// statement is a prepared statement. It is of one of four kinds: a verb of PostgreSQL that
// this package obeys, a question about the catalog, a statement of the engine, or none of
// them, if it is empty.
type statement struct {
	text     string
	verb     *verb
	asked    *asked
	prepared *engine.Prepared
	types    []uint32 // of the parameters
	words    []string // up to three that it begins with, in upper case

	fingerprint string // see hash; "" before it is asked for
}

// asked is a prepared statement about the catalog.
type asked struct {
	text      string
	catalog   *pgcatalog.Catalog // that gave the statement its types
	statement *pgcatalog.Statement
}

// arguments are the values of a statement's parameters: those of the engine as it takes them, and
// those of a question about the catalog as the client sent them.
type arguments struct {
	prepared *engine.Prepared // the statement, given these
	values   []query.Value
	sent     []any // nil, a string in text form or []byte in binary form
}

// portal is a statement with its arguments. It runs when its first row is asked for, once.
type portal struct {
	name      string
	number    int // in the order in which the connection made them
	statement *statement
	args      arguments
	formats   []int16 // of the columns: none, one for all, or one each
	hold      bool    // a cursor that outlives its transaction
	cursor    bool    // declared by DECLARE: its rows can be taken again
	behind    bool    // a cursor that is behind its last row
	out       *output // nil until it has run
	bytes     int     // about what it takes before it has run, with its statement, which may be closed
	next      int     // the first row that was not sent
}

// output is what a statement gave.
type output struct {
	columns []column
	rows    [][]any
	tag     string // of CommandComplete; rows are counted by whoever sends them if counted
	counted bool   // the tag ends with the number of rows
	notices []*pgproto3.NoticeResponse
	catalog *pgcatalog.Catalog // whose values the rows have; nil for values of the engine
	bytes   int                // see weight
	copied  *copyForm          // COPY … TO STDOUT
}

// copyForm is how COPY … TO STDOUT writes rows.
type copyForm struct {
	csv       bool
	header    bool
	delimiter byte
	null      string
}

// verb is a statement that belongs to PostgreSQL's protocol and sessions, and not to the
// engine: transactions, settings, cursors, prepared statements, COPY.
type verb struct {
	*verbForm
	word     string // in upper case, as errors and CommandComplete have it
	name     string // of a savepoint, setting, statement or cursor; "" for all
	value    string // of a setting
	inherit  bool   // SET … TO DEFAULT
	local    bool   // SET LOCAL
	readOnly *bool  // of a transaction, if it says so
	level    string // of its isolation, if it says so
	session  bool   // SET SESSION CHARACTERISTICS
	chain    bool   // COMMIT AND CHAIN
	to       bool   // ROLLBACK TO
	inner    string // the text of a statement within
	innerAt  int    // the characters before it
	types    []uint32
	args     []any // texts, or nil
	hold     bool  // DECLARE … WITH HOLD
	scroll   scroll
	copied   *copyForm
}

// verbForm is how a verb is parsed and obeyed.
type verbForm struct {
	word    string // the verb's, if another one begins it: START TRANSACTION is BEGIN
	tag     string // of CommandComplete, if that is not the word
	ends    bool   // it is obeyed also in a transaction that failed
	parse   func(p *verbParser, v *verb)
	columns func(c *conn, v *verb) ([]column, error) // of its rows, without obeying it; nil if it has none
	run     func(c *conn, v *verb) (*output, error)
}

// done returns the output of a verb that was obeyed.
func (v *verb) done() *output { return &output{tag: cmp.Or(v.tag, v.word)} }

// scroll says which rows FETCH takes.
type scroll struct {
	kind  string // forward, backward, absolute, relative
	count int
	all   bool
}

func (st *statement) empty() bool { return st.verb == nil && !st.query() }

// query reports whether a statement is not a verb: it can be prepared, declared and copied.
func (st *statement) query() bool { return st.asked != nil || st.prepared != nil }

// hash returns the fingerprint of a statement. It is computed once, since most statements that
// run often are prepared.
func (st *statement) hash() string {
	if st.fingerprint == "" {
		st.fingerprint = engine.Fingerprint(st.text)
	}
	return st.fingerprint
}

// open adds a portal.
func (c *conn) open(p *portal) {
	c.made++
	p.number = c.made
	c.portals[p.name] = p
}

// dropPortals forgets portals, as at the end of a transaction: all of them, or those that do
// not outlive it.
func (c *conn) dropPortals(all bool) {
	for name, p := range c.portals {
		if all || !p.hold {
			delete(c.portals, name)
		}
	}
}

// notice returns a notice, or none if the client does not want notices of its kind.
func (c *conn) notice(severity, code, message string) []*pgproto3.NoticeResponse {
	if !c.settings.wants(severity) {
		return nil
	}
	return []*pgproto3.NoticeResponse{{Severity: severity, SeverityUnlocalized: severity, Code: code, Message: message}}
}

// readOnly reports whether nothing may be bought now: in a transaction that is read-only.
func (c *conn) readOnly() bool {
	if c.block.begun {
		return c.block.readOnly
	}
	return c.settings.readOnly()
}
