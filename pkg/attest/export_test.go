package attest

// Read opens an envelope and parses its statement.
func Read(text []byte, keys ...PublicKey) (Statement, error) {
	payload, _, err := open(text, nil, keys)
	if err != nil {
		return Statement{}, err
	}
	return parse(payload)
}

// Applies is what replay asks of a change's hunks.
var Applies = applies
