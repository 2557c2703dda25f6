package query

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// StoredDomain is the JSON form of a column's domain: a range, a list in full,
// or neither for text without a domain. The values are canonical.
type StoredDomain struct {
	Stored   string            `json:"stored,omitempty"` // of a DATE and a TIMESTAMP: how rows hold it
	Step     int64             `json:"step,omitempty"`   // of a TIMESTAMP, in seconds
	Range    []int64           `json:"range,omitempty"`  // lo, hi
	OrNull   bool              `json:"or_null,omitempty"`
	Clamp    bool              `json:"clamp,omitempty"`
	Boolean  bool              `json:"boolean,omitempty"`
	Other    bool              `json:"other,omitempty"`
	NoCase   bool              `json:"nocase,omitempty"`
	Fraction *storedStep       `json:"fraction,omitempty"` // of a REAL or NUMERIC, whose range is in steps
	Values   []json.RawMessage `json:"values,omitempty"`
}

// storedStep is the step of a REAL or NUMERIC column.
type storedStep struct {
	Of      [2]int64 `json:"of"` // numerator, denominator
	Rounded bool     `json:"rounded,omitempty"`
	Numeric [2]int   `json:"numeric"` // precision, scale; 0, 0 for REAL
}

// Store returns the stored form of a column's domain.
func Store(c Column) (stored StoredDomain, err error) {
	d := c.Domain
	stored = StoredDomain{Clamp: c.Form.IsClamped(), Boolean: c.Form.IsBoolean(), Other: c.Form.HasOther(), NoCase: c.Form.IsNoCase()}
	if c.Form.IsTime() {
		stored.Stored = c.Form.Stored().String()
		if !c.Form.IsDate() {
			stored.Step = c.Form.Step()
		}
	}
	if c.Form.IsStepped() {
		stored.Fraction = &storedStep{Rounded: c.Form.IsRounded()}
		stored.Fraction.Of[0], stored.Fraction.Of[1] = c.Form.Fraction()
		stored.Fraction.Numeric[0], stored.Fraction.Numeric[1] = c.Form.Numeric()
	}
	switch {
	case !d.Finite():
	case d.IsRange():
		stored.OrNull = d.HasNull()
		lo, hi := d.Bounds()
		stored.Range = []int64{lo, hi}
	default:
		stored.Values = make([]json.RawMessage, d.Size())
		for i := range stored.Values {
			if stored.Values[i], err = encodeValue(d.Value(uint64(i))); err != nil {
				return stored, err
			}
		}
	}
	return stored, nil
}

// encodeValue writes NULL as null, an integer as a number, a text as a string,
// and a text that is not UTF-8, which JSON cannot hold, as {"bytes": base64}.
func encodeValue(v Value) (json.RawMessage, error) {
	switch {
	case v.IsNull():
		return json.RawMessage("null"), nil
	case v.IsInt():
		return json.RawMessage(strconv.FormatInt(v.Int64(), 10)), nil
	}
	return json.Marshal(Exact(v.Str()))
}

// Read returns the domain and the form of a column of a type. It is false if they cannot be read.
func (stored StoredDomain) Read(typeName string) (d Domain, f Form, ok bool) {
	var err error
	if stored.Stored != "" {
		as, known := StoredNamed(stored.Stored)
		if !known {
			return d, f, false
		}
		f = DateForm(as)
		if stored.Step != 0 {
			if f, err = TimestampForm(as, stored.Step); err != nil {
				return d, f, false
			}
		}
	}
	if s := stored.Fraction; s != nil {
		if f, ok = StepForm(s.Of[0], s.Of[1], s.Rounded, s.Numeric[0], s.Numeric[1]); !ok || stored.Stored != "" {
			return d, f, false
		}
	}
	if stored.Boolean {
		f = BooleanForm()
	}
	if stored.Other {
		f = f.Other()
	}
	if stored.NoCase {
		f = f.NoCase()
	}
	if stored.Clamp {
		f = f.Clamped()
	}
	switch {
	case len(stored.Range) == 2:
		d, err = NewRange(stored.Range[0], stored.Range[1], stored.OrNull)
	case stored.Values != nil:
		d, err = decodeList(typeName, stored.Values)
	default:
		d = Unbounded()
	}
	if err != nil || (Column{Domain: d, Form: f}).TypeName() != typeName || !f.Fits(d) {
		return d, f, false
	}
	return d, f, true
}

func decodeList(typeName string, stored []json.RawMessage) (Domain, error) {
	values := make([]Value, len(stored))
	for i, raw := range stored {
		v, err := decodeValue(raw)
		if err != nil {
			return Domain{}, err
		}
		values[i] = v
	}
	t := TypeText
	if typeName == TypeInteger.String() {
		t = TypeInteger
	}
	return NewList(t, values)
}

func decodeValue(raw json.RawMessage) (Value, error) {
	switch raw[0] { // json.Unmarshal leaves no empty element and no leading space
	case 'n':
		return Null(), nil
	case '"', '{':
		var text Exact
		err := text.UnmarshalJSON(raw)
		return Text(string(text)), err
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return Int(n), err
}

// Exact is a text that need not be UTF-8, which JSON cannot hold. Then it is {"bytes": base64}.
type Exact string

type rawBytes struct {
	Bytes []byte `json:"bytes"`
}

// MarshalJSON implements json.Marshaler.
func (t Exact) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(rawBytes{Bytes: []byte(t)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Exact) UnmarshalJSON(text []byte) error {
	if text[0] != '{' {
		return json.Unmarshal(text, (*string)(t))
	}
	var b rawBytes
	err := json.Unmarshal(text, &b)
	*t = Exact(b.Bytes)
	return err
}
