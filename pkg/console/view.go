package console

import (
	"bytes"
	"embed"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

//go:embed templates
var templates embed.FS

// view gives what an address shows.
type view func(r *http.Request) (page, error)

// page is what a template makes a view of.
type page struct {
	Template string // its file without the suffix
	Title    string
	Tab      string // the entry of the navigation that it belongs to
	Place    *place // nil where it is about all workspaces
	Live     []area // what it shows that can change by itself
	Data     any
	// Part: it is put into a page that is there.
	Part bool

	Places  []*place
	Waiting int
}

// LiveText names the areas for the script.
func (p page) LiveText() string {
	var names []string
	for _, a := range p.Live {
		names = append(names, string(a))
	}
	return strings.Join(names, " ")
}

// At is an address in the page's workspace.
func (p page) At(parts ...string) string { return at(p.Place, parts...) }

// at is an address in a workspace; each part is one segment.
func at(p *place, parts ...string) string {
	address := "/w/" + p.ID
	for _, part := range parts {
		address += "/" + url.PathEscape(part)
	}
	return address
}

// nothing is what stands at an address that no view has.
func nothing(*http.Request) (page, error) { return page{}, notFound("There is no such view.") }

// show renders a view. Whatever is in it, no character of it acts on what is around it.
func (c *Console) show(v view) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		p, err := v(r)
		if err != nil {
			status = statusOf(err)
			if status == http.StatusInternalServerError {
				c.Logger.Error().Err(err).Str("path", r.URL.Path).Msg("a view failed")
			}
			found, _ := c.places.get(r.PathValue("place"))
			p = page{Template: "error", Title: "This cannot be shown", Place: found, Data: textOf(err)}
		}
		if !p.Part {
			p.Places, _ = c.places.all()
			p.Waiting = len(c.whatWaits(p.Places))
		}
		rendered, err := c.render(p)
		if err != nil {
			c.Logger.Error().Err(err).Str("path", r.URL.Path).Msg("a view could not be rendered")
			http.Error(w, "The view could not be made; the console's log says why.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(printable.Lines(rendered)))
	}
}

func (c *Console) render(p page) (string, error) {
	made, err := parsed(p.Template)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	name := "page"
	if p.Part {
		name = "body"
	}
	err = made.Funcs(template.FuncMap{
		"age":  func(t time.Time) string { return printable.Age(c.Now().Sub(t)) },
		"left": func(t time.Time) string { return printable.Age(t.Sub(c.Now())) },
		"when": func(t time.Time) string { return t.In(c.Now().Location()).Format("2006-01-02 15:04:05") },
	}).ExecuteTemplate(&out, name, p)
	return out.String(), err
}

// parsed gives a copy of a template with the frame around it.
func parsed(name string) (*template.Template, error) {
	made, err := allTemplates()
	if err != nil {
		return nil, err
	}
	return made[name].Clone()
}

// allTemplates are parsed at the first view.
var allTemplates = sync.OnceValues(func() (map[string]*template.Template, error) {
	names, err := templates.ReadDir("templates")
	if err != nil {
		return nil, err
	}
	made := map[string]*template.Template{}
	for _, entry := range names {
		name := strings.TrimSuffix(entry.Name(), ".html")
		made[name], err = template.New(name).Funcs(functions()).ParseFS(templates, "templates/frame.html", "templates/"+entry.Name())
		if err != nil {
			return nil, err
		}
	}
	return made, nil
})

// functions are those of the templates; those that need the clock are replaced when one is used.
func functions() template.FuncMap {
	clock := func(time.Time) string { return "" }
	return template.FuncMap{
		"age": clock, "left": clock, "when": clock,
		"iso":        func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"short":      brief.ShortID,
		"line":       brief.Line,
		"who":        operator.Who,
		"name":       operator.NameOf,
		"at":         at,
		"hue":        hue,
		"encode":     func(text string) string { return url.PathEscape(strings.ToValidUTF8(text, "\uFFFD")) },
		"query":      query,
		"clip":       printable.Clip,
		"count":      count,
		"join":       strings.Join,
		"under":      path.Join,
		"add":        func(a, b int) int { return a + b },
		"subject":    operator.GrantSubject,
		"tabs":       func() []string { return []string{"intents", "timeline", "files", "ledger", "insight"} },
		"tabName":    func(tab string) string { return strings.ToUpper(tab[:1]) + tab[1:] },
		"goTo":       goTo,
		"statuses":   statuses,
		"statusName": statusName,
		"classes":    func() []string { return []string{"AST_REFACTOR", "INTENT_EVOLUTION"} },
		"pair":       func(p page, entries []record.Entry) found { return found{p, entries} },
	}
}

// hues is how many colours intents have.
const hues = 10

// hue is the class of an intent's colour, which is always the same.
func hue(intentID string) string {
	if intentID == "" {
		return "hue-none"
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(intentID))
	return fmt.Sprintf("hue-%d", sum.Sum32()%hues)
}

// query is an address with parameters, given as names and values.
func query(address string, pairs ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return address + "?" + values.Encode()
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// found is a list of records with the page that it stands on.
type found struct {
	Page    page
	Entries []record.Entry
}

// goTo is where the choice of a workspace leads: to the same view there, else to its records.
func goTo(p *place, tab string) string {
	if tab == "now" || tab == "approvals" {
		tab = "timeline"
	}
	return at(p, tab)
}
