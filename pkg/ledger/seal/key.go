package seal

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/privatefile"
)

const (
	keyFile  = "seal.key"
	knownDir = "seal-keys"
)

// PublicKey checks seals.
type PublicKey struct {
	text     string
	verifier note.Verifier
}

// ParsePublicKey reads the one-line form of a public key, name+hash+base64.
func ParsePublicKey(text string) (PublicKey, error) {
	text = strings.TrimSpace(text)
	verifier, err := note.NewVerifier(text)
	if err != nil {
		return PublicKey{}, fmt.Errorf("%.200q is not a public key of the form name+hash+base64: %w", text, err)
	}
	return PublicKey{text: text, verifier: verifier}, nil
}

// String is the one-line form.
func (k PublicKey) String() string { return k.text }

// ID is the key's name and hash, which tell people's keys apart but are not proof: only the whole key is.
func (k PublicKey) ID() string { return keyID(k.verifier.Name(), k.verifier.KeyHash()) }

// Ed25519 is the key itself, for other formats of signatures.
func (k PublicKey) Ed25519() ed25519.PublicKey {
	_, rest, _ := strings.Cut(k.text, "+")
	_, encoded, _ := strings.Cut(rest, "+")
	typed, _ := base64.StdEncoding.DecodeString(encoded) // ParsePublicKey has decoded it before: a byte for the algorithm, the key
	return typed[1:]
}

func keyID(name string, hash uint32) string { return fmt.Sprintf("%s+%08x", name, hash) }

// Key makes seals.
type Key struct {
	public PublicKey
	signer note.Signer
}

// Public is the key to check with.
func (k *Key) Public() PublicKey { return k.public }

// Sign gives the Ed25519 signature of a message that cannot be taken for a note: one that does not begin as a seal does.
func (k *Key) Sign(message []byte) ([]byte, error) {
	if bytes.HasPrefix(message, []byte(origin)) {
		return nil, errors.New("only Create makes seals")
	}
	return k.signer.Sign(message)
}

// LoadKey reads the user's private key. On systems with permission bits it refuses one that others can read.
func LoadKey(userDir string) (*Key, error) {
	name := filepath.Join(userDir, keyFile)
	content, err := privatefile.ReadPrivate(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s does not exist", ErrNoKey, name)
	case errors.Is(err, privatefile.ErrUnsafe):
		return nil, fmt.Errorf("%w: %w", ErrUnsafeKey, err)
	case err != nil:
		return nil, err
	}
	secret, public, _ := strings.Cut(strings.TrimSpace(string(content)), "\n")
	signer, err := note.NewSigner(strings.TrimSpace(secret))
	if err != nil {
		return nil, fmt.Errorf("%s is not a key to seal with: %w; move it away to have a new one made", name, err)
	}
	key, err := ParsePublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("%s, second line: %w", name, err)
	}
	if !matches(signer, key) {
		return nil, fmt.Errorf("%s: its public key does not belong to its private key; move it away to have a new one made", name)
	}
	return &Key{public: key, signer: signer}, nil
}

// matches proves that the two halves belong together, since a name and a short hash do not.
func matches(signer note.Signer, public PublicKey) bool {
	signed, err := note.Sign(&note.Note{Text: origin + "\n"}, signer)
	if err != nil {
		return false
	}
	_, err = note.Open(signed, note.VerifierList(public.verifier))
	return err == nil
}

// CreateKey makes the user's private key, flushed to disk before it returns, and never replaces one. Characters that a
// key's name cannot have become hyphens.
func CreateKey(userDir, name string) (*Key, error) {
	secret, public, err := note.GenerateKey(rand.Reader, cleanName(name))
	if err != nil {
		return nil, fmt.Errorf("make a key to seal with: %w", err)
	}
	if err := privatefile.Create(filepath.Join(userDir, keyFile), secret+"\n"+public+"\n"); err != nil {
		return nil, fmt.Errorf("make a key to seal with: %w", err)
	}
	return LoadKey(userDir)
}

func cleanName(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("._@-", r):
			return r
		}
		return '-'
	}, name)
	safe = strings.TrimLeft(safe, ".-")
	if safe == "" {
		return "operator"
	}
	return safe[:min(len(safe), 64)]
}

// KnownKeys are the public keys that the user trusts: the user's own, and those in the directory for others'.
func KnownKeys(userDir string) ([]PublicKey, error) {
	if userDir == "" {
		return nil, nil
	}
	var known []PublicKey
	own, err := LoadKey(userDir)
	switch {
	case err == nil:
		known = append(known, own.Public())
	case !errors.Is(err, ErrNoKey):
		return nil, err
	}
	entries, err := durable.ReadDirectory(filepath.Join(userDir, knownDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the keys that you trust: %w", err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		key, err := ReadPublicKey(filepath.Join(userDir, knownDir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the keys that you trust: %w; repair or remove the file", err)
		}
		known = append(known, key)
	}
	return known, nil
}

// ReadPublicKey reads a file with one public key.
func ReadPublicKey(name string) (PublicKey, error) {
	content, err := privatefile.Read(name)
	if err != nil {
		return PublicKey{}, err
	}
	key, err := ParsePublicKey(string(content))
	if err != nil {
		return PublicKey{}, fmt.Errorf("%s: %w", name, err)
	}
	return key, nil
}
