package review_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

// hostile is a name that tries each format.
const hostile = "a|b`c``d<script>@octocat #1 [x](http://e.example)\x1b[2J\u202e\u009b]]>&\"'\x00\n| --- |\n::warning::\\|%3Cé{0}"

func hostileReport() *review.Report {
	report := &review.Report{Base: "b", MergeBase: "m", Head: "h", Lines: review.Lines{Added: 3, Traced: 1}, Percent: 33.3333, Unproven: []string{hostile}}
	for i, severity := range []review.Severity{review.Error, review.Warning, review.Note} {
		report.Findings = append(report.Findings, review.Finding{
			Check: review.CheckScope, Severity: severity, File: "src/" + hostile, Line: i, End: 2 * i, Intent: hostile, Records: []string{hostile}, Message: hostile, Advice: "Do something.",
		})
	}
	report.Files = []review.File{{Path: hostile, Status: "modified", Lines: report.Lines, Untraced: []review.Range{{Start: 1, End: 2}}, Evidence: mutation.Proven}}
	report.Intents = []review.Intent{{ID: hostile, Name: hostile, Origin: "head"}, {Name: "", Origin: "unknown"}}
	return report
}

func harmless(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		check.Must(t, r == '\n' || unicode.IsPrint(r), "the text has %q:\n%q", r, text)
	}
}

// outsideCode is a Markdown text without its code spans, as a reader of CommonMark finds them: a run of backticks up to
// the next run of the same length.
func outsideCode(t *testing.T, line string) string {
	t.Helper()
	var out strings.Builder
	for {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			return out.String() + line
		}
		out.WriteString(line[:i])
		fence := line[i : i+len(line[i:])-len(strings.TrimLeft(line[i:], "`"))]
		rest := line[i+len(fence):]
		for at := 0; ; {
			j := strings.IndexByte(rest[at:], '`')
			check.Must(t, j >= 0, "a code span has no end: %s", line)
			at += j
			run := len(rest[at:]) - len(strings.TrimLeft(rest[at:], "`"))
			if run == len(fence) {
				line = rest[at+run:]
				break
			}
			at += run
		}
	}
}

// ours is what a report itself has of Markdown outside of code: folds and links with nothing in them but a code span and an
// encoded address.
var ours = regexp.MustCompile(`^<details><summary>[A-Za-z0-9:, ]+</summary>$|^</details>$|\[\]\(https://forge\.example/o/r/blob/h/[A-Za-z0-9%._/-]+(#L[0-9]+(-L[0-9]+)?)?\)`)

func TestMarkdownIsHarmless(t *testing.T) {
	for _, blobs := range []string{"", "https://forge.example/o/r/blob/h/"} {
		var out bytes.Buffer
		report := hostileReport()
		report.Files = append(report.Files, review.File{Path: "src/" + hostile, Status: "modified"})
		check.OK(t, report.WriteMarkdown(&out, blobs))
		harmless(t, out.String())
		for line := range strings.Lines(out.String()) {
			rest := ours.ReplaceAllString(strings.TrimSuffix(outsideCode(t, line), "\n"), "")
			if strings.ContainsAny(rest, "<>@[]\\&|") || strings.Contains(rest, "octocat") || strings.Contains(rest, "://") {
				t.Errorf("outside of code: %q of %q", rest, line)
			}
		}
		n := strings.Count(out.String(), "](https://forge.example")
		check.That(t, n > 0 == (blobs != ""), "%d links with %q", n, blobs)
		for _, text := range []string{"## orchestra-mcp gate: failed", "33.3% of 3 changed lines", "### Look at this first", "lines 1–2", "<summary>Proven"} {
			check.That(t, strings.Contains(out.String(), text), "%q is missing in\n%s", text, out.String())
		}
	}
}

func TestMarkdownFitsAComment(t *testing.T) {
	report := hostileReport()
	for range 12 {
		report.Findings = append(report.Findings, report.Findings...)
	}
	var out bytes.Buffer
	check.OK(t, report.WriteMarkdown(&out, ""))
	if out.Len() > 65_536-2_000 || !strings.Contains(out.String(), "the rest does not fit") {
		t.Errorf("%d bytes", out.Len())
	}
	check.That(t, strings.Count(out.String(), "<details>") == strings.Count(out.String(), "</details>"), "a fold has no end")
}

// What is not folded of a large range is read in a minute.
func TestMarkdownIsShort(t *testing.T) {
	report := &review.Report{Head: "h", Commits: 14, Records: 33, Lines: review.Lines{Added: 800, Traced: 600}, Percent: 75}
	for i := range 20 {
		name := fmt.Sprintf("src/file%d.go", i)
		report.Files = append(report.Files, review.File{Path: name, Status: "modified", Lines: review.Lines{Added: 40, Traced: 30}, Untraced: []review.Range{{Start: 1, End: 10}}})
		severity := []review.Severity{review.Error, review.Warning}[min(i/3, 1)]
		report.Findings = append(report.Findings, review.Finding{
			Check: review.CheckScope, Severity: severity, File: name, Line: 5, End: 9, Message: "it is not in the scope of INT-001", Advice: "Take it back.",
		})
	}
	var out bytes.Buffer
	check.OK(t, report.WriteMarkdown(&out, "https://forge.example/o/r/blob/h/"))
	open, _, folds := strings.Cut(out.String(), "<details>")
	words := len(strings.Fields(open))
	check.That(t, folds && words <= 200, "%d words before the folds:\n%s", words, open)
	if !strings.Contains(open, "[`src/file0.go:5-9`](https://forge.example/o/r/blob/h/src/file0.go#L5-L9)") {
		t.Errorf("no link to the lines:\n%s", open)
	}
	if strings.Count(out.String(), "`src/file19.go:5-9`") != 1 || !strings.Contains(out.String(), "All 20 errors and warnings") {
		t.Errorf("the rest is not folded:\n%s", out.String())
	}
	t.Log(out.String())
}

func TestJUnitIsWellFormed(t *testing.T) {
	var out bytes.Buffer
	check.OK(t, hostileReport().WriteJUnit(&out))
	harmless(t, out.String())
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Cases    []struct {
				Name    string    `xml:"name,attr"`
				Class   string    `xml:"classname,attr"`
				Failure *struct{} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	decoder := xml.NewDecoder(&out)
	decoder.Strict = true
	check.OK(t, decoder.Decode(&suites))
	_, err := decoder.Token()
	check.Must(t, err == nil || errors.Is(err, io.EOF), "%v", err)
	tests, failures := 0, 0
	for _, s := range suites.Suites {
		n := 0
		for _, c := range s.Cases {
			check.That(t, c.Name != "" && c.Class != "", "%s: a case without a name", s.Name)
			if c.Failure != nil {
				n++
			}
		}
		if len(s.Cases) != s.Tests || n != s.Failures || n > s.Tests {
			t.Errorf("%s says %d tests, %d failures and has %d, %d", s.Name, s.Tests, s.Failures, len(s.Cases), n)
		}
		tests, failures = tests+s.Tests, failures+n
	}
	if len(suites.Suites) != len(review.Checks()) || suites.Tests != tests || suites.Failures != failures || failures != 1 {
		t.Errorf("%d suites, %d tests, %d failures", len(suites.Suites), tests, failures)
	}
}

// sarifSchema is what this program's SARIF must be, after the schema of SARIF 2.1.0, which is not ours to copy. With
// SARIF_SCHEMA naming a copy of that, the test checks against it too.
const sarifSchema = `{
 "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["version", "runs", "$schema"], "additionalProperties": false,
 "properties": {"version": {"const": "2.1.0"}, "$schema": {"type": "string", "format": "uri"}, "runs": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/run"}}},
 "definitions": {
  "run": {"type": "object", "required": ["tool", "results"], "additionalProperties": false, "properties": {
    "tool": {"type": "object", "required": ["driver"], "additionalProperties": false, "properties": {"driver": {"type": "object", "required": ["name", "rules"],
      "additionalProperties": false, "properties": {"name": {"type": "string", "minLength": 1}, "version": {"type": "string"},
      "rules": {"type": "array", "uniqueItems": true, "items": {"type": "object", "required": ["id"], "additionalProperties": false,
        "properties": {"id": {"type": "string"}, "shortDescription": {"$ref": "#/definitions/text"}}}}}}}},
    "automationDetails": {"type": "object", "properties": {"id": {"type": "string"}}}, "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    "results": {"type": "array", "items": {"$ref": "#/definitions/result"}}}},
  "text": {"type": "object", "required": ["text"], "additionalProperties": false, "properties": {"text": {"type": "string", "minLength": 1}}},
  "result": {"type": "object", "required": ["message", "locations", "ruleId", "level"], "additionalProperties": false, "properties": {
    "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer", "minimum": 0}, "level": {"enum": ["none", "note", "warning", "error"]},
    "message": {"$ref": "#/definitions/text"}, "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
    "locations": {"type": "array", "minItems": 1, "maxItems": 1, "items": {"type": "object", "required": ["physicalLocation"], "additionalProperties": false,
      "properties": {"physicalLocation": {"type": "object", "required": ["artifactLocation"], "additionalProperties": false, "properties": {
        "artifactLocation": {"type": "object", "required": ["uri"], "additionalProperties": false, "properties": {"uri": {"type": "string", "format": "uri-reference"}, "uriBaseId": {"type": "string"}}},
        "region": {"type": "object", "additionalProperties": false, "properties": {"startLine": {"type": "integer", "minimum": 1}, "endLine": {"type": "integer", "minimum": 1}}}}}}}}}}
 }}`

func compileSchema(t *testing.T, text io.Reader) *jsonschema.Schema {
	t.Helper()
	document := check.Value(jsonschema.UnmarshalJSON(text))(t)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	check.OK(t, compiler.AddResource("sarif.json", document))
	return check.Value(compiler.Compile("sarif.json"))(t)
}

func checkSARIF(t *testing.T, text []byte) {
	t.Helper()
	document := check.Value(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
	check.OK(t, compileSchema(t, strings.NewReader(sarifSchema)).Validate(document))
	if name := os.Getenv("SARIF_SCHEMA"); name != "" {
		file := check.Value(os.Open(name))(t)
		defer file.Close()
		check.OK(t, compileSchema(t, file).Validate(document))
	}
}

func TestSARIF(t *testing.T) {
	var out bytes.Buffer
	check.OK(t, hostileReport().WriteSARIF(&out, "1.0"))
	harmless(t, out.String())
	checkSARIF(t, out.Bytes())
	var log struct {
		Runs []struct {
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           *struct{ StartLine, EndLine int }
					}
				}
			}
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
		}
	}
	check.OK(t, json.Unmarshal(out.Bytes(), &log))
	results := log.Runs[0].Results
	if len(results) != 3 || results[0].Level != "error" || log.Runs[0].Tool.Driver.Rules[results[0].RuleIndex].ID != results[0].RuleID {
		t.Fatalf("%+v", results)
	}
	uri := check.Value(url.Parse(results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI))(t)
	check.That(t, uri.Path == "src/"+hostile && !uri.IsAbs() && uri.Host == "" && uri.Fragment == "", "the URI is %+v", uri)
	if results[0].Locations[0].PhysicalLocation.Region != nil || results[1].Locations[0].PhysicalLocation.Region.EndLine != 2 {
		t.Errorf("%+v", results)
	}
	if strings.Contains(strings.ReplaceAll(results[0].Message.Text, `\[`, ""), "[x") {
		t.Errorf("the message has a link: %s", results[0].Message.Text)
	}
}
