package clientsetup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/intentgov/orchestra-mcp/internal/shellword"
)

// hookless: a container gets no hooks.
func (p *planner) hookless() bool { return p.Launch.Container() && !p.removing }

// leavesHooks tells why a container gets no hooks: each call would start one, in which neither the paths of the event nor
// the programs of the command are there, and the server that a hook starts would end with it.
func (p *planner) leavesHooks() {
	p.leaves(fmt.Sprintf("%s's own tools are not asked about: a hook does not work out of a container. Install the program (`npm install -g %s`) "+
		"and run setup again to have them judged.", p.plan.Title, NPMPackage))
}

// tellNPX tells what it costs that a hook is started by npx.
func (p *planner) tellNPX() {
	if p.Launch.NPX() {
		p.leaves(fmt.Sprintf("npx takes some 0.4 s before each call of a tool, and asks npm's registry: while that does not answer, a hook may come too late. "+
			"After `npm install -g %s` and another setup it takes a fraction of that.", NPMPackage))
	}
}

// found keeps what hooks of ours, in the file that was planned last, start as it stands.
func (p *planner) found(start []string) {
	name := p.last().Name
	if !slices.ContainsFunc(p.plan.hooks, func(e Entry) bool { return e.File == name && slices.Equal(e.Launch.own, start) }) {
		p.plan.hooks = append(p.plan.hooks, Entry{File: name, Launch: always(start...)})
	}
}

// commandLine is what starts a program, in a shell's command line.
func (p *planner) commandLine(words []string) string {
	return joined(words, p.quoted)
}

// hookStart are the words with which a handler of ours starts this program; nil if they cannot be told.
func (p *planner) hookStart(h hookFile, handler hujson.Value) []string {
	var of hookHandler
	_ = decode(handler, &of)
	words, whole := []string{of.Command}, true
	if len(of.Args) == 0 {
		words, whole = shellword.Split(of.Command)
	}
	words = append(words, of.Args...)
	if n := len(words) - 2; whole && n > 0 && slices.Equal(words[n:], []string{"hook", string(h.word)}) {
		return words[:n]
	}
	return nil
}

// isLaunch reports whether words start this program, by whatever way.
func (p *planner) isLaunch(words []string) bool {
	start, rest := cutLaunch(words)
	return len(rest) == 0 && len(start) > 0 && (isNPX(start) || strings.Contains(start[0], Program) ||
		slices.Equal(start, p.Launch.shared) || slices.Equal(start, p.server.start))
}
