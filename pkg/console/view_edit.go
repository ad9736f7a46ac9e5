package console

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// editing is a request whose call the operator edits before approving it.
type editing struct {
	Place   *place
	Request approval.Request
	Part    approval.Part
	Path    string
	Text    string // what the agent asks for
	Lines   int
}

// editingOf finds a request and what of it can be edited.
func (c *Console) editingOf(r *http.Request, p *place) (e editing, err error) {
	e.Place = p
	if e.Request, err = e.Place.Inbox.Request(r.PathValue("id")); err != nil {
		return e, err
	}
	can, err := approval.EditableOf(e.Request)
	if err != nil {
		return e, &problem{http.StatusConflict, err.Error()}
	}
	e.Part, e.Path, e.Text = can.Part, can.Path, can.Text
	if e.Part == approval.PartContent {
		if e.Text, err = e.content(r.Context()); err != nil {
			return e, err
		}
	}
	if _, plain := lineEnds(e.Text); !plain {
		return e, &problem{http.StatusConflict, "The text has line ends of several kinds, which a form does not keep: approve it as it is, or deny it."}
	}
	e.Lines = min(max(strings.Count(e.Text, "\n")+2, 4), 30)
	return e, nil
}

// lineEnds tells whether lines end with CRLF, and whether all do in one way.
func lineEnds(text string) (crlf, plain bool) {
	bare := strings.ReplaceAll(text, "\r\n", "")
	crlf = len(bare) < len(text)
	return crlf, !strings.Contains(bare, "\r") && !(crlf && strings.Contains(bare, "\n"))
}

// content is what the file would hold after the call.
func (e editing) content(ctx context.Context) (text string, err error) {
	err = e.Place.WithServer(func(srv *server.Server) error {
		preview, err := srv.Preview(ctx, e.Request, nil)
		switch {
		case err != nil:
			return err
		case len(preview.Files) != 1 || preview.Files[0].After.Binary:
			return &problem{http.StatusConflict, "What the call would write is no text of one file: it can be approved as it is, or denied."}
		}
		text = preview.Files[0].After.Text
		return nil
	})
	return text, err
}

// edited is the call with what the operator typed. Forms end lines with LF; where the text has CRLF, so does what was typed.
func (e editing) edited(typed string) (approval.Edit, error) {
	typed = strings.ReplaceAll(typed, "\r\n", "\n")
	if crlf, _ := lineEnds(e.Text); crlf {
		typed = strings.ReplaceAll(typed, "\n", "\r\n")
	}
	edit, err := approval.NewEdit(e.Request, typed)
	if err != nil {
		return edit, badRequest(err.Error())
	}
	return edit, nil
}

func (c *Console) edit(r *http.Request, p *place) (page, error) {
	e, err := c.editingOf(r, p)
	return page{Template: "edit", Title: "Edit, then approve", Tab: "approvals", Place: e.Place, Data: e}, err
}

// preview shows what the edited call would do.
func (c *Console) preview(r *http.Request, p *place) (page, error) {
	e, err := c.editingOf(r, p)
	if err != nil {
		return page{}, err
	}
	if err := r.ParseForm(); err != nil {
		return page{}, badRequest("The form could not be read.")
	}
	edit, err := e.edited(r.PostForm.Get("text"))
	if err != nil {
		return page{}, err
	}
	typed, err := edit.Text()
	if err != nil {
		return page{}, err
	}
	data := struct{ Asked, Made []fileDiff }{Asked: []fileDiff{diffOf("from what the agent asked", e.Text, typed)}}
	err = e.Place.WithServer(func(srv *server.Server) error {
		preview, err := srv.Preview(r.Context(), e.Request, &edit)
		for _, f := range preview.Files {
			data.Made = append(data.Made, diffOf(f.Path, f.Before.Text, f.After.Text))
		}
		return err
	})
	return page{Template: "preview", Part: true, Place: e.Place, Data: data}, err
}

// doEdit approves a request with what the operator made of it.
func (c *Console) doEdit(r *http.Request, p *place) (done, error) {
	e, err := c.editingOf(r, p)
	if err != nil {
		return done{}, err
	}
	edit, err := e.edited(r.PostForm.Get("text"))
	if err != nil {
		return done{}, err
	}
	answer := approval.Answer{Decision: approval.Once}
	if typed, err := edit.Text(); err != nil || typed != e.Text { // else it is approved as it is
		answer.Edit = &edit
	}
	outcome, err := e.Place.Inbox.Answer(context.WithoutCancel(r.Context()), e.Request, answer)
	if errors.Is(err, approval.ErrNotEditable) {
		err = &problem{http.StatusConflict, err.Error()}
	}
	return done{Text: outcome.Text, To: "/approvals"}, err
}
