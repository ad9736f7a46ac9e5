package tools

import (
	"cmp"

	"github.com/intentgov/orchestra-mcp/pkg/command"
)

// processLimit says how many processes a command could have, and what held it to that.
type processLimit struct {
	Max     int    `json:"max" min:"0" doc:"How many processes the command could have at a time."`
	By      string `json:"by" enum:"cgroup,watchdog,nothing" doc:"What held it to that: the kernel, which counts threads too, a watchdog, which ends what has more, or nothing on this system."`
	Reached bool   `json:"reached" doc:"Whether it wanted more."`
}

func limitOf(l command.Limit) *processLimit {
	return &processLimit{l.Processes, cmp.Or(l.By, "nothing"), l.Reached}
}
