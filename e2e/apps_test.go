package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/presence"
)

// hostileText would run or load something where it is taken for more than text.
const hostileText = `</script><img src=http://evil.test/i onerror=alert(1)><b>`

// shownApp is what clients/apps.mjs says of one view.
type shownApp struct {
	Name, Text, Background, Color string
	Elements                      map[string]int
	Sent, Opened, Loaded, Errors  []string
	Height                        float64
}

// What the server gives a client that shows apps is shown in a browser by the official host library: each view with hostile
// texts, in light and dark. Nothing is loaded, and nothing is asked for but to open the console's address.
func TestAppsInABrowser(t *testing.T) {
	t.Parallel()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		missing(t, "no chromium to show apps in")
	}
	w := newWorkspace(t)
	announceConsole(t, w)
	w.write(".orchestration/active_intents.yaml", `active_intents: [{id: INT-001, name: "`+hostileText+`", status: IN_PROGRESS, owned_scope: ["src/**"], agent: "`+hostileText+`"}]`)
	w.write("src/"+strings.ReplaceAll(hostileText, "/", "")+".txt", "by hand\n")
	var page, csp string
	cases := []args{}
	for _, pin := range []string{"", modern} {
		a := newAgent(t, w.drive(driver{
			SDK: 2, Pin: pin, Apps: true, Transport: "stdio", Command: program, Args: []string{"serve", "--workspace", w.dir},
			Env: w.env(asksOutside, "ORCHESTRA_APPROVALS_WAIT=0s"),
		}))
		page, csp = appOf(a)
		cases = append(cases, hostileCases(a, pin)...)
	}
	asked := check.Value(json.Marshal(args{"chromium": browser, "page": page, "csp": json.RawMessage(csp), "cases": cases}))(t)
	cmd := exec.Command(needsNode(t, oldestNode), filepath.Join(clients, "apps.mjs"))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(asked), testLog{t}
	out := check.Value(cmd.Output())(t)
	decoder := json.NewDecoder(bytes.NewReader(out))
	for _, c := range cases {
		var seen shownApp
		check.OK(t, decoder.Decode(&seen))
		holdsApp(t, c, seen)
	}
}

const consoleAt = "http://127.0.0.1:4567/"

// announceConsole has servers find a console that runs, as the command of that name does.
func announceConsole(t *testing.T, w *workspace) {
	dir := filepath.Join(w.home, "config", "orchestra-mcp")
	check.OK(t, os.MkdirAll(dir, 0o700))
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	mark := check.Value(presence.Register(root, presence.Server{ID: presence.NewID(), Transport: "console", Address: "127.0.0.1:4567"}))(t)
	t.Cleanup(mark.Remove)
}

// appOf reads the page that the tools name, with the policy for it.
func appOf(a agent) (page, csp string) {
	a.T.Helper()
	var read struct {
		Contents []struct {
			Text, MIMEType string
			Meta           struct {
				UI struct{ CSP json.RawMessage }
			} `json:"_meta"`
		}
	}
	a.get("readResource", args{"uri": "ui://orchestra-mcp/view"}, &read)
	check.Must(a.T, len(read.Contents) == 1 && read.Contents[0].Meta.UI.CSP != nil, "the page: %+v", read)
	return read.Contents[0].Text, string(read.Contents[0].Meta.UI.CSP)
}

// hostileCases makes calls whose arguments and files are hostile, and gives their results as the client has them. What must
// be shown is under "wants".
func hostileCases(a agent, pin string) []args {
	a.T.Helper()
	session := a.Selects("INT-001")
	one := func(name, theme, tool string, arguments args, wants ...string) args {
		arguments["session"] = session
		result, err := a.Send(tool, arguments)
		check.OK(a.T, err)
		return args{"name": name, "theme": theme, "input": arguments, "result": result, "wants": wants}
	}
	name := strings.ReplaceAll(hostileText, "/", "")
	if pin == "" {
		a.OK("edit_file", args{"session": session, "path": "src/" + name + ".txt", "old_string": "by hand", "new_string": "by hand\n" + hostileText})
		return []args{
			one("board", "light", "list_intents", args{}, "Intents: 0 of 1 done", "INT-001 "+hostileText, "for "+hostileText, "selected now", "src/**", "last change"),
			one("blame", "dark", "query_trace", args{"path": "src/" + name + ".txt"}, name, "untracked", "INT-001 exact", hostileText, "by hand"),
		}
	}
	write := args{"path": "docs/" + name + ".md", "content": hostileText + "\n"}
	wants := []string{"write_to_file wants to create \"docs/" + name, "+" + hostileText, "SCOPE_VIOLATION", "INT-001 " + hostileText, "never here", "orchestra-mcp console"}
	pending := one("approval", "dark", "write_to_file", write, wants...)
	pending["links"] = true
	light := args{"name": "approval", "theme": "light", "result": pending["result"], "wants": wants}
	light["variables"] = args{"--color-background-primary": "rgb(1, 2, 3)"}
	refused := one("refused", "light", "write_to_file", args{"path": "../" + name, "content": ""}, "outside the workspace", name)
	return []args{pending, light, refused, {"name": "waiting", "theme": "dark", "wants": []string{"no result yet", "never here"}}}
}

// holdsApp judges what was seen of a case.
func holdsApp(t *testing.T, c args, seen shownApp) {
	t.Helper()
	name := seen.Name + " " + c["theme"].(string)
	for _, part := range c["wants"].([]string) {
		check.That(t, strings.Contains(seen.Text, part), "%s lacks %q:\n%s", name, part, seen.Text)
	}
	check.That(t, len(seen.Loaded) == 0 && len(seen.Errors) == 0, "%s: loaded %v, errors %v", name, seen.Loaded, seen.Errors)
	check.That(t, seen.Elements["img"]+seen.Elements["b"] == 0 && seen.Elements["script"] == 1, "%s: a text has become elements: %v", name, seen.Elements)
	for _, method := range seen.Sent {
		may := []string{"ui/initialize", "ui/notifications/initialized", "ui/notifications/size-changed", "ui/open-link", "an answer"}
		check.That(t, slices.Contains(may, method), "%s: the page asks for %s", name, method)
	}
	opened := ""
	if c["links"] == true {
		opened = consoleAt
	}
	check.Equal(t, strings.Join(seen.Opened, " "), opened, name+": opened")
	check.That(t, seen.Height > 20, "%s says that it is %v high", name, seen.Height)
	want := map[string]string{"dark": "rgb(28, 28, 27)", "light": "rgb(255, 255, 255)"}[c["theme"].(string)]
	if c["variables"] != nil {
		want = "rgb(1, 2, 3)" // the host's
	}
	check.That(t, seen.Background == want && seen.Color != want, "%s: %s on %s, want %s", name, seen.Color, seen.Background, want)
}
