package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// paths are those of a listing's entries or a search's matches.
func paths(t *testing.T, r reply, key string) []string {
	t.Helper()
	var all []string
	for _, e := range r.Object[key].([]any) {
		path := e.(map[string]any)["path"].(string)
		if !slices.Contains(all, path) {
			all = append(all, path)
		}
		check.That(t, strings.Contains(r.Text, path), "the text lacks %s", path)
	}
	return all
}

// Listings and searches see what git would: .gitignore at every level, with
// negations, and neither .git nor the server's state.
func TestListingsRespectGitignore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		".gitignore":          "*.log\nbuild/\n/top.txt\n!keep.log\nsub/*.tmp\n# comment\n\\#hash\n",
		"sub/.gitignore":      "local.txt\n!important.log\n/anchored.txt\ndeep/**/gone.txt\n",
		"sub/deep/.gitignore": "!again.log\n*.md\n",
		"a.txt":               "needle", "a.log": "needle", "keep.log": "needle", "top.txt": "needle", "#hash": "needle",
		"build/out.txt": "needle", "sub/build/out.txt": "needle",
		"sub/top.txt": "needle", "sub/x.tmp": "needle", "sub/local.txt": "needle", "sub/important.log": "needle",
		"sub/anchored.txt": "needle", "sub/deep/anchored.txt": "needle", "sub/deep/local.txt": "needle",
		"sub/deep/again.log": "needle", "sub/deep/note.md": "needle", "sub/deep/one/two/gone.txt": "needle", "sub/deep/x.tmp": "needle",
		".orchestration/active_intents.yaml": intentsYAML, ".orchestration/state/x": "needle", ".orchestration/cache/x": "needle", ".git/x": "needle",
	} {
		check.Write(t, dir, name, content)
	}
	link(t, "sub", filepath.Join(dir, "linked"))
	link(t, "/etc", filepath.Join(dir, "outside"))
	b := start(t, dir).connect()
	want := []string{"a.txt", "keep.log", "sub/deep/again.log", "sub/deep/anchored.txt", "sub/deep/x.tmp", "sub/important.log", "sub/top.txt"}
	got := paths(t, b.OK("search_files", args{"regex": "needle"}), "matches")
	check.That(t, slices.Equal(got, want), "search: %v\nwant %v", got, want)
	var files []string
	for _, e := range b.OK("list_files", args{"recursive": true}).Object["entries"].([]any) {
		if entry := e.(map[string]any); entry["type"] == "file" && !strings.HasPrefix(entry["path"].(string), ".") && !strings.Contains(entry["path"].(string), "/.") {
			files = append(files, entry["path"].(string))
		}
	}
	check.That(t, slices.Equal(files, want), "list: %v\nwant %v", files, want)
	top := paths(t, b.OK("list_files", args{}), "entries")
	check.That(t, slices.Equal(top, []string{".gitignore", ".orchestration", "a.txt", "keep.log", "linked", "outside", "sub"}), "top: %v", top)
	// A link that is named is resolved; one that is met is not followed.
	if got := paths(t, b.OK("search_files", args{"regex": "needle", "path": "linked"}), "matches"); len(got) != 5 || !strings.HasPrefix(got[0], "sub/") {
		t.Errorf("linked: %v", got)
	}
	b.Refused("PATH_OUTSIDE_WORKSPACE", "list_files", args{"path": "outside"})
	b.Refused("FILE_NOT_FOUND", "list_files", args{"path": "none"})
	b.Refused("NOT_A_REGULAR_FILE", "list_files", args{"path": "a.txt"})
	b.Refused("INVALID_ARGUMENTS", "list_files", args{"path": "sub", "file_path": "build"})
}

// search_files: a bad regex or pattern is an error, a pattern without a slash
// matches at any depth, matches come with their context.
func TestSearch(t *testing.T) {
	t.Parallel()
	b, _ := patched(t, map[string]string{"x/a.ts": "zero\none\ntwo\nthree\n", "x/y/b.ts": "One\n", "x/c.js": "one\n", "u16.ts": "\xff\xfeo\x00n\x00e\x00\n\x00", "bin": "one\x00\x01\xff"})
	r := b.OK("search_files", args{"regex": "^one$", "file_pattern": "*.ts"})
	got := paths(t, r, "matches")
	check.That(t, slices.Equal(got, []string{"u16.ts", "x/a.ts"}), "%v", got)
	m := r.Object["matches"].([]any)[1].(map[string]any)
	check.That(t, m["line"] == 2.0 && m["text"] == "one" && fmt.Sprint(m["before"], m["after"]) == "[zero] [two]", "%v", m)
	for _, c := range []struct {
		args args
		want []string
	}{
		{args{"regex": "(?i)^one$", "file_pattern": "*.ts"}, []string{"u16.ts", "x/a.ts", "x/y/b.ts"}},
		{args{"regex": "one", "file_pattern": "x/*.{ts,js}"}, []string{"x/a.ts", "x/c.js"}},
		{args{"regex": "one", "path": "x"}, []string{"x/a.ts", "x/c.js"}},
		{args{"regex": "one", "path": filepath.Join(b.dir, "x")}, []string{"x/a.ts", "x/c.js"}},
		{args{"regex": "absent"}, nil},
	} {
		if got := paths(t, b.OK("search_files", c.args), "matches"); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v", c.args, got)
		}
	}
	for _, bad := range []args{{"regex": "("}, {"regex": "a(?=b)"}, {"regex": "one", "file_pattern": "["}, {"regex": "one", "file_pattern": "../*"}, {}} {
		b.Refused("INVALID_ARGUMENTS", "search_files", bad)
	}
	// Finding a line is not having read the file.
	b.Refused("READ_REQUIRED", "write_to_file", args{"path": "x/c.js", "content": "x"})
}

// Results are capped, and say so.
func TestCapsAreSaid(t *testing.T) {
	t.Parallel()
	b, _ := patched(t, map[string]string{"many.txt": strings.Repeat("needle\n", 1000), "long.txt": strings.Repeat("long needle ", 10_000)})
	for i := range 2100 {
		check.OK(t, os.WriteFile(filepath.Join(b.dir, "docs", fmt.Sprintf("%04d", i)), nil, 0o600))
	}
	r := b.OK("search_files", args{"regex": "^needle"})
	n := len(r.Object["matches"].([]any))
	check.That(t, n == 300 && r.Object["truncated"] == true && strings.Contains(r.Text, "more than 300"),
		"%d matches, truncated %v", n, r.Object["truncated"])
	r = b.OK("search_files", args{"regex": "long"})
	check.That(t, len(r.Text) <= 3000, "a long line is shown in %d bytes", len(r.Text))
	r = b.OK("list_files", args{"path": "docs"})
	if n := len(r.Object["entries"].([]any)); n != 2000 || r.Object["truncated"] != true || !strings.Contains(r.Text, "more than 2000") {
		t.Errorf("%d entries, truncated %v", n, r.Object["truncated"])
	}
	mkfifo(t, filepath.Join(b.dir, "src/fifo"))
	check.Write(t, b.dir, "src/evil\nname", "needle\n")
	r = b.OK("list_files", args{"path": "src"})
	check.That(t, !strings.Contains(r.Text, "evil\nname") && strings.Contains(r.Text, `"src/evil\nname"`), "a name breaks its line: %q", r.Text)
	r = b.OK("search_files", args{"regex": "needle", "path": "src"})
	check.That(t, !strings.Contains(r.Text, "evil\nname"), "a name breaks its line: %q", r.Text)
}

// Kept output is read by lines or searched; what is not kept says so.
func TestReadCommandOutput(t *testing.T) {
	t.Parallel()
	b, _ := patched(t, nil)
	ran := b.OK("execute_command", args{"command": "seq 1 20000"})
	if ran.Object["truncated"] != true || len(ran.Str("output")) > 30_200 || ran.Object["exit_code"] != 0.0 || ran.Object["timed_out"] != false {
		t.Errorf("%d characters, %v", len(ran.Str("output")), ran.Object["truncated"])
	}
	id := ran.Str("artifact_id")
	r := b.OK("read_command_output", args{"artifact_id": id, "offset": 12345, "limit": 2})
	check.That(t, r.Str("content") == "12345 | 12345\n12346 | 12346\n" && r.Object["next"] == 12347.0 && r.Object["total_lines"] == 20000.0,
		"%v", r.Object)
	r = b.OK("read_command_output", args{"artifact_id": id, "search": "^1999[89]$"})
	check.That(t, r.Str("content") == "19998 | 19998\n19999 | 19999\n" && r.Object["matches"] == 2.0 && strings.Contains(r.Text, "19998"),
		"%v", r.Object)
	b.OK("read_command_output", args{"artifact_id": id, "offset": 1_000_000})
	check.OK(t, os.RemoveAll(filepath.Join(b.dir, ".orchestration/cache")))
	b.Refused("FILE_NOT_FOUND", "read_command_output", args{"artifact_id": id})
	b.Refused("INVALID_ARGUMENTS", "read_command_output", args{})
	b.Refused("FILE_NOT_FOUND", "read_command_output", args{"artifact_id": "../../../etc/passwd"})
	b.OK("execute_command", args{"command": "echo again"})

	late := b.OK("execute_command", args{"command": "echo begun; sleep 300", "timeout": 3})
	check.That(t, late.Object["timed_out"] == true && strings.Contains(late.Str("output"), "begun"), "%v", late.Object)
}

// secretive is a workspace with secrets, under the rules of two files.
func secretive(t *testing.T) string {
	t.Helper()
	dir := newWorkspace(t)
	check.Write(t, dir, ".orchestration/.intentignore", "secret:*.key\nsecret:private/\n")
	check.Write(t, dir, ".intentignore", "secret:/env/**\n!/env/public\n")
	for _, name := range []string{"src/a.key", "private/deep/x.txt", "env/prod"} {
		check.Write(t, dir, name, "line\nTOPSECRET\n")
	}
	link(t, "a.key", filepath.Join(dir, "src/innocent"))
	link(t, "../private", filepath.Join(dir, "src/folder"))
	return dir
}

// A secret path is neither readable nor changeable by any file tool, by whatever way it is named, and no answer quotes it.
func TestSecretsAreOutOfReach(t *testing.T) {
	t.Parallel()
	b, _ := start(t, secretive(t)).under("INT-005")
	for _, path := range []string{"src/a.key", "src/innocent", "private/deep/x.txt", "src/folder/deep/x.txt", "env/prod", "./src/../src/a.key", filepath.Join(b.dir, "src/a.key")} {
		for tool, arguments := range map[string]args{
			"read_file":     {"path": path},
			"write_to_file": {"path": path, "content": "x"},
			"apply_diff":    {"path": path, "diff": "<<<<<<< SEARCH\nnot there\n=======\nx\n>>>>>>> REPLACE"},
			"edit_file":     {"path": path, "old_string": "line", "new_string": "x"},
		} {
			b.keeps(b.Refused("INTENTIGNORE_PATH_BLOCKED", tool, arguments))
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
			b.keeps(b.Refused("INTENTIGNORE_PATH_BLOCKED", "apply_patch", args{"patch": p}))
		}
	}
	b.Refused("INTENTIGNORE_PATH_BLOCKED", "apply_patch", args{"patch": patch("*** Update File: src/a.txt", "*** Move to: src/b.key")})
	b.Refused("INTENTIGNORE_PATH_BLOCKED", "write_to_file", args{"path": "new/made.key", "content": "x"})
	b.Refused("INTENTIGNORE_PATH_BLOCKED", "execute_command", args{"command": "cat x.txt", "cwd": "private/deep"})
	b.holds(map[string]string{"src/a.key": "line\nTOPSECRET\n", "private/deep/x.txt": "line\nTOPSECRET\n", "env/prod": "line\nTOPSECRET\n", "src/a.txt": "one\ntwo\nthree\n", "shown.txt": ""})
}

// keeps holds that an answer quotes no secret.
func (b *bench) keeps(r reply) {
	b.t.Helper()
	check.That(b.t, !strings.Contains(r.Text, "TOPSECRET"), "a secret is quoted: %s", r.Text)
}

// Searching and listing keep secrets too, from above and from inside.
func TestSearchKeepsSecrets(t *testing.T) {
	t.Parallel()
	b := start(t, secretive(t)).connect()
	for _, path := range []string{"", ".", "src"} {
		r := b.OK("search_files", args{"regex": "TOP", "path": path})
		b.keeps(r)
		check.Equal(t, len(r.Object["matches"].([]any)), 0, "%q: %v", path, r.Object)
	}
	for _, path := range []string{"private", "private/deep", "src/folder", "src/folder/deep"} {
		b.keeps(b.Refused("INTENTIGNORE_PATH_BLOCKED", "search_files", args{"regex": "TOP", "path": path}))
		b.Refused("INTENTIGNORE_PATH_BLOCKED", "list_files", args{"path": path})
	}
	check.Write(t, b.dir, "env/public", "TOPSECRET no more\n")
	if r := b.OK("search_files", args{"regex": "TOP", "path": "env"}); len(r.Object["matches"].([]any)) > 1 {
		t.Errorf("%v", r.Object)
	}
}

// A file that becomes secret after it was seen is not quoted by staleness.
func TestSeenThenSecret(t *testing.T) {
	t.Parallel()
	b, call := patched(t, map[string]string{"a": "one\n"})
	b.OK("read_file", args{"path": "a"})
	check.Write(t, b.dir, "a", "TOPSECRET\n")
	check.Write(t, b.dir, ".intentignore", "secret:a\n")
	b.keeps(b.Refused("INTENTIGNORE_PATH_BLOCKED", "write_to_file", args{"path": "a", "content": "x"}))
	b.keeps(b.Refused("INTENTIGNORE_PATH_BLOCKED", "apply_patch", call("*** Update File: a", "@@", "-one", "+x")))
}

// Read tools go on where the intents or the rules do not parse, and keep the secrets that are clear.
func TestSecretsOfUnclearFiles(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(dir string){
		"intents": func(dir string) { check.Write(t, dir, ".orchestration/active_intents.yaml", "active_intents: [\n") },
		"rules":   func(dir string) { check.Write(t, dir, ".intentignore", "secret:/env/**\nwhat is this: no\n[\n") },
		"other rules": func(dir string) {
			check.Write(t, dir, ".orchestration/.intentignore", "secret:*.key\nsecret:private/\nsecert:x\n")
		},
		"no intents": func(dir string) {
			check.OK(t, os.Remove(filepath.Join(dir, ".orchestration/active_intents.yaml")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := secretive(t)
			spoil(dir)
			b := start(t, dir).connect()
			for _, path := range []string{"src/a.key", "private/deep/x.txt", "env/prod"} {
				b.keeps(b.Refused("INTENTIGNORE_PATH_BLOCKED", "read_file", args{"path": path}))
			}
			b.keeps(b.OK("search_files", args{"regex": "TOP"}))
			b.OK("read_file", args{"path": "src/a.txt"})
			r := b.Call("write_to_file", args{"path": "src/n", "content": "x"})
			check.That(t, r.Error, "a change went through")
		})
	}
}

// What a command did to a secret file is told, and taken back only where no content has to be kept for it.
func TestSecretsAreNotKeptToBeTakenBack(t *testing.T) {
	t.Parallel()
	b, _ := start(t, secretive(t), withoutSandbox, func(o *server.Options) { o.Settings.Commands.RevertViolations = true }).under("INT-005")
	r := b.Refused("COMMAND_OUT_OF_SCOPE", "execute_command", args{
		"command": "echo made | tee src/b.key; echo more | tee -a src/a.key; chmod 700 env/prod; mv private/deep/x.txt src/shown; cp src/a.key src/k",
	})
	b.holds(map[string]string{"src/b.key": "made\n", "src/a.key": "line\nTOPSECRET\nmore\n", "private/deep/x.txt": "line\nTOPSECRET\n", "src/shown": ""})
	check.That(t, strings.Contains(r.Text, "The content before the change is not kept of 1 files (src/a.key)"), "%v", r.Text)
	record := b.lastRecord(record.KindCommand)
	said := fmt.Sprint(record.Detail["not_reverted"])
	check.That(t, strings.Contains(said, "src/a.key: its content before is not kept") && strings.Contains(said, "src/b.key: it is secret"),
		"%v", said)
	for _, c := range record.Changes {
		check.That(t, c.Before.Hash+c.After.Hash+c.Before.OID+c.After.OID == "" && len(c.Ranges) == 0,
			"the record names the content of %s: %+v", c.Path, c)
	}
}
