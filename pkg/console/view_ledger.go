package console

import (
	"net/http"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
)

// maxFindings bounds what is listed of each kind.
const maxFindings = 50

// ledger shows what an auditor asks about: seals and gaps by the check, violations, and what happened without us.
func (c *Console) ledger(r *http.Request, p *place) (page, error) {
	data := struct{ Violations, Outside []record.Entry }{}
	found, err := p.Ledger.Query(r.Context(), record.Filter{Kinds: []record.Kind{record.KindCommand, record.KindMutation, record.KindRecovered}, Newest: true, Limit: lookedThrough})
	if err != nil {
		return page{}, err
	}
	for _, e := range found.Entries {
		if len(e.Violations) > 0 && len(data.Violations) < maxFindings {
			data.Violations = append(data.Violations, e)
		}
		if outside(e) && len(data.Outside) < maxFindings {
			data.Outside = append(data.Outside, e)
		}
	}
	return page{Template: "ledger", Title: "Ledger", Tab: "ledger", Place: p, Live: []area{records}, Data: data}, nil
}

// lookedThrough is how many of the newest changes are looked through for findings.
const lookedThrough = 5000

// outside: a file had been changed by somebody else before, or a call was made that nobody was asked about.
func outside(e record.Entry) bool {
	for _, ch := range e.Changes {
		if ch.ExternalBefore {
			return true
		}
	}
	_, ungoverned := e.Detail["ungoverned"]
	return ungoverned
}

// ledgerCheck is what verify says.
func (c *Console) ledgerCheck(r *http.Request, p *place) (page, error) {
	report, err := p.Verify(r.Context(), seal.VerifyOptions{})
	return page{Template: "check", Part: true, Place: p, Data: report}, err
}
