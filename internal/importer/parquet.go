package importer

import (
	"context"
	"fmt"
	"io"
	"math/big"
	"os"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"dpsql/sqlerr"
)

// parquetFile is a Parquet file. The file states its types, so it is read once, a batch of
// rows at a time. Columns that are nested or have a type without a form in SQLite are left
// out.
type parquetFile struct {
	path    string
	dialect Dialect // for the columns that were asked for
	disk    *os.File
	file    *parquet.File
	columns []parquetColumn
	notes   []string // what columns were left out, and why
	meter   meter
}

// parquetColumn is a column and the way its values are stored in SQLite.
type parquetColumn struct {
	name string
	kind seen
	leaf int                     // its place among the leaves of the file
	read func(parquet.Value) any // converts a value that is not NULL
}

// openParquet reads the file's metadata.
func openParquet(o Options) (*parquetFile, error) {
	disk, err := os.Open(o.Path)
	if err != nil {
		return nil, unreadable(o.Path, err)
	}
	p := &parquetFile{path: o.Path, dialect: o.Dialect, disk: disk, meter: meter{report: o.Progress}}
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
	var names []string
	columns := p.file.Root().Columns()
	for _, c := range columns {
		names = append(names, c.Name())
	}
	names, kept, notes, err := p.dialect.named(p.path, cleaned(names), func(int) bool { return false }, nil)
	if p.notes = notes; err != nil {
		return err
	}
	for i, at := range kept {
		if err := p.add(columns[at], names[i]); err != nil {
			return err
		}
	}
	if len(p.columns) > maxColumns {
		return tooWide(p.path, len(p.columns))
	}
	if len(p.columns) == 0 {
		return sqlerr.New(sqlerr.Unsupported, "file %s has no column that can be taken", p.path).
			WithHint("booleans, numbers, texts, dates and times are taken: write it with plain columns of these")
	}
	return nil
}

// add takes a column under a name, or notes why it is left out.
func (p *parquetFile) add(c *parquet.Column, name string) error {
	if !c.Leaf() || c.Repeated() {
		p.notes = append(p.notes, fmt.Sprintf("column %s is left out: it is nested", name))
		return nil
	}
	kind, read := storage(c)
	if read == nil {
		p.notes = append(p.notes, fmt.Sprintf("column %s is left out: it has type %s", name, c.Type()))
		return nil
	}
	if kind == unsure {
		var err error
		if kind, read, err = p.wholeDecimals(c, read); err != nil {
			return err
		}
	}
	p.columns = append(p.columns, parquetColumn{name, kind, c.Index(), read})
	return nil
}

// wholeDecimals reads a column of whole decimals that may be larger than SQLite's integers. It is
// INTEGER if none is, as where a database writes all its integers as DECIMAL(38, 0).
func (p *parquetFile) wholeDecimals(c *parquet.Column, text func(parquet.Value) any) (kind seen, read func(parquet.Value) any, err error) {
	kind = integers
	err = p.guarded(func() error {
		pages := c.Pages()
		defer pages.Close()
		values := make([]parquet.Value, parquetBatch)
		for {
			page, err := pages.ReadPage()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return p.broken()
			}
			for in := page.Values(); err == nil; {
				var n int
				n, err = in.ReadValues(values)
				for _, v := range values[:n] {
					if !v.IsNull() && !unscaled(v).IsInt64() {
						kind = texts
					}
				}
			}
			parquet.Release(page)
			if err != io.EOF {
				return p.broken()
			}
		}
	})
	if kind == integers {
		return kind, func(v parquet.Value) any { return unscaled(v).Int64() }, err
	}
	return kind, text, err
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
	return names, kinds, nil
}

// The kinds of columns with a stated type. An integer column may hold any integer.
var (
	integers = seen{integer: true, large: true}
	reals    = seen{real: true}
	texts    = seen{text: true}
	unsure   = seen{integer: true, text: true} // integers, if no value is too large
)

// storage says how the values of a column are stored. read is nil for a type that
// SQLite cannot store.
func storage(c *parquet.Column) (kind seen, read func(parquet.Value) any) {
	if logical := c.Type().LogicalType(); logical != nil {
		switch t := logical.Value.(type) {
		case *format.DateType:
			return texts, func(v parquet.Value) any { return day(v.Int32()) }
		case *format.TimestampType:
			return texts, func(v parquet.Value) any { return instant(moment(v.Int64(), t.Unit)) }
		case *format.TimeType:
			return texts, func(v parquet.Value) any { return clock(moment(whole(v, true), t.Unit)) }
		case *format.IntType:
			if t.IsSigned || t.BitWidth < 64 {
				return integers, func(v parquet.Value) any { return whole(v, t.IsSigned) }
			}
			return texts, func(v parquet.Value) any { return strconv.FormatUint(v.Uint64(), 10) }
		case *format.DecimalType:
			return decimals(int(t.Precision), int(t.Scale))
		case *format.UUIDType:
			return texts, func(v parquet.Value) any { return uuid(v.ByteArray()) }
		case *format.NullType:
			return texts, func(parquet.Value) any { return nil }
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
	case parquet.Int96:
		return texts, func(v parquet.Value) any { return instant(nanoseconds(v.Int96())) }
	case parquet.Float:
		return reals, func(v parquet.Value) any { return float64(v.Float()) }
	case parquet.Double:
		return reals, func(v parquet.Value) any { return v.Double() }
	case parquet.ByteArray:
		return texts, func(v parquet.Value) any { return string(v.ByteArray()) }
	}
	return seen{}, nil
}

// longestScale bounds the scale of decimals. Programs write at most 76 digits.
const longestScale = 1000

// decimals says how decimals are stored: whole ones as integers, if they fit, and others as
// the nearest REAL, as the same digits in a text would be.
func decimals(precision, scale int) (kind seen, read func(parquet.Value) any) {
	switch {
	case scale < 0 || scale > longestScale:
		return seen{}, nil
	case scale > 0:
		return reals, func(v parquet.Value) any { return fraction(unscaled(v), scale) }
	case precision <= 18:
		return integers, func(v parquet.Value) any { return unscaled(v).Int64() }
	}
	return unsure, func(v parquet.Value) any { return unscaled(v).String() }
}

// unscaled returns the integer of which a decimal is a part. In bytes it has the highest
// first, in two's complement.
func unscaled(v parquet.Value) *big.Int {
	if v.Kind() == parquet.Int32 || v.Kind() == parquet.Int64 {
		return big.NewInt(whole(v, true))
	}
	b := v.ByteArray()
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// fraction returns the number that is nearest to the decimal.
func fraction(n *big.Int, scale int) any {
	text := fmt.Sprintf("%de-%d", n, scale)
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text // out of range
	}
	return x
}

func uuid(b []byte) any {
	if len(b) != 16 {
		return nil
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
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

// moment returns the time that many units after the beginning of 1970.
func moment(n int64, unit format.TimeUnit) time.Time {
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		return time.UnixMilli(n)
	case *format.MicroSeconds:
		return time.UnixMicro(n)
	}
	return time.Unix(n/1e9, n%1e9)
}

// nanoseconds returns the time of an INT96: nanoseconds of a day in the lower 64 bits, and
// the day by its Julian number.
func nanoseconds(v deprecated.Int96) time.Time {
	const of1970 = 2440588
	seconds := (int64(int32(v[2])) - of1970) * 24 * 60 * 60
	return time.Unix(seconds, int64(v[1])<<32|int64(v[0]))
}

// instant writes a time in UTC in SQLite's format, with a fraction if it has one.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999999999") }

// clock writes the time of day.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.999999999") }

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
		return out, p.fill(out, row)
	}, nil
}

// fill converts a row, in which a nested column has any number of values.
func (p *parquetFile) fill(out []any, row parquet.Row) error {
	for i, c := range p.columns {
		for len(row) > 0 && row[0].Column() < c.leaf {
			row = row[1:]
		}
		if len(row) == 0 || row[0].Column() != c.leaf {
			return p.broken()
		}
		if out[i] = nil; !row[0].IsNull() {
			out[i] = c.read(row[0])
		}
	}
	return nil
}
