package doctor

import "fmt"

// ability is what this machine could confine commands with.
type ability struct {
	namespaces error // nil: user and mount namespaces can be had
	landlock   int   // ABI version, 0 if there is none
	seccomp    bool
	cgroup     string // the delegated cgroup, empty if there is none
}

// checkSandbox says what could be, and that nothing is: an operator must not count on it.
func (e *examination) checkSandbox() {
	if e.sandboxed {
		e.ok("the settings require a sandbox, and this version has none: no command of an agent runs")
	} else {
		e.warn("Agents' commands are not confined in this version: a command can read and write whatever you can.",
			"Set `sandbox: require` in your own settings, which refuses every command, or look at the record of what they changed.", "")
	}
	if e.OS != "linux" {
		e.ok("this system has none of the means by which a later version will confine commands")
		return
	}
	found := probe(e.ctx)
	e.ok("a later version could confine commands here at level %s: %s", found.level(), found)
}

// level is that of the setting sandbox which this machine could reach.
func (a ability) level() string {
	switch {
	case a.namespaces == nil && a.landlock > 0 && a.seccomp:
		return "full"
	case a.landlock > 0 && a.seccomp:
		return "landlock"
	}
	return "none"
}

func (a ability) String() string {
	text := "user namespaces yes"
	if a.namespaces != nil {
		text = fmt.Sprintf("user namespaces no (%v)", a.namespaces)
	}
	if a.landlock > 0 {
		text += fmt.Sprintf(", Landlock ABI %d", a.landlock)
	} else {
		text += ", Landlock no"
	}
	if a.seccomp {
		text += ", seccomp yes"
	} else {
		text += ", seccomp no"
	}
	if a.cgroup != "" {
		return text + ", cgroup delegated"
	}
	return text + ", no cgroup delegated"
}
