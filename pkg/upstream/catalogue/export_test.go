package catalogue

// Canonical is the form of a definition in which it is compared.
func Canonical(definition []byte) ([]byte, error) { return canonical(definition) }

// Inspect looks at one definition.
func Inspect(definition []byte) []Finding {
	return inspect(definition, &budget{left: maxInspected}).findings
}

// Revision names the way in which definitions are looked at.
func Revision() string { return revision() }
