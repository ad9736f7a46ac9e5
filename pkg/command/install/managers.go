package install

// writes says which of its files an install command writes.
type writes int

const (
	// locks: the lock files, beside what is in package directories.
	locks writes = 1 << iota
	// manifest: the manifest too.
	manifest
	// manifestIfNamed: the manifest if the line names a package.
	manifestIfNamed
)

const (
	packages writes = 0 // only what is in package directories
	named           = locks | manifestIfNamed
	all             = locks | manifest
)

// alone stands among the install commands for the bare program.
const alone = "(alone)"

// marker is a file, and a text in it that says what it is; "" for any. Of a
// package.json with workspaces these say which directories belong to it.
type marker struct{ file, text string }

// manager is a program that installs dependencies. Its lists of words and names have blanks between them.
type manager struct {
	program string
	// installs are the first words of its install commands, with commas between them, by what they write.
	installs map[writes]string
	// dir are the options that name the directory to work in.
	dir string
	// global are the options that make it install elsewhere, for all projects.
	global string
	// manifest marks the directory of a project. Without one it is where the command runs.
	manifest string
	// group marks a directory above, of several projects with one lock file and package directory.
	group marker
	// locks are lock files: those that exist, else the first, in the directory of the group if there is one.
	locks string
	// groupLocks stand in the directory of the group, beside a project's own.
	groupLocks string
	// packages are its package directories and generated files, always in the directory of the group if there is one.
	packages string
	// environment: packages go into a virtual environment.
	environment bool
}

// managers are those that are known. Their words are of the manuals of npm 11, pnpm 10, yarn 1 and 4, bun 1, pip 25,
// uv 0.9, poetry 2, pipenv, Go 1.26, cargo 1.90, bundler 2 and composer 2.
func managers() []manager {
	workspaces := marker{"package.json", `"workspaces"`}
	return []manager{
		{
			program: "npm", manifest: "package.json", group: workspaces, dir: "--prefix -C", global: "-g --global",
			locks: "package-lock.json npm-shrinkwrap.json", packages: "node_modules",
			installs: map[writes]string{
				packages: "ci, clean-install, rebuild", locks: "dedupe, prune", manifest: "init, pkg set", all: "uninstall, remove, rm, un, audit fix",
				named: "install, i, add, install-test, it, update, up, upgrade",
			},
		},
		{
			program: "pnpm", manifest: "package.json", group: marker{"pnpm-workspace.yaml", ""}, dir: "-C --dir", global: "-g --global",
			locks: "pnpm-lock.yaml", packages: "node_modules .pnpm-store",
			installs: map[writes]string{
				packages: "prune, rebuild, fetch", locks: "dedupe", manifest: "init", all: "add, remove, rm, update, up", named: "install, i",
			},
		},
		{
			program: "yarn", manifest: "package.json", group: workspaces, dir: "--cwd", global: "global",
			locks: "yarn.lock", packages: "node_modules .yarn .pnp.cjs .pnp.loader.mjs",
			installs: map[writes]string{locks: alone + ", install, dedupe", manifest: "init", all: "add, remove, up, upgrade"},
		},
		{
			program: "bun", manifest: "package.json", group: workspaces, dir: "--cwd", global: "-g --global",
			locks: "bun.lock bun.lockb", packages: "node_modules",
			installs: map[writes]string{manifest: "init", all: "add, remove, rm, update", named: "install, i"},
		},
		{
			program: "pip", environment: true, global: "--user -t --target --prefix --root",
			installs: map[writes]string{packages: "install, uninstall"},
		},
		{program: "pip-sync", environment: true, installs: map[writes]string{packages: alone}},
		{program: "venv", environment: true, installs: map[writes]string{packages: alone}},
		{
			program: "uv", manifest: "pyproject.toml", group: marker{"pyproject.toml", "[tool.uv.workspace]"}, dir: "--directory --project", environment: true,
			locks: "uv.lock", packages: ".venv",
			installs: map[writes]string{packages: "run, venv, pip install, pip uninstall, pip sync", locks: "sync, lock", manifest: "init", all: "add, remove"},
		},
		{
			program: "poetry", manifest: "pyproject.toml", dir: "-C --directory -P --project", locks: "poetry.lock", packages: ".venv",
			installs: map[writes]string{locks: "install, sync, update, lock", manifest: "init", all: "add, remove"},
		},
		{
			program: "pipenv", manifest: "Pipfile", locks: "Pipfile.lock", packages: ".venv",
			installs: map[writes]string{packages: "sync", locks: "update, lock", all: "install, uninstall, upgrade"},
		},
		{
			program: "go", manifest: "go.mod", group: marker{"go.work", ""}, dir: "-C", locks: "go.sum", groupLocks: "go.work.sum", packages: "vendor",
			installs: map[writes]string{
				locks: "mod download, mod vendor, work vendor", manifest: "mod init, mod edit", all: "get, mod tidy, work sync",
			},
		},
		{
			program: "cargo", manifest: "Cargo.toml", group: marker{"Cargo.toml", "[workspace"}, dir: "-C", locks: "Cargo.lock", packages: "vendor",
			installs: map[writes]string{locks: "update, generate-lockfile, fetch, vendor", all: "add, remove, rm"},
		},
		{
			program: "bundle", manifest: "Gemfile", locks: "Gemfile.lock", packages: "vendor/bundle .bundle",
			installs: map[writes]string{locks: alone + ", install, update, lock", manifest: "init", all: "add, remove"},
		},
		{
			program: "composer", manifest: "composer.json", dir: "-d --working-dir", global: "global", locks: "composer.lock", packages: "vendor",
			installs: map[writes]string{
				packages: "dump-autoload, dumpautoload", locks: "install, i, update, u, upgrade", manifest: "init", all: "require, remove",
			},
		},
	}
}
