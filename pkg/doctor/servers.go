package doctor

import (
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/survey"
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
	unseen := 0
	for _, s := range survey.Of(survey.Options{Workspace: dir, UserDir: e.UserDir, Environ: e.Environ, Ours: e.OurTools}, declared, waiting) {
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
		if !s.Waits && !s.Looked {
			unseen++
		}
	}
	fine := number(len(declared), "server stands", "servers stand") + " behind this one"
	if unseen > 0 {
		fine += "; not started yet: " + number(unseen, "server", "servers") + " (" + e.self("servers review") + " looks at it)"
	}
	return fine
}
