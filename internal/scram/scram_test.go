package scram_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"math/big"
	"strings"
	"testing"
	"time"

	xdg "github.com/xdg-go/scram"

	"dpsql/internal/scram"
	"dpsql/sqlerr"
)

// login runs a login of a client of the library with a password against a verifier.
func login(t *testing.T, mechanism, verifier, password string, server, client []byte) error {
	t.Helper()
	c, err := xdg.SHA256.NewClient("", password, "")
	if err != nil {
		t.Fatal(err)
	}
	talk := c.NewConversation()
	if client != nil {
		talk = c.NewConversationWithChannelBinding(xdg.ChannelBinding{Type: xdg.ChannelBindingTLSServerEndpoint, Data: client})
	}
	s, err := scram.NewConversation(mechanism, verifier, server)
	if err != nil {
		return err
	}
	reply := ""
	for step := range 2 {
		message, err := talk.Step(reply)
		if err != nil {
			t.Fatal(err)
		}
		var done bool
		if reply, done, err = s.Step(message); err != nil {
			return err
		}
		if done != (step == 1) {
			t.Fatalf("done is %v after message %d", done, step+1)
		}
	}
	if _, err := talk.Step(reply); err != nil || !talk.Valid() {
		t.Fatalf("the client does not believe the server: %v", err)
	}
	return nil
}

func TestLogin(t *testing.T) {
	const password = "s3cretive"
	verifier, err := scram.New(password)
	if err != nil {
		t.Fatal(err)
	}
	if !scram.Valid(verifier) || strings.Contains(verifier, password) {
		t.Fatalf("verifier %q", verifier)
	}
	if again, _ := scram.New(password); again == verifier {
		t.Fatal("two verifiers have one salt")
	}
	here, elsewhere := []byte("this certificate"), []byte("another certificate")
	for _, c := range []struct {
		name, mechanism, password string
		server, client            []byte
		ok                        bool
	}{
		{"plain", scram.Plain, password, nil, nil, true},
		{"wrong password", scram.Plain, "S3cret", nil, nil, false},
		{"bound", scram.Plus, password, here, here, true},
		{"bound elsewhere", scram.Plus, password, here, elsewhere, false},
		{"wrong password, bound", scram.Plus, "", here, here, false},
		{"plain though bound is offered", scram.Plain, password, here, nil, true},
		{"Plus without binding", scram.Plus, password, here, nil, false},
		{"Plain with binding", scram.Plain, password, here, here, false},
		{"Plus without TLS", scram.Plus, password, nil, here, false},
		{"unknown mechanism", "PLAIN", password, nil, nil, false},
	} {
		if err := login(t, c.mechanism, verifier, c.password, c.server, c.client); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestOthersVerifier logs in with a verifier that PostgreSQL made of RFC 7677's password, and
// with a password that SASLprep changes: a soft hyphen goes, a no-break space becomes a space.
func TestOthersVerifier(t *testing.T) {
	const pencil = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
	if err := login(t, scram.Plain, pencil, "pencil", nil, nil); err != nil {
		t.Error(err)
	}
	prepared, err := scram.New("a\u00adb\u00a0c")
	if err != nil {
		t.Fatal(err)
	}
	if err := login(t, scram.Plain, prepared, "ab c", nil, nil); err != nil {
		t.Error(err)
	}
}

func TestMock(t *testing.T) {
	if string(scram.Secret()) == string(scram.Secret()) { // equal with a probability of 2^-256
		t.Error("a secret is no secret")
	}
	secret := []byte("a secret of the server")
	mock := scram.Mock(secret, "nobody")
	if mock != scram.Mock(secret, "nobody") || mock == scram.Mock(secret, "nobody2") || mock == scram.Mock(secret[1:], "nobody") {
		t.Error("a mock verifier is a function of secret and name")
	}
	real, _ := scram.New("x")
	if len(mock) != len(real) || !scram.Valid(mock) {
		t.Errorf("%s is not of the form of %s", mock, real)
	}
	if err := login(t, scram.Plain, mock, "", nil, nil); err == nil {
		t.Error("a user who does not exist logged in")
	}
}

func TestRefused(t *testing.T) {
	for _, password := range []string{"", strings.Repeat("x", 1025), "a\x00b"} {
		if _, err := scram.New(password); sqlerr.CodeOf(err) != sqlerr.Invalid {
			t.Errorf("password of %d bytes: %v", len(password), err)
		}
	}
	ok, _ := scram.New("x")
	for _, text := range []string{"", "x", "md5" + strings.Repeat("0", 32), "SCRAM-SHA-256$", ok[:len(ok)-4], strings.Replace(ok, "4096", "0", 1),
		strings.Replace(ok, "4096", "-1", 1), strings.Replace(ok, "4096", "99999999", 1), strings.Replace(ok, ":", "", 1), "SCRAM-SHA-256$4096:$:", ok + "="} {
		if scram.Valid(text) {
			t.Errorf("%q is taken for a verifier", text)
		}
	}
	if !scram.Valid(ok) {
		t.Errorf("%q is refused", ok)
	}
}

// TestDowngrade: a client that could bind the channel, and was told that the server cannot, says y.
// Where the server can, somebody between them took that out of its offer (RFC 5802, section 6).
func TestDowngrade(t *testing.T) {
	verifier, err := scram.New("s3cretive")
	if err != nil {
		t.Fatal(err)
	}
	certificate := []byte("certificate")
	for _, c := range []struct {
		mechanism, flag string
		binding         []byte
		taken           bool
	}{
		{scram.Plain, "n", nil, true},
		{scram.Plain, "y", nil, true},
		{scram.Plain, "n", certificate, true},
		{scram.Plain, "y", certificate, false},
		{scram.Plain, "p=tls-server-end-point", certificate, false},
		{scram.Plus, "p=tls-server-end-point", certificate, true},
		{scram.Plus, "p=tls-unique", certificate, false},
		{scram.Plus, "n", certificate, false},
		{scram.Plus, "y", certificate, false},
	} {
		talk, err := scram.NewConversation(c.mechanism, verifier, c.binding)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := talk.Step(c.flag + ",,n=,r=rOprNGfwEbeRWgbNEkqO"); (err == nil) != c.taken {
			t.Errorf("%s with the flag %s, binding %q: %v", c.mechanism, c.flag, c.binding, err)
		}
	}
	if _, err := scram.NewConversation(scram.Plus, verifier, nil); err == nil {
		t.Error("a channel is bound without TLS")
	}
}

func TestBinding(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for algorithm, size := range map[x509.SignatureAlgorithm]int{x509.ECDSAWithSHA256: 32, x509.ECDSAWithSHA384: 48, x509.ECDSAWithSHA512: 64} {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), SignatureAlgorithm: algorithm}
		raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(scram.Binding(leaf)); got != size {
			t.Errorf("%v: %d bytes, want %d", algorithm, got, size)
		}
	}
}

// TestMatches: a password that is sent fits the verifier that it proves itself to.
func TestMatches(t *testing.T) {
	for _, password := range []string{"s3cret", "пароль", "a\u00adb", strings.Repeat("x", 1024)} {
		verifier, err := scram.New(password)
		if err != nil {
			t.Fatal(err)
		}
		for _, sent := range []string{password, password + " ", strings.ToUpper(password), ""} {
			want := login(t, scram.Plain, verifier, sent, nil, nil) == nil
			if got := scram.Matches(verifier, sent); got != want || want != (sent == password || sent == "пароль") {
				t.Errorf("%q for %q: %v, by SCRAM %v", sent, password, got, want)
			}
		}
	}
	if scram.Matches(scram.Mock([]byte("secret"), "nobody"), "") || scram.Matches("", "") {
		t.Error("a password fits where there is none")
	}
}
