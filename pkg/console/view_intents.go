package console

import (
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/status"
)

// intentSet reads what the operator declared.
func (p *place) intentSet() (*intent.Set, error) {
	set, err := intent.Open(p.Root).Load()
	if err != nil {
		return nil, &problem{http.StatusConflict, err.Error()}
	}
	return set, nil
}

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

func statusName(s intent.Status) string {
	return map[intent.Status]string{intent.Todo: "To do", intent.InProgress: "In progress", intent.Blocked: "Blocked", intent.Done: "Done"}[s]
}

func (p *place) progress(ctx context.Context, set *intent.Set) ([]status.Progress, error) {
	now, err := p.happening(ctx)
	if err != nil {
		return nil, err
	}
	return p.Progress(ctx, set, now)
}

// column is the intents of one status on the board.
type column struct {
	Title   string
	Intents []card
}

// card is an intent on the board.
type card struct {
	status.Progress
	Scope []string
}

func (c *Console) intents(r *http.Request, p *place) (page, error) {
	set, err := p.intentSet()
	if err != nil {
		return page{}, err
	}
	progress, err := p.progress(r.Context(), set)
	if err != nil {
		return page{}, err
	}
	var columns []column
	for _, s := range statuses() {
		col := column{Title: statusName(s)}
		for _, one := range progress {
			if one.Status == s {
				in, _ := set.Get(one.ID)
				col.Intents = append(col.Intents, card{one, in.OwnedScope})
			}
		}
		columns = append(columns, col)
	}
	data := struct {
		Columns  []column
		Warnings []intent.Warning
	}{columns, set.Warnings()}
	return page{Template: "intents", Title: "Intents", Tab: "intents", Place: p, Live: []area{intents, records, sessions, waiting}, Data: data}, nil
}

// intentOf finds the intent that a request is about.
func (p *place) intentOf(r *http.Request) (*intent.Set, *intent.Intent, error) {
	set, err := p.intentSet()
	if err != nil {
		return nil, nil, err
	}
	in, ok := set.Get(r.PathValue("id"))
	if !ok {
		return nil, nil, notFound("There is no such intent any more.")
	}
	return set, in, nil
}

func (c *Console) intent(r *http.Request, p *place) (page, error) {
	set, in, err := p.intentOf(r)
	if err != nil {
		return page{}, err
	}
	progress, err := p.progress(r.Context(), set)
	if err != nil {
		return page{}, err
	}
	at := slices.IndexFunc(progress, func(one status.Progress) bool { return one.ID == in.ID })
	data := struct {
		Intent   *intent.Intent
		Progress status.Progress
	}{in, progress[at]}
	return page{Template: "intent", Title: in.ID + " " + in.Name, Tab: "intents", Place: p, Live: []area{intents, records}, Data: data}, nil
}

// scope draws the scope of an intent, or globs that are being typed, on one directory of the file tree.
func (c *Console) scope(r *http.Request, p *place) (page, error) {
	_, in, err := p.intentOf(r)
	if err != nil {
		return page{}, err
	}
	dir, err := pathOf(r)
	if err != nil {
		return page{}, err
	}
	covered, err := intent.Open(p.Root).Coverage(r.Context(), dir, in.Scope())
	if err != nil {
		return page{}, err
	}
	data := struct {
		ID      string
		Parent  string
		Covered intent.Coverage
	}{in.ID, path.Dir(dir), covered}
	return page{Template: "scope", Part: true, Place: p, Data: data}, nil
}

// linesOf are the lines of a text that say something.
func linesOf(text string) []string {
	lines := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// typed are the fields of the form of an intent.
func typed(r *http.Request) (in intent.Intent, err error) {
	in = intent.Intent{
		Name: strings.TrimSpace(r.PostForm.Get("name")), Description: strings.ReplaceAll(r.PostForm.Get("description"), "\r\n", "\n"),
		OwnedScope: linesOf(r.PostForm.Get("scope")), Constraints: linesOf(r.PostForm.Get("constraints")),
		AcceptanceCriteria: linesOf(r.PostForm.Get("criteria")), Verify: linesOf(r.PostForm.Get("verify")),
	}
	if in.Name == "" {
		return in, badRequest("An intent needs a name.")
	}
	_, err = intent.CompileScope(in.OwnedScope)
	if wrong, is := errors.AsType[*intent.GlobError](err); is {
		err = badRequest("The glob " + in.OwnedScope[wrong.Index] + " cannot stand in a scope: " + wrong.Err.Error())
	}
	return in, err
}

func (c *Console) doAddIntent(r *http.Request, p *place) (done, error) {
	in, err := typed(r)
	if err != nil {
		return done{}, err
	}
	in.Status = intent.Todo
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

// doEditIntent changes what the form changed, and nothing else.
func (c *Console) doEditIntent(r *http.Request, p *place) (done, error) {
	_, now, err := p.intentOf(r)
	if err != nil {
		return done{}, err
	}
	in, err := typed(r)
	if err != nil {
		return done{}, err
	}
	edit := intent.Edit{Version: r.PostForm.Get("version")}
	changed := false
	text := func(to **string, was, is string) {
		if strings.TrimSpace(was) != strings.TrimSpace(is) {
			*to, changed = &is, true
		}
	}
	list := func(to **[]string, was, is []string) {
		if !slices.Equal(was, is) {
			*to, changed = &is, true
		}
	}
	text(&edit.Name, now.Name, in.Name)
	text(&edit.Description, now.Description, in.Description)
	list(&edit.OwnedScope, now.OwnedScope, in.OwnedScope)
	list(&edit.Constraints, now.Constraints, in.Constraints)
	list(&edit.AcceptanceCriteria, now.AcceptanceCriteria, in.AcceptanceCriteria)
	list(&edit.Verify, now.Verify, in.Verify)
	if !changed {
		return done{Text: "Nothing was changed."}, nil
	}
	err = p.WithServer(func(srv *server.Server) error {
		return srv.EditIntent(context.WithoutCancel(r.Context()), now.ID, edit)
	})
	if err != nil {
		return done{}, err
	}
	return done{Text: now.ID + " is changed.", To: at(p, "intents", now.ID)}, nil
}

// doStep takes a step in an intent's life. One that becomes done runs its verify commands first.
func (c *Console) doStep(r *http.Request, p *place) (done, error) {
	status, ok := intent.ParseStatus(r.PostForm.Get("status"))
	if !ok {
		return done{}, badRequest("There is no such status.")
	}
	step := server.IntentStep{IntentID: r.PathValue("id"), Status: status, Note: strings.TrimSpace(r.PostForm.Get("note"))}
	err := p.WithServer(func(srv *server.Server) error {
		_, err := srv.UpdateIntent(r.Context(), step)
		return err
	})
	if err != nil {
		return done{}, err
	}
	return done{Text: step.IntentID + " is now: " + statusName(status) + "."}, nil
}
