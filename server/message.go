package server

import (
	"errors"
	"math"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// loop answers messages until the client leaves or fails.
func (c *conn) loop() {
	c.statements, c.portals = make(map[string]*statement), make(map[string]*portal)
	defer c.hold(0, math.MaxInt)
	for {
		message, err := c.receive()
		if err != nil {
			c.end(err)
			return
		}
		if _, ok := message.(*pgproto3.Terminate); ok {
			return
		}
		c.endTurn = c.server.config.Shares.Turn(c.folded)
		err = c.handle(message)
		c.endTurn()
		if err != nil {
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

// leave tells the client why its connection ends, if it can be told.
func (c *conn) leave(err error) {
	var fatal *fatalError
	if errors.As(err, &fatal) {
		c.log.Warn("refused", "reason", fatal.message)
		if c.wire == nil {
			c.speak()
		}
		c.send(fatal.response())
		c.flush()
	}
}
