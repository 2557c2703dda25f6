package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpsql/engine"
	"dpsql/sqlerr"
)

// conn is a connection. One goroutine runs it, but for interrupt and drain.
type conn struct {
	server  *Server
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
	waiting    []byte  // to be sent
	lost       error   // why nothing can be sent any more

	running atomic.Pointer[context.CancelFunc] // of the statement that runs
	ending  atomic.Pointer[fatalError]         // why the connection ends once no statement runs; nil if it does not
	ctx     context.Context                    // of the login
	stop    context.CancelFunc
	network string       // see network
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

// loop answers messages until the client leaves or fails.
func (c *conn) loop() {
	c.statements, c.portals = make(map[string]*statement), make(map[string]*portal)
	defer c.server.accounts.close(c)
	for {
		message, err := c.receive()
		if err != nil {
			c.end(err)
			return
		}
		if _, ok := message.(*pgproto3.Terminate); ok {
			return
		}
		if err := c.handle(message); err != nil {
			c.end(err)
			return
		}
	}
}

func (c *conn) receive() (pgproto3.FrontendMessage, error) {
	if idle := c.server.config.Limits.Idle; idle > 0 {
		c.raw.SetReadDeadline(time.Now().Add(idle))
	}
	if why := c.ending.Load(); why != nil { // after the deadline was set, so that drain's is not lost
		return nil, why
	}
	return c.wire.Receive()
}

var (
	errDraining = &fatalError{"57P01", "the server is shutting down"}
	errCrowded  = &fatalError{"53300", "there are too many connections"}
)

// end tells the client why the connection ends.
func (c *conn) end(err error) {
	var tooLong *pgproto3.ExceededMaxBodyLenErr
	var timeout net.Error
	switch {
	case c.ending.Load() != nil:
		c.leave(c.ending.Load())
	case errors.As(err, &tooLong):
		c.leave(fatal("54000", "a message has more than %d bytes", tooLong.MaxExpectedBodyLen))
	case errors.As(err, &timeout) && timeout.Timeout():
		c.leave(fatal("57P05", "the connection was idle for too long"))
	default:
		c.leave(err)
	}
	c.log.Debug("the connection ended")
}

// handle answers one message. An error ends the connection.
func (c *conn) handle(message pgproto3.FrontendMessage) error {
	if c.described != nil {
		if m, ok := message.(*pgproto3.Execute); !ok || c.portals[m.Portal] != c.described {
			if err := c.describeNow(); err != nil {
				c.fail(err)
			}
		}
	}
	switch message.(type) {
	case *pgproto3.Sync:
		c.skipping = false
		return c.turnOver()
	case *pgproto3.Flush:
		return c.flush()
	}
	if c.skipping {
		return nil
	}
	var err error
	switch m := message.(type) {
	case *pgproto3.Query:
		return c.query(m.String)
	case *pgproto3.Parse:
		err = c.parse(m)
	case *pgproto3.Bind:
		err = c.bind(m)
	case *pgproto3.Describe:
		err = c.describe(m)
	case *pgproto3.Execute:
		err = c.execute(m)
	case *pgproto3.Close:
		err = c.close(m)
	case *pgproto3.FunctionCall:
		err = failure("0A000", "the function call protocol is not spoken")
	case *pgproto3.CopyData, *pgproto3.CopyDone, *pgproto3.CopyFail: // ignored outside COPY FROM, as in PostgreSQL
	default:
		return fatal("08P01", "a message of this kind was not expected")
	}
	if err != nil && c.lost == nil {
		c.fail(err)
	}
	return c.lost
}

// fail tells the client of an error in the extended protocol, and skips to the next Sync.
func (c *conn) fail(err error) {
	c.failed(err, nil)
	c.skipping = true
	c.described = nil
}

// failed tells the client of an error, which ends a transaction outside a block.
func (c *conn) failed(err error, at func(int) int) {
	c.block.fail()
	if c.implicit != nil {
		c.rollBack(*c.implicit)
		c.implicit = nil
	}
	c.server.counts.Errors.Add(1)
	c.send(response(err, at))
}

// turnOver tells the client that it is its turn. Outside a block that ends a transaction.
func (c *conn) turnOver() error {
	if !c.block.open() {
		c.dropPortals(false)
		c.settings.endBlock(c)
		c.implicit = nil
	}
	c.settle()
	c.ready()
	return c.flush()
}

func (c *conn) ready() { c.send(&pgproto3.ReadyForQuery{TxStatus: c.block.status()}) }

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

// now returns what a savepoint made now is rolled back to.
func (c *conn) now(name string) savepoint {
	s := &c.settings
	return savepoint{name, c.block.readOnly, maps.Clone(s.changed), maps.Clone(s.local), maps.Clone(s.displaced), c.session.Settings(), c.made,
		entry + weightOf(s.changed) + weightOf(s.local) + weightOf(s.displaced)}
}

// rollBack undoes what was SET, made read-write and declared since a savepoint, and no charge.
func (c *conn) rollBack(to savepoint) {
	c.block.readOnly = to.readOnly
	maps.DeleteFunc(c.portals, func(_ string, p *portal) bool { return p.number > to.portals })
	c.settings.restore(c, maps.Clone(to.changed), maps.Clone(to.local), maps.Clone(to.displaced))
	c.restoreEngine(to.engine)
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
