package agents

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/scripted"
)

// Client is a coding agent, and how it is given a hook.
type Client struct {
	scripted.Client
	// Program starts it.
	Program func(testing.TB) []string
	// Hooked are the events that InstallHook installs a hook for.
	Hooked []string
	// Shell is a call of the client's own shell.
	Shell func(command string) Call
	// Edit replaces a text of a file; Read shows one, and is nil where the client has no such tool.
	Edit func(path, old, new string) Call
	Read func(path string) Call

	prepare func(t testing.TB, p Place) // writes configuration that a run takes; may be nil
	install func(t testing.TB, p Place, c Client, argv []string)
}

// What a script is made of, in the words of package scripted.
type (
	Call   = scripted.Call
	Turn   = scripted.Turn
	object = map[string]any
)

// Calling is a turn of calls.
func Calling(calls ...Call) Turn { return scripted.Calling(calls...) }

// Clients are all that are driven here.
func Clients() []Client { return []Client{Claude(), Codex(), Gemini(), OpenCode()} }

// InstallHook has a client run a program at each of its hooked events: as a user would set it up, for all workspaces.
func InstallHook(t testing.TB, c Client, p Place, argv []string) {
	t.Helper()
	c.install(t, p, c, argv)
}

// write leaves a file, as JSON if it is no text.
func write(t testing.TB, content any, elem ...string) {
	t.Helper()
	file := filepath.Join(elem...)
	raw, ok := content.(string)
	if !ok {
		b, err := json.MarshalIndent(content, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		raw = string(b)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
}

// add sets keys of a file of JSON, and leaves the others that it may have.
func add(t testing.TB, keys object, elem ...string) {
	t.Helper()
	merged := object{}
	raw, err := os.ReadFile(filepath.Join(elem...))
	if err == nil {
		err = json.Unmarshal(raw, &merged)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	maps.Copy(merged, keys)
	write(t, merged, elem...)
}

// quoted is argv as a POSIX shell takes it.
func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}
