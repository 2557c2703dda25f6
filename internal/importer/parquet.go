package importer

import (
	"context"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"dpsql/sqlerr"
)

// parquetFile is a Parquet file of plain columns. The file states its types, so it is
// read once, a batch of rows at a time.
type parquetFile struct {
	path    string
	disk    *os.File
	file    *parquet.File
	columns []parquetColumn
	meter   meter
}

// parquetColumn is a column and the way its values are stored in SQLite.
type parquetColumn struct {
	name string
	kind seen
	read func(parquet.Value) any // converts a value that is not NULL
}

// openParquet reads the file's metadata.
func openParquet(o Options) (*parquetFile, error) {
	disk, err := os.Open(o.Path)
	if err != nil {
		return nil, unreadable(o.Path, err)
	}
	p := &parquetFile{path: o.Path, disk: disk, meter: meter{report: o.Progress}}
	if err := p.describe(); err != nil {
		disk.Close()
		return nil, err
	}
	return p, nil
}

func (p *parquetFile) describe() error {
	info, err := p.disk.Stat()
	if err != nil {
		return unreadable(p.path, err)
	}
	err = p.guarded(func() (err error) {
		p.file, err = parquet.OpenFile(p.disk, info.Size())
		return err
	})
	if err != nil {
		return p.broken()
	}
	p.meter.size = p.file.NumRows()
	for _, c := range p.file.Root().Columns() {
		if !c.Leaf() || c.Repeated() {
			return sqlerr.New(sqlerr.Unsupported, "column %s of file %s is nested", c.Name(), p.path).
				WithHint("write the file with plain columns")
		}
		kind, read := storage(c)
		if read == nil {
			return sqlerr.New(sqlerr.Unsupported, "column %s of file %s has type %s", c.Name(), p.path, c.Type()).
				WithHint("booleans, integers, floats, texts, dates and times are taken")
		}
		p.columns = append(p.columns, parquetColumn{c.Name(), kind, read})
	}
	return nil
}

// guarded runs f, which calls the Parquet library. The library panics on some broken
// files; guarded returns that as an error.
func (p *parquetFile) guarded(f func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = p.broken()
		}
	}()
	return f()
}

func (p *parquetFile) broken() error {
	return sqlerr.New(sqlerr.Invalid, "file %s is no readable Parquet file", p.path)
}

func (p *parquetFile) close() { p.disk.Close() }

func (p *parquetFile) detect(context.Context) (names []string, kinds []seen, err error) {
	for _, c := range p.columns {
		names, kinds = append(names, c.name), append(kinds, c.kind)
	}
	return names, kinds, checkNames(p.path, names)
}

// The kinds of columns with a stated type. An integer column may hold any integer.
var (
	integers = seen{integer: true, large: true}
	reals    = seen{real: true}
	texts    = seen{text: true}
)

// storage says how the values of a column are stored. read is nil for a type that
// SQLite cannot store.
func storage(c *parquet.Column) (kind seen, read func(parquet.Value) any) {
	if logical := c.Type().LogicalType(); logical != nil {
		switch t := logical.Value.(type) {
		case *format.DateType:
			return texts, func(v parquet.Value) any { return day(v.Int32()) }
		case *format.TimestampType:
			return texts, func(v parquet.Value) any { return instant(v.Int64(), t.Unit) }
		case *format.IntType:
			if t.IsSigned || t.BitWidth < 64 {
				return integers, func(v parquet.Value) any { return whole(v, t.IsSigned) }
			}
			return texts, func(v parquet.Value) any { return strconv.FormatUint(v.Uint64(), 10) }
		case *format.StringType, *format.EnumType, *format.JsonType:
			return texts, func(v parquet.Value) any { return string(v.ByteArray()) }
		default:
			return seen{}, nil
		}
	}
	switch c.Type().Kind() {
	case parquet.Boolean:
		return integers, func(v parquet.Value) any { return v.Boolean() }
	case parquet.Int32, parquet.Int64:
		return integers, func(v parquet.Value) any { return whole(v, true) }
	case parquet.Float:
		return reals, func(v parquet.Value) any { return float64(v.Float()) }
	case parquet.Double:
		return reals, func(v parquet.Value) any { return v.Double() }
	case parquet.ByteArray:
		return texts, func(v parquet.Value) any { return string(v.ByteArray()) }
	}
	return seen{}, nil
}

// whole returns an integer of either width.
func whole(v parquet.Value, signed bool) int64 {
	switch {
	case v.Kind() == parquet.Int64:
		return v.Int64()
	case signed:
		return int64(v.Int32())
	}
	return int64(v.Uint32())
}

// day writes a number of days since 1970 in SQLite's format for dates.
func day(days int32) string {
	return time.Unix(int64(days)*24*60*60, 0).UTC().Format(time.DateOnly)
}

// instant writes a time in UTC in SQLite's format, with a fraction if it has one.
func instant(n int64, unit format.TimeUnit) string {
	var t time.Time
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		t = time.UnixMilli(n)
	case *format.MicroSeconds:
		t = time.UnixMicro(n)
	default:
		t = time.Unix(n/1e9, n%1e9)
	}
	return t.UTC().Format("2006-01-02 15:04:05.999999999")
}

// parquetBatch is the number of rows read at once.
const parquetBatch = 512

// rows returns a function that returns one row a call.
func (p *parquetFile) rows([]Column) (func(context.Context) ([]any, error), error) {
	reader := parquet.NewReader(p.file)
	buffer := make([]parquet.Row, parquetBatch)
	var ready []parquet.Row
	var end error
	out := make([]any, len(p.columns))
	return func(ctx context.Context) ([]any, error) {
		for len(ready) == 0 {
			if end != nil {
				return nil, end
			}
			if err := ctx.Err(); err != nil {
				return nil, cancelled(p.path)
			}
			n := 0
			end = p.guarded(func() (err error) {
				n, err = reader.ReadRows(buffer)
				return err
			})
			if end != nil && end != io.EOF {
				end = p.broken()
			}
			ready = buffer[:n]
			p.meter.add(int64(n))
		}
		row := ready[0]
		ready = ready[1:]
		if len(row) != len(out) {
			return nil, p.broken()
		}
		for i, v := range row {
			if out[i] = nil; !v.IsNull() {
				out[i] = p.columns[i].read(v)
			}
		}
		return out, nil
	}, nil
}
