package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// variablePrefix begins the environment variable of every key.
const variablePrefix = "ORCHESTRA_"

// variable is the key's environment variable.
func (k *key) variable() string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(k.name, ".", "_"))
}

// empty returns a pointer to a new zero value of the field's type.
func (k *key) empty() any {
	return reflect.New(reflect.TypeOf(k.field(new(Settings))).Elem()).Interface()
}

func pointee(pointer any) any { return reflect.ValueOf(pointer).Elem().Interface() }

func (k *key) get(s *Settings) any { return pointee(k.field(s)) }

func (k *key) set(s *Settings, value any) {
	reflect.ValueOf(k.field(s)).Elem().Set(reflect.ValueOf(value))
}

// isList reports whether values of several sources add up.
func (k *key) isList() bool {
	return reflect.TypeOf(k.field(new(Settings))).Elem().Kind() == reflect.Slice
}

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
	if choice, ok := value.(Choice); ok && !slices.Contains(k.choices, choice) {
		return fmt.Errorf("%q is not one of %s%s", choice, k.allowed(), didYouMean(string(choice), strings.Split(k.allowed(), ", ")))
	}
	for _, check := range []func(any) error{k.limits.check, k.check} {
		if check == nil {
			continue
		}
		if err := check(value); err != nil {
			return err
		}
	}
	return nil
}

// allowed lists the choices.
func (k *key) allowed() string {
	texts := make([]string, len(k.choices))
	for i, choice := range k.choices {
		texts[i] = string(choice)
	}
	return strings.Join(texts, ", ")
}
