package settings

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/intentgov/orchestra-mcp/internal/nearest"
)

// key is one setting: its field in Settings, and what the tags of that say.
type key struct {
	reflect.StructField
	name    string
	index   []int // of the field, from Settings on
	order   order
	choices []string // of a Choice
	check   func(value any) error
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
			choices := choicesOf(f)
			k := key{f, name, index, orderOf(f.Tag.Get("order"), choices), choices, checkOf(f.Tag.Get("check"))}
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

// find is the key of a name, nil if there is none.
func find(name string) *key {
	all := catalogue()
	if i := slices.IndexFunc(all, func(k key) bool { return k.name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

func names() (all []string) {
	for _, k := range catalogue() {
		all = append(all, k.name)
	}
	return all
}

func choicesOf(f reflect.StructField) []string {
	if f.Tag.Get("choices") == "" {
		return nil
	}
	return strings.Split(f.Tag.Get("choices"), ", ")
}

// keyOf writes a field's name as its key: RooAliases is roo_aliases, TLSCert tls_cert, URLs urls.
func keyOf(name string) string {
	var out strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		plural := i+2 == len(runes) && runes[i+1] == 's'
		if i > 0 && !plural && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
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
		if standard := k.Tag.Get("default"); standard != "" {
			k.set(&s, k.parse(standard))
		}
	}
	return s
}

// parse reads a value that stands in a tag.
func (k *key) parse(text string) any {
	value, err := k.read(text)
	if err != nil {
		panic("settings: a tag of " + k.name + ": " + err.Error())
	}
	return value
}

// variablePrefix begins the environment variable of every key.
const variablePrefix = "ORCHESTRA_"

// variable is the key's environment variable.
func (k *key) variable() string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))
}

// secret: the value is not shown.
func (k *key) secret() bool { return k.Tag.Get("secret") != "" }

func (k *key) get(s *Settings) any {
	return reflect.ValueOf(s).Elem().FieldByIndex(k.index).Interface()
}

func (k *key) set(s *Settings, value any) {
	reflect.ValueOf(s).Elem().FieldByIndex(k.index).Set(reflect.ValueOf(value))
}

// wanted says how a secret is written.
func (k *key) wanted() string {
	if k.isList() {
		return "want a list of mappings with name, token, role and expires, the token in quotes, the date as 2030-01-01"
	}
	return "want text in quotes"
}

// isList reports whether the key has a list: values of several sources then add up, unless its order is fewer.
func (k *key) isList() bool { return k.Type.Kind() == reflect.Slice }

// combine is what holds when value is set over base.
func (k *key) combine(base, value any) any {
	if !k.isList() || k.Tag.Get("order") == "fewer" {
		return value
	}
	list := reflect.ValueOf(base)
	return reflect.AppendSlice(list.Slice3(0, list.Len(), list.Len()), reflect.ValueOf(value)).Interface()
}

// limits are from where to where a number, size or duration may be, as files say it; "" is no limit.
func (k *key) limits() (low, high string) {
	low, high, _ = strings.Cut(k.Tag.Get("range"), "..")
	return low, high
}

// limitsText tells people, "" where there are none.
func (k *key) limitsText() string {
	switch low, high := k.limits(); {
	case low == "":
		return ""
	case high == "":
		return "at least " + low
	default:
		return "from " + low + " to " + high
	}
}

// validate checks a value of the key's type.
func (k *key) validate(value any) error {
	if choice, ok := value.(Choice); ok && !slices.Contains(k.choices, string(choice)) {
		return fmt.Errorf("%q is not one of %s%s", choice, strings.Join(k.choices, ", "), didYouMean(string(choice), k.choices))
	}
	switch low, high := k.limits(); {
	case low == "":
	case high == "" && number(value) < number(k.parse(low)):
		return errors.New("must be " + k.limitsText())
	case high != "" && !(number(value) >= number(k.parse(low)) && number(value) <= number(k.parse(high))): // not a number is in no range
		return fmt.Errorf("%s is not between %s and %s", encode(value), low, high)
	}
	if k.check == nil {
		return nil
	}
	return k.check(value)
}

// didYouMean is the end of a message about an unknown name.
func didYouMean(name string, known []string) string {
	best := nearest.Of(name, known)
	if best == "" {
		best = sameLastPart(name, known)
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// sameLastPart finds a key that was written without, or in another, group.
func sameLastPart(name string, known []string) (found string) {
	last := name[strings.LastIndex(name, ".")+1:]
	for _, candidate := range known {
		if candidate[strings.LastIndex(candidate, ".")+1:] != last {
			continue
		}
		if found != "" {
			return "" // more than one
		}
		found = candidate
	}
	return found
}
