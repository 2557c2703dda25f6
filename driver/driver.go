// Package driver is the database/sql driver named "dpsql". Importing it registers it:
//
//	db, err := sql.Open("dpsql", "clinic.db?role=analyst&confidence=0.99")
//	err = db.QueryRowContext(ctx, `SELECT COUNT(*) AS n, MARGIN(n) FROM visits WHERE age < ?`, 20).Scan(&n, &margin)
//
// The data source name is the path of the file, in which ?, # and % are %3F, %23 and %25, and options:
//
//	role=curator       analyst: may ask, and nothing else; for programs that answer for others
//	readonly=false     true: nothing is written, and nothing bought
//	create=false       true: a curator's first write makes a file that does not exist
//	busy_timeout=5s    how long to wait for another process
//	mechanism=auto     direct, projection, marginals, smw, or the name of a release or mechanism
//	accuracy=default   in counts: what is not known so well for free is bought
//	confidence=0.95    of margins
//	clamp=off          on: negative counts are 0
//	unverified=on      off: answers without a margin are refused
//	margins=proven     simulated: narrower, and without a proof
//	times=time         text: dates and timestamps in rows are texts
//
// [NewConnector] takes them as [Options], and a logger for warnings. A query is one SELECT, EXPLAIN, SHOW or DESCRIBE. Exec
// runs declarations. SET needs a sql.Conn, and [With] gives settings to one call.
//
// What an answer costs is spent at once and for good: a transaction is read-only, and buys nothing.
//
// Errors are *sqlerr.Error, with a code, a hint and a position.
package driver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"dpsql/engine"
	"dpsql/sqlerr"
)

func init() { sql.Register("dpsql", Driver{}) }

// Driver is the driver registered as "dpsql".
type Driver struct{}

// Open opens one connection; database/sql uses OpenConnector instead.
func (d Driver) Open(name string) (driver.Conn, error) {
	c, err := d.OpenConnector(name)
	if err != nil {
		return nil, err
	}
	return c.Connect(context.Background())
}

// Options are what a data source name says behind the path. The zero value has the same defaults.
type Options struct {
	Role        engine.Role   // curator, or analyst: who may ask, and nothing else
	ReadOnly    bool          // refuse every write to the file: nothing can be bought, and mechanisms do not answer
	Create      bool          // a curator's first write makes a file that does not exist
	BusyTimeout time.Duration // how long to wait for another process; 5 s by default, and below 0 not at all
	Settings    Settings      // those that connections begin with
	TextTimes   bool          // dates and timestamps in rows are texts
	Logger      *slog.Logger  // gets the warnings of statements; they have no value of a row. It may be nil
}

// NewConnector returns a connector for sql.OpenDB. The first connection opens the file, and sql.DB.Close closes it.
func NewConnector(path string, o Options) (driver.Connector, error) {
	settings := engine.DefaultSettings()
	if err := o.Settings.apply(settings.Set); err != nil {
		return nil, err
	}
	return &connector{path: path, options: engine.Options{Role: o.Role, ReadOnly: o.ReadOnly, BusyTimeout: o.BusyTimeout, Settings: &settings},
		create: o.Create, texts: o.TextTimes, logger: o.Logger}, nil
}

// OpenConnector parses a data source name. The file is opened by the first
// connection and closed by sql.DB.Close.
func (d Driver) OpenConnector(name string) (driver.Connector, error) {
	c := new(connector)
	path, parameters, _ := strings.Cut(name, "?")
	var err error
	if c.path, err = url.PathUnescape(path); err != nil || c.path == "" {
		return nil, sqlerr.New(sqlerr.Invalid, "the data source name has no usable path").
			WithHint(`sql.Open("dpsql", "clinic.db?role=analyst")`)
	}
	values, err := url.ParseQuery(parameters)
	if err != nil {
		return nil, sqlerr.New(sqlerr.Invalid, "the parameters of the data source name cannot be read")
	}
	err = c.parse(values)
	return c, err
}

// parse reads the options of a data source name.
func (c *connector) parse(values url.Values) error {
	settings := engine.DefaultSettings()
	o := &c.options
	o.Settings = &settings
	for name, list := range values {
		if len(list) > 1 {
			return sqlerr.New(sqlerr.Invalid, "the parameter %s is given twice", name)
		}
		value := list[0]
		var err error
		hint := ""
		switch name {
		case "role":
			o.Role = engine.Role(value)
		case "readonly":
			hint = "readonly=true"
			o.ReadOnly, err = strconv.ParseBool(value)
		case "busy_timeout":
			hint = "busy_timeout=5s: a number needs its unit"
			o.BusyTimeout, err = time.ParseDuration(value)
		case "create":
			hint = "create=true"
			c.create, err = strconv.ParseBool(value)
		case "mode", "immutable":
			err = sqlerr.New(sqlerr.Unknown, "there is no parameter %s", name).WithHint("readonly=true refuses every write")
		case "times":
			if c.texts = value == "text"; !c.texts && value != "time" {
				err = sqlerr.New(sqlerr.Invalid, "times are text or time")
			}
		default:
			err = settings.Set(name, value)
		}
		if err != nil && sqlerr.CodeOf(err) == sqlerr.Internal {
			err = sqlerr.New(sqlerr.Invalid, "the parameter %s has an unusable value", name).WithHint("%s", hint)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// connector shares one open database between the connections of a sql.DB.
type connector struct {
	path    string
	options engine.Options
	create  bool // the file need not exist
	texts   bool // dates and timestamps are texts in rows
	logger  *slog.Logger
	mu      sync.Mutex
	db      *engine.DB
}

func (c *connector) Driver() driver.Driver { return Driver{} }

// Connect opens a session.
func (c *connector) Connect(context.Context) (driver.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db == nil {
		if err := there(c.path); err != nil && (!c.create || sqlerr.CodeOf(err) != sqlerr.IO) {
			return nil, err
		}
		db, err := engine.Open(c.path, c.options)
		if err != nil {
			return nil, err
		}
		c.db = db
	}
	return &conn{session: c.db.NewSession(), texts: c.texts, logger: c.logger}, nil
}

// there refuses a path of no file, which the engine would take for a new one, and what other drivers have instead of a path.
func there(path string) error {
	switch plain, url := strings.CutPrefix(path, "file:"); {
	case url:
		return sqlerr.New(sqlerr.Invalid, "a data source name begins with a path, and is no URL").WithHint("write %s", plain)
	case path == ":memory:":
		return sqlerr.New(sqlerr.Invalid, "there are no databases in memory: a budget has to last").WithHint("name a file: clinic.db")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // the engine says more of other errors
	}
	where, err := filepath.Abs(path)
	if err != nil {
		where = path
	}
	return sqlerr.New(sqlerr.IO, "there is no file %s", where).WithHint("name a database that exists; create=true makes one, and so does the shell: dpsql %s", path)
}

// Close closes the database; sql.DB.Close calls it.
func (c *connector) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db == nil {
		return nil
	}
	err := c.db.Close()
	c.db = nil
	return err
}
