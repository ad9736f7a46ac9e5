package mutation_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

func TestResolve(t *testing.T) {
	cases := []struct {
		declared mutation.Class
		evidence mutation.Evidence
		want     mutation.Class
		warns    bool
	}{
		{"", mutation.Unsupported, mutation.Evolution, false},
		{mutation.Refactor, mutation.Unsupported, mutation.Refactor, false},
		{mutation.Evolution, mutation.Unsupported, mutation.Evolution, false},
		{"", mutation.Proven, mutation.Refactor, false},
		{mutation.Evolution, mutation.ProvenLocal, mutation.Refactor, false},
		{mutation.Refactor, mutation.Unproven, mutation.Evolution, true},
		{"", mutation.Unproven, mutation.Evolution, false},
	}
	for _, c := range cases {
		got := mutation.Resolve(c.declared, mutation.Verdict{Evidence: c.evidence, Reason: "why"})
		if got.Class != c.want || (got.Warning != "") != c.warns || got.Declared != c.declared || got.Evidence != c.evidence {
			t.Errorf("declared %q, %s: %+v", c.declared, c.evidence, got)
		}
	}
}
