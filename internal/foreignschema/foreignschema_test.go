package foreignschema_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/foreignschema"
	"github.com/intentgov/orchestra-mcp/internal/printable"
)

func read(t testing.TB, schema string) *foreignschema.Schema {
	t.Helper()
	return check.Value(foreignschema.Read(json.RawMessage(schema)))(t)
}

// reference is what a whole implementation says; known is false where it does not take the schema.
func reference(schema, value string) (refused, known bool) {
	c := jsonschema.NewCompiler()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil || c.AddResource("mem:///s", parsed) != nil {
		return false, false
	}
	compiled, err := c.Compile("mem:///s")
	instance, notJSON := jsonschema.UnmarshalJSON(strings.NewReader(value))
	if err != nil || notJSON != nil {
		return false, false
	}
	return compiled.Validate(instance) != nil, true
}

// rows are schemas with a value that fits and one that does not, and what is said of it.
var rows = []struct{ schema, fits, broken, says string }{
	{`false`, ``, `1`, "nothing may stand here"},
	{`{"type":"object"}`, `{}`, `[]`, "it is an array, and has to be object"},
	{`{"type":["object","null"]}`, `null`, `1`, "it is a number, and has to be object or null"},
	{`{"type":"integer"}`, `1.0`, `1.5`, "it is a number, and has to be integer"},
	{`{"type":"number","minimum":1,"maximum":2.5}`, `1`, `3`, "it has to be at most 2.5"},
	{`{"minimum":1}`, `1.0`, `0.5`, "it has to be at least 1"},
	{`{"exclusiveMinimum":1}`, `2`, `1`, "it has to be more than 1"},
	{`{"exclusiveMaximum":1}`, `0`, `1.0`, "it has to be less than 1"},
	{`{"maximum":9007199254740992}`, `9007199254740992`, `9007199254740999`, "it has to be at most 9007199254740992"},
	{`{"const":{"a":[1]}}`, `{"a":[1.0]}`, `{"a":[2]}`, "it has to be an object that the schema names"},
	{`{"enum":["a",null,2]}`, `null`, `"b"`, `it has to be one of "a", null, 2`},
	{`{"required":["path"]}`, `{"path":1}`, `{}`, "path: it is missing"},
	{`{"properties":{"a":{"items":{"required":["old"]}}}}`, `{"a":[{"old":1}]}`, `{"a":[{"old":1},{}]}`, "a/1/old: it is missing"},
	{`{"properties":{"b":{},"a":{}},"additionalProperties":false}`, `{"a":1}`, `{"c":1}`, `c: there is no such member; there are "a", "b"`},
	{`{"additionalProperties":false}`, `{}`, `{"c":1}`, `c: nothing may stand here`},
	{`{"properties":{"a":false}}`, `{"b":1}`, `{"a":1}`, "a: nothing may stand here"},
	{`{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, `{"xa":"1"}`, `{"xa":1}`, "xa: it is a number, and has to be string"},
	{`{"patternProperties":{"^x":{}},"additionalProperties":{"type":"null"}}`, `{"xa":1}`, `{"ax":1}`, "ax: it is a number, and has to be null"},
	{`{"minProperties":1}`, `{"a":1}`, `{}`, "it has 0 members, and needs 1"},
	{`{"items":{"type":"string"}}`, `["a"]`, `["a",true]`, "1: it is a boolean, and has to be string"},
	{`{"maxItems":1}`, `[1]`, `[1,2]`, "it has 2 items, and may have 1"},
	{`{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}`, `["a",1]`, `["a","b"]`, "1: it is a string, and has to be number"},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`, `["a"]`, `["a",1]`, "1: nothing may stand here"},
	{`{"minLength":2,"maxLength":3}`, `"éé"`, `"é"`, "it has 1 characters, and needs 2"},
	{`{"pattern":"^[a-z]+$"}`, `"abc"`, `"aBc"`, "it does not match the pattern ^[a-z]+$"},
	{`{"allOf":[{"type":"object"},{"required":["a"]}]}`, `{"a":1}`, `{}`, "a: it is missing"},
	{`{"anyOf":[{"type":"object"},{"type":"array"}]}`, `[]`, `"a"`, "it has none of the 2 forms that it can have; of the first: it is a string, and has to be object"},
	{`{"anyOf":[{"type":"object"}]}`, `{}`, `"a"`, "it is a string, and has to be object"},
	{`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1}`, `{}`, "it has none of the 2 forms that it can have; of the first: a: it is missing"},
	{`{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `1.5`, `1`, "it has several of the forms of which it can have one"},
	{`{"not":{"type":"string","title":"no text"}}`, `1`, `"x"`, "it has a form that it must not have"},
	{`{"if":{"type":"string"},"then":{"maxLength":1},"else":{"type":"integer"}}`, `1`, `"xx"`, "it has 2 characters, and may have 1"},
	{`{"if":{"type":"string"},"then":{"maxLength":1},"else":{"type":"integer"}}`, `"x"`, `null`, "it is null, and has to be integer"},
	{`{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`, `{"next":{"next":{}}}`, `{"next":{"next":1}}`, "next/next: it is a number, and has to be object"},
	{`{"$defs":{"a/b~c d":{"type":"string"}},"$ref":"#/$defs/a~1b~0c%20d"}`, `"x"`, `1`, "it is a number, and has to be string"},
	{`{"allOf":[true,{"type":"string"}],"properties":{"a":{"$ref":"#/allOf/1"}}}`, `"x"`, `1`, "it is a number, and has to be string"},
}

func TestSaysWhatIsWrong(t *testing.T) {
	for _, row := range rows {
		s := read(t, row.schema)
		if row.fits != "" {
			check.NoError(t, s.Check([]byte(row.fits)))
		}
		err := s.Check([]byte(row.broken))
		check.That(t, err != nil && err.Error() == row.says, "%s by %s: %v", row.broken, row.schema, err)
		refused, known := reference(row.schema, row.broken)
		check.That(t, refused && known, "%s by %s: the reference has nothing against it", row.broken, row.schema)
	}
}

// TestFitsAsTheSchemaSays: of ordinary schemas it says what a whole implementation says.
func TestFitsAsTheSchemaSays(t *testing.T) {
	values := []string{
		`{}`, `[]`, `"x"`, `"xyz"`, `"aBc"`, `1`, `1.5`, `10`, `null`, `true`, `{"a":"x"}`, `{"a":1}`, `{"a":null}`, `{"a":[1]}`, `{"a":[1.0]}`, `["a",1]`, `["a",true]`, `{"b":2}`, `{"a":"x","b":1}`,
		`{"next":{"next":{}}}`, `{"next":{"next":[]}}`, `{"xa":1}`, `{"xa":"1"}`, `0.1`, `1e2`,
	}
	for _, row := range rows {
		for _, value := range append(values, row.fits, row.broken) {
			if refused, known := reference(row.schema, value); known {
				err := read(t, row.schema).Check([]byte(value))
				check.That(t, (err != nil) == refused, "%s by %s: %v, and the reference: %v", value, row.schema, err, refused)
			}
		}
	}
}

// TestWhatIsNotKnownIsNotRefused: each of these fits, or may fit, and a hasty reading would refuse it.
func TestWhatIsNotKnownIsNotRefused(t *testing.T) {
	for schema, value := range map[string]string{
		`{"not":{"contains":{"type":"string"}}}`:                                         `[1]`,
		`{"not":{"properties":{"a":{"anyOf":[{"uniqueItems":true}]}}}}`:                  `{"a":[1,1]}`,
		`{"not":{"not":{"not":{"multipleOf":2}}}}`:                                       `3`,
		`{"not":{"$ref":"https://example.com/x"}}`:                                       `1`,
		`{"if":{"format":"date"},"then":{"type":"object"}}`:                              `"x"`,
		`{"oneOf":[{"type":"array"},{"uniqueItems":true}]}`:                              `[1,1]`,
		`{"oneOf":[{"minContains":2},{"contains":{}}]}`:                                  `[]`,
		`{"pattern":"^\\s$"}`:                                                            "\"\u00a0\"",
		`{"pattern":"^[\\S]$"}`:                                                          `"\u000b"`,
		`{"pattern":"^\\s$"} `:                                                           `"\u000b"`,
		`{"patternProperties":{"^.*$":false}}`:                                           `{"a\r":1}`,
		`{"patternProperties":{"(?=x)":{"type":"string"}},"additionalProperties":false}`: `{"xa":1}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{}},"properties":{"a":{"$ref":"#/definitions/a","type":"string"}}}`: `{"a":1}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","prefixItems":[{"type":"string"}]}`:                                                    `[1]`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`:                                                  `1`,
		`{"type":"integer","maximum":9007199254740992}`:                                                                                              `9007199254740993`,
		`{"exclusiveMinimum":1}`:               `1.0000000000000000001`,
		`{"not":{"type":"integer"}}`:           `1.0000000000000000001`,
		`{"not":{"const":9007199254740992}}`:   `9007199254740993`,
		`{"not":{"maximum":9007199254740992}}`: `9007199254740993`,
		`{"type":"number","minimum":1e300}`:    `1e400`,
		`{"exclusiveMinimum":0}`:               `1e-400`,
		`{"properties":{"a":{"$id":"mem:///other","$defs":{"x":{}},"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`:                       `{"a":1}`,
		`{"$ref":"#/$defs/o/properties/a","$defs":{"x":false,"o":{"$id":"mem:///o","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{}}}}}`: `1`,
		`{"$ref":"#/$defs/absent"}`: `1`,
		`{"$ref":"#anchor","$defs":{"x":{"$anchor":"anchor","type":"string"},"y":{"$id":"mem:///y","$anchor":"anchor"}}}`: `1`,
		`true`:            `1`,
		`{"type":"date"}`: `1`,
		`{"type":7,"enum":{},"required":"a","properties":[],"items":3,"minLength":"x","allOf":{},"pattern":[],"$ref":{},"if":1,"not":[]}`: `{"a":"b"}`,
	} {
		check.NoError(t, read(t, schema).Check([]byte(value)))
	}
}

// hostile are schemas made to hurt, and values for them.
func hostile() map[string][2]string {
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
	long := `{"a":"` + strings.Repeat("x", 1<<20) + `y"}`
	list := `{"a":[` + strings.TrimSuffix(strings.Repeat(`"b",`, 100_000), ",") + `]}`
	word := `"` + strings.Repeat("x", 1<<16) + `"`
	// What is long in the schema costs each time that it is read: the bounds do not reach until what would not fit.
	again := `{"allOf":[` + strings.Repeat(`{"$ref":"#/$defs/c"},`, 1000) + `{"type":"string"}],"$defs":{"c":PART,` + word + `:{}}}`
	return map[string][2]string{
		"long references":      {strings.Replace(again, "PART", `{"$ref":"#/$defs/`+strings.Repeat("x", 1<<16)+`"}`, 1), `{}`},
		"long lists of types":  {strings.Replace(again, "PART", `{"type":[`+strings.Repeat(`"null",`, 20_000)+`"object"]}`, 1), `{}`},
		"a circle":             {`{"$ref":"#"}`, `{}`},
		"a circle of two":      {`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, `{}`},
		"a circle in allOf":    {`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, `{}`},
		"a circle in anyOf":    {`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`, `{}`},
		"a circle in not":      {`{"not":{"$ref":"#"}}`, `{}`},
		"doubling":             {doubling(`"allOf":[NEXT,NEXT]`), `{}`},
		"doubling in anyOf":    {doubling(`"anyOf":[NEXT,NEXT]`), `{}`},
		"doubling in oneOf":    {doubling(`"oneOf":[NEXT,NEXT]`), `{}`},
		"doubling in not":      {doubling(`"not":{"anyOf":[NEXT,NEXT]}`), `{}`},
		"doubling in if":       {doubling(`"if":NEXT,"then":NEXT,"else":NEXT`), `{}`},
		"doubling with depth":  {`{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, deep},
		"elsewhere":            {`{"$ref":"https://example.com/schema.json","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, `{"a":1}`},
		"an expression":        {`{"properties":{"a":{"pattern":"^(x+)+(x|xx)*b?$"}}}`, long},
		"a large expression":   {`{"properties":{"a":{"pattern":"^` + strings.Repeat("x{0,999}", 110) + `$"}}}`, long},
		"expressions of names": {`{"patternProperties":{"^(x{1,900}){1}y{900}":{},"(":{}}}`, long},
		"classes":              {`{"properties":{"a":{"pattern":"^` + strings.Repeat(`\\pL`, 250) + `$"}}}`, long},
		"no expression":        {`{"properties":{"a":{"pattern":"(?<=x)("}}}`, long},
		"large values":         {`{"properties":{"a":{"items":{"enum":[` + word + "," + word + `,"b"]}}}}`, list},
		"many parts":           {`{"items":false}`, `[` + strings.Repeat(`[],`, 1<<20) + `1]`},
		"a long number":        {`{"minimum":1,"type":"integer","enum":[1` + strings.Repeat("0", 1<<16) + `]}`, `1` + strings.Repeat("0", 1<<16)},
	}
}

func TestHostileSchemasEnd(t *testing.T) {
	for name, c := range hostile() {
		t.Run(name, func(t *testing.T) { check.NoError(t, read(t, c[0]).Check([]byte(c[1]))) })
	}
	many := `{"patternProperties":{`
	for i := range 5000 {
		many += fmt.Sprintf(`"^%d(x{0,99}y){0,9}$":{},`, i)
	}
	check.NoError(t, read(t, many+`"z":{}},"additionalProperties":false}`).Check([]byte(`{"x":1}`)))
}

// TestErrorsAreSafeToPrint, whatever the schema and the names in the value are, and show none of its values.
func TestErrorsAreSafeToPrint(t *testing.T) {
	odd := `\u202e\u001b` + strings.Repeat("x", 1000)
	for _, schema := range []string{
		`{"additionalProperties":{"type":"` + odd + `"}}`, `{"additionalProperties":{"type":["string","` + odd[:12] + `null"]}}`, `{"additionalProperties":{"const":"` + odd + `"}}`,
		`{"additionalProperties":{"enum":["` + odd + `",` + strings.Repeat("1,", 1000) + `2]}}`, `{"additionalProperties":{"pattern":"` + odd[:100] + `"}}`,
		`{"additionalProperties":false,"properties":{"` + odd + `":{}}}`, `{"required":["` + odd + `y"]}`, `{"additionalProperties":{"maximum":1,"maxLength":1}}`,
		`{"additionalProperties":{"anyOf":[{"const":"` + odd + `"},{"type":"null"}]}}`,
	} {
		for _, secret := range []string{`"secret"`, `4711`, `{"b":"secret"}`} {
			err := read(t, schema).Check([]byte(`{"` + odd + `":` + secret + `}`))
			if err != nil {
				text := err.Error()
				check.That(t, text == printable.Text(text) && len(text) < 2000 && !strings.Contains(text, "secret") && !strings.Contains(text, "4711"), "%q", text)
			}
		}
	}
}

func TestNoSchema(t *testing.T) {
	for _, text := range []string{"", "1", "[]", "{", `"x"`, `{"a":1,"a":2}`, "{}{}", `{"a":"` + strings.Repeat("x", foreignschema.MaxBytes) + `"}`} {
		_, err := foreignschema.Read(json.RawMessage(text))
		check.That(t, err != nil, "%.20q was read", text)
	}
	for _, text := range []string{"", "{", `{"a":1,"a":2}`, "1 2"} {
		check.That(t, read(t, `{}`).Check([]byte(text)) != nil, "%q fits", text)
	}
}

func TestOneSchemaForManyAtOnce(t *testing.T) {
	s := read(t, `{"patternProperties":{"^a":{"pattern":"^x"},"^b":{"pattern":"^y"}}}`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			check.That(t, s.Check([]byte(`{"a":"x","b":"y"}`)) == nil && s.Check([]byte(`{"a":"y"}`)) != nil, "as always")
		})
	}
	all.Wait()
}

var exponent = regexp.MustCompile(`[0-9][eE]`)

// FuzzCheck: what is refused, a whole implementation refuses as well, and the errors are safe to print.
func FuzzCheck(f *testing.F) {
	for _, row := range rows {
		f.Add(row.schema, row.broken)
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := foreignschema.Read([]byte(schema))
		if err != nil || !jsontext.Value(value).IsValid() {
			return
		}
		refused := s.Check([]byte(value))
		if refused == nil {
			return
		}
		text := refused.Error()
		check.That(t, text == printable.Text(text) && len(text) < 4000, "%q", text)
		if strings.Contains(schema, "$") || exponent.MatchString(schema+value) { // references are followed elsewhere, and large exponents take the other one long
			return
		}
		if also, known := reference(schema, value); known {
			check.That(t, also, "%s is refused by %s: %v", value, schema, refused)
		}
	})
}

func BenchmarkHostile(b *testing.B) {
	for name, c := range hostile() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				check.OK(b, read(b, c[0]).Check([]byte(c[1])))
			}
		})
	}
}

func BenchmarkOrdinary(b *testing.B) {
	s := read(b, `{"type":"object","properties":{"path":{"type":"string","minLength":1},"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"}},"required":["old","new"],"additionalProperties":false}}},"required":["path"],"additionalProperties":false}`)
	value := []byte(`{"path":"a/b.txt","edits":[{"old":"x","new":"y"},{"old":"z","new":"` + strings.Repeat("text ", 50) + `"}]}`)
	b.ReportAllocs()
	for b.Loop() {
		check.OK(b, s.Check(value))
	}
}
