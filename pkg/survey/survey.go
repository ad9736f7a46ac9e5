// Package survey says what is known of other servers without starting one: for doctor, and for the operator's commands.
//
// It promises to change nothing, and that its texts are safe to print. It does not promise that a server works: whether one starts,
// and what it says then, only a start tells.
package survey

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
)

// Options say where to look, and with whose eyes.
type Options struct {
	Workspace string   // its directory, an absolute path without links
	UserDir   string   // the user's settings directory
	Environ   []string // that of a server
	Ours      []string // the names of our own tools
}

// Server is one server, as far as it is known.
type Server struct {
	upstream.Definition
	Files fleet.Files
	// Waits: the workspace's settings declare it, and the operator has not trusted them. Nothing else is known of it then.
	Waits bool
	// Looked: it was started or reached once, and its tools were pinned.
	Looked   bool
	Identity catalogue.Identity // what it says of itself
	Renamed  string             // a sentence where that is not what it was when its tools were pinned
	Entries  []catalogue.Entry
	Problems []Problem
}

// Problem is something that the operator should know, or mend.
type Problem struct {
	Fails  bool   // the server, or what is named, does not work until it is mended
	Text   string // a sentence
	Remedy string // a sentence: what to do
	Args   string // of the command of this program that helps; "" for none
}

// Load loads settings, and finds the servers of a workspace's file that wait for the operator's trust.
func Load(o settings.LoadOptions) (loaded settings.Loaded, waiting []upstream.Definition, err error) {
	if loaded, err = settings.Load(o); err != nil || loaded.WorkspaceTrusted || loaded.WorkspaceHash == "" {
		return loaded, nil, err
	}
	o.Trusted = func(string) bool { return true }
	all, err := settings.Load(o)
	if err != nil { // only once it is trusted; whoever trusts it is told
		return loaded, nil, nil
	}
	for _, d := range all.Settings.Upstreams() {
		if d.OfWorkspace {
			waiting = append(waiting, d)
		}
	}
	return loaded, waiting, nil
}

// Of looks at servers, and at those that wait for trust.
func Of(o Options, declared, waiting []upstream.Definition) []Server {
	var parts []catalogue.Part
	servers := make([]Server, 0, len(declared)+len(waiting))
	for _, d := range declared {
		s := Server{Definition: d, Files: fleet.FilesOf(o.UserDir, o.Workspace, d)}
		book := catalogue.Open(s.Files.Pins)
		part := catalogue.Part{Definition: d}
		if s.Looked, part.Err = book.Known(); part.Err == nil && s.Looked {
			part.Entries, part.Err = book.Entries(d)
			s.beside(book)
		}
		parts = append(parts, part)
		servers = append(servers, s)
	}
	catalogue.Together(parts, o.Ours)
	for i := range servers {
		s := &servers[i]
		s.Entries = parts[i].Entries
		s.ready(o)
		s.failed()
		s.pins(parts[i].Err)
		s.quarantined()
		s.leftOut()
		s.named()
	}
	for _, d := range waiting {
		s := Server{Definition: d, Files: fleet.FilesOf(o.UserDir, o.Workspace, d), Waits: true}
		s.problem(false, "waits for your trust in the workspace's settings ("+printable.Text(d.Origin)+"): until then it is not started",
			"Look at it; if it is what you want, let it take effect.", "trust")
		servers = append(servers, s)
	}
	return servers
}

func (s *Server) problem(fails bool, text, remedy, args string) {
	s.Problems = append(s.Problems, Problem{fails, "server " + s.Name + " " + text, remedy, args})
}

// Reached is how the server is reached, for people.
func (s *Server) Reached() string {
	if s.HTTP() {
		return printable.Text(s.URL)
	}
	return printable.Text(strings.Join(s.Command, " "))
}

// Count is the number of tools in a state.
func (s *Server) Count(is func(catalogue.State) bool) (n int) {
	for _, e := range s.Entries {
		if is(e.State) {
			n++
		}
	}
	return n
}

// ready finds what keeps the server from being started or reached.
func (s *Server) ready(o Options) {
	err := fleet.Ready(fleet.Options{Workspace: o.Workspace, UserDir: o.UserDir, Environ: o.Environ}, s.Definition)
	if err == nil {
		return
	}
	remedy := "Mend what is named there."
	if !errors.Is(err, fleet.ErrSecrets) {
		remedy = "Install it, or correct the command in " + printable.Text(s.Origin) + "."
	}
	s.problem(true, "cannot be used: "+err.Error(), remedy, "")
}

// failed tells how the server ended that was started last.
func (s *Server) failed() {
	failure, noted := s.Files.Failed(s.Definition)
	if !noted || len(s.Problems) > 0 && s.Problems[len(s.Problems)-1].Fails {
		return
	}
	times := ""
	if failure.Times > 1 {
		times = fmt.Sprintf(", %d times in a row", failure.Times)
	}
	s.problem(true, fmt.Sprintf("has failed%s, last at %s: %s", times, failure.At.Local().Format(time.DateTime), printable.Text(failure.Why)),
		"Mend what is named there; the next call of one of its tools starts it again."+s.needs(), "")
}

// needs says where a program's variables stand that has none of its own yet: it may have failed for want of one.
func (s *Server) needs() string {
	if _, err := os.Lstat(s.Files.Secrets); s.HTTP() || len(s.Env) > 0 || err == nil {
		return ""
	}
	return " It gets none of your environment's variables but those that every program needs: others stand in env, or, if they are secret, in " + printable.Text(s.Files.Secrets) + " (NAME=value, mode 0600)."
}

// beside finds what was listed beside tools and does not come through.
func (s *Server) beside(book *catalogue.Book) {
	listing, problems, err := book.Beside(s.Definition)
	if err != nil {
		return // the entries have it as well
	}
	s.Identity = listing.Identity
	if s.Renamed, _ = book.Renamed(); s.Renamed != "" {
		s.problem(false, "is not the one whose tools were pinned: "+s.Renamed, "Look at what it is now.", "servers trust "+s.Name)
	}
	for _, text := range problems {
		if text == s.Renamed {
			continue
		}
		s.problem(false, "has listed what is not passed on: "+text, "Ask who makes the server, or leave it.", "")
	}
}

func (s *Server) pins(err error) {
	switch {
	case errors.Is(err, catalogue.ErrDamaged):
		s.problem(true, "has no tools: "+err.Error(), "Look at the file; without it, the next look at the server is the first, and pins what it says then.", "")
	case err != nil:
		s.problem(true, "has no tools now: "+err.Error(), "Try it again.", "servers review "+s.Name)
	}
}

// quarantined names the tools that wait for the operator.
func (s *Server) quarantined() {
	var names []string
	for _, e := range s.Entries {
		if e.State.Quarantined() {
			names = append(names, printable.Text(e.Own)+" ("+string(e.State)+")")
		}
	}
	if len(names) > 0 {
		s.problem(false, fmt.Sprintf("has %s in quarantine: %s", tools(len(names)), some(names)),
			"Look at what they say, then trust those that you want.", "servers trust "+s.Name)
	}
}

// leftOut names the tools that cannot be offered, whatever is trusted.
func (s *Server) leftOut() {
	var names []string
	for _, e := range s.Entries {
		if e.State == catalogue.LeftOut {
			names = append(names, printable.Text(e.Own)+" ("+e.Reason+")")
		}
	}
	if len(names) > 0 {
		s.problem(false, fmt.Sprintf("has %s that cannot be offered: %s", tools(len(names)), some(names)),
			"Give it another prefix, or leave them.", "")
	}
}

// named finds names in the settings that no tool of the server has. Patterns may be for another day.
func (s *Server) named() {
	own := map[string]bool{}
	for _, e := range s.Entries {
		own[e.Own] = true
	}
	var effects []string
	for _, e := range s.Effects {
		effects = append(effects, e.Tool)
	}
	for _, key := range []struct {
		name  string
		tools []string
	}{{"safe", s.Safe}, {"tools", s.Choose}, {"effects", effects}} {
		for _, tool := range key.tools {
			if tool = strings.TrimPrefix(tool, "!"); len(own) > 0 && !own[tool] && !strings.ContainsAny(tool, `*?[\`) {
				s.problem(false, fmt.Sprintf("has no tool %s, which stands in %s", printable.Text(tool), key.name), "Correct or delete it in "+printable.Text(s.Origin)+".", "")
			}
		}
	}
}

func tools(n int) string {
	if n == 1 {
		return "1 tool"
	}
	return fmt.Sprintf("%d tools", n)
}

// some are the first of many names.
func some(names []string) string {
	const shown = 5
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return strings.Join(slices.Concat(names[:shown], []string{fmt.Sprintf("and %d more", len(names)-shown)}), ", ")
}
