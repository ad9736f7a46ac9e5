package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/doctor"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (a *app) newDoctorCommand() *cobra.Command {
	var quiet, hooks bool
	look := func(ctx context.Context, _ []string) error {
		dir, err := a.workspaceDir()
		if err != nil {
			return err
		}
		opts := a.doctorOptions(dir)
		opts.Hooks = hooks
		report := doctor.Run(ctx, opts)
		a.answer(report, func() { a.printReport(report, quiet) })
		return found(report.Count(doctor.Fail) > 0)
	}
	cmd := a.command(&cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong here, and how to mend it",
		Long: `Look at the workspace, its settings, intents, ledger and git repository, at the clients' configuration and at what
this machine can do, and say what is wrong and which command mends it. Nothing is changed, and no client is started.

With --hooks the clients that are set up here and run without a login are started, with your own configuration and the
workspace's, and a model that is a script: its agent asks for a file that no agent gets, and the client's hook must refuse
it. For other clients it says what to type. Do this in a workspace that you trust.

The exit code is 0 if no check failed, 1 if one did. Warnings are about what works, but should be known.`,
		Example: "  orchestra-mcp doctor\n  orchestra-mcp doctor --hooks --quiet",
	}, func(ctx context.Context, args []string) error {
		if hooks {
			return a.operator(interruptible(look))(ctx, args)
		}
		return look(ctx, args)
	})
	cmd.Flags().BoolVar(&hooks, "hooks", false, "also start the clients that are set up, to prove that their hooks fire")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "only what warns or fails")
	return cmd
}

func (a *app) doctorOptions(dir string) doctor.Options {
	environ := a.environ()
	home, _ := a.home() // what needs it says that it is missing
	executable, _ := a.executable()
	launch, _ := a.launch(dir)
	self := "orchestra-mcp"
	if launch.NPX() || launch.Container() {
		self = launch.Line()
	}
	if a.workspaceFlag != "" {
		self += " --workspace " + shellword.Show(dir)
	}
	return doctor.Options{
		Dir: dir, Environ: environ, Home: home, OS: a.os, SystemDir: settings.SystemDir, UserDir: settings.UserDir(environ),
		Executable: executable, Launch: launch, Version: buildinfo.Read().Version, Self: self, Now: a.now, OurTools: ourTools(),
	}
}

func (a *app) printReport(report doctor.Report, quiet bool) {
	styles := map[doctor.Status]func(string) printer.Raw{doctor.OK: a.Green, doctor.Warn: a.Amber, doctor.Fail: a.Red}
	for _, f := range report.Findings {
		if quiet && f.Status == doctor.OK {
			continue
		}
		a.Printf("%s  %-10s %s\n", styles[f.Status](fmt.Sprintf("%-4s", f.Status)), f.Area, f.Message)
		if f.Remedy != "" {
			a.Printf("%17s%s\n", "", f.Remedy)
		}
		if f.Command != "" {
			a.Printf("%17s%s\n", "", a.Bold(f.Command))
		}
	}
	sum := printer.Raw(fmt.Sprintf("%d ok, %d to know, %d to mend", report.Count(doctor.OK), report.Count(doctor.Warn), report.Count(doctor.Fail)))
	if report.Count(doctor.Warn)+report.Count(doctor.Fail) == 0 {
		sum = a.Green(string(sum))
	}
	a.Printf("\n%s\n", sum)
}
