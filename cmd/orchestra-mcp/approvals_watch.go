package main

import (
	"context"
	"errors"
	"reflect"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/watch"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

func (a *app) newApprovalsWatchCommand() *cobra.Command {
	var bell bool
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "See requests as they come, and answer them with a key",
		Long: `A live view of what waits: choose with the arrow keys, read the change, and press a (once), i (for the intent) or
d (deny). ? shows all keys. A key answers the request on the screen, and only after it has been there for half a
second: one that comes in while you press a key is not answered by it.`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{withoutJSON: "it is a live view; approvals list --json is for scripts"},
		RunE: coded(a.operator(func(ctx context.Context, _ []string) error {
			if !a.inTerminal || !a.Terminal {
				return usageErrorf("watch needs a terminal; in a script use approvals list --json")
			}
			return a.withInbox(ctx, func(b *inbox) error { return b.watch(ctx, bell) })
		})),
	}
	cmd.Flags().BoolVar(&bell, "bell", false, "ring the terminal's bell when a request comes")
	return cmd
}

func (b *inbox) watch(ctx context.Context, bell bool) error {
	noColor, _ := b.lookup("NO_COLOR")
	report := b.report
	var warnings []string // are told after the view: it has the whole screen
	b.report = func(text string) { warnings = append(warnings, text) }
	defer func() {
		b.report = report
		for _, text := range warnings {
			report(text)
		}
	}()
	model := watch.New(&watched{inbox: b, ctx: ctx}, watch.Options{
		Title: b.Root.Name(), Color: noColor == "", Bell: bell, Now: b.now,
	})
	_, err := tea.NewProgram(model, tea.WithContext(ctx), tea.WithInput(b.in), tea.WithOutput(b.Screen()), tea.WithEnvironment(b.environ())).Run()
	if errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}

// watched is the inbox as the live view reads it.
type watched struct {
	*inbox
	ctx   context.Context  // of the command: the view's methods have none
	shown map[string]shown // by the request's id
}

// shown is a request as it is on the screen: its difference costs much to lay out, and it rarely changes.
type shown struct {
	request approval.Request
	item    watch.Item
}

var _ watch.Source = (*watched)(nil)

// Items implements watch.Source.
func (w *watched) Items() ([]watch.Item, error) {
	pending, err := w.Store.Pending()
	if err != nil {
		return nil, err
	}
	w.recordExpired(w.ctx)
	grants, err := w.Store.Grants()
	if err != nil {
		return nil, err
	}
	before := w.shown
	w.shown = make(map[string]shown, len(pending))
	items := records(pending, func(r approval.Request) watch.Item {
		s := before[r.ID]
		if !reflect.DeepEqual(s.request, r) {
			s = shown{r, requestItem(r)}
		}
		w.shown[r.ID] = s
		return s.item
	})
	return append(items, records(grants, grantItem)...), nil
}

func requestItem(r approval.Request) watch.Item {
	view := approval.FullViewOf(r)
	item := watch.Item{
		ID: r.ID, Created: r.CreatedAt, Expires: r.ExpiresAt, Tool: r.Tool, IntentID: r.IntentID, Subject: r.Subject(),
		OnlyOnce: operator.OnlyOnce(r), Body: []watch.Line{{Text: view.Title, Style: watch.Heading}},
	}
	for _, row := range view.Rows {
		item.Body = append(item.Body, watch.Line{Text: row.Label + ": " + row.Text})
	}
	for _, answer := range view.Answers {
		item.Body = append(item.Body, watch.Line{Text: answer.Title + " allows " + answer.Means})
	}
	item.Body = append(item.Body, watch.Line{})
	for _, line := range view.Diff {
		item.Body = append(item.Body, watch.Line{Text: line.Text, Style: diffStyles[line.Kind]})
	}
	if view.DiffCut != "" {
		item.Body = append(item.Body, watch.Line{Text: view.DiffCut, Style: watch.Warning})
	}
	return item
}

var diffStyles = map[byte]watch.Style{'+': watch.Added, '-': watch.Removed, '@': watch.Place, 'f': watch.Heading}

func grantItem(g approval.Grant) watch.Item {
	item := watch.Item{
		ID: g.ID, Grant: true, Created: g.CreatedAt, Tool: g.ErrorType, IntentID: g.IntentID, Subject: operator.GrantSubject(g),
		Body: []watch.Line{{Text: "Granted until " + g.IntentID + " ends, or you revoke it", Style: watch.Heading}},
	}
	for _, line := range [][2]string{
		{"lets pass", g.ErrorType}, {"check", g.Hook}, {"at", g.Path}, {"command", g.Line}, {"directory", g.Cwd}, {"call", g.Call},
		{"by", g.By}, {"way", g.Via}, {"request", g.Request},
	} {
		if line[1] != "" {
			item.Body = append(item.Body, watch.Line{Text: line[0] + ": " + line[1]})
		}
	}
	return item
}

// Answer implements watch.Source.
func (w *watched) Answer(id string, decision watch.Decision, reason string) (string, error) {
	if decision == watch.Revoke {
		done, err := w.revoke(w.ctx, id)
		return done.Text, err
	}
	r, err := w.request(id)
	if err != nil {
		return "", err
	}
	done, err := w.Inbox.Answer(w.ctx, r, approval.Answer{Decision: decisions[decision], Reason: reason})
	return done.Text, err
}

var decisions = map[watch.Decision]approval.Decision{
	watch.Once: approval.Once, watch.ForIntent: approval.ForIntent, watch.Deny: approval.Deny,
}
