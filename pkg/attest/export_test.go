package attest

// Read opens an envelope and reads its statement, of whatever type.
func Read(text []byte, keys ...PublicKey) (st Statement, err error) {
	payload, _, err := open(text, nil, keys)
	if err == nil {
		err = decode(payload, &st)
	}
	return st, err
}

// Applies is what replay asks of a change's hunks.
var Applies = applies
