// Renames by TypeScript's language service, each file as a program of its own:
// node typescript.js FILE... < /dev/null, with typescript in NODE_PATH. Writes
// one JSON object a line, as oracle_test.go reads them.
const fs = require('fs')
const path = require('path')
const ts = require('typescript')

const most = Number(process.env.ORACLE_RENAMES || 12)

// chance is the same in every run.
let state = 1
const chance = n => (state = (state * 48271) % 2147483647) % n

function service(file, text) {
	const host = {
		getScriptFileNames: () => [file],
		getScriptVersion: () => '1',
		getScriptSnapshot: name => name === file ? ts.ScriptSnapshot.fromString(text) : undefined,
		getCurrentDirectory: () => path.dirname(file),
		getCompilationSettings: () => ({ allowJs: true, checkJs: true, noLib: true, noResolve: true, jsx: ts.JsxEmit.Preserve, target: ts.ScriptTarget.ESNext }),
		getDefaultLibFileName: () => '',
		fileExists: name => name === file,
		readFile: name => name === file ? text : undefined,
	}
	return ts.createLanguageService(host)
}

// kindOf says what a declaration declares.
function kindOf(parent) {
	const S = ts.SyntaxKind
	const local = () => {
		for (let p = parent.parent; p; p = p.parent) {
			if (ts.isFunctionLike(p) || p.kind === S.ClassStaticBlockDeclaration || p.kind === S.Block) return 'local'
			if (p.kind === S.ModuleBlock) return 'namespace'
		}
		return 'file'
	}
	switch (parent.kind) {
	case S.VariableDeclaration: case S.BindingElement: case S.FunctionDeclaration: case S.ClassDeclaration: return local()
	case S.FunctionExpression: case S.ClassExpression: return 'local'
	case S.Parameter: return ts.isParameterPropertyDeclaration(parent, parent.parent) ? 'member' : parent.parent.body ? 'parameter' : 'parameter without body'
	case S.InterfaceDeclaration: case S.TypeAliasDeclaration: case S.EnumDeclaration: return local()
	case S.TypeParameter: return 'type parameter'
	case S.ImportSpecifier: case S.ImportClause: case S.NamespaceImport: return 'import'
	case S.PropertyDeclaration: case S.MethodDeclaration: case S.GetAccessor: case S.SetAccessor: case S.PropertySignature:
	case S.MethodSignature: case S.EnumMember: return 'member'
	}
	return ''
}

for (const file of process.argv.slice(2)) {
	const text = fs.readFileSync(file, 'utf8')
	if (/[^\x00-\x7f]/.test(text)) continue // offsets are bytes
	const s = service(file, text)
	const source = s.getProgram().getSourceFile(file)
	const found = []
	const visit = node => {
		if ((ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) && node.parent.name === node && kindOf(node.parent) && node.text !== 'this') found.push(node)
		ts.forEachChild(node, visit)
	}
	visit(source)
	for (let made = 0; made < most && found.length > 0;) {
		const [node] = found.splice(chance(found.length), 1)
		const fresh = node.text + 'Renamed'
		let places
		try {
			places = s.findRenameLocations(file, node.getStart(source), false, false, { providePrefixAndSuffixTextForRename: true })
		} catch { continue }
		if (!places || text.includes(fresh)) continue
		made++
		const edits = places.map(p => ({ start: p.textSpan.start, end: p.textSpan.start + p.textSpan.length,
			text: (p.prefixText || '') + fresh + (p.suffixText || '') }))
		console.log(JSON.stringify({ path: file, name: node.text, fresh, kind: kindOf(node.parent), edits }))
	}
}
