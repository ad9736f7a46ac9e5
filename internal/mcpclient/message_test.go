package mcpclient_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/internal/rawjson"
)

// FuzzParse: what is passed on is valid JSON on one line, of the same value, and not too deep.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"a":[1,{"b":"\"\\"}]}}`, "{\r\n \"result\": {\n\"a\" : 1.0\r} }", `{"result":[]}`, `{"result":{"resultType":"x","inputRequests":{}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		result, err := mcpclient.Parse(raw)
		if err != nil || result == nil {
			return
		}
		check.Must(t, json.Valid(result) && !bytes.ContainsAny(result, "\r\n") && rawjson.Nesting(result) < 256, "got %q of %q", result, raw)
		var whole map[string]json.RawMessage // not a struct: its names would match in any case
		check.OK(t, json.Unmarshal(raw, &whole))
		var got, want bytes.Buffer
		check.OK(t, json.Compact(&got, result))
		check.OK(t, json.Compact(&want, whole["result"]))
		check.Equal(t, got.String(), want.String())
	})
}
