// Package sealed is the envelope of stored releases and priors: it says what the bytes are, in which
// version, how many there are, and their SHA-256. What is inside stays with the mechanism.
//
//	"dpsqlpay"  kind  version  length  body  SHA-256
//
// The kind is four bytes, the version a 16-bit and the length of the body a 64-bit number,
// little-endian. The checksum covers everything before it. It guards against accidents, not against
// forgery.
package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"dpsql/sqlerr"
)

// Kind says what a body is.
type Kind string

// The kinds of bodies, four bytes each.
const (
	Projection Kind = "proj" // a release
	Marginals  Kind = "marg" // a release, with its table or yet to be fitted
	OnDemand   Kind = "dmnd" // a release of marginals whose tables are fitted on demand
	Joined     Kind = "join" // a release by projection and the table that was fitted to it
	Hypothesis Kind = "hypo" // a release built by SMW
	Classes    Kind = "clas" // a prior of an interactive mechanism, or of a release by SMW: classes
	Fitted     Kind = "fitt" // or the table that was fitted to a release
)

const (
	magic      = "dpsqlpay"
	kindAt     = len(magic)
	versionAt  = kindAt + 4
	lengthAt   = versionAt + 2
	headerSize = lengthAt + 8
)

// Begin returns the beginning of an envelope, to which the body is appended, of about size bytes.
// End ends it.
func Begin(k Kind, version uint16, size int) []byte {
	b := append(make([]byte, 0, headerSize+size+sha256.Size), magic...)
	b = binary.LittleEndian.AppendUint16(append(b, k...), version)
	return binary.LittleEndian.AppendUint64(b, 0)
}

// End returns the envelope that Begin began, with the body that was appended to it.
func End(b []byte) []byte {
	binary.LittleEndian.PutUint64(b[lengthAt:], uint64(len(b)-headerSize))
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// Is reports whether data begin as an envelope of a kind.
func Is(k Kind, data []byte) bool { return bytes.HasPrefix(data, []byte(magic+string(k))) }

// Open verifies an envelope and returns its body, which is a part of data. Errors: Corrupt for
// bytes that are none, or are of another kind; Unsupported for another version.
func Open(k Kind, version uint16, data []byte) (body []byte, err error) {
	end := len(data) - sha256.Size
	if end < headerSize || !Is(k, data) {
		return nil, Damaged("it does not begin as what it is")
	}
	if sha256.Sum256(data[:end]) != [sha256.Size]byte(data[end:]) {
		return nil, Damaged("its checksum does not fit")
	}
	if v := binary.LittleEndian.Uint16(data[versionAt:]); v != version {
		return nil, Newer("version %d", v)
	}
	if body = data[headerSize:end]; binary.LittleEndian.Uint64(data[lengthAt:]) != uint64(len(body)) {
		return nil, Damaged("it has another length than it says")
	}
	return body, nil
}

// Damaged returns the error for bytes that are not what was stored.
func Damaged(why string) error {
	return sqlerr.New(sqlerr.Corrupt, "the stored release does not verify: %s", why).
		WithHint("restore the file from a backup, or drop the release and build it again at a new charge")
}

// Newer returns the error for a version, or a part of a body, that this dpsql does not know.
func Newer(format string, args ...any) error {
	return sqlerr.New(sqlerr.Unsupported, "the stored release has "+format+", which this dpsql does not know", args...).
		WithHint("open it with a newer dpsql")
}
