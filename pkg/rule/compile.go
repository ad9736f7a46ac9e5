package rule

import (
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
)

// Bounds of what Compile takes. A file of a cloned repository may hold rules, too.
const (
	// MaxExpression is the longest condition, in bytes.
	MaxExpression = 8 << 10
	// MaxRules is how many rules one file may have; the files' owners hold them to it.
	MaxRules = 256

	maxDepth  = 64 // of nested expressions
	maxNested = 3  // comprehensions in each other
)

// Budget is what one evaluation of a condition may cost, in the units of cel-go: about one for a step, one for each ten
// characters that are searched, and for a regular expression that many times a quarter of its length.
const Budget = 10_000_000

// checkEvery is after how many steps of a comprehension an ended context is noticed.
const checkEvery = 1000

// Compile makes a rule. Its error is a *SyntaxError.
func Compile(name, when string, action Action, message string) (*Rule, error) {
	if len(when) > MaxExpression {
		return nil, &SyntaxError{1, 1, fmt.Sprintf("it has %d bytes; at most %d are allowed", len(when), MaxExpression)}
	}
	env, err := environment()
	if err != nil {
		return nil, &SyntaxError{1, 1, err.Error()}
	}
	ast, issues := env.Compile(when)
	if issues.Err() != nil {
		return nil, syntaxError(issues)
	}
	if !ast.OutputType().IsExactType(cel.BoolType) {
		return nil, &SyntaxError{1, 1, fmt.Sprintf("it yields %s, not true or false", typeName(ast.OutputType()))}
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(Budget), cel.InterruptCheckFrequency(checkEvery))
	if err != nil {
		return nil, &SyntaxError{1, 1, err.Error()}
	}
	fields := []string{}
	for _, named := range ast.NativeRep().ReferenceMap() {
		if named.Name != "" {
			fields = append(fields, named.Name)
		}
	}
	return &Rule{name, action, message, program, when, fields}, nil
}

// environment is the same for all rules and never changes.
var environment = sync.OnceValues(newEnvironment)

func newEnvironment() (*cel.Env, error) {
	options := []cel.EnvOption{
		globFunction(),
		cel.ParserRecursionLimit(maxDepth),
		cel.ParserExpressionSizeLimit(MaxExpression),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(),
			cel.ValidateComprehensionNestingLimit(maxNested), globLiterals{}),
	}
	for _, f := range catalogue() {
		options = append(options, cel.Variable(f.Name, f.kind))
	}
	return cel.NewEnv(options...)
}

// syntaxError takes the first mistake; the others often follow from it.
func syntaxError(issues *cel.Issues) error {
	all := issues.Errors()
	if len(all) == 0 {
		return &SyntaxError{1, 1, issues.Err().Error()}
	}
	first := all[0]
	reason := strings.Join(strings.Fields(first.Message), " ")
	for rest := range strings.SplitSeq(reason, " expecting {") { // what could stand there instead is a list of tokens
		reason = rest
		break
	}
	return &SyntaxError{max(first.Location.Line(), 1), max(first.Location.Column(), 0) + 1, reason}
}
