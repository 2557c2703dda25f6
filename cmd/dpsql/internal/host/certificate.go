package host

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"dpsql/sqlerr"
)

// Certificates holds the certificate that a server shows. It is safe for concurrent use.
type Certificates struct {
	certificate, key string // files; "" if the certificate was made here
	now              atomic.Pointer[tls.Certificate]
}

// LoadCertificates reads a certificate, with those that vouch for it, and its key from two
// files in PEM form. The key may be the server's alone.
func LoadCertificates(certificate, key string) (*Certificates, error) {
	c := &Certificates{certificate: certificate, key: key}
	return c, c.Reload()
}

// hostName matches a name that a certificate can have.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// SelfSigned makes a certificate that nobody vouches for, for the names and addresses; what is
// neither is left out. Its key is nowhere but in memory, so every start has another.
func SelfSigned(names []string) (*Certificates, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "dpsql"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true, // so that a client can name it as its root
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if hostName.MatchString(name) {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	text, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(text)
	if err != nil {
		return nil, err
	}
	c := new(Certificates)
	c.now.Store(&tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key, Leaf: leaf})
	return c, nil
}

// Reload reads the files again. If they do not hold a certificate and its key, what was read
// before stays. A certificate that was made here stays as it is.
func (c *Certificates) Reload() error {
	if c.certificate == "" {
		return nil
	}
	key, err := readKey(c.key)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(c.certificate)
	if err != nil {
		return unreadable(c.certificate, err)
	}
	pair, err := tls.X509KeyPair(text, key)
	switch {
	case err != nil && strings.Contains(err.Error(), "does not match"):
		return sqlerr.New(sqlerr.Invalid, "the key in %s does not belong to the certificate in %s", c.key, c.certificate)
	case err != nil:
		return sqlerr.New(sqlerr.Invalid, "%s and %s do not hold a certificate and its key", c.certificate, c.key).
			WithHint("both are in PEM form, and the key has no passphrase")
	}
	c.now.Store(&pair)
	return nil
}

// Current returns the certificate to show now.
func (c *Certificates) Current() (*tls.Certificate, error) { return c.now.Load(), nil }

// Made reports whether the certificate was made here, and not read.
func (c *Certificates) Made() bool { return c.certificate == "" }

// Expires returns when the certificate ends.
func (c *Certificates) Expires() time.Time { return c.now.Load().Leaf.NotAfter }

// Fingerprint returns the SHA-256 of the certificate, as openssl x509 -fingerprint shows it.
func (c *Certificates) Fingerprint() string {
	sum := sha256.Sum256(c.now.Load().Certificate[0])
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}

// readKey reads a private key, and refuses one that others can read, by PostgreSQL's rule: a
// file of the server's user that no group and nobody else may touch, or one of root's that a
// group may read.
func readKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, unreadable(path, err)
	case !info.Mode().IsRegular():
		return nil, sqlerr.New(sqlerr.Invalid, "the key %s is not a file", path)
	}
	if owner, known := ownerOf(info); known {
		allowed := fs.FileMode(0o700)
		switch {
		case owner == os.Geteuid():
		case owner == 0:
			allowed = 0o740
		default:
			return nil, sqlerr.New(sqlerr.Invalid, "the key %s belongs to another user", path).WithHint("it must belong to the user who runs the server, or to root")
		}
		if mode := info.Mode().Perm(); mode&^allowed != 0 {
			return nil, sqlerr.New(sqlerr.Invalid, "the key %s can be read by others: its mode is %#o", path, mode).
				WithHint("chmod 600 %s; a key of root may have 640", path)
		}
	}
	const most = 1 << 20
	if info.Size() > most {
		return nil, sqlerr.New(sqlerr.Invalid, "the key %s has more than %d bytes", path, most)
	}
	text := make([]byte, info.Size())
	n, err := f.ReadAt(text, 0)
	if n < len(text) {
		return nil, unreadable(path, err)
	}
	return text, nil
}

func unreadable(path string, err error) error {
	why := reason(err)
	if errors.Is(err, fs.ErrNotExist) {
		why = "no such file or directory"
	}
	return sqlerr.New(sqlerr.IO, "cannot read %s: %s", path, why)
}
