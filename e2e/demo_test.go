package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// demo runs the program's demo in a home of its own.
func demo(t *testing.T, environment []string, arguments ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(program, append([]string{"demo"}, arguments...)...)
	cmd.Dir = home
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_CACHE_HOME=" + home}, environment...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestDemoPasses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kept")
	out, err := demo(t, nil, "--keep", dir)
	check.Must(t, err == nil, "%v\n%s", err, out)
	for _, part := range []string{
		"MISSING_OR_INVALID_INTENT", "SCOPE_VIOLATION", "STALE_FILE", "ok   fahrenheit", "agent_trace.jsonl",
		"`src/convert.sh`", "2 files changed", "everything came back as it should",
	} {
		check.That(t, strings.Contains(out, part), "the demo does not show %q:\n%s", part, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "src", "convert.sh")); err != nil {
		t.Error(err)
	}
	if out, err := demo(t, nil, "--keep", dir); err == nil {
		t.Errorf("a directory that is not empty was used again:\n%s", out)
	}
}

// A demo that cannot fail would show nothing.
func TestDemoNoticesWhatDiffers(t *testing.T) {
	out, err := demo(t, []string{"ORCHESTRA_COMMANDS_DEFAULT=deny"})
	exit, ok := err.(*exec.ExitError)
	check.That(t, ok && exit.ExitCode() == 1 && strings.Contains(out, "did not go as it should") && strings.Contains(out, "COMMAND_BLOCKED"),
		"%v\n%s", err, out)
}

// The module's path can be changed everywhere with one command. In the long
// form this is held of the packages too, and every import then resolves.
func TestRenameModule(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		missing(t, "no make")
	}
	dir := t.TempDir()
	eachSource(t, "..", func(name string, content []byte) {
		if check.Long() || !strings.HasPrefix(name, "pkg/") {
			check.Write(t, dir, name, string(content))
		}
	})
	for _, command := range [][]string{{"make", "rename-module", "MODULE=example.org/you/governed"}, {"go", "list", "-deps", "./..."}}[:check.Rounds(1, 2)] {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		check.Must(t, err == nil, "%v: %v\n%s", command, err, out)
	}
	old := strings.Join([]string{"github.com", "intentgov", "orchestra-mcp"}, "/")
	eachSource(t, dir, func(name string, content []byte) {
		check.That(t, !strings.Contains(string(content), old) && !strings.HasSuffix(name, ".renamed"), "%s is not done", name)
	})
}

// eachSource gives the files of the repository, without what tools put beside them.
func eachSource(t *testing.T, dir string, visit func(name string, content []byte)) {
	t.Helper()
	check.OK(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "node_modules", "bin"}, entry.Name()) {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		visit(name, content)
		return err
	}))
}

// Whatever is in the workspace, answers stay readable for a client and for a model.
func TestAnswersStaySmall(t *testing.T) {
	t.Parallel()
	much, many := check.Rounds(1<<18, 1<<20), check.Rounds(1000, 5000)
	// The TypeScript client gives up a stdio connection at 10 MB. Characters that JSON has to escape take six bytes each, in
	// text and structured content.
	const largest = 4 << 20
	w := newWorkspace(t)
	p := w.initialized()
	session := p.agent().Selects("INT-001")
	w.write("src/long-line.txt", strings.Repeat("needle ", much))
	w.write("src/many-lines.txt", strings.Repeat("needle\n", much))
	w.write("src/control.txt", strings.Repeat("\x01\x02", much))
	w.write("src/binary.bin", strings.Repeat("\x00\xff", 2*much))
	for i := range many {
		w.write(fmt.Sprintf("src/%s/%d.txt", strings.Repeat("d", 200), i), "needle\n")
	}
	for i, c := range []struct {
		tool string
		args args
	}{
		{"read_file", args{"path": "src/long-line.txt"}},
		{"read_file", args{"path": "src/many-lines.txt"}},
		{"read_file", args{"path": "src/many-lines.txt", "limit": 1 << 30}},
		{"read_file", args{"path": "src/control.txt"}},
		{"read_file", args{"path": "src/binary.bin"}},
		{"search_files", args{"path": ".", "regex": "needle"}},
		{"search_files", args{"path": "src", "regex": "."}},
		{"list_files", args{"path": ".", "recursive": true}},
		{"write_to_file", args{"path": "src/many-lines.txt", "content": "x"}},
		{"write_to_file", args{"path": "src/control.txt", "content": "x"}},
		{"write_to_file", args{"path": "src/" + strings.Repeat("y", much), "content": "x"}},
		{"edit_file", args{"path": "src/many-lines.txt", "old_string": strings.Repeat("no", much), "new_string": "x"}},
		{"edit_file", args{"path": "src/many-lines.txt", "old_string": "needle", "new_string": "pin"}},
		{"edit_file", args{"path": "src/many-lines.txt", "old_string": "needle", "new_string": "pin", "replace_all": true}},
		{"apply_diff", args{"path": "src/many-lines.txt", "diff": "<<<<<<< SEARCH\npin\n=======\nx\n>>>>>>> REPLACE"}},
		{"apply_diff", args{"path": "src/long-line.txt", "diff": "<<<<<<< SEARCH\nneedle\n=======\nx\n>>>>>>> REPLACE"}},
		{"apply_diff", args{"path": "src/a.txt", "diff": strings.Repeat("<<<<<<< SEARCH\nnone\n=======\nx\n>>>>>>> REPLACE\n", many)}},
		{"apply_patch", args{"patch": "*** Begin Patch\n" + strings.Repeat("*** Update File: src/none.txt\n@@\n-a\n+b\n", many) + "*** End Patch"}},
		{"execute_command", args{"command": "head -c 5000000 /dev/zero"}},
		{"request_scope_expansion", args{"paths": []string{strings.Repeat("z", much)}, "reason": strings.Repeat("r", much)}},
		{"propose_intent", args{"name": "n", "owned_scope": []string{strings.Repeat("z", much)}, "description": strings.Repeat("d", much)}},
		{"select_active_intent", args{"intent_id": strings.Repeat("I", much)}},
		{"query_trace", args{"path": "src/many-lines.txt", "limit": 200}},
		{"query_lessons", args{}},
	} {
		c.args["session"] = session
		p.send(callLine(i, c.tool, c.args))
		m := p.await(i)
		check.That(t, m.Error == nil, "%s: %+v", c.tool, m.Error)
		check.That(t, len(m.Result) <= largest, "%s answered with %d bytes: %.300s", c.tool, len(m.Result), m.Result)
	}
	for i, uri := range []string{"orchestra://intents", "orchestra://ledger/recent"} {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"r%d","method":"resources/read","params":{"uri":%q}}`, i, uri))
		if m := p.await(fmt.Sprintf("r%d", i)); len(m.Result) > largest {
			t.Errorf("%s has %d bytes", uri, len(m.Result))
		}
	}
}
