package catalogue

// Canonical is the form of a definition in which it is compared.
func Canonical(definition []byte) ([]byte, error) { return canonical(definition) }
