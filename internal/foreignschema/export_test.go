package foreignschema

// MaxBytes is exported for tests.
const MaxBytes = maxBytes
