package console

import (
	"errors"
	"io/fs"
	"net/http"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

const (
	configPath = ".orchestration/config.yaml"
	maxRules   = 1 << 20
)

// rules shows the files that say what agents may do, to be tried out with other words.
func (c *Console) rules(r *http.Request, p *place) (page, error) {
	var data struct{ Intents, Config, Since string }
	var err error
	if data.Intents, err = p.text(intent.FilePath); err != nil {
		return page{}, err
	}
	if data.Config, err = p.text(configPath); err != nil {
		return page{}, err
	}
	data.Since = c.daysAgo(insightDays)
	return page{Template: "rules", Title: "What would other rules have done?", Tab: "insight", Place: p, Data: data}, nil
}

// text is what a file of the operator's says, "" where there is none.
func (p *place) text(name string) (string, error) {
	content, err := durable.ReadRegularIn(p.Root, name, maxRules)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(content), err
}

// replay judges the calls of the ledger again, by what was typed.
func (c *Console) replay(r *http.Request, p *place) (page, error) {
	if err := r.ParseForm(); err != nil {
		return page{}, badRequest("The form could not be read.")
	}
	since, err := dayOf(r.PostForm.Get("since"))
	if err != nil {
		return page{}, err
	}
	report, err := p.Replay(r.Context(), operator.Proposed{
		Intents: &settings.File{Name: "the intents", Content: []byte(r.PostForm.Get("intents"))},
		Config:  &settings.File{Name: "the settings", Content: []byte(r.PostForm.Get("config"))},
	}, since, c.Now())
	if err != nil {
		return page{}, badRequest(err.Error())
	}
	return page{Template: "replay", Part: true, Place: p, Data: report}, nil
}
