package profile

// Private is makePrivate for everything in a git directory.
func Private(gitDir string) error {
	_, err := makePrivate(gitDir, func(string) bool { return false })
	return err
}
