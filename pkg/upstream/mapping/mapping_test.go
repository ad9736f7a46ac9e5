package mapping_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/mapping"
)

func compiled(t testing.TB) *mapping.Mapping {
	t.Helper()
	return check.Value(mapping.Compile(
		mapping.Effect{Tool: "edit_*", Writes: []string{"path", "edits[].path"}, Reads: []string{"from.a.b", "both", "both[]"}},
		mapping.Effect{Tool: "edit_file", Deletes: []string{"gone[][]"}},
		mapping.Effect{Tool: "run", Commands: []string{"line"}, URLs: []string{"url", "urls[]"}},
	))(t)
}

func show(targets mapping.Targets) string {
	var all []string
	for name, list := range map[string][]mapping.Target{"r": targets.Reads, "w": targets.Writes, "d": targets.Deletes, "c": targets.Commands, "u": targets.URLs} {
		for _, target := range list {
			all = append(all, fmt.Sprintf("%s %s=%s", name, target.Argument, target.Value))
		}
	}
	return strings.Join(all, "; ")
}

func TestTargets(t *testing.T) {
	m := compiled(t)
	for _, c := range []struct{ tool, arguments, want string }{
		{"edit_file", `{"path":"a"}`, "w path=a"},
		{"edit_file", `{"path":"a\u002fb","other":{"path":"c"},"x":[1,{"y":null}]}`, "w path=a/b"},
		{"edit_file", `{"edits":[{"path":"a","n":1},{"n":2},{"path":"b"}]}`, "w edits[0].path=a; w edits[2].path=b"},
		{"edit_file", `{"from":{"a":{"b":"x"}}}`, "r from.a.b=x"},
		{"edit_file", `{"gone":[["a"],[],["b","c"]]}`, "d gone[0][0]=a; d gone[2][0]=b; d gone[2][1]=c"},
		{"edit_dir", `{"gone":[["a"]]}`, ""},
		{"edit_file", `{"both":"a"}`, "r both=a"},
		{"edit_file", `{"both":["a"]}`, "r both[0]=a"},
		{"edit_file", `{"path":null,"edits":null,"from":{"a":null}}`, ""},
		{"edit_file", ``, ""}, {"edit_file", ` null `, ""}, {"edit_file", `{}`, ""},
		{"other", `[1]`, ""},
		{"run", `{"line":"rm -rf /"}`, "c line=rm -rf /"},
		{"run", `{"urls":["https://A.example/X"]}`, "u urls[0]=https://a.example/X"},
	} {
		got, err := m.Targets(c.tool, json.RawMessage(c.arguments))
		check.That(t, err == nil && show(got) == c.want, "%s %s: %q (%v), want %q", c.tool, c.arguments, show(got), err, c.want)
	}
	check.That(t, m.Maps("run") && m.Maps("edit_x") && !m.Maps("Run") && !(*mapping.Mapping)(nil).Maps("run"), "which tools are mapped")
}

// Whatever else stands where a path is expected is refused, with the place and never the value.
func TestUnclearArgumentsAreRefused(t *testing.T) {
	m := compiled(t)
	deep := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	many := `{"edits":[` + strings.Repeat(`{"path":"a"},`, mapping.MaxTargets) + `{"path":"a"}]}`
	for arguments, why := range map[string]string{
		`{"path":1}`:              "path must be text, and is a number",
		`{"path":true}`:           "path must be text, and is a boolean",
		`{"path":["a"]}`:          "path must be text, and is a list",
		`{"path":{"a":"b"}}`:      "path must be text, and is an object",
		`{"edits":{"path":"a"}}`:  "edits must be a list, and is an object",
		`{"edits":["a"]}`:         "edits[0] must be an object, and is text",
		`{"edits":[{"path":[]}]}`: "edits[0].path must be text",
		`{"from":"a"}`:            "from must be an object",
		`{"both":7}`:              "both must be text or a list",
		`{"gone":["a"]}`:          "gone[0] must be a list",
		`{"path":""}`:             "path is empty",
		`{"path":"a\u0000b"}`:     "path has a zero byte",
		`{"path":"` + strings.Repeat("a", 5000) + `"}`: "path has more than 4096 bytes",
		`{"path":"a","path":"b"}`:                      "duplicate",
		`{"x":{"a":1,"a":2}}`:                          "duplicate",
		`{"path":"a","pa\u0074h":"b"}`:                 "duplicate",
		`{"PATH":"a"}`:                                 `"PATH" stands there in another letter case; write it as "path"`,
		`{"path":"a","Path":"b"}`:                      "another letter case",
		`{"edits":[{"PATH":"a"}]}`:                     "another letter case",
		`{"edit\u017f":[]}`:                            "another letter case", // ſ folds to s
		`{"x":` + deep + `}`:                           "depth",
		`{"edits":` + deep + `}`:                       "edits[0] must be an object",
		many:                                           "more than 4096",
		`[]`:                                           "no object",
		`"path"`:                                       "no object",
		`{"path":"a"} {"path":"b"}`:                    "more than one value",
		`{"path":"a"`:                                  "",
		`{"path":"a",}`:                                "",
		"{\"path\":\"a\xff\"}":                         "",
		`{"path":"file://other/x"}`:                    "another machine",
		`{"path":"file:///a/../../etc/passwd"}`:        "..",
		`{"path":"FILE:///a/%2e%2e/etc"}`:              "..",
		"{\"\\u001b[2J\\u202ePATH\":1,\"\\u001b\":{\"a\":1,\"a\":2}}": "duplicate",
	} {
		_, err := m.Targets("edit_file", json.RawMessage(arguments))
		check.That(t, errors.Is(err, mapping.ErrArguments) && strings.Contains(err.Error(), why), "%.60s: %v, want %q", arguments, err, why)
		check.That(t, err == nil || !strings.ContainsAny(err.Error(), "\x1b\u202e\n"), "%q is not safe to print", err)
	}
}

// A browser takes each of these for the file /etc/passwd.
func TestFileURLsArePaths(t *testing.T) {
	m := compiled(t)
	for _, address := range []string{
		"file:///etc/passwd", "FILE:///etc/passwd", "fIlE:/etc/passwd", "file:etc/passwd", "file:////etc//passwd", " \t\nfile:///etc/passwd ", "fi\tle:\n///etc/pas\rswd", "\x00file:///etc/passwd",
		"file://localhost/etc/passwd", "file://LocalHost/etc/passwd", "file://%6cocalhost/etc/passwd", "file:///%65tc/%70asswd", "file:///etc%2fpasswd", "file:///etc/passwd?x#y", "file:///etc/./passwd",
		`file:\\\etc\passwd`, `file:/\/etc/passwd`, "view-source:file:///etc/passwd", "View-Source:view-source:FILE:/etc/passwd", "blob:file:///etc/passwd", "filesystem:file:///etc/passwd", "%66ile:///etc/passwd", "file%3A///etc/passwd", "\ufefffile:///etc/passwd", "\u2003file:///etc/passwd",
	} {
		arguments := check.Value(json.Marshal(map[string]string{"url": address}))(t)
		got, err := m.Targets("run", arguments)
		check.That(t, err == nil && show(got) == "r url=/etc/passwd", "%q: %q, %v", address, show(got), err)
	}
	for _, address := range []string{"file://etc/passwd", "file://127.0.0.1/etc", "file:///a/../etc/passwd", "file:///a/%2E%2e/etc/passwd", `file:///a\..\b`, "file:///etc/%00", "file:///%zz", strings.Repeat("view-source:", 9) + "file:///x"} {
		_, err := m.Targets("run", check.Value(json.Marshal(map[string]string{"url": address}))(t))
		check.That(t, errors.Is(err, mapping.ErrArguments), "%q: %v", address, err)
	}
}

// Rules compare addresses as text, so one host has one form.
func TestAddressesHaveOneForm(t *testing.T) {
	m := compiled(t)
	for address, want := range map[string]string{
		"https://a.example/x?Y=\\#Z":  "https://a.example/x?Y=\\#Z",
		" HTTPS://A.Example/X ":       "https://a.example/X",
		"ht\ntps:/\\/A.example\\x":    "https://a.example/x",
		"https:a.example":             "https://a.example",
		"https://good@EVIL.example/":  "https://good@evil.example/",
		"https://%65vil.example/%2F":  "https://evil.example/%2F",
		"wss:///a.example":            "wss://a.example",
		"data:text/plain,File://X":    "data:text/plain,File://X",
		"a.example/x":                 "a.example/x",
		"localhost:3000":              "localhost:3000",
		"view-source:https://A.x":     "view-source:https://A.x",
		"javascript:location='file:'": "javascript:location='file:'",
		"":                            "",
	} {
		got, err := m.Targets("run", check.Value(json.Marshal(map[string]string{"url": address}))(t))
		check.That(t, err == nil && reflect.DeepEqual(got.URLs, []mapping.Target{{Argument: "url", Value: want}}), "%q: %q, %v", address, show(got), err)
	}
}

func TestEffectsThatDoNotCompile(t *testing.T) {
	for _, place := range []string{"", ".", "a.", ".a", "a..b", "[]", "a[0]", "a[", "a]", "a[]b", "[]a", "a.[]", "a[[]]", "$.a[", strings.Repeat("a", 300), strings.Repeat("a.", 16) + "a"} {
		_, err := mapping.Compile(mapping.Effect{Tool: "x", Reads: []string{"ok"}}, mapping.Effect{Tool: "x", URLs: []string{place}})
		check.That(t, err != nil && strings.HasPrefix(err.Error(), "effect 2: "), "%q: %v", place, err)
	}
	for _, tool := range []string{"", "[", "a[b-"} {
		_, err := mapping.Compile(mapping.Effect{Tool: tool})
		check.That(t, err != nil, "%q compiles", tool)
	}
}

// FuzzTargets: what an ordinary decoder finds in a mapped place is a target, or the arguments are refused.
func FuzzTargets(f *testing.F) {
	for _, seed := range []string{`{"path":"a"}`, `{"edits":[{"path":"a"},{"Path":"b"}]}`, `{"path":"a","path":"b"}`, `{"path":null}`, `{"path":"file:///x"}`, `{"from":{"a":{"b":"c"}},"both":["a",null]}`} {
		f.Add([]byte(seed))
	}
	m := compiled(f)
	f.Fuzz(func(t *testing.T, arguments []byte) {
		got, err := m.Targets("edit_dir", arguments)
		var decoded struct {
			Path  any
			Edits []struct{ Path any }
		}
		if json.Unmarshal(arguments, &decoded) != nil || err != nil {
			return
		}
		want := 0
		for _, value := range append([]any{decoded.Path}, func() (all []any) {
			for _, e := range decoded.Edits {
				all = append(all, e.Path)
			}
			return all
		}()...) {
			if value != nil {
				want++
			}
		}
		check.That(t, len(got.Writes) == want, "%q: %d targets, want %d", arguments, len(got.Writes), want)
	})
}

// FuzzPlace: a place that compiles finds the value that was put there.
func FuzzPlace(f *testing.F) {
	for _, seed := range []string{"path", "a.b", "files[]", "edits[].path", "a[][].b.c[]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, place string) {
		m, err := mapping.Compile(mapping.Effect{Tool: "*", Commands: []string{place}})
		if err != nil {
			return
		}
		var value any = "x"
		members := strings.Split(place, ".")
		for i := len(members) - 1; i >= 0; i-- {
			name := strings.TrimRight(members[i], "[]")
			for range (len(members[i]) - len(name)) / 2 {
				value = []any{value}
			}
			value = map[string]any{name: value}
		}
		got, err := m.Targets("tool", check.Value(json.Marshal(value))(t))
		valid := strings.ToValidUTF8(place, "") == place
		check.That(t, !valid || err == nil && len(got.Commands) == 1, "%q: %+v, %v", place, got, err)
	})
}

func BenchmarkTargets(b *testing.B) {
	effects, _ := mapping.Ready("filesystem")
	m := check.Value(mapping.Compile(effects...))(b)
	arguments := json.RawMessage(`{"path":"/home/u/project/src/main.go","head":40}`)
	for b.Loop() {
		if got, err := m.Targets("read_text_file", arguments); err != nil || len(got.Reads) != 1 {
			b.Fatal(got, err)
		}
	}
}
