package attest_test

import (
	"bytes"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/attest"
)

func TestAStrangerVerifies(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		for name, beside := range map[string]bool{"ref": true, "tree": false} {
			t.Run(format+" "+name, func(t *testing.T) {
				a, text, p := finished(t, format, beside)
				r, err := p.verify(text, attest.SealKey(a.key.Public()))
				must(t, err)
				if !r.Holds {
					t.Errorf("it does not hold: %q, unknown %q", r.Contradictions, r.Unknown)
				}
				t.Logf("%q %+v %+v", r.Unproven, r.Replay, r.Statement)
				if again := a.attest(); !bytes.Equal(again, text) {
					t.Error("the same range gives another statement")
				}
			})
		}
	}
}
