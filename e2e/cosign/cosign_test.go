// Package cosign_test reads what orchestra-mcp attest writes with the libraries by which cosign and others of its kind do:
// sigstore's for the envelope and its signature, in-toto's for the statement.
package cosign_test

import (
	"bytes"
	"crypto"
	"encoding/json"
	"os"
	"strings"
	"testing"

	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
	"google.golang.org/protobuf/encoding/protojson"
)

// The envelope is one that attest has written, and pkg/attest holds itself to write such ones.
const written = "../../pkg/attest/testdata/"

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(written + name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func verifier(t *testing.T) signature.Verifier {
	t.Helper()
	key, err := cryptoutils.UnmarshalPEMToPublicKey(read(t, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := signature.LoadVerifier(key, crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return dsse.WrapVerifier(found)
}

func TestSigstoreVerifiesTheEnvelope(t *testing.T) {
	v, envelope := verifier(t), read(t, "envelope.json")
	if err := v.VerifySignature(bytes.NewReader(envelope), nil); err != nil {
		t.Error(err)
	}
	var parts map[string]any
	if err := json.Unmarshal(envelope, &parts); err != nil {
		t.Fatal(err)
	}
	payload := []byte(parts["payload"].(string))
	for i := range payload {
		before := payload[i]
		payload[i] = 'A' + (before-'A'+1)%26
		parts["payload"] = string(payload)
		changed, err := json.Marshal(parts)
		if err != nil {
			t.Fatal(err)
		}
		if v.VerifySignature(bytes.NewReader(changed), nil) == nil {
			t.Errorf("character %d of the payload is changed, and the signature still holds", i)
		}
		payload[i] = before
	}
}

func TestInTotoReadsTheStatement(t *testing.T) {
	var envelope struct {
		PayloadType string
		Payload     []byte
	}
	if err := json.Unmarshal(read(t, "envelope.json"), &envelope); err != nil {
		t.Fatal(err)
	}
	if envelope.PayloadType != "application/vnd.in-toto+json" {
		t.Errorf("the payload's type is %q", envelope.PayloadType)
	}
	var statement intoto.Statement
	if err := protojson.Unmarshal(envelope.Payload, &statement); err != nil {
		t.Fatal(err)
	}
	if err := statement.Validate(); err != nil {
		t.Error(err)
	}
	if !strings.HasSuffix(statement.GetPredicateType(), "/attestation/v1") || len(statement.GetSubject()) < 3 {
		t.Errorf("the predicate is %q, of %d subjects", statement.GetPredicateType(), len(statement.GetSubject()))
	}
}
