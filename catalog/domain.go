package catalog

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"dpsql/query"
)

// storedDomain is the JSON form of a column's domain: a range, a list in full,
// or neither for text without a domain.
type storedDomain struct {
	Range  []int64           `json:"range,omitempty"` // lo, hi
	OrNull bool              `json:"or_null,omitempty"`
	Values []json.RawMessage `json:"values,omitempty"`
}

func encodeDomain(d query.Domain) (string, error) {
	var stored storedDomain
	switch {
	case !d.Finite():
	case d.IsRange():
		stored.OrNull = d.HasNull()
		first := uint64(0)
		if stored.OrNull {
			first = 1 // NULL has ordinal 0
		}
		stored.Range = []int64{d.Value(first).Int64(), d.Value(d.Size() - 1).Int64()}
	default:
		stored.Values = make([]json.RawMessage, d.Size())
		for i := range stored.Values {
			value, err := encodeValue(d.Value(uint64(i)))
			if err != nil {
				return "", err
			}
			stored.Values[i] = value
		}
	}
	text, err := json.Marshal(stored)
	return string(text), err
}

// encodeValue writes NULL as null, an integer as a number, a text as a string,
// and a text that is not UTF-8, which JSON cannot hold, as {"bytes": base64}.
func encodeValue(v query.Value) (json.RawMessage, error) {
	switch {
	case v.IsNull():
		return json.RawMessage("null"), nil
	case v.IsInt():
		return json.RawMessage(strconv.FormatInt(v.Int64(), 10)), nil
	case utf8.ValidString(v.Str()):
		return json.Marshal(v.Str())
	}
	return json.Marshal(rawBytes{Bytes: []byte(v.Str())})
}

type rawBytes struct {
	Bytes []byte `json:"bytes"`
}

func decodeDomain(typeName, text string) (query.Domain, error) {
	bad := corrupt("a column's domain in the catalog cannot be read")
	var stored storedDomain
	if json.Unmarshal([]byte(text), &stored) != nil {
		return query.Domain{}, bad
	}
	var d query.Domain
	var err error
	switch {
	case len(stored.Range) == 2:
		d, err = query.NewRange(stored.Range[0], stored.Range[1], stored.OrNull)
	case stored.Values != nil:
		d, err = decodeList(typeName, stored.Values)
	default:
		d = query.Unbounded()
	}
	if err != nil || d.Type().String() != typeName {
		return query.Domain{}, bad
	}
	return d, nil
}

func decodeList(typeName string, stored []json.RawMessage) (query.Domain, error) {
	values := make([]query.Value, len(stored))
	for i, raw := range stored {
		v, err := decodeValue(raw)
		if err != nil {
			return query.Domain{}, err
		}
		values[i] = v
	}
	t := query.TypeText
	if typeName == query.TypeInteger.String() {
		t = query.TypeInteger
	}
	return query.NewList(t, values)
}

func decodeValue(raw json.RawMessage) (query.Value, error) {
	switch raw[0] { // json.Unmarshal leaves no empty element and no leading space
	case 'n':
		return query.Null(), nil
	case '"':
		var text string
		err := json.Unmarshal(raw, &text)
		return query.Text(text), err
	case '{':
		var b rawBytes
		err := json.Unmarshal(raw, &b)
		return query.Text(string(b.Bytes)), err
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return query.Int(n), err
}
