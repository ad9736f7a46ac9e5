package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// problem is one finding of intents validate.
type problem struct {
	Severity string `json:"severity"` // error or warning
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Message  string `json:"message"`
}

// String has the form that editors and CI systems recognise.
func (p problem) String() string {
	position := p.File
	if p.Line > 0 {
		position += fmt.Sprintf(":%d", p.Line)
	}
	if p.Column > 0 {
		position += fmt.Sprintf(":%d", p.Column)
	}
	return fmt.Sprintf("%s: %s: %s", position, p.Severity, p.Message)
}

func (a *app) newIntentsValidateCommand() *cobra.Command {
	var strict bool
	cmd := a.command(&cobra.Command{
		Use:   "validate",
		Short: "Check active_intents.yaml and the .intentignore files",
		Long: `Prints each problem with its file, line and column, and how many files each glob of a scope matches. Exit code 1
if there is an error: every change is then refused until it is repaired. Warnings are about what is accepted but
probably not meant, such as a glob that matches nothing.`,
	}, a.inWorkspace(func(_ context.Context, root *os.Root) error {
		checked, err := checkIntents(root)
		if err != nil {
			return err
		}
		a.answer(checked, func() { a.printValidation(checked) })
		return found(slices.ContainsFunc(checked.Problems, func(p problem) bool { return strict || p.Severity == "error" }))
	}))
	cmd.Flags().BoolVar(&strict, "strict", false, "exit code 1 for warnings too")
	return cmd
}

// validation is what intents validate prints for programs.
type validation struct {
	Intents  int            `json:"intents"`
	Scopes   []intent.Reach `json:"scopes"`
	Problems []problem      `json:"problems"`
}

// checkIntents looks at both kinds of files, so that a mistake in one does not hide one in the other.
func checkIntents(root *os.Root) (found validation, err error) {
	store := intent.Open(root)
	found = validation{Scopes: []intent.Reach{}, Problems: []problem{}}
	set, err := store.Load()
	_, ignoreErr := store.Ignore()
	if err == nil {
		for _, w := range append(set.Warnings(), store.IdleGlobs()...) {
			found.Problems = append(found.Problems, problem{"warning", w.File, w.Line, w.Column, w.Message})
		}
		return found, found.addScopes(root, store, set)
	}
	for _, each := range []error{err, ignoreErr} {
		var unreadable *intent.UnreadableError
		switch {
		case each == nil:
			continue
		case !errors.As(each, &unreadable):
			return found, each
		}
		p := problem{"error", unreadable.File, unreadable.Line, unreadable.Column, unreadable.Reason}
		if len(found.Problems) == 0 || found.Problems[0] != p {
			found.Problems = append(found.Problems, p)
		}
	}
	return found, nil
}

// addScopes says what the intents' globs match, and what nobody has said yet. What is done is not looked at: its files may
// have moved since.
func (v *validation) addScopes(root *os.Root, store *intent.Store, set *intent.Set) error {
	v.Intents = len(set.All())
	if v.Intents == 0 {
		v.warn(1, 1, "no intents are declared, so nothing can be changed; add one with orchestra-mcp intents add")
	}
	open := map[string]bool{}
	for _, in := range set.All() {
		open[in.ID] = in.Status != intent.Done
		if open[in.ID] && scaffold.IsPlaceholder(in.Description) {
			v.warn(in.Line, 1, fmt.Sprintf("%s has the name and description that init made up: say what it is for, so that its lines have a reason", in.ID))
		}
	}
	reaches, err := store.Reaches()
	if err != nil {
		return err
	}
	for _, r := range reaches {
		if open[r.IntentID] && !r.There {
			v.warn(r.Line, r.Column, fmt.Sprintf("%s of %s matches nothing in the workspace%s", r.Glob, r.IntentID, meantGlob(root, r.Glob)))
		}
	}
	v.Scopes = append(v.Scopes, reaches...)
	return nil
}

func (v *validation) warn(line, column int, message string) {
	v.Problems = append(v.Problems, problem{"warning", scaffold.IntentsFile, line, column, message})
}

// meantGlob is the end of a message about a glob that matches nothing.
func meantGlob(root *os.Root, glob string) string {
	if strings.Contains(glob, ",") && !strings.Contains(glob, "{") {
		return "; paths are items of their own in the list, without commas"
	}
	literal := glob
	if i := strings.IndexAny(glob, `*?[{\`); i >= 0 {
		literal = glob[:strings.LastIndexByte(glob[:i], '/')+1]
	}
	literal = strings.TrimSuffix(literal, "/")
	meant := nearestPath(root, strings.TrimPrefix(literal, "./"))
	if literal == "" || meant == "" || meant == literal {
		return ""
	}
	return didYouMean(meant + glob[len(literal):])
}

// warnIdle tells of globs that were just given and match nothing: a new directory, or a mistake.
func (a *app) warnIdle(globs []string) error {
	return a.withWorkspace(func(root *os.Root) error {
		reaches, err := intent.Open(root).Reaches()
		if err != nil {
			return nil // there is nothing more to say about the intents than was said
		}
		told := map[string]bool{}
		for _, r := range reaches {
			if slices.Contains(globs, r.Glob) && !r.There && !told[r.Glob] {
				told[r.Glob] = true
				a.tell("warning: %s matches nothing in the workspace%s", r.Glob, meantGlob(root, r.Glob))
			}
		}
		return nil
	})
}

func (a *app) printValidation(found validation) {
	for _, each := range found.Problems {
		a.Println(each.String())
	}
	printer.Table(a.Printer, "INTENT|GLOB|FILES", found.Scopes, func(r intent.Reach) []any { return []any{r.IntentID, r.Glob, r.Files} })
	if len(found.Problems) == 0 {
		a.Println(a.Green(printer.Count(found.Intents, "intent") + ", no problems"))
	}
}
