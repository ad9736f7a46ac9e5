// Package schema makes the JSON Schema (2020-12) of a Go type, and reads JSON values by it.
//
// A struct is an object. Its members are its exported fields, under the names of encoding/json; those of embedded structs,
// and of a field with the option inline, are its own. A member is required unless it is omitempty, or tagged optional. What
// else holds of it stands in tags:
//
//	doc       what it is; \x60 is a backquote
//	is        which kind of text: path, word, name, pattern, sentence; of a list, what its items are
//	min, max  the bounds of a number; of a text, how many characters; of a list, how many items
//	enum      the texts that it can be, with commas between
//	match     the regular expression that a text matches, in RE2
//	default   the number that is meant where it is left out
//	form      "object": nothing is said of what is in it
//	optional  "true": not promised, although it is always there
//	alias     another name that is taken for it, and not listed
//	unlisted  "true": it is taken, but nobody is told
//	listed    "true": clients are told of it, although it is not promised
//
// One type has two schemas: all that is known of it (Schema), and what clients are told, who pay for every character of it
// (Listed, Brief).
//
// {name} in a tag stands for a number that only the program knows (Numbers).
package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Schema is what of JSON Schema the types here need. Its keywords are written in their alphabetical order.
type Schema struct {
	// Additional is what members have that are not among the properties: a *Schema, or false for none.
	Additional  any                `json:"additionalProperties,omitempty"`
	AnyOf       []any              `json:"anyOf,omitempty"`
	Default     *int               `json:"default,omitempty"`
	Description string             `json:"description,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Items       *Schema            `json:"items,omitempty"`
	MaxItems    *int               `json:"maxItems,omitempty"`
	MaxLength   *int               `json:"maxLength,omitempty"`
	Maximum     *int               `json:"maximum,omitempty"`
	MinItems    *int               `json:"minItems,omitempty"`
	MinLength   *int               `json:"minLength,omitempty"`
	Minimum     *int               `json:"minimum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Type        any                `json:"type,omitempty"` // a name, or a list of them

	pattern *regexp.Regexp
}

// Numbers are the numbers that tags name.
type Numbers map[string]int

// field is one member of an object.
type field struct {
	name     string
	index    []int
	required bool
	listed   bool // although not required
	unlisted bool
	alias    string
	schema   *Schema
}

// Object is a struct type as a JSON object.
type Object struct {
	fields  []field
	numbers *strings.Replacer
}

// Of reads the tags of a struct type. It is an error of the program that it returns.
func Of(t reflect.Type, numbers Numbers) (*Object, error) {
	var names []string
	for name, number := range numbers {
		names = append(names, "{"+name+"}", strconv.Itoa(number))
	}
	o := &Object{numbers: strings.NewReplacer(names...)}
	return o, o.add(t, nil)
}

// Lazy is Of at the first call. A type that cannot be read makes it panic.
func Lazy(t reflect.Type, numbers Numbers) func() *Object {
	return sync.OnceValue(func() *Object {
		o, err := Of(t, numbers)
		if err != nil {
			panic("schema: " + err.Error())
		}
		return o
	})
}

func (o *Object) add(t reflect.Type, at []int) error {
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("%v is no struct", t)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		index := append(slices.Clone(at), i)
		inline := options == "inline" || f.Anonymous && name == ""
		switch {
		case inline:
			if err := o.add(f.Type, index); err != nil {
				return err
			}
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		s, err := o.member(f, strings.HasPrefix(options, "omit"))
		if err != nil {
			return fmt.Errorf("%v.%s: %w", t, f.Name, err)
		}
		required := !strings.HasPrefix(options, "omit") && f.Tag.Get("optional") == ""
		o.fields = append(o.fields, field{name, index, required, f.Tag.Get("listed") != "", f.Tag.Get("unlisted") != "", f.Tag.Get("alias"), s})
	}
	return nil
}

// member is the schema of a field's type, with what its tags say.
func (o *Object) member(f reflect.StructField, leftOut bool) (*Schema, error) {
	tag := func(name string) string { return o.numbers.Replace(f.Tag.Get(name)) }
	if tag("form") == "object" {
		return &Schema{Type: "object", Description: tag("doc")}, nil
	}
	s, err := o.ofType(f.Type, leftOut)
	if err != nil {
		return nil, err
	}
	s.Description, s.Pattern = tag("doc"), f.Tag.Get("match")
	if s.Pattern != "" {
		if s.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return nil, err
		}
	}
	if names := tag("enum"); names != "" {
		s.Enum = strings.Split(names, ",")
	}
	if err := s.bound(tag("is")); err != nil {
		return nil, err
	}
	least, most := &s.Minimum, &s.Maximum
	switch s.Type {
	case "string":
		least, most = &s.MinLength, &s.MaxLength
	case "array":
		least, most = &s.MinItems, &s.MaxItems
	}
	for name, to := range map[string]**int{"min": least, "max": most, "default": &s.Default} {
		if text := tag(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				return nil, fmt.Errorf("tag %s: %w", name, err)
			}
			*to = &n
		}
	}
	return s, nil
}

// ofType is the schema of a type. A pointer can be null, unless it is then left out.
func (o *Object) ofType(t reflect.Type, leftOut bool) (*Schema, error) {
	switch t.Kind() {
	case reflect.String:
		return &Schema{Type: "string"}, nil
	case reflect.Bool:
		return &Schema{Type: "boolean"}, nil
	case reflect.Int, reflect.Int64:
		return &Schema{Type: "integer"}, nil
	case reflect.Float64:
		return &Schema{Type: "number"}, nil
	case reflect.Slice:
		items, err := o.ofType(t.Elem(), true)
		return &Schema{Type: "array", Items: items}, err
	case reflect.Map:
		values, err := o.ofType(t.Elem(), true)
		return &Schema{Type: "object", Additional: values}, err
	case reflect.Struct:
		inner := &Object{numbers: o.numbers}
		err := inner.add(t, nil)
		return inner.Schema(), err
	case reflect.Pointer:
		s, err := o.ofType(t.Elem(), true)
		if err == nil && !leftOut {
			s.Type = []any{s.Type, "null"}
		}
		return s, err
	}
	return nil, fmt.Errorf("a value of type %v has no schema here", t)
}

// Schema is the object as one to which members can be added, as to results.
func (o *Object) Schema() *Schema {
	s := &Schema{Type: "object", Properties: map[string]*Schema{}}
	for _, f := range o.fields {
		s.Properties[f.name] = f.schema
		if f.required && !slices.Contains(s.Required, f.name) {
			s.Required = append(s.Required, f.name)
		}
	}
	return s
}

// Listed is the object as arguments are listed: closed, and without the bounds of texts and lists and the least of numbers,
// which no call comes near that means well. Read holds to them.
func (o *Object) Listed() *Schema {
	s := o.Schema()
	s.Additional = false
	for _, f := range o.fields {
		if f.unlisted {
			delete(s.Properties, f.name)
			continue
		}
		s.Properties[f.name] = f.schema.unbounded()
	}
	return s
}

func (s *Schema) unbounded() *Schema {
	c := *s
	c.MinLength, c.MaxLength, c.MinItems, c.MaxItems, c.Minimum = nil, nil, nil, nil, nil
	if c.Items != nil {
		c.Items = c.Items.unbounded()
	}
	return &c
}

// Brief is the object as results are listed: what is promised by name, with its type if that is not text, and the names of what
// items of lists promise. What fits Schema fits it.
func (o *Object) Brief() *Schema {
	whole := o.Schema()
	s := &Schema{Properties: map[string]*Schema{}, Required: whole.Required} // the type is that of the whole result
	for _, f := range o.fields {
		if f.required || f.listed {
			s.Properties[f.name] = f.schema.brief()
		}
	}
	return s
}

func (s *Schema) brief() *Schema {
	c := &Schema{}
	if s.Type != "string" {
		c.Type = s.Type
	}
	if s.Items != nil && s.Items.Required != nil {
		c.Items = &Schema{Type: "object", Required: s.Items.Required}
	}
	return c
}

// JSON encodes a schema, of this package or another's.
func JSON(s any) json.RawMessage {
	encoded, err := json.Marshal(s)
	if err != nil {
		panic("schema: " + err.Error())
	}
	return encoded
}

// Every text of an argument that is not file content has a bound, in characters: what is parsed, compared, hashed and
// recorded of a call has it too.
const (
	pathLimit     = 4096 // what systems take for a path
	wordLimit     = 200  // of an id, a handle, a hash
	patternLimit  = 4000 // of a regular expression, a glob, words to look for
	sentenceLimit = 4000 // of what an operator is to read
)

// bound gives a text, or each of a list of texts, the bounds of its kind.
func (s *Schema) bound(kind string) error {
	if s.Items != nil {
		s = s.Items
	}
	limit, least := 0, 0
	switch kind {
	case "":
		return nil
	case "path":
		limit = pathLimit
	case "word":
		limit = wordLimit
	case "name":
		limit, least = wordLimit, 1
	case "pattern":
		limit = patternLimit
	case "sentence":
		limit, least = sentenceLimit, 1
	default:
		return fmt.Errorf("there is no kind of text %q", kind)
	}
	s.MaxLength = &limit
	if least > 0 {
		s.MinLength = &least
	}
	return nil
}
