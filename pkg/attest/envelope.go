package attest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// PayloadType is the type of what an envelope holds.
const PayloadType = "application/vnd.in-toto+json"

// MaxEnvelope is the largest envelope that is read, in bytes.
const MaxEnvelope = 64 << 20

// Errors that a caller may test for.
var (
	// ErrForged: the envelope is none that attest wrote, or no key signed it that should have.
	ErrForged = errors.New("the statement does not hold")
	// ErrNoKey: none of the keys that are trusted is the one that the envelope names, so that nothing was checked.
	ErrNoKey = errors.New("no key to check the statement with is at hand")
)

type envelope struct {
	PayloadType string      `json:"payloadType"`
	Payload     []byte      `json:"payload"`
	Signatures  []signature `json:"signatures"`
}

type signature struct {
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

// encodingToSign is DSSE's pre-authentication encoding.
func encodingToSign(payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(PayloadType), PayloadType, len(payload), payload)
}

func wrap(payload []byte, by Signer) ([]byte, error) {
	sig, err := by.sign(encodingToSign(payload))
	if err != nil {
		return nil, fmt.Errorf("sign the statement: %w", err)
	}
	return encode(envelope{PayloadType, payload, []signature{{by.Public.ID(), sig}}})
}

// encode is the one form of a statement or an envelope: JSON on one line, with a line feed behind it.
func encode(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return text.Bytes(), err
}

// decode reads what encode wrote, and nothing else.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	again, err := encode(into)
	if err == nil && !bytes.Equal(again, text) {
		err = errors.New("it is not in the form in which attest writes it")
	}
	return err
}

// open gives the payload of an envelope and the key that signed it. required keys are those of which one must have.
func open(text []byte, trusted, required []PublicKey) (payload []byte, by PublicKey, err error) {
	var e envelope
	if err := decode(text, &e); err != nil {
		return nil, by, fmt.Errorf("%w: the file is no envelope: %v", ErrForged, err)
	}
	if e.PayloadType != PayloadType || len(e.Signatures) != 1 {
		return nil, by, fmt.Errorf("%w: the envelope must hold %s and have one signature", ErrForged, PayloadType)
	}
	sig := e.Signatures[0]
	keys := required
	if len(keys) == 0 {
		keys = trusted
	}
	at := slices.IndexFunc(keys, func(k PublicKey) bool { return k.ID() == sig.KeyID })
	switch {
	case at >= 0 && keys[at].verify(encodingToSign(e.Payload), sig.Sig):
		return e.Payload, keys[at], nil
	case at >= 0:
		return nil, by, fmt.Errorf("%w: the signature is not by the key that it names (%s): the statement was changed or forged", ErrForged, sig.KeyID)
	case len(required) > 0:
		return nil, by, fmt.Errorf("%w: it names the key %.64q, and not %s", ErrForged, sig.KeyID, strings.Join(ids(required), " or "))
	}
	return nil, by, fmt.Errorf("%w: the statement names the key %.64q; get it from its holder, and give it with --key", ErrNoKey, sig.KeyID)
}

func ids(keys []PublicKey) (ids []string) {
	for _, k := range keys {
		ids = append(ids, k.ID())
	}
	return ids
}
