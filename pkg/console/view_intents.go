package console

import (
	"context"
	"net/http"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// intentNames are what the intents are called now; none where their file cannot be read.
func (p *place) intentNames() map[string]string {
	names := map[string]string{}
	if set, err := intent.Open(p.Root).Load(); err == nil {
		for _, in := range set.All() {
			names[in.ID] = in.Name
		}
	}
	return names
}

func statuses() []intent.Status {
	return []intent.Status{intent.Todo, intent.InProgress, intent.Blocked, intent.Done}
}

// column is the intents of one status.
type column struct {
	Status  intent.Status
	Title   string
	Intents []*intent.Intent
}

func (c *Console) intents(r *http.Request) (page, error) {
	p, err := c.place(r)
	if err != nil {
		return page{}, err
	}
	set, err := intent.Open(p.Root).Load()
	if err != nil {
		return page{}, &problem{http.StatusConflict, err.Error()}
	}
	var columns []column
	for _, status := range statuses() {
		columns = append(columns, column{Status: status, Title: statusName(status)})
	}
	for _, in := range set.All() {
		for i := range columns {
			if columns[i].Status == in.Status {
				columns[i].Intents = append(columns[i].Intents, in)
			}
		}
	}
	data := struct {
		Columns  []column
		Warnings []intent.Warning
	}{columns, set.Warnings()}
	return page{Template: "intents", Title: "Intents", Tab: "intents", Place: p, Live: []area{intents, records}, Data: data}, nil
}

func (c *Console) intent(r *http.Request) (page, error) {
	p, err := c.place(r)
	if err != nil {
		return page{}, err
	}
	set, err := intent.Open(p.Root).Load()
	if err != nil {
		return page{}, &problem{http.StatusConflict, err.Error()}
	}
	in, ok := set.Get(r.PathValue("id"))
	if !ok {
		return page{}, notFound("There is no such intent any more.")
	}
	return page{Template: "intent", Title: in.ID + " " + in.Name, Tab: "intents", Place: p, Live: []area{intents}, Data: in}, nil
}

// lines are those of a text that say something.
func linesOf(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func (c *Console) doAddIntent(r *http.Request) (done, error) {
	p, err := c.place(r)
	if err != nil {
		return done{}, err
	}
	in := intent.Intent{
		Name: strings.TrimSpace(r.PostForm.Get("name")), Description: r.PostForm.Get("description"), Status: intent.Todo,
		OwnedScope: linesOf(r.PostForm.Get("scope")), Constraints: linesOf(r.PostForm.Get("constraints")),
		AcceptanceCriteria: linesOf(r.PostForm.Get("criteria")), Verify: linesOf(r.PostForm.Get("verify")),
	}
	if in.Name == "" {
		return done{}, badRequest("An intent needs a name.")
	}
	var id string
	err = p.WithServer(func(srv *server.Server) (err error) {
		id, err = srv.AddIntent(context.WithoutCancel(r.Context()), in)
		return err
	})
	if err != nil {
		return done{}, err
	}
	return done{Text: "Added " + id + ".", To: at(p, "intents", id)}, nil
}

// doStep takes a step in an intent's life. One that becomes done runs its verify commands first.
func (c *Console) doStep(r *http.Request) (done, error) {
	p, err := c.place(r)
	if err != nil {
		return done{}, err
	}
	status, ok := intent.ParseStatus(r.PostForm.Get("status"))
	if !ok {
		return done{}, badRequest("There is no such status.")
	}
	step := server.IntentStep{IntentID: r.PathValue("id"), Status: status, Note: strings.TrimSpace(r.PostForm.Get("note"))}
	err = p.WithServer(func(srv *server.Server) error {
		_, err := srv.UpdateIntent(r.Context(), step)
		return err
	})
	if err != nil {
		return done{}, err
	}
	return done{Text: step.IntentID + " is " + string(status) + "."}, nil
}

func (c *Console) doScope(r *http.Request) (done, error) {
	p, err := c.place(r)
	if err != nil {
		return done{}, err
	}
	globs := linesOf(r.PostForm.Get("scope"))
	if len(globs) == 0 {
		return done{}, badRequest("Give a glob a line.")
	}
	err = p.WithServer(func(srv *server.Server) error {
		return srv.AddScope(context.WithoutCancel(r.Context()), r.PathValue("id"), globs)
	})
	if err != nil {
		return done{}, err
	}
	return done{Text: r.PathValue("id") + " owns more now."}, nil
}
