package main

import (
	"cmp"
	"strings"
)

// modelVariable names the model of the client that starts a server, whatever the client is. A person sets it.
const modelVariable = "ORCHESTRA_MODEL"

// modelOf is what the environment says that a client of this name runs. A client's own variable counts only for that
// client: a shell that has set it for one may start another.
func (a *app) modelOf(client string) string {
	model, _ := a.lookup(modelVariable)
	for name, variable := range map[string]string{"claude": "ANTHROPIC_MODEL", "gemini": "GEMINI_MODEL", "copilot": "COPILOT_MODEL"} {
		if strings.Contains(strings.ToLower(client), name) {
			own, _ := a.lookup(variable)
			model = cmp.Or(model, own)
		}
	}
	return model
}
