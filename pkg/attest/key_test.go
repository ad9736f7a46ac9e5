package attest_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/attest"
)

func private(t *testing.T, key crypto.PrivateKey, passphrase string) []byte {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	check.OK(t, err)
	return pem.EncodeToMemory(block)
}

// TestAnSSHKeySigns, and its public key is one in each form.
func TestAnSSHKeySigns(t *testing.T) {
	t.Parallel()
	a := newAuthor(t, "sha1", true)
	a.work()
	a.commit("second")
	public, secret, err := ed25519.GenerateKey(rand.Reader)
	check.OK(t, err)
	by := check.Value(attest.SSHSigner(private(t, secret, "")))(t)
	text, _, err := attest.Make(t.Context(), a.root, "main", "work", version, by)
	check.OK(t, err)
	line := check.Value(ssh.NewPublicKey(public))(t)
	for _, form := range []string{string(ssh.MarshalAuthorizedKey(line)), by.Public.PEM()} {
		key := check.Value(attest.ParsePublicKey(form))(t)
		check.That(t, key.ID() == by.Public.ID(), "%s has another id", form)
		if r, err := a.verify(text, key); err != nil || !r.Holds {
			t.Errorf("%s: %v", form, err)
		}
	}
	sealing := check.Value(attest.ParsePublicKey(a.key.Public().String()))(t)
	check.That(t, sealing.ID() == attest.SealKey(a.key.Public()).ID(), "the line of a seal's key has another id")
}

func TestKeysThatDoNotServe(t *testing.T) {
	t.Parallel()
	_, secret, err := ed25519.GenerateKey(rand.Reader)
	check.OK(t, err)
	curve := check.Value(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	line := check.Value(ssh.NewPublicKey(curve.Public()))(t)
	for want, parse := range map[string]func() error{
		"has a passphrase":         func() error { _, err := attest.SSHSigner(private(t, secret, "x")); return err },
		"only Ed25519":             func() error { _, err := attest.SSHSigner(private(t, curve, "")); return err },
		"no private key":           func() error { _, err := attest.SSHSigner([]byte("no key")); return err },
		"only Ed25519 keys":        func() error { _, err := attest.ParsePublicKey(string(ssh.MarshalAuthorizedKey(line))); return err },
		"no public key of OpenSSH": func() error { _, err := attest.ParsePublicKey("ssh-ed25519 AAAA"); return err },
		"name+hash+base64":         func() error { _, err := attest.ParsePublicKey("alice"); return err },
		"the PEM block":            func() error { _, err := attest.ParsePublicKey(string(private(t, secret, ""))); return err },
	} {
		if err := parse(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}
