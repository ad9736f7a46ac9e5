package policy

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// subcommands are the programs of which rules name a subcommand, with the options before it that take the next word as
// their value. Of those not named here both are tried: that it takes one, and that it does not.
func subcommands() map[string]string {
	const npm = "--prefix -C --workspace -w --registry --loglevel --userconfig --cache --dir --cwd --filter -F"
	const pip = "--log --proxy --cache-dir --python"
	const kubectl = "-n --namespace --context --cluster --kubeconfig -s --server --user --token --as --kube-context"
	const docker = "-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey --url --connection --root"
	return map[string]string{
		"git": "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source --exec-path",
		"npm": npm, "pnpm": npm, "yarn": npm, "bun": npm, "npx": npm,
		"docker": docker, "podman": docker, "nerdctl": docker,
		"kubectl": kubectl, "helm": kubectl, "oc": kubectl,
		"go": "-C", "cargo": "--config -C --color -Z --manifest-path",
		"gh": "-R --repo", "glab": "-R --repo", "hg": "-R --cwd --config", "svn": "",
		"pip": pip, "pip3": pip,
		"poetry": "-C --directory -P --project", "uv": "--directory --project --config-file --cache-dir",
		"terraform": "-chdir", "tofu": "-chdir", "aws": "--profile --region --output --endpoint-url", "gcloud": "--project --account --configuration",
		"az": "--subscription", "systemctl": "-H --host -M --machine", "apt": "-o -c -t", "apt-get": "-o -c -t",
		"brew": "", "dnf": "-c --installroot", "bundle": "", "composer": "-d --working-dir", "dotnet": "", "flutter": "-d", "make": "",
	}
}

// maxReadings bounds how many ways there are to read options that nobody knows.
const maxReadings = 32

// readings are the arguments as they stand and, for a rule with a subcommand, without the options before it.
func readings(p shell.Program, sub bool) [][]shell.Arg {
	values, known := subcommands()[p.Name]
	if !known || !sub {
		return [][]shell.Arg{p.Args}
	}
	var all [][]shell.Arg
	open := [][]shell.Arg{p.Args}
	for len(open) > 0 {
		args := open[0]
		open = open[1:]
		if len(args) == 0 || !args[0].Begins("-") {
			all = append(all, args)
			continue
		}
		option := args[0].Text
		takes := shell.Among(values, option)
		if takes && len(args) > 1 && !args[1].Many {
			open = append(open, args[2:])
			continue
		}
		open = append(open, args[1:])
		if !takes && !strings.Contains(option, "=") && len(args) > 1 {
			open = append(open, args[2:])
		}
		if len(open)+len(all) > maxReadings {
			return append(all, []shell.Arg{{Many: true, Open: true}})
		}
	}
	return all
}
