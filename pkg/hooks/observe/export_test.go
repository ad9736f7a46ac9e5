package observe

func GitState(name string) bool { return gitState(name) }
