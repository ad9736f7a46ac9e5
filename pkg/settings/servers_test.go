package settings_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/mapping"
)

func TestServers(t *testing.T) {
	m := newMachine(t)
	m.setUser(`
servers:
  - name: files
    command: npx
    args: ["-y", "@modelcontextprotocol/server-filesystem", "${workspace}"]
    env: ["LANG=C", "ROOT=${workspace}"]
    mapping: filesystem
    safe: ["read_*", "!read_media_file"]
    tools: ["*", "!move_file"]
    workspace: write
    writable: ["~/notes", /var/tmp]
    show: search
    findings: refuse
    contents: true
    timeout: 30s
    effects: [{tool: "x_*", reads: [path, "paths[]"], writes: [a.b], deletes: ["edits[].path"], commands: [line], urls: [url]}]
  - {name: web, url: "https://api.example/mcp?x=1", prefix: ""}
  - {name: local, url: "http://127.0.0.1:3000/mcp"}
`)
	file := m.user + "/config.yaml"
	want := []upstream.Definition{
		{
			Name: "files", Prefix: "files_", Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "${workspace}"}, Env: []string{"LANG=C", "ROOT=${workspace}"},
			Origin: file + ":3", Choose: []string{"*", "!move_file"}, Safe: []string{"read_*", "!read_media_file"}, Mapping: "filesystem",
			Effects: []mapping.Effect{{Tool: "x_*", Reads: []string{"path", "paths[]"}, Writes: []string{"a.b"}, Deletes: []string{"edits[].path"}, Commands: []string{"line"}, URLs: []string{"url"}}},
			Writes:  true, Writable: []string{"~/notes", "/var/tmp"}, Searched: true, Findings: upstream.Refuse, Keep: true, Timeout: 30 * time.Second,
		},
		{Name: "web", Prefix: "", URL: "https://api.example/mcp?x=1", Origin: file + ":17", Findings: upstream.Ask, Timeout: upstream.DefaultTimeout},
		{Name: "local", Prefix: "local_", URL: "http://127.0.0.1:3000/mcp", Origin: file + ":18", Findings: upstream.Ask, Timeout: upstream.DefaultTimeout},
	}
	got := m.load().Settings.Upstreams()
	check.That(t, reflect.DeepEqual(got, want), "\n got %+v\nwant %+v", got, want)
}

// Each mistake is said with its line, and no address with what may be a secret in it.
func TestMistakesInServers(t *testing.T) {
	for entry, want := range map[string]string{
		`command: x`:              `1:11: servers: the name of a server is a lower-case letter`,
		`name: Files, command: x`: `"Files"`,
		`name: a_b, command: x`:   `"a_b"`,
		`name: 9a, command: x`:    `"9a"`,
		`name: ` + strings.Repeat("a", 33) + `, command: x`:                  `32 at most`,
		`name: "a\u202eb", command: x`:                                       `"a\u202eb"`,
		`name: a`:                                                            `server a: want one of command and url`,
		`name: a, command: x, url: "https://h/"`:                             `server a: want one of command and url`,
		`name: a, url: "http://h.example/s3cret"`:                            `https, or http on this machine`,
		`name: a, url: "s3cret"`:                                             `the url is no address`,
		`name: a, url: "file:///s3cret"`:                                     `the url is no address`,
		`name: a, url: "https://u:s3cret@h/"`:                                `secrets file`,
		`name: a, url: "https://h/#s3cret"`:                                  `secrets file`,
		`name: a, url: "https://h/", args: [x]`:                              `args is for a command`,
		`name: a, url: "https://h/", env: [A=b]`:                             `env is for a command`,
		`name: a, url: "https://h/", workspace: write`:                       `workspace is for a command`,
		`name: a, command: "npx -y x"`:                                       `belongs in args`,
		`name: a, command: ./x`:                                              `not run in the workspace`,
		`name: a, command: "tools/x"`:                                        `not run in the workspace`,
		`name: a, command: "${workspace}/x"`:                                 `not run in the workspace`,
		`name: a, command: "x\0"`:                                            `zero byte`,
		`name: a, command: x, env: [LANG=C, LANG]`:                           `1:47: servers: server a: an entry of env is NAME=value`,
		`name: a, command: x, prefix: "a/"`:                                  `a prefix has letters`,
		`name: a, command: x, prefix: "é"`:                                   `a prefix has letters`,
		`name: a, command: x, safe: ["ok", "["]`:                             `server a: safe: "[" is no pattern`,
		`name: a, command: x, tools: ["!"]`:                                  `server a: tools: "!" is no pattern`,
		`name: a, command: x, mapping: filesytem`:                            `did you mean filesystem?`,
		`name: a, command: x, effects: [{tool: x, reads: ["a[0]"]}]`:         `effects: "a[0]" is no place`,
		`name: a, command: x, effects: [{reads: [a]}]`:                       `no pattern of names`,
		`name: a, command: x, effects: [{tool: x, read: [a]}]`:               `unknown key "read"; did you mean reads?`,
		`name: a, command: x, workspace: rw`:                                 `workspace is one of read, write, not "rw"`,
		`name: a, command: x, show: all`:                                     `show is one of tools, search`,
		`name: a, command: x, findings: "off"`:                               `findings is one of warn, ask, refuse`,
		`name: a, command: x, timeout: 0s`:                                   `timeout must be from 1s to 24h`,
		`name: a, command: x, timeout: 25h`:                                  `timeout must be from 1s to 24h`,
		`name: a, command: x, writable: [notes]`:                             `writable has absolute paths`,
		`name: a, command: x, writable: ["${workspace}/b"]`:                  `workspace: write`,
		`name: a, command: x, line: 3`:                                       `unknown key "line"`,
		`name: a, command: x, tier: 0`:                                       `unknown key "tier"`,
		`name: a, command: [x]`:                                              `want text`,
		`name: a, command: x}, {name: a, command: y`:                         `1:34: servers: server a: there is one of that name already`,
		`name: a, command: x, prefix: ""}, {name: b, command: y, prefix: ""`: `a has no prefix already`,
		`name: a, command: x, prefix: "b_"}, {name: b, command: y`:           `a has its prefix`,
	} {
		m := newMachine(t)
		m.setUser("servers: [{" + entry + "}]")
		_, err := m.tryLoad()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "config.yaml:1:") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %s", entry, err, want)
		}
	}
	m := newMachine(t)
	m.setUser("servers: [" + strings.Repeat("{name: a, command: x}, ", settings.MaxServers) + "{name: a, command: x}]")
	_, err := m.tryLoad()
	check.That(t, err != nil && strings.Contains(err.Error(), "more than 64 servers"), "%v", err)
}

// A workspace starts no server before it is trusted, and then takes the name, the prefix and so the secrets of none of the user's.
func TestServersOfTiers(t *testing.T) {
	m := newMachine(t)
	m.setSystem("servers: [{name: sys, command: x}]")
	m.setUser("servers: [{name: github, url: \"https://api.example/mcp\"}, {name: own, command: x, prefix: ''}]")
	m.setWorkspace("servers:\n- {name: local, command: x}\n- {name: github, command: evil, args: [x], prefix: evil_}\n- {name: other, command: x, prefix: github_}\n- {name: bare, command: x, prefix: ''}\n- {name: late, command: x}\n")
	loaded := m.load()
	check.That(t, servers(loaded) == "sys github own" && withheld(loaded) == "servers" && loaded.Withheld[0].NeedsTrust, "%s; withheld %v", servers(loaded), loaded.Withheld)
	m.trust()
	m.environ = []string{"ORCHESTRA_SERVERS=[{name: late, command: mine}]"}
	loaded = m.load()
	check.That(t, servers(loaded) == "sys github own late local(w)", "%s", servers(loaded))
	var left []string
	for _, w := range loaded.Withheld {
		check.That(t, !w.NeedsTrust && w.Key == "servers", "%+v", w)
		left = append(left, fmt.Sprint(w))
	}
	all := strings.Join(left, "\n")
	for _, want := range []string{
		".orchestration/config.yaml:3: servers = {name: \"github\", command: \"evil\", args: [\"x\"], ", "there is one of that name already (" + m.user + "/config.yaml:1)",
		"github (" + m.user + "/config.yaml:1) has its prefix", "own (" + m.user + "/config.yaml:1) has no prefix already", "one of that name already (the environment:1)",
	} {
		check.That(t, strings.Contains(all, want), "%s\nwant %s", all, want)
	}
	check.That(t, len(left) == 4, "%d: %s", len(left), all)

	m.setSystem("lock: [servers]")
	m.environ = nil
	check.That(t, servers(m.load()) == "", "a lock lets %s through", servers(m.load()))
}

func servers(loaded settings.Loaded) string {
	var names []string
	for _, d := range loaded.Settings.Upstreams() {
		if d.OfWorkspace {
			d.Name += "(w)"
		}
		names = append(names, d.Name)
	}
	return strings.Join(names, " ")
}

// What is shown of a server that waits for trust has no secret of its address.
func TestAddressesOfServersAreNotShown(t *testing.T) {
	m := newMachine(t)
	m.setWorkspace(`servers: [{name: a, url: "https://h.example/s3cret?t=s3cret"}]`)
	waiting := strings.Join(m.load().Waiting(), "\n")
	check.That(t, strings.Contains(waiting, "https://h.example/…") && !strings.Contains(waiting, "s3cret"), "%s", waiting)
}
