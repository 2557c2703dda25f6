// Package scram keeps passwords as verifiers and checks who knows them: SCRAM-SHA-256 and
// SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677), with verifiers in the text form of PostgreSQL.
// A verifier does not let its owner log in: only the password does.
package scram

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"

	"github.com/xdg-go/scram"
	"github.com/xdg-go/stringprep"

	"dpsql/sqlerr"
)

// The names of the mechanisms. Plus is bound to the TLS connection: it shows that nobody
// stands between the client and this server.
const (
	Plain = "SCRAM-SHA-256"
	Plus  = "SCRAM-SHA-256-PLUS"
)

const (
	iterations    = 4096 // PostgreSQL's
	saltSize      = 16
	maxIterations = 10_000_000 // a verifier with more is a mistake: nobody could log in
	maxPassword   = 1024       // bytes
)

// New returns a verifier of a password, with a new salt. Errors: Invalid for an empty password,
// one of more than 1024 bytes, and one with a zero byte. No error has the password's text.
func New(password string) (verifier string, err error) {
	switch {
	case password == "":
		return "", sqlerr.New(sqlerr.Invalid, "the password is empty")
	case len(password) > maxPassword:
		return "", sqlerr.New(sqlerr.Invalid, "the password has more than %d bytes", maxPassword)
	case strings.Contains(password, "\x00"):
		return "", sqlerr.New(sqlerr.Invalid, "the password has a zero byte")
	}
	var salt [saltSize]byte
	rand.Read(salt[:]) // never fails, see crypto/rand
	salted, err := pbkdf2.Key(sha256.New, prepared(password), salt[:], iterations, sha256.Size)
	if err != nil {
		return "", err
	}
	client := sha256.Sum256(code(salted, "Client Key"))
	return text(salt[:], client[:], code(salted, "Server Key")), nil
}

// prepared returns the password as SASLprep has it, or as it is where SASLprep refuses it:
// PostgreSQL and its clients do so.
func prepared(password string) string {
	if p, err := stringprep.SASLprep.Prepare(password); err == nil {
		return p
	}
	return password
}

func code(key []byte, message string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(message))
	return h.Sum(nil)
}

func text(salt, stored, server []byte) string {
	b := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s$%d:%s$%s:%s", Plain, iterations, b(salt), b(stored), b(server))
}

// Valid reports whether text is a verifier as PostgreSQL writes one:
// SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey.
func Valid(text string) bool {
	_, err := parse(text)
	return err == nil
}

func parse(text string) (c scram.StoredCredentials, err error) {
	malformed := errors.New("malformed verifier")
	rest, ok := strings.CutPrefix(text, Plain+"$")
	factors, keys, ok2 := strings.Cut(rest, "$")
	count, salt, ok3 := strings.Cut(factors, ":")
	stored, server, ok4 := strings.Cut(keys, ":")
	if !ok || !ok2 || !ok3 || !ok4 {
		return c, malformed
	}
	if c.Iters, err = strconv.Atoi(count); err != nil || c.Iters < 1 || c.Iters > maxIterations {
		return c, malformed
	}
	raw := make([][]byte, 3)
	for i, s := range []string{salt, stored, server} {
		if raw[i], err = base64.StdEncoding.DecodeString(s); err != nil {
			return c, malformed
		}
	}
	c.Salt, c.StoredKey, c.ServerKey = string(raw[0]), raw[1], raw[2]
	if len(c.Salt) == 0 || len(c.StoredKey) != sha256.Size || len(c.ServerKey) != sha256.Size {
		return c, malformed
	}
	return c, nil
}

// Secret returns a new secret for Mock.
func Secret() []byte {
	secret := make([]byte, sha256.Size)
	rand.Read(secret) // never fails, see crypto/rand
	return secret
}

// Mock returns a verifier for a user who does not exist. It has no password. It depends on
// nothing but the secret and the name, so asking twice for one name gives one salt, as it
// does for a user who exists.
func Mock(secret []byte, user string) string {
	salt := code(secret, "salt "+user)[:saltSize]
	return text(salt, code(secret, "stored "+user), code(secret, "server "+user))
}

// Matches reports whether a password is the one that a verifier was made of. It takes as long for every password
// of a length, and is for clients that cannot prove that they know theirs without sending it.
func Matches(verifier, password string) bool {
	c, err := parse(verifier)
	if err != nil || len(password) > maxPassword {
		return false
	}
	salted, err := pbkdf2.Key(sha256.New, prepared(password), []byte(c.Salt), c.Iters, sha256.Size)
	if err != nil {
		return false
	}
	stored := sha256.Sum256(code(salted, "Client Key"))
	return hmac.Equal(stored[:], c.StoredKey)
}

// Conversation is the server's side of one login. It takes two messages of the client.
type Conversation struct {
	mechanism string
	inner     *scram.ServerConversation
	begun     bool
}

// NewConversation begins a login by a mechanism, Plain or Plus. binding is Binding of the
// connection's certificate, or nil where there is no TLS; Plus must have been offered if it
// is not nil. The name that the client gives in its first message is not looked at: that of
// the startup packet counts, as in PostgreSQL.
func NewConversation(mechanism, verifier string, binding []byte) (*Conversation, error) {
	credentials, err := parse(verifier)
	if err != nil {
		return nil, err
	}
	server, err := scram.SHA256.NewServer(func(string) (scram.StoredCredentials, error) { return credentials, nil })
	if err != nil {
		return nil, err
	}
	c := &Conversation{mechanism: mechanism}
	switch {
	case mechanism == Plain && binding == nil:
		c.inner = server.NewConversation()
	case mechanism == Plain || mechanism == Plus && binding != nil:
		c.inner = server.NewConversationWithChannelBinding(scram.ChannelBinding{Type: scram.ChannelBindingTLSServerEndpoint, Data: binding})
	default:
		return nil, fmt.Errorf("the mechanism %q was not offered", mechanism)
	}
	return c, nil
}

// Step answers a message of the client. Done is set when the client has proved that it knows
// the password; any error ends the login.
func (c *Conversation) Step(message string) (reply string, done bool, err error) {
	if !c.begun {
		c.begun = true
		if strings.HasPrefix(message, "p=") != (c.mechanism == Plus) {
			return "", false, errors.New("the channel binding is not that of the mechanism")
		}
	}
	if reply, err = c.inner.Step(message); err != nil {
		return "", false, err
	}
	return reply, c.inner.Done() && c.inner.Valid(), nil
}

// Binding returns the data of the channel binding tls-server-end-point (RFC 5929, section 4.1)
// for the server's certificate: its hash by the algorithm of its signature, or by SHA-256
// where that is MD5, SHA-1, or has no hash of its own.
func Binding(leaf *x509.Certificate) []byte {
	var h hash.Hash
	switch leaf.SignatureAlgorithm {
	case x509.SHA384WithRSA, x509.SHA384WithRSAPSS, x509.ECDSAWithSHA384:
		h = sha512.New384()
	case x509.SHA512WithRSA, x509.SHA512WithRSAPSS, x509.ECDSAWithSHA512:
		h = sha512.New()
	default:
		h = sha256.New()
	}
	h.Write(leaf.Raw)
	return h.Sum(nil)
}
