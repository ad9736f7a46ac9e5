package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/nearest"
	"github.com/intentgov/orchestra-mcp/pkg/survey"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

func (a *app) newServersTrustCommand() *cobra.Command {
	var yes bool
	cmd := a.operatorCommand(&cobra.Command{
		Use:   "trust NAME [TOOL...]",
		Short: "Let tools of a server that are in quarantine be offered as they are now",
		Long: `Tools that came or changed after the first look at a server, and those in whose texts something was found, are in
quarantine: no agent sees or calls them. This shows what they say now, and what changed, and pins exactly that. Without
a TOOL it is about all that are in quarantine. TOOL is the server's own name.`,
		Example: "  orchestra-mcp servers trust github\n  orchestra-mcp servers trust github create_issue --yes",
		Args:    cobra.MinimumNArgs(1), ValidArgsFunction: a.completeQuarantined,
	}, func(_ context.Context, args []string) error { return a.trustServer(args[0], args[1:], yes) })
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "trust without asking")
	return cmd
}

// trustedTools is the document of `servers trust --json`.
type trustedTools struct {
	Server  string       `json:"server"`
	Waited  []toolReview `json:"waited"`  // what was in quarantine and is asked about
	Trusted []string     `json:"trusted"` // what is trusted now and was not
}

func (a *app) trustServer(name string, tools []string, yes bool) error {
	_, _, servers, err := a.servers()
	if err != nil {
		return err
	}
	s, err := a.server(name, servers)
	if err != nil {
		return err
	}
	switch {
	case s.Waits:
		return mistakef("the settings of the workspace that declare the server %s wait for your trust first: orchestra-mcp trust", name)
	case !s.Looked && len(s.Problems) > 0:
		a.tellProblems(*s)
		return foundSomething()
	case !s.Looked:
		return mistakef("nobody has looked at the server %s yet, so nothing of it is in quarantine: orchestra-mcp servers review %s", name, name)
	}
	waiting, err := quarantined(s, tools)
	if err != nil {
		return err
	}
	answer := trustedTools{Server: name, Waited: records(waiting, func(e catalogue.Entry) toolReview { return toolOf(s.Definition, e) }), Trusted: []string{}}
	if len(waiting) == 0 && (s.Renamed == "" || len(tools) > 0) {
		a.answer(answer, func() { a.Println(a.Green("Nothing of " + name + " is in quarantine.")) })
		return nil
	}
	if !a.json {
		if s.Renamed != "" {
			a.Printf("%s\n\n", a.Red(s.Renamed))
		}
		for _, e := range waiting {
			a.printTool(s.Definition, e, true)
			a.Println()
		}
	}
	if !yes && a.json {
		a.JSON(answer)
		return foundSomething()
	}
	if err := a.agreed(yes, "servers trust", "the tools (servers review "+name+")", "Trust what is shown here?", "Not trusted; nothing was changed."); err != nil {
		return err
	}
	answer.Trusted, err = catalogue.Open(s.Files.Pins).Trust(s.Definition, waiting...)
	if errors.Is(err, catalogue.ErrStale) {
		return foundf("%w", err)
	}
	if err != nil {
		return err
	}
	answer.Trusted = orEmpty(answer.Trusted)
	a.answer(answer, func() {
		if len(waiting) == 0 {
			a.Println("Trusted as what it is now.")
			return
		}
		a.Printf("Trusted: %s. A running server offers them from its next list of tools on.\n", strings.Join(answer.Trusted, ", "))
	})
	return nil
}

// quarantined are the entries that names are about, all that are in quarantine if there are none.
func quarantined(s *survey.Server, names []string) (waiting []catalogue.Entry, err error) {
	var known []string
	for _, e := range s.Entries {
		known = append(known, e.Own)
		if e.State.Quarantined() && (len(names) == 0 || slices.Contains(names, e.Own)) {
			waiting = append(waiting, e)
		}
	}
	for _, name := range names {
		i := slices.IndexFunc(s.Entries, func(e catalogue.Entry) bool { return e.Own == name })
		switch {
		case i < 0:
			return nil, mistakef("the server %s has no tool %q%s", s.Name, name, didYouMean(nearest.Of(name, known)))
		case s.Entries[i].State == catalogue.Trusted:
		case !s.Entries[i].State.Quarantined():
			return nil, mistakef("the tool %s of %s is %s, which trust does not change: %s", name, s.Name, string(s.Entries[i].State), s.Entries[i].Reason)
		}
	}
	return waiting, nil
}

// completeQuarantined offers servers, and then their tools in quarantine.
func (a *app) completeQuarantined(cmd *cobra.Command, args []string, typed string) (names []string, directive cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeServer(cmd, args, typed)
	}
	_, _, servers, _ := a.servers()
	for _, s := range servers {
		for _, e := range s.Entries {
			if s.Name == args[0] && e.State.Quarantined() && !slices.Contains(args[1:], e.Own) {
				names = append(names, e.Own+"\t"+string(e.State))
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
