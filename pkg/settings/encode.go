package settings

import (
	"reflect"
	"strconv"
	"strings"
	"time"
)

// encode writes a value as one line of YAML.
func encode(value any) string {
	switch v := value.(type) {
	case Choice:
		return string(v)
	case string:
		return strconv.Quote(v)
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Duration:
		return formatDuration(v)
	case Size:
		return v.String()
	case CommandRule:
		if v.Match == nil && v.NotMatch == nil {
			return strconv.Quote(v.Prefix)
		}
	}
	v := reflect.ValueOf(value)
	var parts []string
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			parts = append(parts, encode(v.Index(i).Interface()))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	for i := range v.NumField() {
		parts = append(parts, keyOf(v.Type().Field(i).Name)+": "+encode(v.Field(i).Interface()))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
