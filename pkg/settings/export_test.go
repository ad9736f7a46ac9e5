package settings

// Field is where a key is kept, for the test that compares keys and struct.
type Field struct {
	Name  string
	Field any // a pointer into the settings given
}

// Fields returns the fields of all keys.
func Fields(s *Settings) []Field {
	var fields []Field
	for _, k := range catalogue() {
		fields = append(fields, Field{k.name, k.field(s)})
	}
	return fields
}
