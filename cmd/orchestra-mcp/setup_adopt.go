package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
)

// filesOf names what the user has of a server; dir is the workspace.
func (a *app) filesOf(dir string, d upstream.Definition) fleet.Files {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return fleet.FilesOf(settings.UserDir(a.environ()), dir, d)
}

// secretsDirs are where servers of the user's settings, and of the workspace's, have their secrets.
func (a *app) secretsDirs(dir string) (users, workspaces string) {
	at := func(ofWorkspace bool) string {
		return filepath.Dir(a.filesOf(dir, upstream.Definition{Name: "any", OfWorkspace: ofWorkspace}).Secrets)
	}
	return at(false), at(true)
}

// trustsSettings reports whether the operator has trusted the workspace's settings as they are.
func (a *app) trustsSettings(dir string) bool {
	loaded, err := a.loadSettings(dir, nil)
	return err == nil && loaded.WorkspaceTrusted
}

// aside are the files of ours that a plan changes beside the client's.
func aside(plan *clientsetup.Plan) []clientsetup.File {
	if plan.Adoption == nil {
		return nil
	}
	return plan.Adoption.Files
}

// trustAdopted keeps the workspace's settings trusted if they were: what they say now, the operator has just moved there. Others
// still wait to be looked at.
func (c *setupCommand) trustAdopted(plan *clientsetup.Plan, dir string, trusted bool) error {
	for _, file := range aside(plan) {
		if file.Path != filepath.Join(dir, ".orchestration", settings.FileName) || file.Content == nil || file.Action == clientsetup.Unchanged {
			continue
		}
		if trusted {
			list := settings.TrustList{UserDir: settings.UserDir(c.environ())}
			if err := list.Trust(dir, settings.ContentHash(file.Content)); err != nil {
				return fmt.Errorf("trust %s: %w", file.Name, err)
			}
		} else if !c.remove {
			plan.Next = "Look at " + file.Name + ", and let it take effect: orchestra-mcp trust. Until then none of these servers is there. " + plan.Next
		}
	}
	return nil
}

// checkAdopted refuses settings with which no server would start any more, before anything is written.
func (c *setupCommand) checkAdopted(plan *clientsetup.Plan, dir string) error {
	for _, file := range aside(plan) {
		if filepath.Base(file.Path) != settings.FileName || file.Content == nil || c.remove {
			continue
		}
		// Both kinds of files have the same list; what the user's alone can have is in none of ours.
		o := settings.LoadOptions{WorkspaceDir: dir, SystemDir: settings.SystemDir, UserDir: settings.UserDir(c.environ()), Environ: c.environ()}
		if filepath.Dir(file.Path) != o.UserDir {
			o.Proposed = &settings.File{Name: file.Name, Content: file.Content}
		} else {
			alone, err := os.MkdirTemp("", "orchestra-settings-*")
			if err != nil {
				return err
			}
			defer os.RemoveAll(alone)
			if err := os.WriteFile(filepath.Join(alone, settings.FileName), file.Content, 0o600); err != nil {
				return err
			}
			o.UserDir = alone
		}
		if _, err := settings.Load(o); err != nil {
			return fmt.Errorf("set up %s: the settings would not load with its servers, so nothing was changed: %w", plan.Title, err)
		}
	}
	return nil
}

// showAdoption shows what --print would do with the client's other servers.
func (c *setupCommand) showAdoption(adoption *clientsetup.Adoption) {
	if adoption == nil {
		return
	}
	for _, file := range adoption.Files { // with words of the client's file, which can come with a clone
		c.Printf("# %s\n%s\n\n", file.Path, printer.Lines(strings.TrimRight(string(file.Fragment), "\n")))
	}
	c.tellAdoption(adoption)
}

// tellAdoption tells what becomes of the client's other servers.
func (c *setupCommand) tellAdoption(adoption *clientsetup.Adoption) {
	if adoption == nil {
		return
	}
	type list struct {
		heading string
		lines   []string
	}
	var lists []list
	var left, taken []string
	for _, m := range adoption.Moved {
		for _, value := range m.Taken {
			taken = append(taken, m.Name+": "+value)
		}
		line := m.Key
		switch {
		case c.remove && m.Key != m.Name:
			line = m.Name + " as " + m.Key
		case m.Key != m.Name:
			line += " as " + m.Name
		}
		line += ": " + m.Reached
		if len(m.Secrets) > 0 {
			line += " (secrets: " + strings.Join(m.Secrets, ", ") + ")"
		}
		heading := "Behind this server, in " + m.Settings + ":"
		switch {
		case c.remove:
			heading = "Back with the client:"
		case m.Local:
			heading = fmt.Sprintf("Behind this server, in %s, no longer for this workspace alone (out of %s):", m.Settings, m.From)
		}
		if n := len(lists); n == 0 || lists[n-1].heading != heading {
			lists = append(lists, list{heading: heading})
		}
		last := &lists[len(lists)-1]
		last.lines = append(last.lines, line)
	}
	stays := "Left with the client:"
	if c.remove {
		stays = "Left in our settings:"
	}
	for _, l := range adoption.Left {
		left = append(left, l.Key+": "+l.Why)
	}
	for _, list := range append(lists, list{"They get values of your environment:", taken}, list{stays, left}) {
		if len(list.lines) > 0 {
			c.List(list.heading, "  - ", list.lines)
			c.Println()
		}
	}
	if len(adoption.Moved) > 0 && !c.remove {
		c.Println("Each tool of theirs counts as one that changes something until you class it: orchestra-mcp servers review")
		if slices.ContainsFunc(adoption.Moved, func(m clientsetup.Moved) bool { return !strings.HasPrefix(m.Reached, "http") }) {
			c.Println("Their programs may read the workspace, and change nothing there unless the entry says workspace: write.")
		}
		for _, m := range adoption.Moved {
			if strings.Contains(m.Reached, "://") && len(m.Secrets) == 0 {
				c.Printf("If %s wants a login: orchestra-mcp servers login %s\n", m.Name, m.Name)
			}
		}
		c.Println()
	}
}

type movedJSON struct {
	Key      string   `json:"key"` // in the client's list
	Name     string   `json:"name"`
	Reached  string   `json:"reached"`
	Mapping  string   `json:"mapping,omitempty"`
	Secrets  []string `json:"secrets,omitempty"`  // names only
	Taken    []string `json:"taken,omitempty"`    // which get values of the environment: NAME from VARIABLE
	From     string   `json:"from,omitempty"`     // the client's file
	Settings string   `json:"settings,omitempty"` // ours
}

type leftJSON struct {
	Key string `json:"key"`
	Why string `json:"why"`
}

func adoptionJSON(adoption *clientsetup.Adoption) (moved []movedJSON, left []leftJSON) {
	if adoption == nil {
		return nil, nil
	}
	moved = records(adoption.Moved, func(m clientsetup.Moved) movedJSON {
		return movedJSON{m.Key, m.Name, m.Reached, m.Mapping, slices.Clone(m.Secrets), slices.Clone(m.Taken), m.From, m.Settings}
	})
	left = records(adoption.Left, func(l clientsetup.Left) leftJSON { return leftJSON{l.Key, l.Why} })
	return moved, left
}
