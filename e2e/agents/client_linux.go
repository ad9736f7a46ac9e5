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
)

// Client is a coding agent: how it is started, given a hook and told what to do.
type Client struct {
	Name string
	// Program starts it.
	Program func(testing.TB) []string
	// Trusting are the arguments with which the client itself lets everything pass: what is stopped then, a hook stopped.
	Trusting []string
	// Hooked are the events that InstallHook installs a hook for.
	Hooked []string
	// Write and Shell are calls of the client's own tools. The path is absolute.
	Write func(path, content string) Call
	Shell func(command string) Call

	// command is a run without a person, against a model; it writes what configuration that takes.
	command func(t testing.TB, p Place, url string) (argv, env []string)
	install func(t testing.TB, p Place, c Client, argv []string)
}

// Clients are all that are driven here.
func Clients() []Client { return []Client{Claude(), Codex(), Gemini(), OpenCode()} }

// InstallHook has a client run a program at each of its hooked events: as a user would set it up, for all workspaces.
func InstallHook(t testing.TB, c Client, p Place, argv []string) {
	t.Helper()
	c.install(t, p, c, argv)
}

// prompt is what each run is asked; scripts do not listen.
const prompt = "Follow the script."

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
