package rule

import (
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/intentgov/orchestra-mcp/internal/pathglob"
)

// globFunction is `path.glob(pattern)`, with the globs of owned_scope.
func globFunction() cel.EnvOption {
	return cel.Function(globName, cel.MemberOverload("string_glob_string", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType,
		cel.BinaryBinding(func(path, pattern ref.Val) ref.Val {
			matches, err := matchGlob(string(path.(types.String)), string(pattern.(types.String)))
			if err != nil {
				return types.WrapErr(err)
			}
			return types.Bool(matches)
		})))
}

const globName = "glob"

func matchGlob(path, pattern string) (bool, error) {
	patterns, err := pathglob.CompileAll(pattern)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(patterns, func(p *pathglob.Pattern) bool { return p.Match(path) }), nil
}

// globLiterals finds globs that do not compile when a rule is loaded, and not at the first call that it judges.
type globLiterals struct{}

var _ cel.ASTValidator = globLiterals{}

func (globLiterals) Name() string { return "orchestra.validate_globs" }

func (globLiterals) Validate(_ *cel.Env, _ cel.ValidatorConfig, tree *ast.AST, issues *cel.Issues) {
	for _, call := range ast.MatchDescendants(ast.NavigateAST(tree), ast.FunctionMatcher(globName)) {
		for _, argument := range call.AsCall().Args() {
			text, literal := literalText(argument)
			if !literal {
				continue
			}
			if _, err := pathglob.CompileAll(text); err != nil {
				issues.ReportErrorAtID(argument.ID(), "%v", err)
			}
		}
	}
}

func literalText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}
