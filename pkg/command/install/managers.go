package install

// writes says which of its files an install command writes.
type writes int

const (
	// packages: only what is in package directories.
	packages writes = 0
	// locks: the lock files too.
	locks writes = 1 << (iota - 1)
	// manifest: the manifest too.
	manifest
	// manifestIfNamed: the manifest if the line names a package.
	manifestIfNamed
)

const all = locks | manifest

// marker is a file, and a text in it that says what it is; "" for any. Of a
// package.json with workspaces these say which directories belong to it.
type marker struct{ file, text string }

// manager is a program that installs dependencies.
type manager struct {
	program string
	// installs are the first words of its install commands; "" is the bare program.
	installs map[string]writes
	// dir are the options that name the directory to work in.
	dir []string
	// global are the options that make it install elsewhere, for all projects.
	global []string
	// manifest marks the directory of a project. Without one it is where the command runs.
	manifest string
	// group marks a directory above, of several projects with one lock file and package directory.
	group marker
	// locks are lock files: those that exist, else the first, in the directory of the group if there is one.
	locks []string
	// groupLocks stand in the directory of the group, beside a project's own.
	groupLocks []string
	// packages are its package directories and generated files, always in the
	// directory of the group if there is one.
	packages []string
	// environment: packages go into a virtual environment.
	environment bool
}

// managers are those that are known. Their words are of the manuals of npm 11, pnpm 10, yarn 1 and 4, bun 1, pip 25,
// uv 0.9, poetry 2, pipenv, Go 1.26, cargo 1.90, bundler 2 and composer 2.
func managers() []manager {
	return []manager{
		{
			program: "npm", manifest: "package.json", group: marker{"package.json", `"workspaces"`}, dir: []string{"--prefix", "-C"}, global: []string{"-g", "--global"},
			locks: []string{"package-lock.json", "npm-shrinkwrap.json"}, packages: []string{"node_modules"},
			installs: map[string]writes{
				"install": locks | manifestIfNamed, "i": locks | manifestIfNamed, "add": locks | manifestIfNamed, "ci": packages, "clean-install": packages,
				"install-test": locks | manifestIfNamed, "it": locks | manifestIfNamed, "uninstall": all, "remove": all, "rm": all, "un": all,
				"update": locks | manifestIfNamed, "up": locks | manifestIfNamed, "upgrade": locks | manifestIfNamed, "dedupe": locks, "prune": locks,
				"rebuild": packages, "audit fix": all, "init": manifest, "pkg set": manifest,
			},
		},
		{
			program: "pnpm", manifest: "package.json", group: marker{"pnpm-workspace.yaml", ""}, dir: []string{"-C", "--dir"}, global: []string{"-g", "--global"},
			locks: []string{"pnpm-lock.yaml"}, packages: []string{"node_modules", ".pnpm-store"},
			installs: map[string]writes{
				"install": locks | manifestIfNamed, "i": locks | manifestIfNamed, "add": all, "remove": all, "rm": all, "update": all, "up": all, "dedupe": locks,
				"prune": packages, "rebuild": packages, "fetch": packages, "init": manifest,
			},
		},
		{
			program: "yarn", manifest: "package.json", group: marker{"package.json", `"workspaces"`}, dir: []string{"--cwd"}, global: []string{"global"},
			locks: []string{"yarn.lock"}, packages: []string{"node_modules", ".yarn", ".pnp.cjs", ".pnp.loader.mjs"},
			installs: map[string]writes{"": locks, "install": locks, "add": all, "remove": all, "up": all, "upgrade": all, "dedupe": locks, "init": manifest},
		},
		{
			program: "bun", manifest: "package.json", group: marker{"package.json", `"workspaces"`}, dir: []string{"--cwd"}, global: []string{"-g", "--global"},
			locks: []string{"bun.lock", "bun.lockb"}, packages: []string{"node_modules"},
			installs: map[string]writes{"install": locks | manifestIfNamed, "i": locks | manifestIfNamed, "add": all, "remove": all, "rm": all, "update": all, "init": manifest},
		},
		{
			program: "pip", environment: true, global: []string{"--user", "-t", "--target", "--prefix", "--root"},
			installs: map[string]writes{"install": packages, "uninstall": packages},
		},
		{program: "pip-sync", environment: true, installs: map[string]writes{"": packages}},
		{program: "venv", environment: true, installs: map[string]writes{"": packages}},
		{
			program: "uv", manifest: "pyproject.toml", group: marker{"pyproject.toml", "[tool.uv.workspace]"}, dir: []string{"--directory", "--project"}, environment: true,
			locks: []string{"uv.lock"}, packages: []string{".venv"},
			installs: map[string]writes{
				"sync": locks, "add": all, "remove": all, "lock": locks, "run": packages, "venv": packages, "pip install": packages, "pip uninstall": packages, "pip sync": packages,
				"init": manifest,
			},
		},
		{
			program: "poetry", manifest: "pyproject.toml", dir: []string{"-C", "--directory", "-P", "--project"},
			locks: []string{"poetry.lock"}, packages: []string{".venv"},
			installs: map[string]writes{"install": locks, "sync": locks, "add": all, "remove": all, "update": locks, "lock": locks, "init": manifest},
		},
		{
			program: "pipenv", manifest: "Pipfile", locks: []string{"Pipfile.lock"}, packages: []string{".venv"},
			installs: map[string]writes{"install": all, "uninstall": all, "update": locks, "upgrade": all, "lock": locks, "sync": packages},
		},
		{
			program: "go", manifest: "go.mod", group: marker{"go.work", ""}, dir: []string{"-C"}, locks: []string{"go.sum"}, groupLocks: []string{"go.work.sum"}, packages: []string{"vendor"},
			installs: map[string]writes{
				"get": all, "mod tidy": all, "mod download": locks, "mod vendor": locks, "mod init": manifest, "mod edit": manifest, "work sync": all, "work vendor": locks,
			},
		},
		{
			program: "cargo", manifest: "Cargo.toml", group: marker{"Cargo.toml", "[workspace"}, dir: []string{"-C"}, locks: []string{"Cargo.lock"}, packages: []string{"vendor"},
			installs: map[string]writes{"add": all, "remove": all, "rm": all, "update": locks, "generate-lockfile": locks, "fetch": locks, "vendor": locks},
		},
		{
			program: "bundle", manifest: "Gemfile", locks: []string{"Gemfile.lock"}, packages: []string{"vendor/bundle", ".bundle"},
			installs: map[string]writes{"": locks, "install": locks, "update": locks, "lock": locks, "add": all, "remove": all, "init": manifest},
		},
		{
			program: "composer", manifest: "composer.json", dir: []string{"-d", "--working-dir"}, global: []string{"global"}, locks: []string{"composer.lock"}, packages: []string{"vendor"},
			installs: map[string]writes{
				"install": locks, "i": locks, "update": locks, "u": locks, "upgrade": locks, "require": all, "remove": all, "dump-autoload": packages, "dumpautoload": packages, "init": manifest,
			},
		},
	}
}
