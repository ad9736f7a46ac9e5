package attest

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
)

// PublicKey checks statements.
type PublicKey struct{ key ed25519.PublicKey }

// SealKey is the key that checks seals.
func SealKey(key seal.PublicKey) PublicKey { return PublicKey{key.Ed25519()} }

// ParsePublicKey reads a public Ed25519 key: the line that orchestra-mcp seal prints, a line of OpenSSH, or PEM.
func ParsePublicKey(text string) (PublicKey, error) {
	text = strings.TrimSpace(text)
	if block, _ := pem.Decode([]byte(text)); block != nil {
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return PublicKey{}, fmt.Errorf("the PEM block has no public key: %w", err)
		}
		return ed25519Key(key)
	}
	if strings.HasPrefix(text, "ssh-") || strings.HasPrefix(text, "ecdsa-") {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
		if err != nil {
			return PublicKey{}, fmt.Errorf("%.80q is no public key of OpenSSH: %w", text, err)
		}
		if wrapped, ok := key.(ssh.CryptoPublicKey); ok {
			return ed25519Key(wrapped.CryptoPublicKey())
		}
		return ed25519Key(key)
	}
	key, err := seal.ParsePublicKey(text)
	if err != nil {
		return PublicKey{}, err
	}
	return SealKey(key), nil
}

func ed25519Key(key any) (PublicKey, error) {
	found, ok := key.(ed25519.PublicKey)
	if !ok {
		return PublicKey{}, fmt.Errorf("the key is a %T: only Ed25519 keys sign statements (ssh-keygen -t ed25519 makes one)", key)
	}
	return PublicKey{found}, nil
}

// ID is the key's fingerprint as ssh-keygen -l prints it. The libraries of others pass over a signature with another id.
func (k PublicKey) ID() string {
	key, err := ssh.NewPublicKey(k.key)
	if err != nil {
		return "" // not an Ed25519 key
	}
	return ssh.FingerprintSHA256(key)
}

// PEM is the form that cosign and openssl read.
func (k PublicKey) PEM() string {
	der, err := x509.MarshalPKIXPublicKey(k.key)
	if err != nil {
		return "" // not an Ed25519 key
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func (k PublicKey) verify(message, sig []byte) bool {
	return len(k.key) == ed25519.PublicKeySize && ed25519.Verify(k.key, message, sig)
}

// Signer makes statements.
type Signer struct {
	Public PublicKey
	sign   func(message []byte) ([]byte, error)
}

// SealSigner signs with the key that seals the ledger.
func SealSigner(key *seal.Key) Signer { return Signer{SealKey(key.Public()), key.Sign} }

// SSHSigner signs with a private key in OpenSSH's form, or in PKCS 8: Ed25519, without a passphrase.
func SSHSigner(text []byte) (Signer, error) {
	parsed, err := ssh.ParseRawPrivateKey(text)
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return Signer{}, errors.New("the key has a passphrase, for which attest cannot ask; sign with the seal key, or make a key for this: ssh-keygen -t ed25519 -N ''")
	case err != nil:
		return Signer{}, fmt.Errorf("it is no private key of OpenSSH: %w", err)
	}
	secret, ok := parsed.(ed25519.PrivateKey)
	if pointer, is := parsed.(*ed25519.PrivateKey); is {
		secret, ok = *pointer, true
	}
	if !ok {
		_, err := ed25519Key(parsed)
		return Signer{}, err
	}
	public, err := ed25519Key(secret.Public())
	return Signer{public, func(message []byte) ([]byte, error) { return ed25519.Sign(secret, message), nil }}, err
}
