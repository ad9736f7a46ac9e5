package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

// metrics are those of the page, read by Prometheus's own parser: the sum of the series of a name with these labels.
func (s served) metrics() func(name string, labels ...string) float64 {
	s.t.Helper()
	page := s.get("/metrics", httpToken)
	check.Must(s.t, page.Code == http.StatusOK, "%d %s", page.Code, page.Body)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families := check.Value(parser.TextToMetricFamilies(page.Body))(s.t)
	return func(name string, labels ...string) (sum float64) {
		for _, m := range families[name].GetMetric() {
			var has []string
			for _, l := range m.Label {
				has = append(has, l.GetName()+"="+l.GetValue())
			}
			if slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(has, l) }) {
				continue
			}
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
		return sum
	}
}

func (s served) get(path, token string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://localhost"+path, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, edit := range edits {
		edit(r)
	}
	out := httptest.NewRecorder()
	s.handler.ServeHTTP(out, r)
	return out
}

func TestMetricsPage(t *testing.T) {
	t.Parallel()
	s := start(t, newWorkspace(t), asks, unsandboxed, direct).served(server.HTTPOptions{})
	id := s.opens()
	handle := s.calls(id, "select_active_intent", `{"intent_id":"INT-001"}`)["session"]
	s.calls(id, "write_to_file", fmt.Sprintf(`{"session":%q,"path":"src/n","content":"x\n"}`, handle))
	s.calls(id, "write_to_file", fmt.Sprintf(`{"session":%q,"path":"docs/n","content":"x\n"}`, handle))
	s.calls(id, "execute_command", fmt.Sprintf(`{"session":%q,"command":%q,"background":true}`, handle, waitsForGo))
	for i := range 300 {
		s.server.Do(t.Context(), hooks.Request{Tool: fmt.Sprintf("hostile\"}\n%d", i), Arguments: hooks.NoArguments(), Caller: session.Caller{Connection: "x"}})
	}
	get := s.metrics()
	for what, is := range map[string][2]float64{
		"calls":            {get("orchestra_calls_total", "gen_ai_tool_name=write_to_file", "orchestra_outcome=done"), 1},
		"refused calls":    {get("orchestra_calls_total", "gen_ai_tool_name=write_to_file", "orchestra_outcome=refused"), 1},
		"durations":        {get("mcp_server_operation_duration_seconds", "gen_ai_tool_name=write_to_file", "mcp_method_name=tools/call"), 2},
		"only requests":    {get("mcp_server_operation_duration_seconds", "gen_ai_tool_name=_OTHER"), 0},
		"errors":           {get("mcp_server_operation_duration_seconds", "gen_ai_tool_name=write_to_file", "error_type=tool_error"), 1},
		"refusals":         {get("orchestra_refusals_total", "orchestra_error_type=APPROVAL_REQUIRED"), 1},
		"approvals":        {get("orchestra_approvals_pending"), 1},
		"commands":         {get("orchestra_commands_running"), 1},
		"entries":          {get("orchestra_flush_duration_seconds", "orchestra_store=journal"), 2},
		"hostile names":    {get("orchestra_calls_total", "gen_ai_tool_name=_OTHER"), 300},
		"which server":     {get("target_info", "service_name=orchestra-mcp"), 1},
		"tools that exist": {get("orchestra_calls_total", "gen_ai_tool_name=read_file"), 0},
	} {
		check.Equal(t, is[0], is[1], "%s", what)
	}
	// The selection, the write, the question and the start of the command; the refusal comes behind its answer.
	s.eventually("the records are counted", func() bool { return s.metrics()("orchestra_records_total") >= 4 })
	check.That(t, !strings.Contains(s.get("/metrics", httpToken).Body.String(), "hostile"), "hostile names are on the page")
	check.Write(t, s.dir, "src/go", "")
	s.eventually("the command ends", func() bool { return s.metrics()("orchestra_commands_running") == 0 })
}

func TestWhoMayReadWhat(t *testing.T) {
	t.Parallel()
	s := start(t, newWorkspace(t)).served(server.HTTPOptions{})
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	origin := func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }
	method := func(name string) func(*http.Request) { return func(r *http.Request) { r.Method = name } }
	for _, test := range []struct {
		path, token string
		edit        func(*http.Request)
		want        int
		body        string
	}{
		{"/metrics", "", nil, 401, ""},
		{"/metrics", "wrong-token-that-is-long", nil, 401, ""},
		{"/metrics", httpToken, nil, 200, ""},
		{"/metrics", httpToken, host("evil.example"), 403, ""},
		{"/metrics", httpToken, origin, 403, ""},
		{"/metrics", httpToken, method(http.MethodPost), 405, ""},
		{"/healthz", "", nil, 200, "ok\n"},
		{"/readyz", "", nil, 200, "ok\n"},
		{"/readyz", httpToken, nil, 200, "ok\n"},
		{"/readyz", "", method(http.MethodPost), 405, ""},
		{"/readyz", "", host("evil.example"), 403, ""},
		{"/healthz", "", host("evil.example"), 403, ""},
		{"/healthz", "", origin, 403, ""},
		{"/readyz/", "", nil, 404, ""},
	} {
		edit := test.edit
		if edit == nil {
			edit = func(*http.Request) {}
		}
		got := s.get(test.path, test.token, edit)
		check.Equal(t, got.Code, test.want, "%s %q", test.path, test.token)
		check.That(t, test.body == "" || got.Body.String() == test.body, "%s says %q", test.path, got.Body)
		if test.want == http.StatusUnauthorized {
			like := s.get("/mcp", test.token)
			check.That(t, like.Code == got.Code && like.Body.String() == got.Body.String() && fmt.Sprint(like.Header()) == fmt.Sprint(got.Header()), "/mcp answers %v, /metrics %v", like, got)
		}
	}
}

func TestReadyIsWhoCanChangeSomething(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]func(dir string) error{
		"intents that cannot be read": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".orchestration/active_intents.yaml"), []byte("intents: ["), 0o600)
		},
		"no intents": func(dir string) error { return os.Remove(filepath.Join(dir, ".orchestration/active_intents.yaml")) },
		"a ledger that is a directory": func(dir string) error {
			return os.Mkdir(filepath.Join(dir, ".orchestration/agent_trace.jsonl"), 0o700)
		},
		"no .orchestration": func(dir string) error { return os.RemoveAll(filepath.Join(dir, ".orchestration")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newWorkspace(t)
			b := start(t, dir, inTree)
			handler := check.Value(b.server.HTTPHandler(server.HTTPOptions{Token: httpToken}))(t)
			t.Cleanup(func() { check.NoError(t, b.server.Close()) })
			s := served{b, handler}
			check.Equal(t, s.get("/readyz", "").Code, 200, "before")
			check.OK(t, breaks(dir))
			got := s.get("/readyz", "")
			check.That(t, got.Code == 503 && got.Body.String() == "not ok\n", "%d %q", got.Code, got.Body)
			check.Equal(t, s.get("/healthz", "").Code, 200, "alive")
		})
	}
}
