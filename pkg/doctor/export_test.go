package doctor

// Ability is what a machine could confine commands with.
type Ability = ability

// NewAbility is a machine.
func NewAbility(namespaces error, landlock int, seccomp bool) Ability {
	return ability{namespaces: namespaces, landlock: landlock, seccomp: seccomp}
}

// Level is the sandbox's level that the machine could reach.
func (a ability) Level() string { return a.level() }

// Quote makes one word of a shell.
func Quote(text string) string { return quote(text) }
