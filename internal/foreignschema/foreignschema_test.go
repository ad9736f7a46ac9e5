package foreignschema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/foreignschema"
)

func fit(t *testing.T, schema, value string) error {
	t.Helper()
	var v any
	check.OK(t, json.Unmarshal([]byte(value), &v))
	return check.Value(foreignschema.Read(json.RawMessage(schema)))(t).Fit(v)
}

// What it says of ordinary schemas is what a whole implementation says.
func TestFitsAsTheSchemaSays(t *testing.T) {
	schemas := []string{
		`true`, `{}`, `{"type":"object","properties":{"a":{"type":"string","minLength":2,"maxLength":3}},"required":["a"],"additionalProperties":false}`,
		`{"properties":{"a":{"type":["integer","null"],"minimum":1,"maximum":9}}}`, `{"properties":{"a":{"enum":["x",1,null,[1],{"b":2}]}}}`,
		`{"properties":{"a":{"const":"x"}}}`, `{"properties":{"a":{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2}}}`,
		`{"properties":{"a":{"prefixItems":[{"type":"string"}],"items":{"type":"boolean"}}}}`,
		`{"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"},"v":{"type":"string"}}}},"properties":{"a":{"$ref":"#/$defs/n"}}}`,
		`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`, `{"properties":{"a":{"oneOf":[{"type":"number"},{"type":"integer"}]}}}`,
		`{"properties":{"a":{"allOf":[{"type":"string"},{"pattern":"^x"}]}}}`, `{"properties":{"a":{"not":{"type":"string"}}}}`,
		`{"patternProperties":{"^a$":{"type":"string"}},"additionalProperties":{"type":"integer"}}`,
		`{"properties":{"a":{"if":{"type":"string"},"then":{"maxLength":1},"else":{"type":"integer"}}}}`,
		`{"properties":{"a":{"exclusiveMinimum":1,"exclusiveMaximum":3}}}`, `{"minProperties":1,"maxProperties":1}`,
	}
	values := []string{
		`{}`, `{"a":"x"}`, `{"a":"xyz"}`, `{"a":"xyzw"}`, `{"a":1}`, `{"a":1.5}`, `{"a":10}`, `{"a":null}`, `{"a":true}`, `{"a":[1]}`, `{"a":[]}`, `{"a":[1,2,3]}`, `{"a":["x",true]}`, `{"a":["x",1]}`,
		`{"a":{"b":2}}`, `{"a":{"n":{"n":{"v":1}}}}`, `{"a":{"n":{"n":{"v":"s"}}}}`, `{"a":"x","b":1}`, `{"b":"x"}`, `{"a":2}`,
	}
	for _, schema := range schemas {
		var s jsonschema.Schema
		check.OK(t, json.Unmarshal([]byte(schema), &s))
		whole := check.Value(s.Resolve(nil))(t)
		for _, value := range values {
			var v any
			check.OK(t, json.Unmarshal([]byte(value), &v))
			want, got := whole.Validate(v), fit(t, schema, value)
			check.That(t, (want == nil) == (got == nil), "%s by %s: %v, want %v", value, schema, got, want)
		}
	}
}

func TestSaysWhatIsWrong(t *testing.T) {
	schema := `{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","required":["old"]}}}}`
	for value, want := range map[string]string{
		`{}`:                         `the arguments: "path" is missing`,
		`{"path":1}`:                 `path: it is a number, and has to be string`,
		`{"path":"","edits":[{}]}`:   `edits/0: "old" is missing`,
		`{"path":"","edits":[1]}`:    `edits/0: it is a number, and has to be object`,
		`[]`:                         `the arguments: it is an array, and has to be object`,
		`{"path":"","edits":["\t"]}`: `edits/0: it is a string, and has to be object`,
	} {
		err := fit(t, schema, value)
		check.That(t, err != nil && err.Error() == want, "%s: %v", value, err)
	}
}

// Whatever a schema does, it costs what the budget allows, and says nothing that is not known.
func TestHostileSchemasEnd(t *testing.T) {
	doubling := func(part string) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/n0","$defs":{`)
		for i := range 60 {
			fmt.Fprintf(&b, `"n%d":{%s},`, i, strings.ReplaceAll(part, "NEXT", fmt.Sprintf(`{"$ref":"#/$defs/n%d"}`, i+1)))
		}
		b.WriteString(`"n60":{}}}`)
		return b.String()
	}
	deep := strings.Repeat(`{"a":`, 500) + `1` + strings.Repeat(`}`, 500)
	long := `{"a":"` + strings.Repeat("a", 1<<20) + `"}`
	list := `{"a":[` + strings.TrimSuffix(strings.Repeat(`"b",`, 100_000), ",") + `]}`
	enum := `"` + strings.Repeat("x", 1<<16) + `"`
	// What is long in the schema costs each time that it is read: the budget does not last until what would not fit.
	word := strings.Repeat("k", 100_000)
	again := `{"allOf":[` + strings.Repeat(`{"$ref":"#/$defs/c"},`, 100) + `{"type":"string"}],"$defs":{"c":PART,"` + word + `":{}}}`
	for name, c := range map[string]struct{ schema, value string }{
		"long references":      {strings.Replace(again, "PART", `{"$ref":"#/$defs/`+word+`"}`, 1), `{}`},
		"long lists of types":  {strings.Replace(again, "PART", `{"type":[`+strings.Repeat(`"null",`, 20_000)+`"object"]}`, 1), `{}`},
		"a circle":             {`{"$ref":"#"}`, `{}`},
		"a circle of two":      {`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, `{}`},
		"a circle in allOf":    {`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, `{}`},
		"a circle in not":      {`{"not":{"$ref":"#"}}`, `{}`},
		"doubling":             {doubling(`"allOf":[NEXT,NEXT]`), `{}`},
		"doubling in anyOf":    {doubling(`"anyOf":[NEXT,NEXT]`), `{}`},
		"doubling in not":      {doubling(`"not":{"anyOf":[NEXT,NEXT]}`), `{}`},
		"doubling in if":       {doubling(`"if":NEXT,"then":NEXT,"else":NEXT`), `{}`},
		"doubling with depth":  {`{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, deep},
		"elsewhere":            {`{"$ref":"https://example.com/schema.json","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, `{"a":1}`},
		"nowhere":              {`{"$ref":"#/$defs/none/0/x","properties":{"a":{"$ref":"#anchor"}}}`, `{"a":1}`},
		"an expression":        {`{"properties":{"a":{"pattern":"^(a+)+(a|aa)*b?$"}}}`, long},
		"expressions of names": {`{"patternProperties":{"^(x{1,900}){1}y{900}":{},"(":{}}}`, long},
		"no expression":        {`{"properties":{"a":{"pattern":"(?<=x)("}}}`, long},
		"large values":         {`{"properties":{"a":{"items":{"enum":[` + enum + "," + enum + `,"b"]}}}}`, list},
		"strange keywords":     {`{"type":7,"enum":{},"required":"a","properties":[],"items":3,"minLength":"x","allOf":{},"pattern":[],"$ref":{},"if":1,"not":[]}`, `{"a":"b"}`},
	} {
		t.Run(name, func(t *testing.T) { check.OK(t, fit(t, c.schema, c.value)) })
	}
}

func TestNoSchema(t *testing.T) {
	for _, text := range []string{"", "1", "[]", "{", `"x"`} {
		_, err := foreignschema.Read(json.RawMessage(text))
		check.That(t, err != nil, "%q was read", text)
	}
}
