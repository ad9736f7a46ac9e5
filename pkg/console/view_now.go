package console

import (
	"net/http"

	"github.com/intentgov/orchestra-mcp/pkg/status"
)

// nowPlace is what happens in a workspace.
type nowPlace struct {
	Place  *place
	Report status.Report
}

// now shows who works, what runs and what waits, in every workspace.
func (c *Console) now(r *http.Request) (page, error) {
	all, err := c.places.all()
	var data struct {
		Places  []nowPlace
		Waiting []asked
		Error   string
	}
	if err != nil {
		data.Error = textOf(err)
	}
	for _, p := range all {
		report, err := p.happening(r.Context())
		if err != nil {
			report.Problems = append(report.Problems, err.Error())
		}
		data.Places = append(data.Places, nowPlace{p, report})
	}
	data.Waiting = c.asked(all)
	return page{Template: "now", Title: "Now", Tab: "now", Live: []area{sessions, waiting, records, intents}, Data: data}, nil
}

// output is what a command that runs has printed so far.
func (c *Console) output(r *http.Request, p *place) (page, error) {
	return page{Template: "output", Part: true, Place: p, Data: p.Output(r.PathValue("id"), r.FormValue("principal"))}, nil
}
