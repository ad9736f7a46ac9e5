package schema_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/schema"
)

type shared struct {
	Session string `json:"session,omitempty" is:"word" doc:"The \x60handle\x60."`
}

type own struct {
	Stamp string `json:"stamp" max:"3"`
}

type everything struct {
	shared
	Own    own      `json:",inline"`
	Name   string   `json:"name" is:"name"`
	Class  string   `json:"class,omitempty" enum:"A,B"`
	Word   string   `json:"word,omitempty" match:"^[a-z]+$"`
	Limit  int      `json:"limit,omitempty" min:"1" max:"{most}" default:"20" doc:"At most {most}."`
	From   *int64   `json:"from,omitempty" min:"0"`
	All    bool     `json:"all,omitempty"`
	Share  float64  `json:"share,omitempty"`
	Globs  []string `json:"globs,omitempty" is:"sentence" min:"1" max:"2"`
	Hidden string   `json:"-"`
	secret string
}

func object(t *testing.T) *schema.Object {
	t.Helper()
	return check.Value(schema.Of(reflect.TypeFor[everything](), schema.Numbers{"most": 200}))(t)
}

func TestReading(t *testing.T) {
	from := int64(math.MaxInt64)
	for name, c := range map[string]struct {
		json string
		want everything
	}{
		"the least": {`{"stamp":"","name":"n"}`, everything{Name: "n", Limit: 20}},
		"all": {
			`{"stamp":"ééé","name":"n","session":"s","class":"B","word":"w","limit":200,"from":9223372036854775807,"all":true,"share":0.5,"globs":["a","b"]}`,
			everything{shared: shared{"s"}, Own: own{"ééé"}, Name: "n", Class: "B", Word: "w", Limit: 200, From: &from, All: true, Share: 0.5, Globs: []string{"a", "b"}},
		},
		"null is left out": {`{"stamp":"x","name":"n","limit":null,"from":null,"globs":null,"unknown":null}`, everything{Own: own{"x"}, Name: "n", Limit: 20}},
		"escapes":          {`{"stamp":"\u0041\n","name":"n\/"}`, everything{Own: own{"A\n"}, Name: "n/", Limit: 20}},
	} {
		var got everything
		problems := object(t).Read(members(t, c.json), &got)
		check.That(t, problems == nil && reflect.DeepEqual(got, c.want), "%s: %q, %+v", name, problems, got)
	}
}

// A problem says where, what is wrong, and what would be right.
func TestProblems(t *testing.T) {
	for json, want := range map[string]string{
		`{}`:                                  "stamp: it is missing; name: it is missing",
		`{"name":null}`:                       "stamp: it is missing; name: it is missing",
		`{"name":""}`:                         "name: got 0 characters, want at least 1",
		`{"stamp":"éééé"}`:                    "stamp: got 4 characters, want at most 3",
		`{"name":1}`:                          "name: got number, want string",
		`{"class":"C"}`:                       `class: got "C", want one of A, B`,
		`{"word":"W"}`:                        `word: "W" does not match ^[a-z]+$`,
		`{"limit":0}`:                         "limit: got 0, want at least 1",
		`{"limit":201}`:                       "limit: got 201, want at most 200",
		`{"limit":1.5}`:                       "limit: got 1.5, want a whole number of at most 64 bits",
		`{"limit":1e400}`:                     "limit: got 1e400, want a whole number of at most 64 bits",
		`{"limit":"1"}`:                       "limit: got string, want integer",
		`{"from":-1}`:                         "from: got -1, want at least 0",
		`{"all":0}`:                           "all: got number, want boolean",
		`{"share":"x"}`:                       "share: got string, want number",
		`{"globs":"a"}`:                       "globs: got string, want array",
		`{"globs":[]}`:                        "globs: got 0 items, want at least 1",
		`{"globs":[1,2,3]}`:                   "globs: got 3 items, want at most 2",
		`{"globs":["",null]}`:                 "globs/0: got 0 characters, want at least 1; globs/1: got null, want string",
		`{"Name":"n"}`:                        "Name: there is no such argument; there is name",
		`{"sesion":1}`:                        "sesion: there is no such argument; there is session",
		`{"Hidden":"","secret":"","quite":1}`: "Hidden: there is no such argument; quite: there is no such argument; secret: there is no such argument",
	} {
		problems := strings.Join(object(t).Read(members(t, json), &everything{}), "; ")
		check.That(t, strings.Contains(problems, want), "%s: %s", json, problems)
	}
}

func members(t *testing.T, text string) map[string]jsontext.Value {
	t.Helper()
	var m map[string]jsontext.Value
	check.OK(t, jsonv2.Unmarshal([]byte(text), &m))
	return m
}

type result struct {
	Code    *int             `json:"code" doc:"Null while it runs."`
	Content *string          `json:"content,omitempty"`
	Counted map[string]count `json:"counted,omitempty"`
	Kinds   []string         `json:"kinds"`
	Image   json.RawMessage  `json:"image" form:"object" optional:"true"`
}

type count struct {
	N int `json:"n" min:"0"`
}

func TestSchemas(t *testing.T) {
	for _, c := range []struct {
		of   reflect.Type
		want string
	}{
		{reflect.TypeFor[everything](), `{"properties":{` +
			`"all":{"type":"boolean"},"class":{"enum":["A","B"],"type":"string"},"from":{"minimum":0,"type":"integer"},` +
			`"globs":{"items":{"maxLength":4000,"minLength":1,"type":"string"},"maxItems":2,"minItems":1,"type":"array"},` +
			`"limit":{"default":20,"description":"At most 200.","maximum":200,"minimum":1,"type":"integer"},` +
			`"name":{"maxLength":200,"minLength":1,"type":"string"},"session":{"description":"The ` + "`handle`" + `.","maxLength":200,"type":"string"},` +
			`"share":{"type":"number"},"stamp":{"maxLength":3,"type":"string"},"word":{"pattern":"^[a-z]+$","type":"string"}},"required":["stamp","name"],"type":"object"}`},
		{reflect.TypeFor[result](), `{"properties":{` +
			`"code":{"description":"Null while it runs.","type":["integer","null"]},"content":{"type":"string"},` +
			`"counted":{"additionalProperties":{"properties":{"n":{"minimum":0,"type":"integer"}},"required":["n"],"type":"object"},"type":"object"},` +
			`"image":{"type":"object"},"kinds":{"items":{"type":"string"},"type":"array"}},"required":["code","kinds"],"type":"object"}`},
	} {
		o := check.Value(schema.Of(c.of, schema.Numbers{"most": 200}))(t)
		got := string(schema.JSON(o.Schema()))
		check.That(t, got == c.want, "%v\n got %s\nwant %s", c.of, got, c.want)
	}
}

// What clients are told is less: no bounds of texts and lists, no aliases, of results what is promised.
func TestWhatIsListed(t *testing.T) {
	type arguments struct {
		everything
		Path   string `json:"path" is:"path" min:"1" alias:"file_path"`
		Unused string `json:"unused,omitempty" unlisted:"true"`
	}
	o := check.Value(schema.Of(reflect.TypeFor[arguments](), schema.Numbers{"most": 200}))(t)
	check.Equal(t, string(schema.JSON(o.Listed())), `{"additionalProperties":false,"properties":{`+
		`"all":{"type":"boolean"},"class":{"enum":["A","B"],"type":"string"},"from":{"type":"integer"},"globs":{"items":{"type":"string"},"type":"array"},`+
		`"limit":{"default":20,"description":"At most 200.","maximum":200,"type":"integer"},"name":{"type":"string"},"path":{"type":"string"},`+
		`"session":{"description":"The `+"`handle`"+`.","type":"string"},"share":{"type":"number"},"stamp":{"type":"string"},"word":{"pattern":"^[a-z]+$","type":"string"}},`+
		`"required":["stamp","name","path"],"type":"object"}`)
	type listed struct {
		result
		Counts []count `json:"counts"`
		More   string  `json:"more,omitempty" listed:"true" doc:"More."`
	}
	o = check.Value(schema.Of(reflect.TypeFor[listed](), nil))(t)
	check.Equal(t, string(schema.JSON(o.Brief())), `{"properties":{"code":{"type":["integer","null"]},"counts":{"items":{"required":["n"],"type":"object"},"type":"array"},`+
		`"kinds":{"type":"array"},"more":{}},"required":["code","kinds","counts"]}`)
	check.That(t, strings.Contains(string(schema.JSON(o.Schema())), `"minimum":0`), "the whole schema was changed by listing it")
}

// An alias is another name for the same text.
func TestAlias(t *testing.T) {
	type arguments struct {
		Path string `json:"path" is:"path" min:"1" alias:"file_path"`
	}
	o := check.Value(schema.Of(reflect.TypeFor[arguments](), nil))(t)
	for json, want := range map[string]string{
		`{"path":"a"}`: "", `{"file_path":"a"}`: "", `{"path":"a","file_path":"\u0061"}`: "", `{"path":"a","file_path":""}`: "",
		`{"path":"","file_path":"a"}`: "", `{"path":null,"file_path":"a"}`: "", `{"path":"a","file_path":null}`: "",
		`{}`: "path: it is missing", `{"path":""}`: "path: got 0 characters", `{"file_path":""}`: "path: it is missing",
		`{"path":"a","file_path":"b"}`: "path: file_path is another name", `{"path":"1","file_path":1}`: "path: file_path is another name",
		`{"file_path":1}`: "path: got number", `{"filepath":"a"}`: "filepath: there is no such argument",
	} {
		var got arguments
		problems := strings.Join(o.Read(members(t, json), &got), "; ")
		check.That(t, want == "" && problems == "" && got.Path == "a" || want != "" && strings.Contains(problems, want), "%s: %q, %+v", json, problems, got)
	}
}

// What no schema can be made of is an error of the program.
func TestTypesWithoutSchema(t *testing.T) {
	for name, of := range map[string]reflect.Type{
		"no struct": reflect.TypeFor[int](),
		"a channel": reflect.TypeFor[struct{ C chan int }](),
		"no number": reflect.TypeFor[struct {
			N int `min:"x"`
		}](),
		"no kind": reflect.TypeFor[struct {
			S string `is:"poem"`
		}](),
		"no regexp": reflect.TypeFor[struct {
			S string `match:"("`
		}](),
		"deep, no tag": reflect.TypeFor[struct{ D struct{ M []complex64 } }](),
	} {
		_, err := schema.Of(of, nil)
		check.That(t, err != nil, "%s has one", name)
	}
}
