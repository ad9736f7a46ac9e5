package native_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// A client's own tool is decided about as our own is, for the same effects and with the same seen.
func TestDecisionsAreThoseOfOurTools(t *testing.T) {
	t.Parallel()
	native := newWorld(t)
	native.mode = "bypassPermissions" // in which the client asks nobody
	native.uses("INT-001")
	ours := newWorld(t)
	check.Must(t, ours.tool("select_active_intent", args{"intent_id": "INT-001"}).Refusal == nil, "selecting")
	for _, w := range []*world{native, ours} {
		check.OK(t, os.Symlink("../docs", w.at("src/link")))
		check.OK(t, os.Symlink(filepath.Dir(w.dir), w.at("src/out")))
		w.write("src/closed.txt", "x\n")
	}
	for _, c := range []struct {
		name, tool string
		input      func(w *world) args
		ourTool    string
		arguments  args
		want       string
	}{
		{"a new file", "Write", file("src/new.txt", "x\n"), "write_to_file", args{"path": "src/new.txt", "content": "x\n"}, ""},
		{"out of scope", "Write", file("docs/new.md", "x\n"), "write_to_file", args{"path": "docs/new.md", "content": "x\n"}, "SCOPE_VIOLATION"},
		{"not read", "Write", file("src/a.txt", "x\n"), "write_to_file", args{"path": "src/a.txt", "content": "x\n"}, "READ_REQUIRED"},
		{"a link out of scope", "Write", file("src/link/x.md", "x\n"), "write_to_file", args{"path": "src/link/x.md", "content": "x\n"}, "SCOPE_VIOLATION"},
		{"a link out", "Write", file("src/out/x", "x\n"), "write_to_file", args{"path": "src/out/x", "content": "x\n"}, "PATH_OUTSIDE_WORKSPACE"},
		{"outside", "Write", plain(args{"file_path": "/etc/x", "content": "x\n"}), "write_to_file", args{"path": "/etc/x", "content": "x\n"}, "PATH_OUTSIDE_WORKSPACE"},
		{"up and out", "Write", plain(args{"file_path": "src/../../x", "content": "x\n"}), "write_to_file", args{"path": "src/../../x", "content": "x\n"}, "PATH_OUTSIDE_WORKSPACE"},
		{"home", "Write", plain(args{"file_path": "~/.claude/settings.json", "content": "{}"}), "write_to_file", args{"path": os.Getenv("HOME") + "/.claude/settings.json", "content": "{}"}, "PATH_OUTSIDE_WORKSPACE"},
		{"governance", "Write", file(".orchestration/active_intents.yaml", "x\n"), "write_to_file", args{"path": ".orchestration/active_intents.yaml", "content": "x\n"}, "PROTECTED_PATH"},
		{"git", "Edit", edit(".git/config", "a", "b"), "edit_file", args{"path": ".git/config", "old_string": "a", "new_string": "b"}, "PROTECTED_PATH"},
		{"a directory", "Write", file("src", "x\n"), "write_to_file", args{"path": "src", "content": "x\n"}, "NOT_A_REGULAR_FILE"},
		{"ignored", "Edit", edit("src/closed.txt", "x", "y"), "edit_file", args{"path": "src/closed.txt", "old_string": "x", "new_string": "y"}, "INTENTIGNORE_PATH_BLOCKED"},
		{"a secret, read", "Read", plainFile("keys/k"), "read_file", args{"path": "keys/k"}, "INTENTIGNORE_PATH_BLOCKED"},
		{"a secret, written", "Write", file("keys/k", "x\n"), "write_to_file", args{"path": "keys/k", "content": "x\n"}, "INTENTIGNORE_PATH_BLOCKED"},
		{"a read", "Read", plainFile("docs/other.md"), "read_file", args{"path": "docs/other.md"}, ""},
		{"an edit", "Edit", edit("src/a.txt", "two", "zwei"), "edit_file", args{"path": "src/a.txt", "old_string": "two", "new_string": "zwei"}, ""},
		{"an edit of nothing", "Edit", edit("src/a.txt", "nowhere", "x"), "edit_file", args{"path": "src/a.txt", "old_string": "nowhere", "new_string": "x"}, "DIFF_NOT_APPLIED"},
		{"a missing file", "Edit", edit("src/none.txt", "a", "b"), "edit_file", args{"path": "src/none.txt", "old_string": "a", "new_string": "b"}, "FILE_NOT_FOUND"},
	} {
		got := native.pre(c.tool, c.input(native)).code()
		want := ""
		if r := ours.tool(c.ourTool, c.arguments).Refusal; r != nil {
			want = string(r.Code())
		}
		check.That(t, got == want && want == c.want, "%s: a client's tool is answered %q, ours %q, want %q", c.name, got, want, c.want)
	}
}

func file(name, content string) func(*world) args {
	return func(w *world) args { return args{"file_path": w.at(name), "content": content} }
}

func plainFile(name string) func(*world) args {
	return func(w *world) args { return args{"file_path": w.at(name)} }
}

func edit(name, from, to string) func(*world) args {
	return func(w *world) args { return args{"file_path": w.at(name), "old_string": from, "new_string": to} }
}

func plain(a args) func(*world) args { return func(*world) args { return a } }

// A client's private places are its own, but none of what steers it; what lies outside can be read.
func TestOutsideOfTheWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.uses("INT-001")
	home := os.Getenv("HOME")
	check.OK(t, os.MkdirAll(filepath.Join(home, ".claude/plans"), 0o755))
	check.OK(t, os.MkdirAll(filepath.Join(home, ".claude/hooks"), 0o755))
	_ = os.Remove(filepath.Join(home, ".claude/plans/link"))
	check.OK(t, os.Symlink("../hooks", filepath.Join(home, ".claude/plans/link")))
	for path, want := range map[string]string{
		".claude/plans/p.md":               "",
		".claude/projects/-w/memory/m.md":  "",
		".claude/plans/link/x":             "PATH_OUTSIDE_WORKSPACE",
		".claude/plans/../settings.json":   "PATH_OUTSIDE_WORKSPACE",
		".claude/hooks/x":                  "PATH_OUTSIDE_WORKSPACE",
		".claude/agents/x.md":              "PATH_OUTSIDE_WORKSPACE",
		".claude/projects/-w/settings.txt": "PATH_OUTSIDE_WORKSPACE",
	} {
		got := w.pre("Write", args{"file_path": filepath.Join(home, filepath.FromSlash(path)), "content": "x\n"}).code()
		check.That(t, got == want, "%s: %q, want %q", path, got, want)
		if got == "" {
			got = w.pre("Write", args{"file_path": "~/" + path, "content": "x\n"}).code()
			check.That(t, got == want, "~/%s: %q, want %q", path, got, want)
		}
	}
	check.Equal(t, w.pre("Read", args{"file_path": "/etc/hostname"}).code(), "")
}

// The client's own search does not leave out what is secret.
func TestSearching(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		tool  string
		input args
		want  string
	}{
		{"Grep", args{"pattern": "x"}, "INTENTIGNORE_PATH_BLOCKED"},
		{"Grep", args{"pattern": "x", "path": w.at("keys")}, "INTENTIGNORE_PATH_BLOCKED"},
		{"Grep", args{"pattern": "x", "path": w.at("keys/k")}, "INTENTIGNORE_PATH_BLOCKED"},
		{"Grep", args{"pattern": "x", "path": w.at("src/a.txt")}, ""},
		{"Grep", args{"pattern": "x", "path": "/etc"}, ""},
		{"Glob", args{"pattern": "**/*.txt"}, ""},
	} {
		check.Equal(t, w.pre(c.tool, c.input).code(), c.want, c.tool, c.input)
	}
	w.write(".intentignore", "")
	check.Equal(t, w.pre("Grep", args{"pattern": "x"}).code(), "", "without secrets")
}
