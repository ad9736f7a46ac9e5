package mutation_test

import (
	"os"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// long runs whole sweeps instead of samples.
func long() bool { return os.Getenv("ORCHESTRA_LONG") != "" }

// patient limits do not depend on how busy the machine is.
func patient() mutation.Limits {
	limits := mutation.DefaultLimits()
	limits.Time, limits.Search = time.Minute, time.Minute
	return limits
}

func judgeOne(t testing.TB, name string, before, after []byte) mutation.Verdict {
	return mutation.JudgeAmong(t.Context(), []mutation.File{{Path: name, Before: before, After: after}}, nil, patient())
}

func isRefactor(v mutation.Verdict) bool {
	return v.Evidence == mutation.Proven || v.Evidence == mutation.ProvenLocal
}

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
