package tools

import (
	"cmp"

	"github.com/intentgov/orchestra-mcp/pkg/command"
)

// processLimit says how many processes a command could have, and what held it
// to that.
type processLimit struct {
	Max     int    `json:"max"`
	By      string `json:"by"`
	Reached bool   `json:"reached"`
}

func limitOf(l command.Limit) *processLimit {
	return &processLimit{l.Processes, cmp.Or(l.By, "nothing"), l.Reached}
}

func limitSchema() schema {
	return open([]string{"max", "by", "reached"}, schema{
		"max":     number("How many processes the command could have at a time.", 0),
		"by":      oneOf("What held it to that: the kernel, which counts threads too, a watchdog, which ends what has more, or nothing on this system.", command.ByControlGroup, command.ByWatchdog, "nothing"),
		"reached": flag("Whether it wanted more."),
	})
}
