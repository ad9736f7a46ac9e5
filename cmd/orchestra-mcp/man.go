package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newManCommand writes the manual pages that packages carry, one a command. They are made from the definitions that the
// help is made from, and have no date: the same program makes the same bytes.
func newManCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages into a directory", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: coded(func(_ context.Context, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return writeManual(newRootCommand(a), args[0])
		}),
	}
}

func writeManual(cmd *cobra.Command, dir string) error {
	if cmd.Name() == "help" || cmd.Hidden {
		return nil
	}
	for _, sub := range cmd.Commands() {
		if err := writeManual(sub, dir); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, manualName(cmd)+".1"), []byte(manual(cmd)), 0o644)
}

func manualName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manual is a page in the macros of man(7). What is laid out by hand in the help stays as it is.
func manual(cmd *cobra.Command) string {
	var page strings.Builder
	name := manualName(cmd)
	fmt.Fprintf(&page, ".TH %q 1 \"\" \"orchestra\\-mcp\" \"User Commands\"\n", strings.ToUpper(name))
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&page, ".SH %s\n%s", title, text)
		}
	}
	section("NAME", roff(name)+" \\- "+roff(cmd.Short)+"\n")
	section("SYNOPSIS", ".B "+roff(cmd.UseLine())+"\n")
	section("DESCRIPTION", laidOut(cmd.Long))
	section("COMMANDS", manualCommands(cmd))
	section("OPTIONS", manualOptions(cmd.LocalFlags()))
	section("OPTIONS OF ALL COMMANDS", manualOptions(cmd.InheritedFlags()))
	section("EXAMPLES", laidOut(cmd.Example))
	if cmd.HasParent() {
		section("SEE ALSO", ".BR "+roff(manualName(cmd.Parent()))+" (1)\n")
	}
	return page.String()
}

func manualCommands(cmd *cobra.Command) string {
	var list strings.Builder
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(&list, ".TP\n.BR %s (1)\n%s\n", roff(manualName(sub)), roff(sub.Short))
		}
	}
	return list.String()
}

func manualOptions(flags *pflag.FlagSet) string {
	var list strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		option := "--" + f.Name
		if f.Shorthand != "" {
			option = "-" + f.Shorthand + ", " + option
		}
		fmt.Fprintf(&list, ".TP\n\\fB%s\\fR \\fI%s\\fR\n%s\n", roff(option), roff(value), roff(usage))
	})
	return list.String()
}

// laidOut is text whose lines stay lines.
func laidOut(text string) string {
	if text == "" {
		return ""
	}
	return ".nf\n" + roff(text) + "\n.fi\n"
}

// roff is text in which nothing is a request or an escape of the formatter.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(strings.TrimRight(text, "\n"))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
