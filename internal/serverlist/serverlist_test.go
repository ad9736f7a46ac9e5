package serverlist_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/serverlist"
)

var files = serverlist.Item{Name: "files", Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "${workspace}"}, Mapping: "filesystem"}

const filesText = `- name: files
  command: npx
  args: ["-y", "@modelcontextprotocol/server-filesystem", "${workspace}"]
  mapping: filesystem
`

func TestText(t *testing.T) {
	check.That(t, files.Text() == filesText, "%s", files.Text())
	odd := serverlist.Item{Name: "x", Command: "yes", Args: []string{"a\nb\x7f\u0085 \"", "1"}, URL: "https://x/?a=b#c: d"}
	text := odd.Text()
	check.That(t, strings.Count(text, "\n") == 4, "%q", text)
	after := check.Value(serverlist.Add(nil, odd))(t)
	there, same, err := serverlist.Present(after, odd)
	check.That(t, there && same && err == nil, "%s: %v", after, err)
}

// TestPresent: what somebody has added to a server leaves it the same, but for the tools that are taken from it.
func TestPresent(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "  safe: [a]\n  workspace: write\n": true, "  tools: [a]\n": false,
	} {
		there, same, err := serverlist.Present([]byte("servers:\n"+filesText+text), files)
		check.That(t, there && same == want && err == nil, "%q: %v %v %v", text, there, same, err)
	}
	other := files
	other.Args = nil
	there, same, _ := serverlist.Present([]byte("servers:\n"+filesText+"  safe: [a]\n"), other)
	check.That(t, there && !same, "%v %v", there, same)
}

// indent is the item's text in a list that is indented.
func indent(by string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(filesText, "\n"), "\n", "\n"+by) + "\n"
}

func TestAddAndTake(t *testing.T) {
	for name, c := range map[string]struct{ before, after, taken string }{
		"nothing":        {"", "servers:\n" + indent("  "), ""},
		"only comments":  {"# mine\n#servers: []\n", "# mine\n#servers: []\n\nservers:\n" + indent("  "), "# mine\n#servers: []\n"},
		"other settings": {"sandbox: off # why\n", "sandbox: off # why\n\nservers:\n" + indent("  "), "sandbox: off # why\n"},
		"no line end":    {"sandbox: off", "sandbox: off\n\nservers:\n" + indent("  "), "sandbox: off\n"},
		"empty list":     {"servers: [ ] # mine\nsandbox: off\n", "servers: # mine\n" + indent("  ") + "sandbox: off\n", "sandbox: off\n"},
		"null":           {"servers:\nsandbox: off\n", "servers:\n" + indent("  ") + "sandbox: off\n", "sandbox: off\n"},
		"a list": {"servers:\n    # theirs\n    - name: a # A\n      url: >\n        http://x\n\n\n# the box\nsandbox: off\n",
			"servers:\n    # theirs\n    - name: a # A\n      url: >\n        http://x\n" + indent("    ") + "\n\n# the box\nsandbox: off\n", ""},
		"not indented": {"servers:\n- name: a\n  url: http://x\nsandbox: off\n", "servers:\n- name: a\n  url: http://x\n" + filesText + "sandbox: off\n", ""},
		"of Windows":   {"sandbox: off\r\n", "sandbox: off\r\n\r\n" + strings.ReplaceAll("servers:\n"+indent("  "), "\n", "\r\n"), "sandbox: off\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			after := check.Value(serverlist.Add([]byte(c.before), files))(t)
			check.That(t, string(after) == c.after, "got\n%s\nwant\n%s", after, c.after)
			if c.taken == "" && c.before != "" {
				c.taken = c.before
			}
			taken, was, err := serverlist.Take(after, files)
			check.That(t, was && err == nil && string(taken) == c.taken, "%v %v: got\n%q\nwant\n%q", was, err, taken, c.taken)
		})
	}
}

func TestTakeKeepsWhatWasChanged(t *testing.T) {
	other := serverlist.Item{Name: "b", URL: "http://b"}
	text := check.Value(serverlist.Add(nil, files, other))(t)
	for _, change := range [][2]string{
		{"mapping: filesystem\n", "mapping: filesystem\n    safe: [read_file]\n"}, {"command: npx", "command: node"}, {"command: npx", "command: npx # mine"},
	} {
		changed := strings.Replace(string(text), change[0], change[1], 1)
		after, taken, err := serverlist.Take([]byte(changed), files)
		check.That(t, !taken && err == nil && string(after) == changed, "%v %v\n%s", taken, err, after)
		there, same, err := serverlist.Present([]byte(changed), files)
		check.That(t, there && err == nil && same == (change[1] != "command: node"), "%v %v %v", there, same, err)
	}
	after, taken, err := serverlist.Take(text, files)
	check.That(t, taken && err == nil && string(after) == "servers:\n  - name: b\n    url: http://b\n", "%v %v\n%s", taken, err, after)
}

func TestWhatCannotBeChanged(t *testing.T) {
	for _, text := range []string{
		"servers: [{name: a, url: http://x}]\n", "{sandbox: off}\n", "- a\n", "a: [\n", "x: &a []\nservers: *a\n", "servers:\n  []\n", "servers: {a: b}\n",
		"sandbox: off\n...\n", "sandbox: |\n  off\n  \n ...",
	} {
		after, err := serverlist.Add([]byte(text), files)
		check.That(t, errors.Is(err, serverlist.ErrLayout), "%q: %v\n%s", text, err, after)
	}
}
