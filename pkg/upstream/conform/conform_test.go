package conform_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/conform"
)

// judged checks a value, which must be judged alike by a whole implementation where it is refused.
func judged(t *testing.T, schema, value string) error {
	t.Helper()
	s := check.Value(conform.Parse([]byte(schema)))(t)
	err := s.Check([]byte(value))
	if errors.Is(err, conform.ErrBroken) {
		check.That(t, reference(t, schema, value) != nil, "%s is refused by %s: %v", value, schema, err)
	}
	return err
}

// reference is what another implementation says.
func reference(t *testing.T, schema, value string) error {
	t.Helper()
	c := jsonschema.NewCompiler()
	check.OK(t, c.AddResource("mem:///s", check.Value(jsonschema.UnmarshalJSON(strings.NewReader(schema)))(t)))
	compiled, err := c.Compile("mem:///s")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return compiled.Validate(check.Value(jsonschema.UnmarshalJSON(strings.NewReader(value)))(t))
}

// rows are schemas with a value that fits and one that does not, and where in it that is seen.
var rows = []struct{ schema, fits, broken, where string }{
	{`{"type":"object"}`, `{}`, `[]`, `"/"`},
	{`{"type":["object","null"]}`, `null`, `1`, "none of the promised"},
	{`{"type":"integer"}`, `1.0`, `1.5`, "integer"},
	{`{"type":"number","minimum":1,"maximum":2}`, `1`, `3`, "between 1 and 2"},
	{`{"exclusiveMinimum":1}`, `2`, `1`, "more than 1"},
	{`{"exclusiveMaximum":1}`, `0`, `1`, "less than 1"},
	{`{"const":{"a":[1]}}`, `{"a":[1]}`, `{"a":[2]}`, "the promised value"},
	{`{"enum":["a",null]}`, `null`, `"b"`, "promised values"},
	{`{"required":["a"],"properties":{"a":{"type":"string"}}}`, `{"a":"x"}`, `{"a":1}`, `"/a"`},
	{`{"required":["a"]}`, `{"a":1}`, `{"b":1}`, `no member "a"`},
	{`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1}`, `{"b":1}`, `"/b"`},
	{`{"properties":{"a":false}}`, `{"b":1}`, `{"a":1}`, `must not be there`},
	{`{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, `{"xa":"1"}`, `{"xa":1}`, `"/xa"`},
	{`{"patternProperties":{"^x":{}},"additionalProperties":false}`, `{"xa":1}`, `{"ax":1}`, `"/ax"`},
	{`{"minProperties":1,"maxProperties":2}`, `{"a":1}`, `{}`, "members"},
	{`{"items":{"type":"string"},"minItems":1}`, `["a"]`, `["a",1]`, `"/1"`},
	{`{"items":{},"maxItems":1}`, `[1]`, `[1,2]`, "elements"},
	{`{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}`, `["a",1]`, `["a","b"]`, `"/1"`},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`, `["a"]`, `["a",1]`, `"/1"`},
	{`{"minLength":2,"maxLength":3}`, `"éé"`, `"é"`, "characters"},
	{`{"pattern":"^[a-z]+$"}`, `"abc"`, `"aBc"`, "pattern"},
	{`{"allOf":[{"type":"object"},{"required":["a"]}]}`, `{"a":1}`, `{}`, `member "a"`},
	{`{"anyOf":[{"type":"object"},{"type":"array"}]}`, `[]`, `"a"`, "anyOf"},
	{`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"a":1}`, `{}`, "oneOf"},
	{`{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`, `{"next":{"next":{}}}`, `{"next":{"next":1}}`, `"/next/next"`},
	{`{"$defs":{"a/b~c d":{"type":"string"}},"$ref":"#/$defs/a~1b~0c%20d"}`, `"x"`, `1`, "string"},
}

func TestCheck(t *testing.T) {
	for _, row := range rows {
		check.NoError(t, judged(t, row.schema, row.fits))
		err := judged(t, row.schema, row.broken)
		check.That(t, errors.Is(err, conform.ErrBroken) && strings.Contains(err.Error(), row.where), "%s %s: %v", row.schema, row.broken, err)
	}
}

// TestWhatIsNotKnownIsNotRefused: each of these fits, and a hasty reading would refuse it.
func TestWhatIsNotKnownIsNotRefused(t *testing.T) {
	for schema, value := range map[string]string{
		`{"not":{"contains":{"type":"string"}}}`:                                         `[1]`,
		`{"if":{"format":"date"},"else":{"type":"object"}}`:                              `"x"`,
		`{"pattern":"^\\s$"}`:                                                            "\"\u00a0\"",
		`{"patternProperties":{"(?=x)":{"type":"string"}},"additionalProperties":false}`: `{"xa":1}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{}},"properties":{"a":{"$ref":"#/definitions/a","type":"string"}}}`: `{"a":1}`,
		`{"type":"integer","maximum":9007199254740992}`:                                                                   `9007199254740992`,
		`{"properties":{"a":{"$id":"mem:///other","$defs":{"x":{}},"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`: `{"a":1}`,
		`{"$ref":"#/$defs/absent"}`:         `1`,
		`true`:                              `1`,
		`[]`:                                `1`,
		`{"type":"number","maximum":1e300}`: `1e400`,
		`{"type":"date"}`:                   `1`,
	} {
		check.NoError(t, check.Value(conform.Parse([]byte(schema)))(t).Check([]byte(value)))
	}
}

// TestSchemasMadeToHurt end, with an error that says so.
func TestSchemasMadeToHurt(t *testing.T) {
	var chain strings.Builder
	for i := range 60 {
		fmt.Fprintf(&chain, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	for name, schema := range map[string]string{
		"itself":      `{"$ref":"#"}`,
		"each other":  `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`,
		"doubling":    `{"$defs":{` + chain.String() + `"d60":{}},"$ref":"#/$defs/d0"}`,
		"any of many": `{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`,
	} {
		err := check.Value(conform.Parse([]byte(schema)))(t).Check([]byte(`{}`))
		check.That(t, errors.Is(err, conform.ErrCostly), "%s: %v", name, err)
	}
	// What is long in the schema costs each time that it is read.
	many := []byte("[" + strings.TrimSuffix(strings.Repeat("1,", 2000), ",") + "]")
	name := strings.Repeat("k", 100_000)
	for _, schema := range []string{
		`{"items":{"$ref":"#/$defs/` + name + `"},"$defs":{"` + name + `":{"type":"number"}}}`,
		`{"items":{"type":[` + strings.Repeat(`"null",`, 20_000) + `"number"]}}`,
	} {
		err := check.Value(conform.Parse([]byte(schema)))(t).Check(many)
		check.That(t, errors.Is(err, conform.ErrCostly), "%.40s: %v", schema, err)
	}
}

func TestErrorsQuoteNothingUnprintable(t *testing.T) {
	s := check.Value(conform.Parse([]byte(`{"additionalProperties":{"type":"string"}}`)))(t)
	err := s.Check([]byte("{\"a\\u202e\\u001b" + strings.Repeat("x", 1000) + "\":{\"secret\":1}}"))
	check.That(t, errors.Is(err, conform.ErrBroken) && len(err.Error()) < 400 && !strings.ContainsAny(err.Error(), "\u202e\x1b") && !strings.Contains(err.Error(), "secret"), "%v", err)
	_, err = conform.Parse([]byte(`{`))
	check.That(t, err != nil, "half a schema is read")
}

var exponent = regexp.MustCompile(`[0-9][eE]`)

// FuzzCheck: what is refused, another implementation refuses as well.
func FuzzCheck(f *testing.F) {
	for _, row := range rows {
		f.Add(row.schema, row.broken)
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := conform.Parse([]byte(schema))
		if err != nil || strings.Contains(schema, "$") || !jsontext.Value(value).IsValid() || exponent.MatchString(schema+value) { // references are followed elsewhere, and large exponents take the other one long
			return
		}
		if errors.Is(s.Check([]byte(value)), conform.ErrBroken) {
			c := jsonschema.NewCompiler()
			parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
			if err != nil || c.AddResource("mem:///s", parsed) != nil {
				return
			}
			compiled, err := c.Compile("mem:///s")
			instance, notJSON := jsonschema.UnmarshalJSON(strings.NewReader(value))
			if err == nil && notJSON == nil && compiled.Validate(instance) == nil {
				t.Errorf("%s is refused by %s", value, schema)
			}
		}
	})
}
