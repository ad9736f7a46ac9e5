package mcpbridge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// stateOfAnswers begins a requestState that carries the answers to a tool's questions.
	stateOfAnswers = "answers."
	// answersLast is how long it is good for.
	answersLast = time.Hour
)

// sealed is what such a state carries. It holds for one call of one principal, made again and again; only the server that
// made it takes it.
type sealed struct {
	Principal string                     `json:"principal"`
	Call      []byte                     `json:"call"`
	Until     time.Time                  `json:"until"`
	Answers   map[string]json.RawMessage `json:"answers"`
	// State is that of a question which is not the tool's; "" for none.
	State string `json:"state,omitempty"`
}

// seal makes the state of a call that is to be made again. No two are the same.
func (s *Server) seal(r *request, answers map[string]json.RawMessage, within string) (string, error) {
	payload := encode(sealed{r.caller.Principal, r.digest(), time.Now().Add(answersLast), answers, within})
	state := stateOfAnswers + base64.RawURLEncoding.EncodeToString(payload) + "." + base64.RawURLEncoding.EncodeToString(s.mac(payload))
	if len(state) > MaxState {
		return "", fmt.Errorf("the answers to a tool's questions take more than %d bytes", MaxState)
	}
	return state, nil
}

// unseal takes the answers out of the state that a call has brought along, if it is one of these. A changed one, one of
// another call or principal, and an old one are errors.
func (s *Server) unseal(r *request) *rpcError {
	if r.resumed == nil {
		return nil
	}
	if err := s.open(r); err != nil {
		return errorf(codeInvalidParams, `bad "requestState": %v; make the call anew, without it`, err)
	}
	return nil
}

func (s *Server) open(r *request) error {
	resumed := r.resumed
	state, ours := strings.CutPrefix(resumed.State, stateOfAnswers)
	if !ours {
		return nil
	}
	encoded, mac, _ := strings.Cut(state, ".")
	payload, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return errors.New("it was changed")
	}
	sum, err := base64.RawURLEncoding.Strict().DecodeString(mac)
	if err != nil || !hmac.Equal(sum, s.mac(payload)) {
		return errors.New("it was changed, or another server made it")
	}
	var read sealed
	switch err := json.Unmarshal(payload, &read); {
	case err != nil:
		return err
	case read.Principal != r.caller.Principal || !slices.Equal(read.Call, r.digest()):
		return errors.New("it is of another call")
	case time.Now().After(read.Until):
		return errors.New("it has expired")
	}
	resumed.State, resumed.carried = read.State, read.Answers // the answers are nobody else's business
	return nil
}

func (s *Server) mac(payload []byte) []byte {
	h := hmac.New(sha256.New, s.stateKey)
	h.Write(payload)
	return h.Sum(nil)
}

// digest is the same for a request that is made again, however its client writes the arguments. That of a call is no other
// request's: it begins with a string.
func (r *request) digest() []byte {
	of, said := encode([]string{r.method}), r.params
	if r.call != nil {
		of, said = encode(r.call.Tool), r.call.Arguments
	}
	arguments := jsontext.Value(slices.Clone(said))
	_ = arguments.Canonicalize() // what cannot be is compared as it was sent
	h := sha256.New()
	h.Write(of)
	h.Write(arguments)
	return h.Sum(nil)
}
