package doctor

import (
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/survey"
)

// checkServers is about the other servers that stand behind this one. It starts none.
func (e *examination) checkServers() string {
	loaded, waiting, err := survey.Load(settings.LoadOptions{
		WorkspaceRoot: e.root, WorkspaceDir: e.Dir, SystemDir: e.SystemDir, UserDir: e.UserDir, Environ: e.Environ,
	})
	declared := loaded.Settings.Upstreams()
	if err != nil || len(declared)+len(waiting) == 0 { // what is wrong with the settings was told
		return ""
	}
	dir := e.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	unseen, untrusted := 0, []string{}
	for _, s := range survey.Of(survey.Options{Workspace: dir, UserDir: e.UserDir, Environ: e.Environ, Ours: e.OurTools}, declared, waiting) {
		if s.Waits {
			untrusted = append(untrusted, s.Name+" ("+s.Reached()+")")
			continue
		}
		for _, p := range s.Problems {
			say, command := e.warn, ""
			if p.Fails {
				say = e.fail
			}
			if p.Args != "" {
				command = e.self(p.Args)
			}
			say(sentence(strings.ToUpper(p.Text[:1])+p.Text[1:]), p.Remedy, command)
		}
		if !s.Looked {
			unseen++
		}
	}
	if len(untrusted) > 0 {
		e.warn("Servers of the workspace's settings wait for your trust, and are not started until then: "+strings.Join(untrusted, ", ")+".",
			"Look at them; if they are what you want, let them take effect.", e.self("trust"))
	}
	fine := number(len(declared), "server stands", "servers stand") + " behind this one"
	if unseen > 0 {
		fine += "; not started yet: " + number(unseen, "server", "servers") + " (" + e.self("servers review") + " looks at it)"
	}
	return fine
}
