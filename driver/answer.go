package driver

import "dpsql/engine"

// Answerer is what the connections of this driver are beneath sql.Conn.Raw:
//
//	err := conn.Raw(func(c any) error {
//		answer = c.(driver.Answerer).LastAnswer()
//		return nil
//	})
type Answerer interface {
	// LastAnswer tells about the last answer on this connection: margins in
	// counts, who gave it, and what it cost. It is nil when the last statement
	// was none, or failed.
	LastAnswer() *engine.Answer
}

var _ Answerer = (*conn)(nil)

// LastAnswer tells about the last answer on this connection.
func (c *conn) LastAnswer() *engine.Answer { return c.last }
