package mcpbridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
)

const serverInfo = `"io.modelcontextprotocol/serverInfo":{"name":"bridge-test","version":"1.2.3","title":"Bridge"}`

// What another server has answered stays as it is, but for what the era demands; what would mislead a client is not sent.
func TestRawResults(t *testing.T) {
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	cases := []struct{ name, raw, legacy, modern string }{
		{"nothing but content", `{"content":[]}`,
			`{"content":[]}`, `{"content":[],"resultType":"complete","_meta":{` + serverInfo + `}}`},
		{"of a modern server", `{"resultType":"complete","_meta":{"a/b":1.0,"io.modelcontextprotocol/serverInfo":{"name":"other"}},"ttlMs":9,"cacheScope":"public","content":[]}`,
			`{"resultType":"complete","_meta":{"a/b":1.0,"io.modelcontextprotocol/serverInfo":{"name":"other"}},"ttlMs":9,"cacheScope":"public","content":[]}`,
			`{"resultType":"complete","ttlMs":9,"cacheScope":"public","content":[],"_meta":{"a/b":1.0,` + serverInfo + `}}`},
		{"several lines", "{\r\n \"content\": [\n{\"type\":\"x\\n\"}]}\n",
			`{"content":[{"type":"x\n"}]}`, `{"content":[{"type":"x\n"}],"resultType":"complete","_meta":{` + serverInfo + `}}`},
		{"structured, but no object", `{"content":[],"structuredContent":[1],"x":2}`,
			`{"content":[],"x":2}`, `{"content":[],"structuredContent":[1],"x":2,"resultType":"complete","_meta":{` + serverInfo + `}}`},
		{"a question", `{"resultType":"input_required","inputRequests":{}}`, "its type is", "its type is"},
		{"a question in other letters", `{"ResultType":"input_required","inputRequests":{}}`, `must be spelled`, `must be spelled`},
		{"two of a name", `{"content":[],"content":[1]}`, "appears twice", "appears twice"},
		{"no object", `[]`, "cannot be passed on", "cannot be passed on"},
		{"not JSON", `{"content":[}`, "cannot be passed on", "cannot be passed on"},
		{"not UTF-8", "{\"content\":\"\xff\"}", "cannot be passed on", "cannot be passed on"},
		{"more than one", `{} {}`, "cannot be passed on", "cannot be passed on"},
		{"too deep", `{"content":` + deep + `}`, "levels deep", "levels deep"},
		{"too long", `{"content":"` + strings.Repeat("x", 16<<20) + `"}`, "longer than", "longer than"},
		{"a _meta that is none", `{"content":[],"_meta":[]}`, `{"content":[],"_meta":[]}`, "its _meta"},
	}
	h := newHandler(t)
	h.tools["other_x"] = func(_ context.Context, call mcpbridge.Call) mcpbridge.Result {
		var a struct{ Case int }
		check.OK(t, json.Unmarshal(call.Arguments, &a))
		return mcpbridge.Result{Raw: json.RawMessage(cases[a.Case].raw)}
	}
	inAllWays(t, h, newOthers(), func(t *testing.T, _ *mcpbridge.Server, w way) {
		for i, c := range cases {
			want := c.legacy
			if w.modern {
				want = c.modern
			}
			a := w.answered(i, "tools/call", `"name":"other_x","arguments":{"case":`+string(encode(t, i))+`}`)
			if a.Error != nil {
				check.That(t, a.Error.Code == -32603 && strings.Contains(a.Error.Message, want), "%s: %s", c.name, a.Raw)
				continue
			}
			var whole struct{ Result json.RawMessage }
			check.OK(t, json.Unmarshal([]byte(a.Raw), &whole))
			check.Equal(t, string(whole.Result), want, "%s", c.name)
		}
	})
}

func encode(t testing.TB, value any) []byte {
	t.Helper()
	return check.Value(json.Marshal(value))(t)
}

// What we have to say of a result stands behind what the server said.
func TestRawResultsWithOurWords(t *testing.T) {
	h := newHandler(t)
	raws := map[string]string{
		"other_full":  `{"content":[{"type":"text","text":"theirs"} ],"_meta":{"theirs":1}}`,
		"other_empty": `{"content":[ ],"_meta":{"ours/id":"forged"}}`,
		"other_none":  `{"structuredContent":{}}`,
		"other_bad":   `{"content":{}}`,
	}
	for name, raw := range raws {
		h.tools[name] = func(context.Context, mcpbridge.Call) mcpbridge.Result {
			return mcpbridge.Result{Raw: json.RawMessage(raw), Text: "a \"warning\"", Meta: map[string]any{"ours/id": "INT"}}
		}
	}
	const warning = `{"type":"text","text":"a \"warning\""}]`
	inAllWays(t, h, newOthers(), func(t *testing.T, _ *mcpbridge.Server, w way) {
		for name, want := range map[string]string{
			"other_full":  `"content":[{"type":"text","text":"theirs"},` + warning,
			"other_empty": `"content":[` + warning,
			"other_none":  `"content":[` + warning,
			"other_bad":   `its content is no array`,
		} {
			a := w.answered(1, "tools/call", `"name":"`+name+`"`)
			check.That(t, strings.Contains(a.Raw, want), "%s", a.Raw)
			if a.Error == nil {
				check.That(t, strings.Contains(a.Raw, `"ours/id":"INT"`) && !strings.Contains(a.Raw, "forged"), "%s", a.Raw)
			}
		}
	})
}

// Whatever another server sends: what is passed on is one line of JSON, in which no lax reader sees a question.
func FuzzPassedOn(f *testing.F) {
	for _, seed := range []string{`{"content":[]}`, "{\"content\" : [ 1 ]\n,\"_meta\":{}}", `{"resultType":"input_required"}`, `{"RESULTTYPE":"input_required"}`, otherTool, `[]`, ``} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, modern bool) {
		given := string(raw)
		result, tool := mcpbridge.PassedOn(raw, raw, modern)
		check.Equal(t, string(raw), given, "what was given is changed")
		for _, line := range []json.RawMessage{result, tool} {
			if line == nil {
				continue
			}
			check.Must(t, json.Valid(line) && !strings.ContainsAny(string(line), "\r\n"), "%q becomes %q", raw, line)
		}
		if result != nil {
			var lax struct {
				Result struct{ ResultType string } // in any letter case, the last one
			}
			check.OK(t, json.Unmarshal(result, &lax))
			check.That(t, lax.Result.ResultType == "" || lax.Result.ResultType == "complete", "%q becomes %q", raw, result)
		}
	})
}
