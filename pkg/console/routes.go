package console

import (
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

//go:embed assets
var assets embed.FS

func (c *Console) newRoutes() *http.ServeMux {
	m := http.NewServeMux()
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // they are in the program
	}
	m.Handle("GET /assets/", http.StripPrefix("/assets/", http.FileServerFS(files)))
	m.HandleFunc("GET /sw.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, "sw.js") })
	m.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, "page.html") })
	m.HandleFunc("POST /login", c.byPerson(c.login))
	m.HandleFunc("POST /logout", c.admitted(c.logout))
	m.HandleFunc("GET /events", c.admitted(c.events))
	for path, v := range map[string]view{
		"": nothing, "{$}": c.now, "approvals": c.approvals, "w/{place}/approvals/{id}": c.approval, "w/{place}/approvals/{id}/edit": c.edit,
		"w/{place}/intents": c.intents, "w/{place}/intents/{id}": c.intent, "w/{place}/intents/{id}/scope": c.scope,
		"w/{place}/timeline": c.timeline, "w/{place}/records/{id}": c.record, "w/{place}/records/{id}/after": c.recordAfter, "w/{place}/undo": c.undo,
		"w/{place}/files": c.files, "w/{place}/file": c.file, "w/{place}/why": c.why,
		"w/{place}/output/{id}": c.output, "w/{place}/ledger": c.ledger, "w/{place}/ledger/check": c.ledgerCheck, "w/{place}/insight": c.insight,
		"w/{place}/insight/rules": c.rules, "w/{place}/insight/counts": c.insightCounts, "w/{place}/insight/scopes": c.scopes,
	} {
		m.HandleFunc("GET /view/"+path, c.admitted(c.show(v)))
	}
	m.HandleFunc("POST /view/w/{place}/approvals/{id}/preview", c.admitted(c.show(c.preview)))
	m.HandleFunc("POST /view/w/{place}/insight/replay", c.admitted(c.show(c.replay)))
	for path, a := range map[string]action{
		"answer": c.doAnswer, "w/{place}/approvals/{id}/edit": c.doEdit, "w/{place}/revoke": c.doRevoke, "w/{place}/undo": c.doUndo, "w/{place}/intents": c.doAddIntent, "w/{place}/intents/{id}/status": c.doStep,
		"w/{place}/intents/{id}/edit": c.doEditIntent,
	} {
		m.HandleFunc("POST /do/"+path, c.admitted(c.do(a)))
	}
	return m
}

// problem is an error with the status of its answer. Its text is for the operator.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func notFound(text string) error { return &problem{http.StatusNotFound, text} }

func badRequest(text string) error { return &problem{http.StatusBadRequest, text} }

// statusOf is the status of an error's answer. What was answered meanwhile, or refused, is no fault of the server.
func statusOf(err error) int {
	if p, is := errors.AsType[*problem](err); is {
		return p.status
	}
	_, past := errors.AsType[*operator.Past](err)
	_, refused := errors.AsType[*refusal.Refusal](err)
	switch {
	case past || refused || errors.Is(err, operator.ErrOnlyOnce):
		return http.StatusConflict
	case errors.Is(err, operator.ErrNoRecord), errors.Is(err, fs.ErrNotExist):
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

// textOf tells an error to the operator.
func textOf(err error) string {
	if refused, is := errors.AsType[*refusal.Refusal](err); is {
		return visible(strings.TrimSpace(refused.Reason() + " " + refused.Suggestion()))
	}
	return visible(err.Error())
}

// place finds the workspace that a request is about.
func (c *Console) place(r *http.Request) (*place, error) {
	if p, ok := c.places.get(r.PathValue("place")); ok {
		return p, nil
	}
	return nil, notFound("There is no such workspace here any more.")
}

// action changes something, and says what it did.
type action func(r *http.Request) (done, error)

// done is what the page shows after an action, and where it goes; "" is where it was.
type done struct {
	Text string `json:"text"`
	To   string `json:"to,omitempty"`
}

// do answers with JSON: what was done, or the error.
func (c *Console) do(a action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := r.ParseForm(); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]string{"error": "The form could not be read: it is larger than 16 MiB, or was cut."})
			return
		}
		did, err := a(r)
		if err != nil {
			w.WriteHeader(statusOf(err))
			_ = json.NewEncoder(w).Encode(map[string]string{"error": textOf(err)})
			return
		}
		did.Text = visible(did.Text)
		_ = json.NewEncoder(w).Encode(did)
	}
}

// visible makes characters visible that act on what is around them or cannot be seen, in text of several lines. Tabs stay.
func visible(text string) string {
	var safe strings.Builder
	for line := range strings.Lines(text) {
		bare, isWhole := strings.CutSuffix(line, "\n")
		for i, part := range strings.Split(bare, "\t") {
			if i > 0 {
				safe.WriteByte('\t')
			}
			safe.WriteString(printable.Text(part))
		}
		if isWhole {
			safe.WriteByte('\n')
		}
	}
	return safe.String()
}
