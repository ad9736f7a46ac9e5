// Package agents runs real coding agents, as their makers ship them, without a login: the model is a script on loopback.
//
// It promises that a run is alone with its workspace, its home directory and the script, that it ends, and that what it was
// told is kept. It contacts nothing but loopback as far as an agent obeys the proxy of its environment: a host that an agent
// asks the proxy for is refused, and named in the result.
//
// The programs are pinned by the lock file beside this one; `npm ci` there fetches them. README.md has what was found out
// about them.
package agents
