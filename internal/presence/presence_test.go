package presence_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/presence"
)

func state(t *testing.T) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func ids(t *testing.T, root *os.Root) (found []string) {
	t.Helper()
	servers, err := presence.Servers(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		found = append(found, s.ID)
	}
	return found
}

// A server is shown from its registration until it leaves, and one that was killed is not: its file stays, its lock does
// not. A later server sweeps it.
func TestServersThatAreAlive(t *testing.T) {
	root := state(t)
	if got := ids(t, root); got != nil {
		t.Errorf("%v", got)
	}
	first, err := presence.Register(root, presence.Server{ID: "1-a", Transport: "stdio", StartedAt: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	killed := `{"id":"2-b","pid":1,"place":"","transport":"http","version":"dev","started_at":"2026-01-01T00:00:00Z"}`
	if err := root.WriteFile("servers/2-b.json", []byte(killed), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"torn.json": "{", "other": "x"} {
		if err := root.WriteFile("servers/"+name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := root.Mkdir("servers/dir.json", 0o700); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, root); durable.Place() != "" && !slices.Equal(got, []string{"1-a"}) {
		t.Errorf("%v", got)
	}
	old := time.Now().Add(-time.Hour)
	if err := root.Chtimes("servers/2-b.json", old, old); err != nil {
		t.Fatal(err)
	}
	second, err := presence.Register(root, presence.Server{ID: "3-c", StartedAt: time.Unix(3, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := root.Lstat("servers/2-b.json"); durable.Place() != "" && err == nil {
		t.Error("the mark of a killed server was not swept")
	}
	first.Remove()
	if got := ids(t, root); !slices.Equal(got, []string{"3-c"}) {
		t.Errorf("%v", got)
	}
	second.Remove()
	if got := ids(t, root); got != nil {
		t.Errorf("%v", got)
	}
}

func TestWorkspacesAreForgottenWhenTheyAreGone(t *testing.T) {
	user, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two, one} {
		if err := os.MkdirAll(filepath.Join(dir, ".orchestration"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := presence.Remember(user, dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(two, ".orchestration")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := presence.Workspaces(user)
		if err != nil || !slices.Equal(got, []string{one}) {
			t.Errorf("%v %v", got, err)
		}
	}
}
