package complaint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/complaint"
)

// The messages are those that the programs print.
func TestFind(t *testing.T) {
	for _, c := range []struct{ output, kind, first string }{
		{"/bin/bash: line 1: docs/x.md: Read-only file system", "EROFS bash", "docs/x.md"},
		{"touch: cannot touch 'a b.md': Read-only file system", "EROFS touch", "a b.md"},
		{"mkdir: cannot create directory ‘node_modules’: Read-only file system", "EROFS mkdir", "node_modules"},
		{"tar: docs/x: Cannot open: Read-only file system", "EROFS tar", "docs/x"},
		{"sed: couldn't open temporary file docs/sedA1b2: Read-only file system", "EROFS sed", "docs/sedA1b2"},
		{"OSError: [Errno 30] Read-only file system: '/w/.venv'", "EROFS OSError", "/w/.venv"},
		{"Error: EROFS: read-only file system, open '/w/package-lock.json'", "EROFS ", "/w/package-lock.json"},
		{"npm error code EROFS\nnpm error syscall open\nnpm error path /w/package.json", "EROFS ", "/w/package.json"},
		{"go: open /w/go.sum: read-only file system", "EROFS go", "/w/go.sum"},
		{"go: updating go.mod: open go.mod.tmp: read-only file system", "EROFS go", "go.mod.tmp"},
		{"error: failed to write `/w/Cargo.toml`\n\nCaused by:\n  Read-only file system (os error 30)", "EROFS ", "/w/Cargo.toml"},
		{"fatal: Unable to create '/w/.git/index.lock': Read-only file system", "EROFS fatal", "/w/.git/index.lock"},
		{"a.rb:1:in `initialize': Read-only file system @ rb_sysopen - docs/x (Errno::EROFS)", "EROFS ", ""},
		{"Exception: java.io.FileNotFoundException: docs/X.java (Read-only file system)", "EROFS Exception", "docs/X.java"},
		{"bash: ./run.sh: Permission denied", "EACCES bash", "./run.sh"},
		{"PermissionError: [Errno 13] Permission denied: 'docs/p'", "EACCES PermissionError", "docs/p"},
		{"chown: changing ownership of 'x': Operation not permitted", "EPERM chown", "x"},
		{"mv: cannot move 'a' to 'b': Device or resource busy", "EBUSY mv", "a"},
		{"Error: EXDEV: cross-device link not permitted, rename 'a' -> 'b'", "EXDEV ", "a"},
		{"cat: /tmp/x: No such file or directory", "ENOENT cat", "/tmp/x"},
		{"curl: (6) Could not resolve host: registry.example.com", "network curl", ""},
		{"docs/errors.md:7:Read-only file system", "", ""},
		{"all tests passed", "", ""},
	} {
		got, first := "", ""
		if found := complaint.Find(c.output); len(found) > 0 {
			got = fmt.Sprintf("%s %s", found[0].Kind, found[0].Program)
			if len(found[0].Names) > 0 {
				first = found[0].Names[0]
			}
		}
		check.That(t, got == c.kind && (c.first == "" || first == c.first), "%q: %q about %q", c.output, got, first)
	}
	n := len(complaint.Find(strings.Repeat("x: Permission denied\n", 1000)))
	check.That(t, n <= 50, "%d complaints", n)
	complaint.Find(strings.Repeat("'", 1<<20) + "\xff: Read-only file system")
}
