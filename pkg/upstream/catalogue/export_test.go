package catalogue

// Canonical is the form of a definition in which it is compared.
func Canonical(definition []byte) ([]byte, error) { return canonical(definition) }

// Revision names the way in which definitions are looked at.
func Revision() string { return revision() }
