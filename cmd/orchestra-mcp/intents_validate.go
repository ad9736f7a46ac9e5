package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

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
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check active_intents.yaml and the .intentignore files",
		Long: "Prints each problem with its file, line and column. Exit code 1 if there is an error: every change is then\n" +
			"refused until it is repaired. Warnings are about what is accepted but probably not meant.",
		Args: cobra.NoArgs,
	}
	asJSON := addJSONFlag(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "exit code 1 for warnings too")
	cmd.RunE = a.run(func(*cobra.Command, []string) error { return a.validateIntents(strict, *asJSON) })
	return cmd
}

func (a *app) validateIntents(strict, asJSON bool) error {
	return a.withIntents(func(store *intent.Store) error {
		problems, intents, err := checkIntents(store)
		if err != nil {
			return err
		}
		if err := a.printProblems(problems, intents, asJSON); err != nil {
			return err
		}
		for _, each := range problems {
			if strict || each.Severity == "error" {
				return foundSomething()
			}
		}
		return nil
	})
}

// checkIntents looks at both kinds of files, so that a mistake in one does not hide one in the other.
func checkIntents(store *intent.Store) (problems []problem, intents int, err error) {
	set, err := store.Load()
	_, ignoreErr := store.Ignore()
	if err == nil {
		for _, w := range append(set.Warnings(), store.IdleGlobs()...) {
			problems = append(problems, problem{"warning", w.File, w.Line, w.Column, w.Message})
		}
		return problems, len(set.All()), nil
	}
	for _, each := range []error{err, ignoreErr} {
		var unreadable *intent.UnreadableError
		switch {
		case each == nil:
			continue
		case !errors.As(each, &unreadable):
			return nil, 0, each
		}
		found := problem{"error", unreadable.File, unreadable.Line, unreadable.Column, unreadable.Reason}
		if len(problems) == 0 || problems[0] != found {
			problems = append(problems, found)
		}
	}
	return problems, 0, nil
}

func (a *app) printProblems(problems []problem, intents int, asJSON bool) error {
	if asJSON {
		return printJSON(a.out, struct {
			Intents  int       `json:"intents"`
			Problems []problem `json:"problems"`
		}{intents, append([]problem{}, problems...)})
	}
	for _, each := range problems {
		fmt.Fprintln(a.out, printable(each.String()))
	}
	if len(problems) > 0 {
		return nil
	}
	_, err := fmt.Fprintf(a.out, "%d intents, no problems\n", intents)
	return err
}
