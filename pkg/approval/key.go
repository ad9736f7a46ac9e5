package approval

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

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
func (s *Store) seal(k kind, body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	mac, err := s.mac(k, encoded)
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{hex.EncodeToString(mac), encoded})
}

// unseal decodes a file of a kind, after it has proved authentic.
func (s *Store) unseal(k kind, file []byte, body any) error {
	var e envelope
	if json.Unmarshal(file, &e) != nil {
		return errNotAuthentic
	}
	want, err := s.mac(k, e.Body)
	if err != nil {
		return err
	}
	have, err := hex.DecodeString(e.MAC)
	if err != nil || !hmac.Equal(want, have) {
		return errNotAuthentic
	}
	return json.Unmarshal(e.Body, body)
}

func (s *Store) mac(k kind, body []byte) ([]byte, error) {
	key, err := s.derive(k.name)
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

// state is what travels through a client with a question of revision 2026-07-28, sealed: the client can neither read
// nor make one.
type state struct {
	ID        string `json:"i"`
	Digest    string `json:"d"`
	Principal string `json:"p"`
	Expires   int64  `json:"e"` // Unix seconds
}

// SealState makes the state that goes with a question. Any server process of the same user on the same workspace can
// redeem it, once, for the principal of the request, until the lifetime is over.
func (s *Store) SealState(r Request, lifetime time.Duration) (string, error) {
	plain, err := json.Marshal(state{r.ID, r.Digest, r.Principal, s.clock().Add(lifetime).Unix()})
	if err != nil {
		return "", err
	}
	aead, err := s.aead()
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(aead.Seal(nil, nil, plain, []byte(s.workspace))), nil
}

// RedeemState returns the request that a state was made for, which the caller has to hold against its call. A state is
// good once. The error is ErrState for one that is forged, altered, expired, redeemed, or of another principal or
// workspace; ErrUnknown where its request is gone.
func (s *Store) RedeemState(token, principal string) (Request, error) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || base64.RawURLEncoding.EncodeToString(sealed) != token { // line breaks are read over
		return Request{}, ErrState
	}
	aead, err := s.aead()
	if err != nil {
		return Request{}, err
	}
	plain, err := aead.Open(nil, nil, sealed, []byte(s.workspace))
	if err != nil {
		return Request{}, ErrState
	}
	var st state
	if json.Unmarshal(plain, &st) != nil || st.Principal != principal || s.clock().Unix() >= st.Expires {
		return Request{}, ErrState
	}
	sum := sha256.Sum256(sealed)
	first, err := s.marks.set("st_"+hex.EncodeToString(sum[:16]), time.Unix(st.Expires, 0).Add(Lifetime))
	if err != nil {
		return Request{}, wrap(err)
	}
	if !first {
		return Request{}, ErrState
	}
	r, err := s.Get(st.ID)
	if err == nil && r.Digest != st.Digest {
		return Request{}, ErrState
	}
	return r, err
}
