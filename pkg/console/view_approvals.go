package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

// asked is a request in a list.
type asked struct {
	Place   *place
	Request approval.Request
	View    approval.View
	Why     string
	// OnlyOnce says why it cannot be approved for its intent; "" if it can.
	OnlyOnce string
}

// Key names the request in a form.
func (a asked) Key() string { return a.Place.ID + "/" + a.Request.ID }

// asked lists the requests of workspaces, those of a kind together, the oldest kind first.
func (c *Console) asked(all []*place) []asked {
	var found []asked
	first := map[string]int{}
	for _, p := range all {
		pending, err := p.Inbox.Store.Pending()
		if err != nil {
			c.Logger.Warn().Err(err).Str("workspace", p.Dir).Msg("what waits cannot be read")
		}
		for _, r := range pending {
			found = append(found, asked{p, r, approval.ViewOf(r), operator.WhyOf(r), operator.OnlyOnce(r)})
		}
	}
	slices.SortStableFunc(found, func(a, b asked) int { return a.Request.CreatedAt.Compare(b.Request.CreatedAt) })
	for i, a := range found {
		if _, known := first[a.Why]; !known {
			first[a.Why] = i
		}
	}
	slices.SortStableFunc(found, func(a, b asked) int { return first[a.Why] - first[b.Why] })
	return found
}

// standing is what was answered and granted in a workspace.
type standing struct {
	Place *place
	operator.Standing
}

func (c *Console) approvals(r *http.Request) (page, error) {
	all, err := c.places.all()
	var data struct {
		Kinds    [][]asked
		Standing []standing
		Error    string
	}
	if err != nil {
		data.Error = textOf(err)
	}
	for _, a := range c.asked(all) {
		if n := len(data.Kinds); n == 0 || data.Kinds[n-1][0].Why != a.Why {
			data.Kinds = append(data.Kinds, nil)
		}
		data.Kinds[len(data.Kinds)-1] = append(data.Kinds[len(data.Kinds)-1], a)
	}
	for _, p := range all {
		s, err := p.Inbox.Standing()
		if err != nil {
			return page{}, err
		}
		if len(s.Answered)+len(s.Grants) > 0 {
			data.Standing = append(data.Standing, standing{p, s})
		}
		c.recordExpired(r.Context(), p)
	}
	return page{Template: "approvals", Title: "Approvals", Tab: "approvals", Live: []area{waiting}, Data: data}, nil
}

// recordExpired writes down what was found expired. It is no error of the view that found it.
func (c *Console) recordExpired(ctx context.Context, p *place) {
	if err := p.Inbox.RecordExpired(context.WithoutCancel(ctx)); err != nil {
		c.Logger.Error().Err(err).Str("workspace", p.Dir).Msg("requests that expired are not recorded")
	}
}

// approval shows one request in full.
func (c *Console) approval(r *http.Request, p *place) (page, error) {
	request, err := p.Inbox.Request(r.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	data := struct {
		asked
		Diffs    []fileDiff
		Changed  []string
		Answered string
		CanEdit  bool
	}{
		asked: asked{p, request, approval.FullViewOf(request), operator.WhyOf(request), operator.OnlyOnce(request)},
		Diffs: diffsOf(request), Changed: p.Inbox.Changed(request),
	}
	_, err = approval.EditableOf(request)
	data.CanEdit = err == nil && len(data.Changed) == 0
	if answer, err := p.Inbox.Store.AnswerOf(request.ID); err == nil {
		data.Answered = operator.AnswerText(answer)
	}
	return page{Template: "approval", Title: data.View.Title, Tab: "approvals", Place: p, Live: []area{waiting}, Data: data}, nil
}

// doAnswer answers one request, or several of a kind: each counts by itself, and what could not be answered is told.
func (c *Console) doAnswer(r *http.Request) (done, error) {
	answer := approval.Answer{Decision: approval.Decision(r.PostForm.Get("decision")), Reason: strings.TrimSpace(r.PostForm.Get("reason"))}
	keys := r.PostForm["request"]
	switch {
	case len(keys) == 0:
		return done{}, badRequest("Nothing is chosen: tick the requests that you answer.")
	case utf8.RuneCountInString(answer.Reason) > approval.MaxReason:
		return done{}, badRequest(fmt.Sprintf("The reason is longer than %d characters.", approval.MaxReason))
	}
	var texts []string
	var errs []error
	for _, key := range keys {
		outcome, err := c.answer(r.Context(), key, answer)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		texts = append(texts, outcome.Text)
	}
	if len(texts) == 0 {
		return done{}, errors.Join(errs...)
	}
	for _, err := range errs {
		texts = append(texts, "Not answered: "+err.Error())
	}
	return done{Text: strings.Join(texts, "\n"), To: "/approvals"}, nil
}

func (c *Console) answer(ctx context.Context, key string, answer approval.Answer) (operator.Outcome, error) {
	id, request, _ := strings.Cut(key, "/")
	p, ok := c.places.get(id)
	if !ok {
		return operator.Outcome{}, errNoPlace
	}
	asked, err := p.Inbox.Request(request)
	if err != nil {
		return operator.Outcome{}, err
	}
	return p.Inbox.Answer(context.WithoutCancel(ctx), asked, answer)
}

func (c *Console) doRevoke(r *http.Request, p *place) (done, error) {
	outcome, err := p.Inbox.Revoke(context.WithoutCancel(r.Context()), r.PostForm.Get("id"))
	return done{Text: outcome.Text}, err
}
