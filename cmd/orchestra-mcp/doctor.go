package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/doctor"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (a *app) newDoctorCommand() *cobra.Command {
	var quiet bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong here, and how to mend it",
		Long: "Look at the workspace, its settings, intents, ledger and git repository, at the clients' configuration and at what\n" +
			"this machine can do, and say what is wrong and which command mends it. Nothing is changed.\n\n" +
			"The exit code is 0 if no check failed, 1 if one did. Warnings are about what works, but should be known.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "only what warns or fails")
	json := addJSONFlag(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error {
		dir, err := a.workspaceDir()
		if err != nil {
			return err
		}
		report := doctor.Run(cmd.Context(), a.doctorOptions(dir))
		if *json {
			err = printJSON(a.out, report)
		} else {
			err = a.printReport(report, quiet)
		}
		if err == nil && report.Count(doctor.Fail) > 0 {
			return foundSomething()
		}
		return err
	})
	return cmd
}

func (a *app) doctorOptions(dir string) doctor.Options {
	environ := a.environ()
	home, _ := a.home() // what needs it says that it is missing
	executable, _ := a.executable()
	self := "orchestra-mcp"
	if a.workspaceFlag != "" {
		self += " --workspace " + shellword.Show(dir)
	}
	return doctor.Options{
		Dir: dir, Environ: environ, Home: home, OS: a.os, SystemDir: settings.SystemDir, UserDir: settings.UserDir(environ),
		Executable: executable, Version: buildinfo.Read().Version, Self: self, Now: a.now,
	}
}

func (a *app) printReport(report doctor.Report, quiet bool) error {
	styles := map[doctor.Status]string{doctor.OK: styleGreen, doctor.Warn: styleAmber, doctor.Fail: styleRed}
	var text strings.Builder
	for _, f := range report.Findings {
		if quiet && f.Status == doctor.OK {
			continue
		}
		fmt.Fprintf(&text, "%s  %-10s %s\n", a.styled(styles[f.Status], fmt.Sprintf("%-4s", f.Status)), f.Area, printable(f.Message))
		if f.Remedy != "" {
			fmt.Fprintf(&text, "%17s%s\n", "", printable(f.Remedy))
		}
		if f.Command != "" {
			fmt.Fprintf(&text, "%17s%s\n", "", a.styled(styleBold, printable(f.Command)))
		}
	}
	sum := fmt.Sprintf("%d ok, %d to know, %d to mend", report.Count(doctor.OK), report.Count(doctor.Warn), report.Count(doctor.Fail))
	if report.Count(doctor.Warn)+report.Count(doctor.Fail) == 0 {
		sum = a.styled(styleGreen, sum)
	}
	fmt.Fprintf(&text, "\n%s\n", sum)
	_, err := fmt.Fprint(a.out, text.String())
	return err
}
