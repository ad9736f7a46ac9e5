package replay_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
)

func newTrust(t *testing.T) (*replay.Trust, string) {
	t.Helper()
	dir := t.TempDir()
	return &replay.Trust{Open: func() (*durable.Dir, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return durable.OpenRoot(root)
	}}, dir
}

func trusts(t *testing.T, trust *replay.Trust, now, want string) {
	t.Helper()
	got := check.Value(trust.Trusted(t.Context(), strings.Fields(now)))(t)
	if slices.Sort(got); strings.Join(got, " ") != want {
		t.Errorf("with %q on refs %q are trusted, want %q", now, got, want)
	}
}

func TestTrust(t *testing.T) {
	trust, _ := newTrust(t)
	trusts(t, trust, "a b", "a b")
	running, trusted, err := trust.Begin(t.Context(), []string{"a", "b", "c"}) // c came from a person
	if err != nil || !slices.Contains(trusted, "c") {
		t.Fatal(trusted, err)
	}
	trusts(t, trust, "a b c d", "a b c") // d came while the command ran
	check.OK(t, running.End(t.Context(), []string{"a", "b", "c", "d", "e"}, []string{"e"}, nil))
	trusts(t, trust, "a d e", "a b c e") // d is nobody's still
	trusts(t, trust, "a d e f", "a b c e f")
}

// A command whose server was killed vouches for nothing, nor does the time until it is found.
func TestTrustAfterAKill(t *testing.T) {
	trust, dir := newTrust(t)
	trusts(t, trust, "a", "a")
	// What a killed server leaves: the command's file, which nobody holds.
	check.OK(t, os.WriteFile(filepath.Join(dir, "run-X"), nil, 0o600))
	trusts(t, trust, "a b", "a")
	trusts(t, trust, "a b c", "a c")
	left, _ := filepath.Glob(filepath.Join(dir, "run-*"))
	check.That(t, len(left) == 0, "left: %q", left)
}

func TestTrustInADamagedFile(t *testing.T) {
	trust, dir := newTrust(t)
	check.OK(t, os.WriteFile(filepath.Join(dir, "tips.json"), []byte("{"), 0o600))
	_, err := trust.Trusted(t.Context(), []string{"a"})
	check.That(t, err != nil && strings.Contains(err.Error(), "tips.json"), "%v", err)
}
