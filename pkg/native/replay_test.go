package native_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clienthook"
)

// roots are the workspaces of recorded events.
func roots() []string {
	return []string{"/work/space", "/work/p", "/home/user/project", "/home/user/app", "/home/user"}
}

// TestReplay plays the events of every client, recorded from the real programs or written by their types, once as a hook's
// and once as a call of our own tool in a world of the same state: the decisions are the same.
func TestReplay(t *testing.T) {
	t.Parallel()
	for _, intent := range []string{"INT-001", "INT-005"} {
		t.Run(intent, func(t *testing.T) { replay(t, intent) })
	}
}

func replay(t *testing.T, intent string) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"../../internal/clienthook/testdata/*/*.json", "../../e2e/agents/testdata/*/*.json", "../../e2e/agents/testdata/*/*/*.json"} {
		files = append(files, check.Value(filepath.Glob(pattern))(t)...)
	}
	compared := map[clienthook.Client]int{}
	native, ours := newWorld(t), newWorld(t)
	native.alone = true
	for _, file := range files {
		client := clienthook.Client(strings.Split(file, "testdata/")[1][:strings.IndexByte(strings.Split(file, "testdata/")[1], '/')])
		raw := check.Value(os.ReadFile(file))(t)
		there, is := moved(client, raw, native.dir)
		e, err := clienthook.Parse(client, there)
		if !is || err != nil || e.Phase != clienthook.Before || e.Session == "" {
			continue
		}
		tool, arguments := asOurs(e)
		if tool == "" {
			continue
		}
		here, _ := moved(client, raw, ours.dir)
		same, _ := clienthook.Parse(client, here)
		tool, arguments = asOurs(same)
		ours.connection = file // which has seen nothing
		check.Must(t, ours.tool("select_active_intent", args{"intent_id": intent}).Refusal == nil, "selecting")
		want := ""
		if r := ours.tool(tool, arguments).Refusal; r != nil {
			want = string(r.Code())
		}
		for _, name := range check.Value(os.ReadDir(ours.dir))(t) { // what ours has done
			if name.Name() != ".orchestration" && name.Name() != ".git" {
				check.OK(t, os.RemoveAll(filepath.Join(ours.dir, name.Name())))
			}
		}
		furnish(t, ours.dir)
		native.client, native.id = e.Client, e.Session
		got := native.joined(there, intent)
		check.That(t, got == want, "%s: the hook is answered %q, %s %v %q", file, got, tool, arguments, want)
		compared[client]++
	}
	for _, client := range clienthook.Clients() {
		check.That(t, compared[client] > 0, "no event of %s was compared", client)
	}
}

// moved has an event be of another workspace.
func moved(client clienthook.Client, raw []byte, dir string) (there []byte, is bool) {
	for _, root := range roots() {
		if bytes.Contains(raw, []byte(`"`+root)) {
			return bytes.ReplaceAll(raw, []byte(root), []byte(dir)), true
		}
	}
	return raw, false
}

// codes of refusals stand in the answers of all clients.
var code = regexp.MustCompile(`\b([A-Z]+(?:_[A-Z]+)+): `)

// joined plays an event in a session that works under INT-001, and gives the code of its refusal, if it is denied.
func (w *world) joined(event []byte, intent string) string {
	w.t.Helper()
	said := func() string {
		r := w.ask(event)
		return string(r.Stdout) + string(r.Stderr)
	}
	answer := said()
	if _, join, found := strings.Cut(strings.ReplaceAll(answer, `\"`, `"`), `join: "`); found {
		join = join[:strings.IndexByte(join, '"')]
		check.Must(w.t, w.tool("select_active_intent", args{"intent_id": intent, "join": join}).Refusal == nil, "joining")
		answer = said()
	}
	if found := code.FindStringSubmatch(answer); found != nil {
		return found[1]
	}
	return ""
}

// asOurs is the call of ours with the effects of a client's; "" for what is no file's, or nobody's to judge.
func asOurs(e clienthook.Event) (tool string, arguments args) {
	at := func(p string) string {
		if !filepath.IsAbs(p) && e.Cwd != "" {
			return filepath.Join(e.Cwd, p)
		}
		return p
	}
	switch a := e.Action.(type) {
	case clienthook.Write:
		return "write_to_file", args{"path": at(a.Path), "content": a.Content}
	case clienthook.Edit:
		if len(a.Replaces) == 1 {
			r := a.Replaces[0]
			return "edit_file", args{"path": at(a.Path), "old_string": r.Old, "new_string": r.New, "replace_all": r.All}
		}
	case clienthook.Patch:
		if !strings.Contains(a.Text, ": /") { // relative to the workspace, as ours are
			return "apply_patch", args{"patch": a.Text}
		}
	case clienthook.Read:
		return "read_file", args{"path": at(a.Path)}
	}
	return "", nil
}
