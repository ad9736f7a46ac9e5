package clienthook_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clienthook"
)

var update = flag.Bool("update", false, "write testdata/*/want.golden anew")

// recorded is an event of testdata, which has what clients' types, references and published test corpora say of them.
type recorded struct {
	client clienthook.Client
	name   string
	raw    []byte
}

func events(t testing.TB) (all []recorded) {
	t.Helper()
	for _, client := range clienthook.Clients() {
		files := check.Value(filepath.Glob(filepath.Join("testdata", string(client), "*.json")))(t)
		check.Must(t, len(files) > 5, "%s has %d events", client, len(files))
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".json")
			all = append(all, recorded{client, name, check.Value(os.ReadFile(file))(t)})
		}
	}
	return all
}

// answers are one of each kind, by what they are called in goldens. A reason has what JSON must escape.
func answers(phase clienthook.Phase) map[string]clienthook.Answer {
	const reason = "Out of scope: \"a\" <b>\nSelect an intent."
	if phase != clienthook.Before {
		return map[string]clienthook.Answer{"note": {Note: "a.txt is not what was judged"}, "none": {}}
	}
	return map[string]clienthook.Answer{
		"deny": {Verdict: clienthook.Deny, Reason: reason}, "ask": {Verdict: clienthook.Ask, Reason: reason},
		"allow": {Verdict: clienthook.Allow}, "pass": {},
		"pass with": {Command: "orchestra-mcp exec 'x' && :"}, "ask with": {Verdict: clienthook.Ask, Reason: reason, Command: "orchestra-mcp exec x"},
	}
}

func TestGoldens(t *testing.T) {
	got := map[clienthook.Client]map[string]any{}
	for _, r := range events(t) {
		e, err := clienthook.Parse(r.client, r.raw)
		check.That(t, (err != nil) == strings.HasPrefix(r.name, "bad-"), "%s/%s: %v", r.client, r.name, err)
		if got[r.client] == nil {
			got[r.client] = map[string]any{}
		}
		got[r.client][r.name] = shown(r.client, e, err)
	}
	for client, all := range got {
		file := filepath.Join("testdata", string(client), "want.golden")
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "\t")
		check.OK(t, encoder.Encode(all))
		if *update {
			check.OK(t, os.WriteFile(file, text.Bytes(), 0o644))
		}
		want := check.Value(os.ReadFile(file))(t)
		check.That(t, bytes.Equal(want, text.Bytes()), "%s differs: see what -update makes of it", file)
	}
}

// shown is an event and what is answered to it.
func shown(client clienthook.Client, e clienthook.Event, err error) map[string]any {
	fields := map[string]any{}
	raw, _ := json.Marshal(e)
	_ = json.Unmarshal(raw, &fields)
	delete(fields, "Input")
	for name, value := range fields {
		if value == "" || name == "Client" && e.Client == client || name == "Response" && fmt.Sprint(e.Response) == fmt.Sprint(clienthook.Response{}) {
			delete(fields, name)
		}
	}
	if e.Action != nil {
		fields["Action"] = map[string]any{strings.TrimPrefix(fmt.Sprintf("%T", e.Action), "clienthook."): e.Action}
	}
	result := map[string]any{"event": fields}
	if err != nil {
		result["error"] = err.Error()
	}
	for name, answer := range answers(e.Phase) {
		if _, command := e.Action.(clienthook.Command); answer.Command != "" && !command {
			continue // it is denied, which other tests see
		}
		out := clienthook.Emit(e, answer)
		result[name] = fmt.Sprintf("%d %s%s", out.ExitCode, out.Stdout, out.Stderr)
	}
	return result
}

// TestAnswersKeepToTheContracts: testdata/contract has what each client takes, with nothing beside it.
func TestAnswersKeepToTheContracts(t *testing.T) {
	printed := map[clienthook.Client]int{}
	for _, r := range events(t) {
		e, _ := clienthook.Parse(r.client, r.raw)
		kind := map[clienthook.Phase]string{clienthook.Before: "before", clienthook.After: "after", clienthook.Failed: "after"}[e.Phase]
		if kind == "" {
			kind = "other"
		}
		for name, answer := range answers(e.Phase) {
			out := clienthook.Emit(e, answer)
			if len(out.Stdout) == 0 {
				continue
			}
			printed[e.Client]++
			schema := check.Value(jsonschema.NewCompiler().Compile("testdata/contract/" + string(e.Client) + ".json#/$defs/" + kind))(t)
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Stdout))
			if err == nil {
				err = schema.Validate(value)
			}
			check.That(t, err == nil, "%s/%s, %s: %s is not what the client takes: %v", r.client, r.name, name, out.Stdout, err)
		}
	}
	for _, client := range clienthook.Clients() {
		check.That(t, printed[client] > 0 || client == clienthook.Windsurf, "%s printed nothing", client)
	}
}
