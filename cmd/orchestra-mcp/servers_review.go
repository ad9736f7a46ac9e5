package main

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/survey"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/mapping"
)

// firstLook is how long a server may take to start and to list its tools: its program may have to be downloaded.
const firstLook = 3 * time.Minute

func (a *app) newServersReviewCommand() *cobra.Command {
	return a.operatorCommand(&cobra.Command{
		Use:   "review [NAME]",
		Short: "Show what each tool of a server says, how it is classed, and what changed since you trusted it",
		Long: `Show the tools of one server, or of all: whether a tool is safe or changes something, which of its arguments are paths,
commands and addresses, what was found in its texts, and for one in quarantine what changed. What a server suggests of
its own tools is its own word. A server that was never looked at is started once, which pins what its tools are now.`,
		Example: "  orchestra-mcp servers review\n  orchestra-mcp servers review github",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: a.completeServer,
	}, interruptible(a.paged(a.reviewServers)))
}

func (a *app) reviewServers(ctx context.Context, args []string) error {
	servers, err := a.looked(ctx, args)
	if err != nil {
		return err
	}
	a.answer(records(servers, reviewOf), func() {
		a.noServer(servers)
		for i, s := range servers {
			if i > 0 {
				a.Println()
			}
			a.printReview(s)
		}
	})
	return found(toMend(servers))
}

// looked are the servers of a command line, all if it names none; those that nobody has looked at are started for it.
func (a *app) looked(ctx context.Context, names []string) ([]survey.Server, error) {
	dir, loaded, servers, err := a.servers()
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		s, err := a.server(names[0], servers)
		if err != nil {
			return nil, err
		}
		servers = []survey.Server{*s}
	}
	failed := map[string]error{}
	for _, s := range servers {
		if s.Looked || s.Waits {
			continue
		}
		a.tell("looking at %s for the first time: %s", s.Name, s.Reached())
		within, cancel := context.WithTimeout(ctx, firstLook)
		err := a.lookAt(within, dir, loaded, s.Name)
		cancel()
		if failed[s.Name] = err; ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if len(failed) == 0 {
		return servers, nil
	}
	_, _, again, err := a.servers()
	for i := range servers {
		if s, missing := a.server(servers[i].Name, again); missing == nil {
			servers[i] = *s
		}
		if err := failed[servers[i].Name]; err != nil && !slices.ContainsFunc(servers[i].Problems, func(p survey.Problem) bool { return p.Fails }) {
			servers[i].Problems = append(servers[i].Problems, survey.Problem{
				Fails: true, Text: "server " + servers[i].Name + " could not be looked at: " + err.Error(), Remedy: "Mend what is named there.",
			})
		}
	}
	return servers, err
}

// toolReview is a tool in `servers review --json`.
type toolReview struct {
	Tool        string   `json:"tool"`    // as the server calls it
	Offered     string   `json:"offered"` // as agents call it
	State       string   `json:"state"`
	Reason      string   `json:"reason,omitempty"`
	Safe        bool     `json:"safe"` // you have classed it so
	Suggests    []string `json:"suggests"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description"`
	Arguments   []string `json:"arguments"` // all of them
	Mapped      mapped   `json:"mapped"`
	Findings    []string `json:"findings"`
	Diff        string   `json:"diff,omitempty"`
}

type serverReview struct {
	serverRow
	Secrets  string             `json:"secrets"` // the file of its secrets, which need not be there
	Identity catalogue.Identity `json:"identity"`
	Tools    []toolReview       `json:"tools"`
	Safe     []string           `json:"suggested_safe"` // tools that say they only read, and are not classed so
}

func reviewOf(s survey.Server) serverReview {
	return serverReview{rowOf(s), s.Files.Secrets, s.Identity, records(s.Entries, func(e catalogue.Entry) toolReview { return toolOf(s.Definition, e) }), orEmpty(suggestedSafe(s))}
}

func toolOf(d upstream.Definition, e catalogue.Entry) toolReview {
	return toolReview{
		Tool: e.Own, Offered: e.Name, State: string(e.State), Reason: e.Reason, Safe: e.Safe, Suggests: orEmpty(suggestions(e.Suggested)), Title: e.Title,
		Description: e.Description, Arguments: orEmpty(argumentsOf(e.Input)), Mapped: mappedOf(d, e.Own, argumentsOf(e.Input)),
		Findings: records(e.Findings, catalogue.Finding.String), Diff: e.Diff(),
	}
}

// suggestions are what a server says of its tool, in words.
func suggestions(of catalogue.Annotations) (said []string) {
	for _, hint := range []struct {
		is       *bool
		yes, not string
	}{
		{of.ReadOnly, "only reads", "changes something"}, {of.Destructive, "destroys", "destroys nothing"},
		{of.Idempotent, "twice is as once", ""}, {of.OpenWorld, "reaches the network", "reaches nothing outside"},
	} {
		switch {
		case hint.is == nil:
		case *hint.is:
			said = append(said, hint.yes)
		case hint.not != "":
			said = append(said, hint.not)
		}
	}
	return said
}

// argumentsOf are the names of the arguments that a schema has.
func argumentsOf(schema json.RawMessage) []string {
	var of struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(schema, &of) // one that is no object has none
	return slices.Sorted(maps.Keys(of.Properties))
}

// mapped are the places of paths, commands and addresses in the arguments of a tool.
type mapped struct {
	Reads    []string `json:"reads,omitempty"`
	Writes   []string `json:"writes,omitempty"`
	Deletes  []string `json:"deletes,omitempty"`
	Commands []string `json:"commands,omitempty"`
	URLs     []string `json:"urls,omitempty"`
}

// mappedOf finds them for a tool with these arguments; an effect for several tools can name what one of them does not have.
func mappedOf(d upstream.Definition, own string, arguments []string) (all mapped) {
	ready, _ := mapping.Ready(d.Mapping)
	for _, e := range append(slices.Clone(ready), d.Effects...) {
		if matches, err := path.Match(e.Tool, own); err == nil && matches {
			for _, list := range []struct {
				to   *[]string
				from []string
			}{{&all.Reads, e.Reads}, {&all.Writes, e.Writes}, {&all.Deletes, e.Deletes}, {&all.Commands, e.Commands}, {&all.URLs, e.URLs}} {
				for _, place := range list.from {
					if i := strings.IndexAny(place+".", ".["); len(arguments) == 0 || slices.Contains(arguments, place[:i]) {
						*list.to = append(*list.to, place)
					}
				}
			}
		}
	}
	return all
}

// suggestedSafe are the tools that say that they only read.
func suggestedSafe(s survey.Server) (names []string) {
	for _, e := range s.Entries {
		if only := e.Suggested.ReadOnly; only != nil && *only && !e.Safe && (e.State == catalogue.Trusted || e.State.Quarantined()) {
			names = append(names, e.Own)
		}
	}
	return names
}

func (a *app) printReview(s survey.Server) {
	a.Printf("%s: %s\n  settings: %s (%s)\n", a.Bold(s.Name), s.Reached(), whose(s), s.Origin)
	a.Printf("  secrets: %s", s.Files.Secrets)
	if _, err := os.Lstat(s.Files.Secrets); err != nil {
		a.Printf(" (not there; %s, a line each, mode 0600)", map[bool]string{true: "Header-Name: value", false: "NAME=value"}[s.HTTP()])
	}
	a.Println()
	if s.Identity.Name != "" {
		a.Printf("  says that it is: %s\n", strings.TrimSpace(s.Identity.Name+" "+s.Identity.Version))
	}
	if tools := toolsOf(s); tools != "" {
		a.Printf("  tools: %s\n", tools)
	}
	for _, e := range s.Entries {
		a.Println()
		a.printTool(s.Definition, e, false)
	}
	if names := suggestedSafe(s); len(names) > 0 {
		quoted := records(append(slices.Clone(s.Definition.Safe), names...), func(name string) string { text, _ := json.Marshal(name); return string(text) })
		a.Printf("\nThese say that they only read. If you believe it, add to the entry of %s in %s:\n    safe: [%s]\n", s.Name, s.Origin,
			printer.Raw(printable.JSON([]byte(strings.Join(quoted, ", ")))))
		if s.OfWorkspace {
			a.Println("Then let the changed settings take effect, or the server is not started any more: orchestra-mcp trust")
		}
	}
	a.tellProblems(s)
}

// maxDescription is how many characters of a description are shown on a line.
const maxDescription = 2000

// printTool shows one tool, as it is listed now; whole is with all of its definition.
func (a *app) printTool(d upstream.Definition, e catalogue.Entry, whole bool) {
	class, state := a.Amber("changes something"), printer.Raw(e.State)
	if e.Safe {
		class = a.Green("safe")
	}
	if e.State != catalogue.Trusted {
		state = a.Red(string(e.State))
	}
	a.Printf("  %s: %s, %s", a.Bold(e.Own), class, state)
	if e.Reason != "" {
		a.Printf(" (%s)", e.Reason)
	}
	a.Println()
	if e.Description != "" && !whole {
		a.Printf("      %s\n", printable.Clip(strings.Join(strings.Fields(e.Description), " "), maxDescription))
	}
	maps := mappedOf(d, e.Own, argumentsOf(e.Input))
	for _, line := range []struct {
		name  string
		words []string
	}{
		{"arguments", argumentsOf(e.Input)}, {"reads", maps.Reads}, {"writes", maps.Writes}, {"deletes", maps.Deletes},
		{"runs", maps.Commands}, {"addresses", maps.URLs}, {"says of itself", suggestions(e.Suggested)},
	} {
		if len(line.words) > 0 {
			a.Printf("      %s: %s\n", line.name, strings.Join(line.words, ", "))
		}
	}
	for _, f := range e.Findings {
		a.Printf("      %s\n", a.Red("found: "+f.String()))
	}
	for line := range strings.Lines(e.Diff()) {
		a.Printf("      ")
		a.DiffLine(strings.TrimSuffix(line, "\n"))
	}
	if whole && e.Was == nil {
		for line := range strings.Lines(e.Shown()) {
			a.Printf("      | %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
}
