package golang

import (
	"reflect"
	"slices"
	"strings"

	"go/token"
)

// encoders are words in the paths of packages that write and read fields by
// their names, unless a tag says another.
var encoders = words(`json xml gob yaml toml bson msgpack mapstructure schema form cbor ini hcl csvutil gocsv sqlx gorm viper envconfig
	env copier mergo validator graphql dynamodbattribute attributevalue datastore firestore bigquery`)

// byName are packages by which a program finds fields and methods by names
// that stand in strings.
var byName = words(`reflect text/template html/template net/rpc`)

// encoded tells why the new name of a field could be seen in what the program
// writes and reads. Only exported fields are, and only these files are looked
// at: that somebody else encodes the type is for who uses it to know.
func (r *rules) encoded(b, a *member) string {
	if !token.IsExported(b.object.Name) {
		return ""
	}
	keys, said := tagKeys(b.tag)
	if (b.owner.tags || a.owner.tags) && !said {
		return "other fields of its type have tags, so encoders look at its name"
	}
	for _, f := range slices.Concat(r.before.files, r.after.files) {
		for importPath := range f.importPaths() {
			for part := range strings.FieldsFuncSeq(importPath, func(r rune) bool { return strings.ContainsRune("/.-_", r) }) {
				if format := strings.TrimRight(part, "0123456789"); encoders()[format] && !slices.Contains(keys, format) {
					return "its name can be in what is encoded with " + importPath
				}
			}
		}
	}
	return ""
}

// tagKeys are the formats to which a tag gives a name of its own; said tells
// whether there is one.
func tagKeys(tag string) (keys []string, said bool) {
	text := unquote(strings.TrimPrefix(tag, "tag "))
	for _, format := range []string{"json", "xml", "yaml", "toml", "bson", "msgpack", "mapstructure", "schema", "form", "cbor", "hcl", "env"} {
		name, ok := reflect.StructTag(text).Lookup(format)
		if name, _, _ = strings.Cut(name, ","); ok && name != "" {
			keys = append(keys, format)
		}
	}
	return keys, len(keys) > 0
}

// named tells whether the program can find a member by a string that has its
// name.
func (r *rules) named(name string) bool {
	if !token.IsExported(name) {
		return false
	}
	for _, s := range []*side{r.before, r.after} {
		for _, f := range s.files {
			if f.says(name) {
				return true
			}
		}
	}
	return false
}

// says tells whether a file that finds things by name has the name in a
// string.
func (f *source) says(name string) bool {
	finds := false
	for importPath := range f.importPaths() {
		finds = finds || byName()[importPath]
	}
	return finds && slices.ContainsFunc(f.strings, func(text string) bool {
		return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !isNamePart(r) }), name)
	})
}

// importPaths are those of the file's imports.
func (f *source) importPaths() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, spec := range f.ast.Imports {
			if !yield(unquote(spec.Path.Value)) {
				return
			}
		}
	}
}
