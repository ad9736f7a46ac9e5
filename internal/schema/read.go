package schema

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/nearest"
)

// Read reads the members of an object into a struct of the type, which is a pointer to its zero value, and says what is
// wrong with each: where, what, and what would be right. A member that is null counts as left out; what is left out is its
// default. Where something is wrong the struct is half read.
func (o *Object) Read(members map[string]jsontext.Value, into any) (problems []string) {
	target := reflect.ValueOf(into).Elem()
	unknown := maps.Clone(members)
	var names []string
	for _, f := range o.fields {
		value := members[f.name]
		delete(unknown, f.name)
		names = append(names, f.name)
		if f.alias != "" {
			delete(unknown, f.alias)
			var problem string
			if value, problem = f.either(value, members[f.alias]); problem != "" {
				problems = append(problems, problem)
			}
		}
		if missing(value) {
			switch {
			case f.required:
				problems = append(problems, f.name+": it is missing")
			case f.schema.Default != nil:
				target.FieldByIndex(f.index).SetInt(int64(*f.schema.Default))
			}
			continue
		}
		for _, problem := range f.schema.read(value, target.FieldByIndex(f.index)) {
			problems = append(problems, f.name+problem)
		}
	}
	maps.DeleteFunc(unknown, func(_ string, value jsontext.Value) bool { return value.Kind() == jsontext.KindNull })
	return append(problems, strangers(unknown, names)...)
}

func missing(value jsontext.Value) bool { return value == nil || value.Kind() == jsontext.KindNull }

// either is the value that stands under the name of a text, or under its alias.
func (f *field) either(value, other jsontext.Value) (_ jsontext.Value, problem string) {
	says := func(v jsontext.Value) string { text, _ := jsontext.AppendUnquote(nil, v); return string(text) }
	switch {
	case missing(other) || string(other) == `""`:
		return value, ""
	case !missing(value) && string(value) != `""` && (value.Kind() != other.Kind() || says(value) != says(other)):
		return value, f.name + ": " + f.alias + " is another name for it, and says something else; give one of them"
	}
	return other, ""
}

// maxStrangers bounds the names that are looked at when more are given.
const maxStrangers = 100

func strangers(unknown map[string]jsontext.Value, known []string) (problems []string) {
	if n := len(unknown); n > maxStrangers {
		return []string{fmt.Sprintf("%d arguments are given that there are not", n)}
	}
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		problem := clip(name) + ": there is no such argument"
		if meant := nearest.Of(name, known); meant != "" {
			problem += "; there is " + meant
		}
		problems = append(problems, problem)
	}
	return problems
}

func clip(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// read reads one value. Each problem begins with where in the value it is.
func (s *Schema) read(value jsontext.Value, into reflect.Value) []string {
	problem := ""
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return s.read(value, into.Elem())
	case reflect.Slice:
		return s.readList(value, into)
	case reflect.String:
		problem = s.readText(value, into)
	case reflect.Int, reflect.Int64:
		problem = s.readNumber(value, into)
	default:
		if err := jsonv2.Unmarshal(value, into.Addr().Interface(), jsonv2.RejectUnknownMembers(true)); err != nil {
			problem = s.want(value)
			if problem == "" {
				problem = clip(err.Error())
			}
		}
	}
	if problem == "" {
		return nil
	}
	return []string{": " + problem}
}

// want says that a value is of another type than it must be; "" if it is not.
func (s *Schema) want(value jsontext.Value) string {
	want, _ := s.Type.(string)
	got := map[jsontext.Kind]string{
		jsontext.KindNull: "null", jsontext.KindFalse: "boolean", jsontext.KindTrue: "boolean", jsontext.KindString: "string",
		jsontext.KindNumber: "number", jsontext.KindBeginObject: "object", jsontext.KindBeginArray: "array",
	}[value.Kind()]
	if got == want || got == "number" && want == "integer" {
		return ""
	}
	return "got " + got + ", want " + want
}

func (s *Schema) readList(value jsontext.Value, into reflect.Value) []string {
	if problem := s.want(value); problem != "" {
		return []string{": " + problem}
	}
	var items []jsontext.Value
	if err := jsonv2.Unmarshal(value, &items); err != nil {
		return []string{": " + clip(err.Error())}
	}
	if problem := outside(len(items), "items", s.MinItems, s.MaxItems); problem != "" {
		return []string{": " + problem}
	}
	var problems []string
	into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
	for i, item := range items {
		for _, problem := range s.Items.read(item, into.Index(i)) {
			problems = append(problems, "/"+strconv.Itoa(i)+problem)
		}
	}
	return problems
}

func (s *Schema) readText(value jsontext.Value, into reflect.Value) string {
	if problem := s.want(value); problem != "" {
		return problem
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return clip(err.Error())
	}
	into.SetString(string(text))
	if s.MinLength != nil || s.MaxLength != nil {
		if problem := outside(utf8.RuneCount(text), "characters", s.MinLength, s.MaxLength); problem != "" {
			return problem
		}
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, string(text)) {
		return fmt.Sprintf("got %q, want one of %s", clip(string(text)), strings.Join(s.Enum, ", "))
	}
	if s.pattern != nil && !s.pattern.Match(text) {
		return fmt.Sprintf("%q does not match %s", clip(string(text)), s.Pattern)
	}
	return ""
}

func (s *Schema) readNumber(value jsontext.Value, into reflect.Value) string {
	if problem := s.want(value); problem != "" {
		return problem
	}
	n, err := strconv.ParseInt(string(value), 10, into.Type().Bits())
	if err != nil {
		return fmt.Sprintf("got %s, want a whole number of at most %d bits", clip(string(value)), into.Type().Bits())
	}
	into.SetInt(n)
	return outside(int(n), "", s.Minimum, s.Maximum)
}

// outside says that a number is not within its bounds; "" if it is.
func outside(n int, of string, least, most *int) string {
	got := "got " + strings.TrimSpace(strconv.Itoa(n)+" "+of)
	switch {
	case least != nil && n < *least:
		return fmt.Sprintf("%s, want at least %d", got, *least)
	case most != nil && n > *most:
		return fmt.Sprintf("%s, want at most %d", got, *most)
	}
	return ""
}
