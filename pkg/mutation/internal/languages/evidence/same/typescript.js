// Whether two programs are the same for TypeScript's own parser and symbols:
// node typescript.js BEFORE AFTER, with typescript in NODE_PATH. The exit code
// is 0 if they are: the same syntax without empty statements, in which each
// name means the same declaration of the file, or is spelled alike.
const fs = require('fs')
const ts = require('typescript')

function shape(file) {
	const text = fs.readFileSync(file, 'utf8')
	const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true)
	const host = {
		getSourceFile: name => name === file ? source : undefined,
		getDefaultLibFileName: () => '', writeFile: () => {}, getCurrentDirectory: () => '/', getCanonicalFileName: n => n,
		useCaseSensitiveFileNames: () => true, getNewLine: () => '\n', fileExists: n => n === file, readFile: () => text,
	}
	const program = ts.createProgram([file], { allowJs: true, checkJs: true, noLib: true, noResolve: true, jsx: ts.JsxEmit.Preserve, target: ts.ScriptTarget.ESNext }, host)
	if (program.getSyntacticDiagnostics(source).length > 0) process.exit(2)
	const checker = program.getTypeChecker()
	const numbers = new Map()
	const renamable = ts.SymbolFlags.Variable | ts.SymbolFlags.Function | ts.SymbolFlags.Class | ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias |
		ts.SymbolFlags.Enum | ts.SymbolFlags.TypeParameter
	const number = symbol => {
		const ours = symbol && (symbol.flags & renamable) && !(symbol.flags & ts.SymbolFlags.Property) && (symbol.declarations || []).length > 0 &&
			symbol.declarations.every(d => d.getSourceFile() === source && !(ts.getCombinedModifierFlags(d) & ts.ModifierFlags.Export))
		if (!ours) return ''
		if (!numbers.has(symbol)) numbers.set(symbol, '#' + numbers.size)
		return numbers.get(symbol)
	}
	const out = []
	const visit = node => {
		if (node.kind === ts.SyntaxKind.EmptyStatement && (ts.isBlock(node.parent) || ts.isSourceFile(node.parent)) || node.kind === ts.SyntaxKind.SemicolonClassElement) return
		out.push(node.kind, node.operator || 0, node.token || 0, node.flags & ts.NodeFlags.BlockScoped)
		if (ts.isIdentifier(node)) {
			if (ts.isShorthandPropertyAssignment(node.parent)) out.push(node.text, number(checker.getShorthandAssignmentValueSymbol(node.parent)))
			else if (ts.isBindingElement(node.parent) && !node.parent.propertyName && ts.isObjectBindingPattern(node.parent.parent)) out.push(node.text, number(checker.getSymbolAtLocation(node)))
			else out.push(number(checker.getSymbolAtLocation(node)) || node.text)
		}
		ts.forEachChild(node, visit)
		if (node.kind <= ts.SyntaxKind.LastToken && !ts.isIdentifier(node)) out.push(node.getText(source))
		out.push(')')
	}
	visit(source.endOfFileToken)
	source.statements.forEach(visit)
	return JSON.stringify(out)
}

process.exit(shape(process.argv[2]) === shape(process.argv[3]) ? 0 : 1)
