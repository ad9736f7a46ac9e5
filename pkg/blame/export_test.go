package blame

// ParsePorcelain reads the output of git blame for a workspace at prefix in its repository.
func ParsePorcelain(prefix string, out []byte) (map[int]*Commit, error) {
	return (&git{prefix: prefix}).parsePorcelain(out)
}
