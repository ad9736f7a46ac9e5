package console_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/console"
)

func itoa(n int) string { return strconv.Itoa(n) }

// TestGuard: what comes from elsewhere is refused before anything is looked at, with both secrets too, and nothing is told.
func TestGuard(t *testing.T) {
	s := serve(t)
	const form = "Content-Type: application/x-www-form-urlencoded"
	in := s.in.both()
	with := func(more ...string) []string { return append(append([]string{}, in...), more...) }
	const view, do, yes = "/view/", "/do/answer", "decision=approve_once&request=x"
	for name, c := range map[string]struct {
		request string
		want    int
	}{
		"a view":                      {request("GET", view, "", in...), 200},
		"a view, from the page":       {request("GET", view, "", with(ours, "Sec-Fetch-Site: same-origin")...), 200},
		"HEAD of a view":              {request("HEAD", view, "", in...), 200},
		"an action":                   {request("POST", do, yes, with(ours, form)...), 404}, // there is no such request
		"document":                    {request("GET", "/w/{ID}/files", ""), 200},
		"document, typed":             {request("GET", "/w/{ID}/files", "", "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate"), 200},
		"document, by another's link": {request("GET", "/", "", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"), 200},
		"a request for an answer, by another's link": {request("GET", "/w/{ID}/approvals/x", "", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"), 403},
		"document, in a frame":                       {request("GET", "/", "", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"), 403},
		"document, for a script":                     {request("GET", "/", "", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: empty"), 403},
		"script, in another port's page":             {request("GET", "/assets/app.js", "", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script"), 403},
		"worker, in another port's page":             {request("GET", "/sw.js", "", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: same-origin", "Sec-Fetch-Dest: serviceworker"), 403},
		"a view, by another port's page":             {request("GET", view, "", with("Origin: http://127.0.0.1:1", "Sec-Fetch-Site: same-site")...), 403},
		"a view, by another port's old browser":      {request("GET", view, "", with("Origin: http://127.0.0.1:1")...), 403},
		"events, by another's WebSocket":             {request("GET", "/events", "", with("Origin: http://127.0.0.1:1", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: x")...), 403},

		"another name":                   {request("GET", view, "", with("Host: rebound.example:{PORT}")...), 403},
		"another port":                   {request("GET", view, "", with("Host: 127.0.0.1:1")...), 403},
		"no port":                        {request("GET", view, "", with("Host: 127.0.0.1")...), 403},
		"a dot at the end":               {request("GET", view, "", with("Host: 127.0.0.1.:{PORT}")...), 403},
		"localhost":                      {request("GET", view, "", with("Host: localhost:{PORT}")...), 403},
		"LOCALHOST.":                     {request("GET", view, "", with("Host: LOCALHOST.:{PORT}")...), 403},
		"below localhost":                {request("GET", view, "", with("Host: x.localhost:{PORT}")...), 403},
		"127.1":                          {request("GET", view, "", with("Host: 127.1:{PORT}")...), 403},
		"0.0.0.0":                        {request("GET", view, "", with("Host: 0.0.0.0:{PORT}")...), 403},
		"::1":                            {request("GET", view, "", with("Host: [::1]:{PORT}")...), 403},
		"::1 without brackets":           {request("GET", view, "", with("Host: ::1:{PORT}")...), 403},
		"mapped":                         {request("GET", view, "", with("Host: [::ffff:127.0.0.1]:{PORT}")...), 403},
		"with a user":                    {request("GET", view, "", with("Host: x@{HOST}")...), 400},
		"an empty name":                  {request("GET", view, "", with("Host:")...), 403},
		"two names":                      {request("GET", view, "", with("Host: {HOST}", "Host: {HOST}")...), 400},
		"an absolute address of another": {request("GET", "http://rebound.example/view/", "", in...), 403},
		"HTTP/1.0 without a name":        {strings.Replace(request("GET", view, "", with("Host: {HOST}")...), "HTTP/1.1\r\n", "HTTP/1.0\r\n", 1), 200},

		"no origin":              {request("POST", do, yes, with(form)...), 403},
		"null":                   {request("POST", do, yes, with(form, "Origin: null")...), 403},
		"an empty origin":        {request("POST", do, yes, with(form, "Origin:")...), 403},
		"another port's origin":  {request("POST", do, yes, with(form, "Origin: http://127.0.0.1:1")...), 403},
		"https":                  {request("POST", do, yes, with(form, "Origin: https://{HOST}")...), 403},
		"a longer origin":        {request("POST", do, yes, with(form, "Origin: http://{HOST}.evil.example")...), 403},
		"localhost's origin":     {request("POST", do, yes, with(form, "Origin: http://localhost:{PORT}")...), 403},
		"two origins":            {request("POST", do, yes, with(form, ours, "Origin: http://evil.example")...), 403},
		"two origins in one":     {request("POST", do, yes, with(form, "Origin: http://{HOST}, http://evil.example")...), 403},
		"our origin, same-site":  {request("POST", do, yes, with(form, ours, "Sec-Fetch-Site: same-site")...), 403},
		"our origin, cross-site": {request("POST", do, yes, with(form, ours, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")...), 403},

		"no secrets":             {request("GET", view, ""), 401},
		"the cookie alone":       {request("GET", view, "", s.in.withCookie()), 401},
		"the key alone":          {request("GET", view, "", s.in.withKey()), 401},
		"empty secrets":          {request("GET", view, "", login{}.both()...), 401},
		"the key in a form":      {request("POST", do, yes+"&X-Orchestra-Key={KEY}", s.in.withCookie(), ours, form), 401},
		"the key in the address": {request("GET", "/view/?key={KEY}&X-Orchestra-Key={KEY}", "", s.in.withCookie()), 401},
		"another cookie first":   {request("GET", view, "", "Cookie: orchestra-console-{PORT}=x; orchestra-console-{PORT}={COOKIE}", s.in.withKey()), 401},
		"another port's cookie":  {request("GET", view, "", "Cookie: orchestra-console-1={COOKIE}", s.in.withKey()), 401},
		"the hash of the key":    {request("GET", view, "", s.in.withCookie(), "X-Orchestra-Key: "+hexHash(s.in.key)), 401},
		"an action, no secrets":  {request("POST", do, yes, ours, form), 401},
		"events, cookie alone":   {request("GET", "/events", "", s.in.withCookie()), 401},
		"logout, cookie alone":   {request("POST", "/logout", "", s.in.withCookie(), ours), 401},

		"preflight":             {request("OPTIONS", view, "", "Origin: http://127.0.0.1:1", "Access-Control-Request-Method: GET", "Access-Control-Request-Headers: x-orchestra-key"), 403},
		"preflight of our own":  {request("OPTIONS", view, "", with(ours)...), 405},
		"PUT":                   {request("PUT", view, "x", with(ours)...), 405},
		"POST of a view":        {request("POST", view, "x", with(ours)...), 405},
		"GET of an action":      {request("GET", do+"?"+yes, "", in...), 200}, // the document
		"DELETE":                {request("DELETE", do, "", with(ours)...), 405},
		"TRACE":                 {request("TRACE", view, "", with(ours)...), 405},
		"CONNECT":               {request("CONNECT", "{HOST}", "", with(ours)...), 405},
		"a form as JSON":        {request("POST", do, `{"decision":"approve_once"}`, with(ours, "Content-Type: application/json")...), 400},
		"a form as plain text":  {request("POST", do, yes, with(ours, "Content-Type: text/plain")...), 400},
		"a form in the address": {request("POST", do+"?"+yes, "", with(ours, form)...), 400},
		"a login by GET":        {request("GET", "/login?code=x", ""), 200}, // the document
		"a login that is none":  {request("POST", "/login", "[1]", ours), 400},
		"a login of a form":     {request("POST", "/login", "code=x", ours, form), 400},

		"out of views":           {request("GET", "/view/../view/", ""), 307},
		"out of views, coded":    {request("GET", "/view/%2e%2e/view/", ""), 401},
		"twice a slash":          {request("GET", "//view/", ""), 307},
		"out of the assets":      {request("GET", "/assets/%2e%2e%2f%2e%2e%2froutes.go", ""), 404},
		"a coded slash":          {request("GET", "/view%2f", ""), 200}, // the document
		"another workspace":      {request("GET", "/view/w/0123456789abcdef/files", "", in...), 404},
		"a path for a workspace": {request("GET", "/view/w/..%2f{ID}/files", "", in...), 404},
		"an action elsewhere":    {request("POST", "/do/w/0123456789abcdef/intents", "name=x", with(ours, form)...), 404},
		"an answer elsewhere":    {request("POST", do, "decision=deny&request=0123456789abcdef/x", with(ours, form)...), 404},

		"a huge header": {request("GET", view, "", with("X-Long: "+strings.Repeat("x", 100_000))...), 431},
		"a huge form":   {request("POST", do, "x="+strings.Repeat("x", 17<<20), with(ours, form)...), 400},
		"a huge login":  {request("POST", "/login", `{"code":"`+strings.Repeat("x", 17<<20), ours), 400},
	} {
		a := s.sends(c.request)
		check.That(t, a.status == c.want, "%s: %d, want %d: %.200s", name, a.status, c.want, a.body)
		isView := strings.HasPrefix(c.request, "GET /view/") && (a.status == 200 || a.status == 404)
		check.That(t, strings.Contains(a.body, needle) == isView, "%s: the answer shows the view or does not: %.200s", name, a.body)
		s.harmless(name, a)
	}
	check.Equal(t, s.sees(s.in), 200, "afterwards")
}

// harmless holds an answer to the headers that all have, and to those that none has.
func (s *served) harmless(name string, a answer) {
	s.t.Helper()
	for header := range a.header {
		check.That(s.t, !strings.HasPrefix(header, "Access-Control-"), "%s: %s", name, header)
	}
	if a.status == http.StatusRequestHeaderFieldsTooLarge || strings.HasPrefix(a.body, "400 Bad Request") {
		return // the text of net/http, which does not hand such requests on
	}
	for header, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		check.Equal(s.t, a.header.Get(header), want, "%s: %s", name, header)
	}
	check.That(s.t, a.status >= 400 || a.header.Get("Cache-Control") == "no-store", "%s: it can be stored", name)
	policy := a.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "form-action 'none'", "base-uri 'none'", "frame-ancestors 'none'"} {
		check.That(s.t, strings.Contains(policy, part), "%s: the policy is %q", name, policy)
	}
	check.That(s.t, !strings.Contains(policy, "unsafe"), "%s: the policy is %q", name, policy)
}

// TestSlowRequestsHoldNobody: bodies that never come hold neither other requests nor the console's end.
func TestSlowRequestsHoldNobody(t *testing.T) {
	s := serve(t)
	for range 50 {
		slow := s.dials()
		defer slow.Close()
		s.writes(slow, request("POST", "/login", "", ours, "Content-Length: 100")+`{"code":`)
	}
	check.Equal(t, s.sees(s.in), 200)
}

// TestFilesOfTheWorkspaceAlone: the Files view follows no link out of the workspace, opens nothing but files, and shows nothing
// of git and of the governance but by a link in the workspace. It is the operator's: what no agent may read is shown.
func TestFilesOfTheWorkspaceAlone(t *testing.T) {
	s := serve(t)
	const outside, mine = "outside-of-it", "what-no-agent-reads"
	check.Write(t, filepath.Dir(s.dir), "elsewhere/file", outside)
	check.Write(t, s.dir, ".orchestration/.intentignore", "secret:private/\n")
	check.Write(t, s.dir, "private/key", mine+"\n")
	for link, target := range map[string]string{"src/out": "../../elsewhere", "src/file": "../../elsewhere/file", "src/abs": filepath.Join(filepath.Dir(s.dir), "elsewhere"), "src/git": "../.git"} {
		check.OK(t, os.Symlink(target, filepath.Join(s.dir, link)))
	}
	special(t, filepath.Join(s.dir, "src/fifo"))
	huge := check.Value(os.Create(filepath.Join(s.dir, "src/huge")))(t)
	check.OK(t, huge.Truncate(65<<20))
	check.OK(t, huge.Close())
	for path, want := range map[string]int{
		"src/a.txt": 200, "private/key": 200, "src": 404, "src/none": 404, "src/fifo": 404, "src/huge": 404,
		"src/file": 404, "src/out/file": 404, "src/abs/file": 404, "../elsewhere/file": 400, "src/../../elsewhere/file": 400, "/etc/hostname": 400,
		".git/config": 400, ".orchestration/active_intents.yaml": 400, "src/../.git/config": 400, ".git": 400, "./.git/config": 400, "src/git/config": 200,
		"src/a.txt%00": 404, "%ff": 400,
	} {
		for _, view := range []string{"file?", "why?line=1&"} {
			a := s.sends(request("GET", "/view/w/{ID}/"+view+"path="+path, "", s.in.both()...))
			check.That(t, a.status == want, "%s%s: %d, want %d: %.300s", view, path, a.status, want, a.body)
			check.That(t, !strings.Contains(a.body, outside), "%s%s shows what is elsewhere", view, path)
			check.That(t, strings.Contains(a.body, mine) == (path == "private/key"), "%s%s: %.300s", view, path, a.body)
		}
		a := s.sends(request("GET", "/view/w/{ID}/files?path="+path, "", s.in.both()...))
		check.That(t, a.status != 500 && (a.status == 200) == (path == "src"), "files at %s: %d", path, a.status)
	}
}

// TestNoAddressOfTheLastConsole: what was left in the browser at the address of an earlier console meets no later one.
func TestNoAddressOfTheLastConsole(t *testing.T) {
	met := map[string]bool{}
	for range 5 {
		l := check.Value(console.Listen(t.Context()))(t)
		met[l.Addr().String()] = true
		check.OK(t, l.Close())
	}
	check.That(t, len(met) > 1, "each is at %v", met)
}
