// Package conform checks what a stranger sends against the JSON schema that the stranger has promised.
//
// # Promise
//
// What is refused is against the schema. A check takes bounded time and memory, whatever value and schema are: a schema that refers to
// itself without end, or tries each thing in more ways than can be looked at, is refused with [ErrCostly]. Errors quote no values, and
// are safe to print.
//
// # Not promised
//
// Not everything that is against a schema is found. Of JSON Schema (drafts 07 to 2020-12) these keywords count: $ref within the schema,
// type, enum, const, allOf, anyOf, properties, patternProperties, additionalProperties, required, minProperties, maxProperties, items,
// prefixItems, additionalItems, minItems, maxItems, minLength, maxLength, pattern, minimum, maximum, exclusiveMinimum and
// exclusiveMaximum as numbers. Of oneOf it counts that one fits. Other references and keywords are taken as fulfilled.
package conform
