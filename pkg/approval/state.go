package approval

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"time"
)

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
