package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// secretive is a workspace with secrets, under the rules of two files.
func secretive(t *testing.T) string {
	t.Helper()
	dir := newWorkspace(t)
	write(t, dir, ".orchestration/.intentignore", "secret:*.key\nsecret:private/\n")
	write(t, dir, ".intentignore", "secret:/env/**\n!/env/public\n")
	for _, name := range []string{"src/a.key", "private/deep/x.txt", "env/prod"} {
		write(t, dir, name, "line\nTOPSECRET\n")
	}
	link(t, "a.key", filepath.Join(dir, "src/innocent"))
	link(t, "../private", filepath.Join(dir, "src/folder"))
	return dir
}

// A secret path is neither readable nor changeable by any file tool, by
// whatever way it is named, and no answer quotes it.
func TestSecretsAreOutOfReach(t *testing.T) {
	t.Parallel()
	b := start(t, secretive(t)).connect()
	b.selects("INT-005")
	for _, path := range []string{"src/a.key", "src/innocent", "private/deep/x.txt", "src/folder/deep/x.txt", "env/prod", "./src/../src/a.key", filepath.Join(b.dir, "src/a.key")} {
		for tool, arguments := range map[string]args{
			"read_file":     {"path": path},
			"write_to_file": {"path": path, "content": "x"},
			"apply_diff":    {"path": path, "diff": "<<<<<<< SEARCH\nnot there\n=======\nx\n>>>>>>> REPLACE"},
			"edit_file":     {"path": path, "old_string": "line", "new_string": "x"},
		} {
			b.keeps(b.refused("INTENTIGNORE_PATH_BLOCKED", tool, arguments))
		}
		if filepath.IsAbs(path) {
			continue
		}
		for _, p := range []string{
			patch("*** Update File: "+path, "@@", "-nothing like it", "+x"),
			patch("*** Delete File: " + path),
			patch("*** Add File: "+path, "+x"),
			patch("*** Update File: "+path, "*** Move to: shown.txt"),
			patch("*** Update File: src/a.txt", "@@", "-not there", "+x", "*** Update File: "+path, "@@", "-not there", "+x"),
		} {
			b.keeps(b.refused("INTENTIGNORE_PATH_BLOCKED", "apply_patch", args{"patch": p}))
		}
	}
	b.refused("INTENTIGNORE_PATH_BLOCKED", "apply_patch", args{"patch": patch("*** Update File: src/a.txt", "*** Move to: src/b.key")})
	b.refused("INTENTIGNORE_PATH_BLOCKED", "write_to_file", args{"path": "new/made.key", "content": "x"})
	b.refused("INTENTIGNORE_PATH_BLOCKED", "execute_command", args{"command": "cat x.txt", "cwd": "private/deep"})
	b.holds(map[string]string{"src/a.key": "line\nTOPSECRET\n", "private/deep/x.txt": "line\nTOPSECRET\n", "env/prod": "line\nTOPSECRET\n", "src/a.txt": "one\ntwo\nthree\n", "shown.txt": ""})
}

// keeps holds that an answer quotes no secret.
func (b *bench) keeps(r reply) {
	b.t.Helper()
	if strings.Contains(r.Text, "TOPSECRET") {
		b.t.Errorf("a secret is quoted: %s", r.Text)
	}
}

// Searching and listing keep secrets too, from above and from inside.
func TestSearchKeepsSecrets(t *testing.T) {
	t.Parallel()
	b := start(t, secretive(t)).connect()
	for _, path := range []string{"", ".", "src"} {
		r := b.ok("search_files", args{"regex": "TOP", "path": path})
		b.keeps(r)
		if len(r.Object["matches"].([]any)) != 0 {
			t.Errorf("%q: %v", path, r.Object)
		}
	}
	for _, path := range []string{"private", "private/deep", "src/folder", "src/folder/deep"} {
		b.keeps(b.refused("INTENTIGNORE_PATH_BLOCKED", "search_files", args{"regex": "TOP", "path": path}))
		b.refused("INTENTIGNORE_PATH_BLOCKED", "list_files", args{"path": path})
	}
	write(t, b.dir, "env/public", "TOPSECRET no more\n")
	if r := b.ok("search_files", args{"regex": "TOP", "path": "env"}); len(r.Object["matches"].([]any)) > 1 {
		t.Errorf("%v", r.Object)
	}
}

// A file that becomes secret after it was seen is not quoted by staleness.
func TestSeenThenSecret(t *testing.T) {
	t.Parallel()
	b, call := patched(t, map[string]string{"a": "one\n"})
	b.ok("read_file", args{"path": "a"})
	write(t, b.dir, "a", "TOPSECRET\n")
	write(t, b.dir, ".intentignore", "secret:a\n")
	b.keeps(b.refused("INTENTIGNORE_PATH_BLOCKED", "write_to_file", args{"path": "a", "content": "x"}))
	b.keeps(b.refused("INTENTIGNORE_PATH_BLOCKED", "apply_patch", call("*** Update File: a", "@@", "-one", "+x")))
}

// Read tools go on where the intents or the rules do not parse, and keep the
// secrets that are clear.
func TestSecretsOfUnclearFiles(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(dir string){
		"intents": func(dir string) { write(t, dir, ".orchestration/active_intents.yaml", "active_intents: [\n") },
		"rules":   func(dir string) { write(t, dir, ".intentignore", "secret:/env/**\nwhat is this: no\n[\n") },
		"other rules": func(dir string) {
			write(t, dir, ".orchestration/.intentignore", "secret:*.key\nsecret:private/\nsecert:x\n")
		},
		"no intents": func(dir string) {
			if err := os.Remove(filepath.Join(dir, ".orchestration/active_intents.yaml")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := secretive(t)
			spoil(dir)
			b := start(t, dir).connect()
			for _, path := range []string{"src/a.key", "private/deep/x.txt", "env/prod"} {
				b.keeps(b.refused("INTENTIGNORE_PATH_BLOCKED", "read_file", args{"path": path}))
			}
			b.keeps(b.ok("search_files", args{"regex": "TOP"}))
			b.ok("read_file", args{"path": "src/a.txt"})
			if r := b.call("write_to_file", args{"path": "src/n", "content": "x"}); !r.Error {
				t.Error("a change went through")
			}
		})
	}
}

// What a command did to a secret file is told, and taken back only where no content has to be kept for it.
func TestSecretsAreNotKeptToBeTakenBack(t *testing.T) {
	t.Parallel()
	b := start(t, secretive(t), withoutSandbox, func(o *server.Options) { o.Settings.Commands.RevertViolations = true }).connect()
	b.selects("INT-005")
	r := b.refused("COMMAND_OUT_OF_SCOPE", "execute_command", args{
		"command": "echo made | tee src/b.key; echo more | tee -a src/a.key; chmod 700 env/prod; mv private/deep/x.txt src/shown; cp src/a.key src/k",
	})
	b.holds(map[string]string{"src/b.key": "made\n", "src/a.key": "line\nTOPSECRET\nmore\n", "private/deep/x.txt": "line\nTOPSECRET\n", "src/shown": ""})
	if !strings.Contains(r.Text, "The content before the change is not kept of 1 files (src/a.key)") {
		t.Error(r.Text)
	}
	record := b.lastRecord(ledger.KindCommand)
	if said := fmt.Sprint(record.Detail["not_reverted"]); !strings.Contains(said, "src/a.key: its content before is not kept") || !strings.Contains(said, "src/b.key: it is secret") {
		t.Error(said)
	}
	for _, c := range record.Changes {
		if c.Before+c.After+c.BeforeOID+c.AfterOID != "" || len(c.Ranges) > 0 {
			t.Errorf("the record names the content of %s: %+v", c.Path, c)
		}
	}
}
