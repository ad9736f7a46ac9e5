package approval

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/privatefile"
)

const keyFile = "approval.key"

// keyOf reads the user's key, or makes it; without a user directory the key is this process's.
func keyOf(userDir string) ([]byte, error) {
	fresh := make([]byte, sha256.Size)
	_, _ = rand.Read(fresh) // never fails
	if userDir == "" {
		return fresh, nil
	}
	name := filepath.Join(userDir, keyFile)
	content, err := privatefile.ReadPrivate(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err = privatefile.Create(name, hex.EncodeToString(fresh)+"\n"); err == nil {
			content, err = privatefile.ReadPrivate(name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the key of approvals: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(content)))
	if err != nil || len(key) != sha256.Size {
		return nil, fmt.Errorf("%s is not a key for approvals; move it away to have a new one made, which voids what is pending", name)
	}
	return key, nil
}

// derive is the key for one purpose.
func (s *Store) derive(purpose string) ([]byte, error) {
	key, err := s.key()
	if err != nil {
		return nil, err
	}
	return hkdf.Key(sha256.New, key, nil, "orchestra-mcp approval "+purpose, sha256.Size)
}

// envelope is a file: a body and the proof that we wrote it.
type envelope struct {
	MAC  string          `json:"mac"`
	Body json.RawMessage `json:"body"`
}

var errNotAuthentic = errors.New("it was not written with the user's key, or was altered")

// seal encodes a body as a file of a kind.
func (s *Store) seal(kind string, body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	mac, err := s.mac(kind, encoded)
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{hex.EncodeToString(mac), encoded})
}

// unseal decodes a file of a kind, after it has proved authentic.
func (s *Store) unseal(kind string, file []byte, body any) error {
	var e envelope
	if json.Unmarshal(file, &e) != nil {
		return errNotAuthentic
	}
	want, err := s.mac(kind, e.Body)
	if err != nil {
		return err
	}
	have, err := hex.DecodeString(e.MAC)
	if err != nil || !hmac.Equal(want, have) {
		return errNotAuthentic
	}
	return json.Unmarshal(e.Body, body)
}

func (s *Store) mac(kind string, body []byte) ([]byte, error) {
	key, err := s.derive(kind)
	if err != nil {
		return nil, err
	}
	m := hmac.New(sha256.New, key)
	m.Write([]byte(s.workspace + "\x00"))
	m.Write(body)
	return m.Sum(nil), nil
}

func (s *Store) aead() (cipher.AEAD, error) {
	key, err := s.derive("state")
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
