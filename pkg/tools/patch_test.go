package tools_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// Several sections on one file compose.
func TestPatchSectionsCompose(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch []string
		want  map[string]string
		ops   []string
	}{
		"two updates": {[]string{"*** Update File: a", "@@", "-one", "+1", "*** Update File: a", "@@", "-1", "+eins"},
			map[string]string{"a": "eins\ntwo\n"}, []string{"modified"}},
		"add then update": {[]string{"*** Add File: n", "+x", "*** Update File: n", "@@", "-x", "+y"},
			map[string]string{"n": "y\n"}, []string{"created"}},
		"move without changes": {[]string{"*** Update File: a", "*** Move to: sub/b"},
			map[string]string{"a": "", "sub/b": "one\ntwo\n"}, []string{"moved"}},
		"move with changes": {[]string{"*** Update File: a", "*** Move to: b", "@@", "-one", "+1"},
			map[string]string{"a": "", "b": "1\ntwo\n"}, []string{"moved"}},
		"update after a move, by the new name": {[]string{"*** Update File: a", "*** Move to: b", "*** Update File: b", "@@", "-one", "+1"},
			map[string]string{"a": "", "b": "1\ntwo\n"}, []string{"moved"}},
		"move onto itself": {[]string{"*** Update File: a", "*** Move to: a", "@@", "-one", "+1"},
			map[string]string{"a": "1\ntwo\n"}, []string{"modified"}},
		"move there and back": {[]string{"*** Update File: a", "*** Move to: b", "*** Update File: b", "*** Move to: a"},
			map[string]string{"a": "one\ntwo\n", "b": ""}, []string{"unchanged"}},
		"add then move": {[]string{"*** Add File: n", "+x", "*** Update File: n", "*** Move to: m"},
			map[string]string{"n": "", "m": "x\n"}, []string{"created"}},
		"through a link and directly": {[]string{"*** Update File: link", "@@", "-one", "+1", "*** Update File: a", "@@", "-two", "+2"},
			map[string]string{"a": "1\n2\n"}, []string{"modified"}},
		"CRLF": {[]string{"*** Update File: crlf", "@@", " x", "-y", "+Y"},
			map[string]string{"crlf": "x\r\nY\r\n"}, []string{"modified"}},
	} {
		t.Run(name, func(t *testing.T) {
			b, call := patched(t, map[string]string{"a": "one\ntwo\n", "crlf": "x\r\ny\r\n"})
			check.OK(t, os.Symlink("a", filepath.Join(b.dir, "link")))
			r := b.ok("apply_patch", call(c.patch...))
			b.holds(c.want)
			files := r.Object["files"].([]any)
			check.Must(t, len(files) == len(c.ops), "files: %v", files)
			for i, op := range c.ops {
				check.Equal[any](t, files[i].(map[string]any)["operation"], op, "operation")
			}
		})
	}
}

// What sections cannot do together is refused, and nothing changes.
func TestPatchConflicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code  string
		patch []string
	}{
		"two files to one place":  {"INVALID_ARGUMENTS", []string{"*** Update File: a", "*** Move to: c", "*** Update File: b", "*** Move to: c"}},
		"move onto an added file": {"INVALID_ARGUMENTS", []string{"*** Add File: c", "+x", "*** Update File: a", "*** Move to: c"}},
		"move onto a file":        {"DIFF_NOT_APPLIED", []string{"*** Update File: a", "*** Move to: b"}},
		"add where one moved off": {"INVALID_ARGUMENTS", []string{"*** Update File: a", "*** Move to: c", "*** Add File: a", "+x"}},
		"add over a file":         {"DIFF_NOT_APPLIED", []string{"*** Add File: a", "+x"}},
		"add and delete":          {"INVALID_ARGUMENTS", []string{"*** Add File: n", "+x", "*** Delete File: n"}},
		"update of a deleted":     {"FILE_NOT_FOUND", []string{"*** Delete File: a", "*** Update File: a", "@@", "-one", "+1"}},
		"delete of none":          {"FILE_NOT_FOUND", []string{"*** Delete File: none"}},
		"delete of a directory":   {"NOT_A_REGULAR_FILE", []string{"*** Delete File: src"}},
	} {
		t.Run(name, func(t *testing.T) {
			b, call := patched(t, map[string]string{"a": "one\ntwo\n", "b": "other\n"})
			b.ok("read_file", args{"path": "a"})
			b.refused(c.code, "apply_patch", call(c.patch...))
			b.holds(map[string]string{"a": "one\ntwo\n", "b": "other\n", "c": "", "n": ""})
		})
	}
}

// Every place that a patch names is judged, also one that it moves a file to, deletes and adds again.
func TestPatchToAClosedPlace(t *testing.T) {
	t.Parallel()
	b, call := patched(t, map[string]string{"a": "one\n", ".intentignore": "secret:c\n"})
	b.refused("INTENTIGNORE_PATH_BLOCKED", "apply_patch",
		call("*** Update File: a", "*** Move to: c", "*** Delete File: c", "*** Add File: c", "+x"))
	b.holds(map[string]string{"a": "one\n", "c": ""})
}

// All files or none, also where only the last is stale.
func TestPatchIsAllOrNone(t *testing.T) {
	t.Parallel()
	b, call := patched(t, map[string]string{"a": "one\n", "b": "two\n", "c": "three\n"})
	b.ok("read_file", args{"path": "c"})
	check.Write(t, b.dir, "c", "three, edited\n")
	lines := []string{"*** Update File: a", "@@", "-one", "+1", "*** Delete File: b", "*** Add File: n", "+x", "*** Update File: c", "@@", "-three, edited", "+3"}
	b.refused("READ_REQUIRED", "apply_patch", call(lines...))
	b.refused("STALE_FILE", "apply_patch", call(lines...))
	b.holds(map[string]string{"a": "one\n", "b": "two\n", "c": "three, edited\n", "n": ""})
	// Both refusals handed over what was lacking.
	b.ok("apply_patch", call(lines...))
	b.holds(map[string]string{"a": "1\n", "b": "", "c": "3\n", "n": "x\n"})
}

// A file that a patch deletes and adds again is replaced, which needs all of it to have been seen.
func TestPatchReplaces(t *testing.T) {
	t.Parallel()
	b, call := patched(t, map[string]string{"a": "one\n"})
	lines := []string{"*** Delete File: a", "*** Add File: a", "+new"}
	b.refused("READ_REQUIRED", "apply_patch", call(lines...))
	r := b.ok("apply_patch", call(lines...))
	check.Equal(t, r.Object["files"].([]any)[0].(map[string]any)["operation"], "modified", "operation")
	b.holds(map[string]string{"a": "new\n"})
}

// A file need not be text to be moved or deleted.
func TestPatchMovesBinary(t *testing.T) {
	t.Parallel()
	binary := "\x00\x01\xff\xfe\x00binary\x00"
	b, call := patched(t, map[string]string{"a.bin": binary})
	b.ok("apply_patch", call("*** Update File: a.bin", "*** Move to: b.bin"))
	b.holds(map[string]string{"a.bin": "", "b.bin": binary})
	b.refused("DIFF_NOT_APPLIED", "apply_patch", call("*** Update File: b.bin", "@@", "-x", "+y"))
	b.ok("apply_patch", call("*** Delete File: b.bin"))
	check.Write(t, b.dir, "c.bin", binary)
	b.refused("READ_REQUIRED", "apply_patch", call("*** Delete File: c.bin"))
	b.ok("read_file", args{"path": "c.bin"})
	b.ok("apply_patch", call("*** Delete File: c.bin"))
	b.holds(map[string]string{"b.bin": "", "c.bin": ""})
}

// A patch of more files than a process may hold open is refused before any is looked at.
func TestPatchOfTooManySections(t *testing.T) {
	t.Parallel()
	b, call := patched(t, nil)
	adds := func(n int) []string {
		var lines []string
		for i := range n {
			lines = append(lines, fmt.Sprintf("*** Add File: many/%d", i), "+x")
		}
		return lines
	}
	b.refused("TOO_LARGE", "apply_patch", call(adds(501)...))
	b.holds(map[string]string{"many/0": ""})
	files := b.ok("apply_patch", call(adds(500)...)).Object["files"].([]any)
	check.That(t, len(files) == 500, "%d files, want 500", len(files))
}

// A refusal of an edit says that nothing was changed before it quotes anything, shows how texts that look alike
// differ, and advises in words of the tool.
func TestRefusalsOfEdits(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"src/bars.txt": "|a|b|\n|---|---|\n|c|d|\nx\u00a0= 1\nраth\nsame\nsame\n"})
	block := func(old, new string) string {
		return "<<<<<<< SEARCH\n" + old + "\n=======\n" + new + "\n>>>>>>> REPLACE"
	}
	edit := func(old, new string) args { return args{"old_string": old, "new_string": new} }
	hunk := func(lines string) args {
		return args{"patch": "*** Begin Patch\n*** Update File: src/bars.txt\n@@\n" + lines + "\n*** End Patch"}
	}
	for name, c := range map[string]struct {
		code, tool    string
		args          args
		says, advises string
	}{
		"numbers, edit_file":      {"DIFF_NOT_APPLIED", "edit_file", edit("1 | |a|b|\n2 | |---|---|", "x"), "leave them out", "old_string"},
		"numbers, apply_diff":     {"DIFF_NOT_APPLIED", "apply_diff", args{"diff": block("1 | |a|b|\n|---|---|", "x")}, `line 1: the search has "1 | |a|b|", the file has "|a|b|". The 1 in front is a line number`, "read_file"},
		"a no-break space":        {"DIFF_NOT_APPLIED", "edit_file", edit("x = 1", "x = 2"), `the file has "x\u00a0= 1"`, "old_string"},
		"letters that look alike": {"DIFF_NOT_APPLIED", "apply_diff", args{"diff": block("path", "way")}, "U+0440 'р'", "read_file"},
		"twice, edit_file":        {"AMBIGUOUS_MATCH", "edit_file", edit("same", "x"), "lines 6, 7", "replace_all"},
		"twice, apply_diff":       {"AMBIGUOUS_MATCH", "apply_diff", args{"diff": block("same", "x")}, "lines 6, 7", ":start_line:N"},
		"twice, apply_patch":      {"AMBIGUOUS_MATCH", "apply_patch", hunk("-same\n+x"), "lines 6, 7", "@@"},
		"not there, apply_patch":  {"DIFF_NOT_APPLIED", "apply_patch", hunk("-nothing like it\n+x"), "not in the file", "whole patch"},
		"malformed, apply_diff":   {"DIFF_NOT_APPLIED", "apply_diff", args{"diff": "<<<<<<< SEARCH\na\n"}, "nothing was changed", "Mend the diff"},
		"malformed, apply_patch":  {"INVALID_ARGUMENTS", "apply_patch", args{"patch": "please"}, "nothing was changed", "Mend the patch"},
		"no change":               {"DIFF_NOT_APPLIED", "edit_file", edit("same", "same"), "identical", "new_string"},
		"no such file":            {"FILE_NOT_FOUND", "apply_diff", args{"path": "src/none.txt", "diff": block("a", "b")}, "src/none.txt", ""},
		"a directory":             {"NOT_A_REGULAR_FILE", "edit_file", args{"path": "src", "old_string": "a", "new_string": "b"}, "directory", "list_files"},
	} {
		if c.tool != "apply_patch" && c.args["path"] == nil {
			c.args["path"] = "src/bars.txt"
		}
		r := b.refused(c.code, c.tool, c.args)
		check.That(t, strings.Contains(r.str("error"), c.says) && strings.Contains(r.str("suggestion"), c.advises), "%s: %s", name, r.Text)
		if c.code == "DIFF_NOT_APPLIED" && c.tool == "apply_diff" && name != "malformed, apply_diff" && r.details()["failed_blocks"] == nil {
			t.Errorf("%s: no failed blocks: %s", name, r.Text)
		}
	}
}

// expected_replacements and replace_all say how often a text must stand there.
func TestExpectedReplacements(t *testing.T) {
	t.Parallel()
	b, _ := patched(t, map[string]string{"a": "x y x\nx\n"})
	edit := func(more args) args {
		arguments := args{"path": "a", "old_string": "x", "new_string": "z"}
		for k, v := range more {
			arguments[k] = v
		}
		return arguments
	}
	r := b.refused("AMBIGUOUS_MATCH", "edit_file", edit(nil))
	if r.details()["found"] != 3.0 || fmt.Sprint(r.details()["lines"]) != "[1 1 2]" {
		t.Errorf("%v", r.details())
	}
	b.call("edit_file", edit(args{"expected_replacements": 2}))
	b.holds(map[string]string{"a": "x y x\nx\n"})
	b.refused("DIFF_NOT_APPLIED", "edit_file", edit(args{"expected_replacements": 4}))
	b.ok("edit_file", edit(args{"expected_replacements": 3}))
	b.holds(map[string]string{"a": "z y z\nz\n"})
	b.ok("edit_file", args{"path": "a", "old_string": "z", "new_string": "w", "replace_all": true})
	b.holds(map[string]string{"a": "w y w\nw\n"})
	b.refused("INVALID_ARGUMENTS", "edit_file", edit(args{"expected_replacements": 0}))
}
