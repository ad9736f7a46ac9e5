package login

// Bearer are the parameters of a challenge.
func Bearer(header string) map[string]string { return bearer(header) }
