package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// key is one setting, as its field in Settings says.
type key struct {
	name    string
	doc     string
	index   []int // of the field
	typ     reflect.Type
	order   order
	choices []string // of a Choice
	limits  limits
	check   func(value any) error
	example string
	secret  bool
	// standard is its default, as a file would say it; "" for the zero value.
	standard string
}

// catalogue returns all keys in the order in which they are documented. Nobody changes them.
var catalogue = sync.OnceValue(func() []key {
	var keys []key
	held := map[string]key{} // by the key that they stand before
	var add func(t reflect.Type, at []int, prefix string)
	add = func(t reflect.Type, at []int, prefix string) {
		for i := range t.NumField() {
			f, index := t.Field(i), append(slices.Clone(at), i)
			name := prefix + keyOf(f.Name)
			if f.Type.Kind() == reflect.Struct {
				add(f.Type, index, name+".")
				continue
			}
			k := newKey(name, index, f)
			if before := f.Tag.Get("before"); before != "" {
				held[before] = k
				continue
			}
			if first, is := held[name]; is {
				keys = append(keys, first)
			}
			keys = append(keys, k)
		}
	}
	add(reflect.TypeFor[Settings](), nil, "")
	return keys
})

func newKey(name string, index []int, f reflect.StructField) key {
	choices := choicesOf(f)
	return key{
		name: name, doc: f.Tag.Get("doc"), index: index, typ: f.Type, order: orderOf(f.Tag.Get("order"), choices), choices: choices,
		limits: limitsOf(f), check: checkOf(f.Tag.Get("check")), example: f.Tag.Get("example"), secret: f.Tag.Get("secret") != "",
		standard: f.Tag.Get("default"),
	}
}

func choicesOf(f reflect.StructField) []string {
	if f.Tag.Get("choices") == "" {
		return nil
	}
	return strings.Split(f.Tag.Get("choices"), ", ")
}

// keyOf writes a field's name as its key: RooAliases is roo_aliases, TLSCert tls_cert.
func keyOf(name string) string {
	var out strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// Defaults returns what holds where nothing is set. Each call returns a value of its own.
func Defaults() Settings {
	var s Settings
	for _, k := range catalogue() {
		if k.standard == "" {
			continue
		}
		if err := parse(k.standard, k.field(&s).Addr().Interface()); err != nil {
			panic("settings: the default of " + k.name + ": " + err.Error())
		}
	}
	return s
}

// variablePrefix begins the environment variable of every key.
const variablePrefix = "ORCHESTRA_"

// variable is the key's environment variable.
func (k *key) variable() string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))
}

// empty returns a pointer to a new zero value of the field's type.
func (k *key) empty() any { return reflect.New(k.typ).Interface() }

func pointee(pointer any) any { return reflect.ValueOf(pointer).Elem().Interface() }

func (k *key) field(s *Settings) reflect.Value {
	return reflect.ValueOf(s).Elem().FieldByIndex(k.index)
}

func (k *key) get(s *Settings) any { return k.field(s).Interface() }

func (k *key) set(s *Settings, value any) { k.field(s).Set(reflect.ValueOf(value)) }

// isList reports whether values of several sources add up.
func (k *key) isList() bool { return k.typ.Kind() == reflect.Slice }

// combine is what holds when value is set over base.
func (k *key) combine(base, value any) any {
	if !k.isList() {
		return value
	}
	joined := reflect.AppendSlice(reflect.ValueOf(base).Slice3(0, reflect.ValueOf(base).Len(), reflect.ValueOf(base).Len()), reflect.ValueOf(value))
	return joined.Interface()
}

// validate checks what target points to.
func (k *key) validate(target any) error {
	value := pointee(target)
	if choice, ok := value.(Choice); ok && !slices.Contains(k.choices, string(choice)) {
		return fmt.Errorf("%q is not one of %s%s", choice, strings.Join(k.choices, ", "), didYouMean(string(choice), k.choices))
	}
	if err := k.limits.check(value); err != nil {
		return err
	}
	if k.check == nil {
		return nil
	}
	return k.check(value)
}
