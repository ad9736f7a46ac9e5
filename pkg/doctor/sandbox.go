package doctor

import (
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// checkSandbox says at which level agents' commands run here, and why not at a higher one.
func (e *examination) checkSandbox() {
	level, err := e.sandbox.Level()
	if e.sandbox.Off {
		e.warn("The settings turn the sandbox off: a command of an agent can read and write whatever you can.",
			"Leave `sandbox` out of the settings; `best`, the default, takes the highest level that works here.", "")
		return
	}
	ability := e.ability()
	if err != nil {
		e.warn(fmt.Sprintf("The settings require sandbox level %s, and this machine has %s, so no command of an agent runs: %s.",
			e.sandbox.AtLeast, level, whyNot(ability)), "Set `sandbox: best` in your own settings, or give the machine what it lacks.", "")
		return
	}
	switch level {
	case sandbox.Full:
		e.ok("agents' commands run at sandbox level full (Landlock ABI %d)", ability.ABI)
		if ability.NoUnix != nil {
			e.warn(fmt.Sprintf("Agents' commands have no Unix sockets on this machine but connected pairs, so programs that talk to each other by them "+
				"do not work there: %v.", ability.NoUnix), "Let the machine allow what is named, or live without: nothing is less safe by it.", "")
		}
	case sandbox.Landlock:
		e.warn(fmt.Sprintf("Agents' commands run at sandbox level landlock (ABI %d): they can write only what their intent allows, but "+
			"change modes and times, and reach daemons that listen on the network; of what is secret they can read what lies in a directory that they may write.%s There is no level full: %s.", ability.ABI, lacking(ability), whyNot(ability)),
			"See docs/threat-model.md for what each level holds; `sandbox: require` refuses commands below the level full.", "")
	default:
		e.warn("Agents' commands are not confined on this machine: a command can read and write whatever you can. "+whyNot(ability)+".",
			"Set `sandbox: require` in your own settings, which refuses every command, or look at the record of what they changed.", "")
	}
}

// lacking is what an older kernel leaves open at the level landlock.
func lacking(a sandbox.Ability) string {
	if lacks := a.Lacks(); lacks != "" {
		return " On this kernel also: " + lacks + "."
	}
	return ""
}

func (e *examination) ability() sandbox.Ability {
	if e.sandbox.Ability != nil {
		return e.sandbox.Ability()
	}
	return sandbox.Probe()
}

// whyNot is why there is no higher level.
func whyNot(a sandbox.Ability) string {
	if a.NoLandlock != nil && a.NoFull != nil && a.NoFull.Error() != a.NoLandlock.Error() {
		return fmt.Sprintf("level full: %v; level landlock: %v", a.NoFull, a.NoLandlock)
	}
	if a.NoFull != nil {
		return a.NoFull.Error()
	}
	return "nothing is missing"
}
