package gitref

// LimitImport bounds the lines of one import.
func LimitImport(lines int) (restore func()) {
	before := importBudget
	importBudget.lines = lines
	return func() { importBudget = before }
}
