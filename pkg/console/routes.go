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
		"GET /view/": nothing, "GET /view/{$}": c.now, "GET /view/approvals": c.approvals,
	} {
		m.HandleFunc(path, c.admitted(c.show(v)))
	}
	for path, v := range map[string]placeView{
		"GET approvals/{id}": c.approval, "GET approvals/{id}/edit": c.edit, "POST approvals/{id}/preview": c.preview,
		"GET intents": c.intents, "GET intents/{id}": c.intent, "GET intents/{id}/scope": c.scope,
		"GET timeline": c.timeline, "GET records/{id}": c.record, "GET records/{id}/after": c.recordAfter, "GET undo": c.undo,
		"GET files": c.files, "GET file": c.file, "GET why": c.why, "GET output/{id}": c.output,
		"GET ledger": c.ledger, "GET ledger/check": c.ledgerCheck,
		"GET insight": c.insight, "GET insight/counts": c.insightCounts, "GET insight/scopes": c.scopes, "GET insight/rules": c.rules,
		"POST insight/replay": c.replay,
	} {
		m.HandleFunc(strings.Replace(path, " ", " /view/w/{place}/", 1), c.admitted(c.show(c.inPlace(v))))
	}
	m.HandleFunc("POST /do/answer", c.admitted(c.do(c.doAnswer)))
	for path, a := range map[string]placeAction{
		"approvals/{id}/edit": c.doEdit, "revoke": c.doRevoke, "undo": c.doUndo,
		"intents": c.doAddIntent, "intents/{id}/status": c.doStep, "intents/{id}/edit": c.doEditIntent,
	} {
		m.HandleFunc("POST /do/w/{place}/"+path, c.admitted(c.do(c.doInPlace(a))))
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
		return printable.Lines(strings.TrimSpace(refused.Reason() + " " + refused.Suggestion()))
	}
	return printable.Lines(err.Error())
}

// placeView is a view of one workspace.
type placeView func(r *http.Request, p *place) (page, error)

// inPlace finds the workspace of a view.
func (c *Console) inPlace(v placeView) view {
	return func(r *http.Request) (page, error) {
		p, ok := c.places.get(r.PathValue("place"))
		if !ok {
			return page{}, errNoPlace
		}
		return v(r, p)
	}
}

var errNoPlace = notFound("There is no such workspace here any more.")

// action changes something, and says what it did.
type action func(r *http.Request) (done, error)

// placeAction is an action in one workspace.
type placeAction func(r *http.Request, p *place) (done, error)

func (c *Console) doInPlace(a placeAction) action {
	return func(r *http.Request) (done, error) {
		p, ok := c.places.get(r.PathValue("place"))
		if !ok {
			return done{}, errNoPlace
		}
		return a(r, p)
	}
}

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
		did.Text = printable.Lines(did.Text)
		_ = json.NewEncoder(w).Encode(did)
	}
}
