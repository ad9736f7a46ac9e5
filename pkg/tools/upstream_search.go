package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

type searchToolsArgs struct {
	sessionArg
	Query string `json:"query" is:"sentence"`
	Limit int    `json:"limit,omitempty" min:"1" max:"50" default:"8"`
}

type foundTool struct {
	Name        string          `json:"name" doc:"For call_tool."`
	Title       string          `json:"title,omitempty" doc:"Its name for people."`
	Description string          `json:"description" doc:"What its server says of it."`
	Cut         bool            `json:"description_cut,omitempty" doc:"Whether more is said of it."`
	Changes     bool            `json:"changes_something" doc:"Whether it needs a selected intent."`
	InputSchema json.RawMessage `json:"input_schema" form:"object" optional:"true" doc:"Of its arguments; left out where there is no room: ask for it alone."`
}

type foundTools struct {
	Tools []foundTool `json:"tools" doc:"The best first."`
	Total int         `json:"total" min:"0" doc:"Tools that match."`
}

const (
	// foundBudget bounds what one search gives, in bytes; the first tool is given whole up to foundWhole.
	foundBudget = 24 << 10
	foundWhole  = 64 << 10
	// foundDescription bounds a description beside others.
	foundDescription = 1200
	// searched bounds how much of a description is looked at.
	searched = 4 << 10
)

// FaceNames are the names of what [Upstreams.Faces] can give. No server's tool has one of them, whether there are faces or not.
func FaceNames() []string { return []string{searchName, callName} }

const searchName, callName = "search_tools", "call_tool"

// searchTools finds tools that are not listed.
func searchTools(u *Upstreams) hooks.Tool {
	spec := looking(searchName, "Search tools", "Find tools of other servers that are not listed, by words of their names and descriptions. call_tool calls them.")
	return respond[searchToolsArgs, foundTools](spec, func(ctx context.Context, _ *hooks.Call, a searchToolsArgs) (*reply, error) {
		ranked := ranked(u.searchable(ctx), wordsOf(a.Query))
		result := foundTools{Tools: []foundTool{}, Total: len(ranked)}
		left := foundBudget
		for _, t := range ranked[:min(len(ranked), cmp.Or(a.Limit, 8))] {
			one := foundTool{Name: t.Name, Title: t.Title, Description: t.Description, Changes: !t.Safe, InputSchema: t.Input}
			if len(result.Tools) > 0 || len(one.Description)+len(one.InputSchema) > foundWhole {
				one.Description = clip(one.Description, foundDescription)
				one.Cut = one.Description != t.Description
			}
			if size := len(one.Description) + len(one.InputSchema); size > left && len(result.Tools) > 0 || size > foundWhole {
				one.InputSchema = nil
			}
			if left -= len(one.Name) + len(one.Title) + len(one.Description) + len(one.InputSchema); left < 0 && len(result.Tools) > 0 {
				break
			}
			result.Tools = append(result.Tools, one)
		}
		return &reply{text: foundText(result), structured: result}, nil
	})
}

func foundText(found foundTools) string {
	if len(found.Tools) == 0 {
		return "No tool matches. Try other words, or fewer."
	}
	var b strings.Builder
	for _, t := range found.Tools {
		fmt.Fprintf(&b, "%s: %s\n", t.Name, t.Description)
		if t.InputSchema != nil {
			fmt.Fprintf(&b, "  arguments: %s\n", t.InputSchema)
		}
	}
	if more := found.Total - len(found.Tools); more > 0 {
		fmt.Fprintf(&b, "[and %d more]\n", more)
	}
	return b.String()
}

// searchable are the tools of the servers that are searched.
func (u *Upstreams) searchable(ctx context.Context) []catalogue.Tool {
	return slices.DeleteFunc(slices.Clone(u.Offer.Tools(ctx)), func(t catalogue.Tool) bool {
		server, ok := u.servers[t.Server]
		return !ok || !server.Searched
	})
}

// wordsOf are the words of a text, in lower case; a change from small to capital letters begins one.
func wordsOf(text string) []string {
	var b strings.Builder
	small := false
	for _, r := range text {
		if small && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// ranked are the tools in which one of the words stands, the best first: a word of the name says more than one of the title, and
// that more than one of the description, and a whole word more than a part. Without words all are, in their order.
func ranked(tools []catalogue.Tool, words []string) []catalogue.Tool {
	type scored struct {
		catalogue.Tool
		score int
	}
	var all []scored
	for _, t := range tools {
		score, met := 0, make([]bool, len(words)) // which words stand there whole
		for _, in := range []struct {
			text   string
			weight int
		}{{t.Name, 12}, {t.Title, 5}, {t.Description[:min(len(t.Description), searched)], 2}} {
			here := wordsOf(in.text)
			for i, word := range words {
				switch {
				case slices.Contains(here, word):
					score += 2 * in.weight
					met[i] = true
				case slices.ContainsFunc(here, func(w string) bool { return len(word) > 2 && strings.Contains(w, word) }):
					score += in.weight
				}
			}
		}
		for _, whole := range met {
			if whole {
				score += 10
			}
		}
		if score > 0 || len(words) == 0 {
			all = append(all, scored{t, score})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	found := make([]catalogue.Tool, len(all))
	for i, one := range all {
		found[i] = one.Tool
	}
	return found
}

// ownArguments are an object as it was sent.
type ownArguments struct{ json.RawMessage }

type callToolArgs struct {
	sessionArg
	IntentID  string       `json:"intent_id,omitempty" is:"word"`
	Name      string       `json:"name" is:"word"`
	Arguments ownArguments `json:"arguments,omitempty" form:"object"`
	unusedClass
}

// calling calls a tool that was found: all that is judged and recorded is the call of that tool.
type calling struct {
	*tool[callToolArgs]
	upstreams *Upstreams
}

func callTool(u *Upstreams) hooks.Tool {
	spec := hooks.Spec{
		Name: callName, Title: "Call a tool", Class: hooks.Destructive, OpenWorld: true,
		Description: "Call a tool that search_tools found, by its name, with arguments of its input_schema. Needs a selected intent where the tool changes something.",
	}
	t := define[callToolArgs, struct{}](spec, nil, nil) // a resumption has no targets
	t.spec.OutputSchema, t.spec.ResultSchema = nil, nil // it answers what the tool answers
	return &calling{t, u}
}

func (t *calling) Decode(args hooks.Arguments) (hooks.Decoded, error) {
	call, err := t.decode(args)
	return &called{call, t.upstreams}, err
}

type called struct {
	*decoded[callToolArgs]
	upstreams *Upstreams
}

var _ hooks.Resumption = (*called)(nil)

func (c *called) Stored(context.Context, *hooks.Call) (*hooks.StoredCall, error) {
	t, ok := c.upstreams.Offer.Tool(c.args.Name)
	var made *upstreamTool
	if ok {
		made = c.upstreams.made(t)
	}
	if withheld := c.upstreams.Missing(c.args.Name); made == nil && withheld != nil {
		return nil, withheld
	}
	if made == nil || !made.server.Searched {
		return nil, refusal.Newf(refusal.InvalidArguments, "call_tool calls what search_tools finds, and that is no tool %q.", printable.Clip(c.args.Name, 100)).
			Suggest("Call search_tools, and pass a name that it gives. A tool that is listed is called by itself.")
	}
	arguments, err := made.of(c.args.Arguments.RawMessage, c.args.Session, c.args.IntentID)
	if err != nil {
		return nil, invalid(callName, []string{"arguments: " + err.Error()})
	}
	return &hooks.StoredCall{Tool: t.Name, Arguments: arguments, Result: func(r hooks.Result) (hooks.Result, error) { return r, nil }}, nil
}
