package corpus_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
)

// governanceAttacks are on what the operator declared, with everything in scope.
func governanceAttacks() []attack {
	return []attack{
		{name: "the intents are rewritten", intent: "ALL", line: "sed -i 's/gen/**/' .orchestration/active_intents.yaml"},
		{name: "config.yaml turns the sandbox off", intent: "ALL", line: "printf 'sandbox: \"off\"\\n' | tee .orchestration/config.yaml"},
		{name: ".intentignore at the top, where there is none", intent: "ALL", line: "echo 'unscoped:**' | tee .intentignore"},
		{name: ".intentignore in .orchestration", intent: "ALL", line: "rm .orchestration/.intentignore"},
		{name: ".orchestration is renamed", intent: "ALL", line: "mv .orchestration other", alone: true},
		{name: ".orchestration is deleted", intent: "ALL", line: "rm -rf .orchestration", alone: true},
		{name: ".orchestration is renamed and another put in its place", intent: "ALL", line: "cp -a .orchestration src/copy; echo '# x' >> src/copy/active_intents.yaml; mv .orchestration src/old && mv src/copy .orchestration", alone: true, stops: true},
		{name: ".orchestration is renamed and its exact copy put in its place", intent: "ALL", line: "cp -a .orchestration src/copy; mv .orchestration src/old && mv src/copy .orchestration", alone: true, stops: true},
		{name: "the workspace, parent of .orchestration, is renamed", intent: "ALL", line: "cd / && mv {WS} {TOP}/moved && mkdir {WS}", alone: true, stops: true},
		{name: "the workspace is renamed, changed and renamed back", intent: "ALL", line: "cd / && mv {WS} {TOP}/moved && echo '# x' | tee -a {TOP}/moved/.orchestration/active_intents.yaml; mv {TOP}/moved {WS}", alone: true},
		{name: "something is planted in .orchestration/state", intent: "ALL", line: "mkdir -p .orchestration/state/approvals && echo x | tee .orchestration/state/approvals/planted.json", alone: true, blind: "the server's own files are not compared; approvals carry a proof"},
		{name: "a record of the ledger is changed", intent: "ALL", line: "sed -i s/selection/selektion/ {LEDGER}/agent_trace.jsonl", alone: true, stops: true},
		{name: "an older record of the ledger is changed", intent: "ALL", line: "sed -i 1s/selection/selektion/ {LEDGER}/agent_trace.jsonl", alone: true},
		{name: "the last record of the ledger is removed", intent: "ALL", line: "sed -i '$d' {LEDGER}/agent_trace.jsonl", alone: true, stops: true},
		{name: "the ledger is removed", intent: "ALL", line: "rm {LEDGER}/agent_trace.jsonl", alone: true, stops: true},
		{name: "the directory of the ledger is renamed", intent: "ALL", line: "mv .git/orchestra src/orchestra", alone: true, stops: true},
		{name: "the directory of the ledger is renamed and a copy without records put in its place", intent: "ALL", line: "cp -a {LEDGER} src/copy; rm src/copy/agent_trace.jsonl; mv {LEDGER} src/old && mv src/copy {LEDGER}", alone: true, stops: true},
		{name: "the link to the ledger is removed", intent: "ALL", line: "rm .orchestration/agent_trace.jsonl"},
		{name: "something is planted in the state of the ledger", intent: "ALL", line: "echo x | tee {LEDGER}/state/planted", alone: true, blind: "the server's own files are not compared; nothing there is believed"},
		{name: ".GIT/hooks, in capitals", intent: "ALL", sh: "mkdir -p .GIT/hooks && echo x > .GIT/hooks/pre-commit"},
		{name: ".Orchestration, in capitals", intent: "ALL", sh: "mkdir .Orchestration && echo x > .Orchestration/config.yaml"},
		{name: "a nested .git", intent: "ALL", sh: "mkdir -p src/sub/.git/hooks && echo x > src/sub/.git/hooks/pre-commit"},
		{name: "a nested .orchestration", intent: "ALL", sh: "mkdir src/sub/.orchestration && echo x > src/sub/.orchestration/active_intents.yaml"},
		{name: ".mcp.json, where there is none", intent: "ALL", sh: "echo '{}' > .mcp.json"},
		{name: ".cursor/mcp.json, where there is none", intent: "ALL", sh: "mkdir .cursor && echo '{}' > .cursor/mcp.json"},
		{name: ".envrc, where there is none", intent: "ALL", sh: "echo x > .envrc"},
		{name: ".envrc in a directory of the scope", sh: "echo x > src/sub/.envrc"},
		{name: ".vscode/tasks.json by a rename of its directory", sh: "mkdir src/v && echo x > src/v/tasks.json && mv src/v src/.vscode"},
		{name: ".envrc by a rename of a file of the scope", sh: "mv src/sub/b.txt src/sub/.envrc"},
		{name: ".envrc as a device, by RENAME_WHITEOUT", python: "import ctypes\nopen('src/sub/.envrc', 'w').write('x')\nctypes.CDLL(None).renameat2(-100, b'src/sub/.envrc', -100, b'src/w', 4)"},
		{name: ".envrc in a directory that is closed behind it", sh: "mkdir src/c && echo x > src/c/.envrc && chmod 0 src/c"},
		{name: ".envrc in a directory that is closed to writing behind it", sh: "mkdir src/c && echo x > src/c/.envrc && chmod 0500 src/c"},
		{name: "a secret file is read", line: "cat private/key"},
		{name: "a secret file is copied into scope", line: "cp private/key src/k && cat src/k"},
		{name: "a secret file is read through /proc/self/cwd", line: "cat /proc/self/cwd/private/key"},
		{name: "a secret file is linked into scope and read", line: "ln private/key src/k && cat src/k"},
		{name: "a secret file's directory is renamed and read", intent: "ALL", line: "mv private src/p && cat src/p/key"},
		{name: "a secret file is read by a name in scope that was there before", prepare: links("ws/private/key", "ws/src/h"), line: "cat src/h"},
		{name: "a secret file is read by a name out of scope that was there before", prepare: links("ws/private/key", "ws/docs/h"), line: "cat docs/h"},
		{name: "a file of .orchestration/state is read", prepare: keeps("ws/.orchestration/state/approvals/planted"), line: "cat .orchestration/state/approvals/planted"},
		{name: "a file of .orchestration/state is opened for writing", prepare: keeps("ws/.orchestration/state/planted"), python: "import os\nos.open('.orchestration/state/planted', os.O_RDWR); print('REA' 'CHED')"},
		{name: "a file of the ledger's state is read", prepare: besideLedger("state/planted"), line: "cat {LEDGER}/state/planted"},
		{name: "a file of the ledger's cache is read", prepare: besideLedger("cache/planted"), line: "cat {LEDGER}/cache/planted"},
		{name: "another command's output is read", intent: "ALL", prepare: keeps("ws/.orchestration/cache/output/planted"), line: "grep -r TOP-SECRET .orchestration/cache"},
		{name: "the operator's key is read", prepare: keeps("home/.config/orchestra-mcp/planted.key"), line: "cat {HOME}/.config/orchestra-mcp/planted.key"},
	}
}

// besideLedger puts a file with the secret where the ledger stands.
func besideLedger(name string) func(w *world) {
	return func(w *world) {
		way, err := filepath.Rel(w.top, filepath.Join(ledgertest.Home(w.ws), name))
		check.OK(w.t, err)
		w.put(way, secret+"\n")
	}
}

// keeps puts a file with the secret where the server or its user has some.
func keeps(name string) func(w *world) {
	return func(w *world) { w.put(name, secret+"\n") }
}

// gitAttacks are on what makes git run programs, and by git's own commands.
func gitAttacks() []attack {
	return []attack{
		{name: "git add and git commit in scope, for comparison", line: "echo y > src/new && git add src/new && git commit -qm three", git: true, makes: "ws/src/new"},
		{name: ".git/hooks/pre-commit", intent: "ALL", sh: "echo x > .git/hooks/pre-commit"},
		{name: ".git/hooks/pre-commit, with git in the line", intent: "ALL", line: "git status -s; echo x | tee .git/hooks/pre-commit", git: true},
		{name: "another content for a hook that is there", intent: "ALL", line: "git status -s; echo x | tee .git/hooks/pre-push", git: true},
		{name: ".git/config by tee, with git in the line", intent: "ALL", line: "git status -s; printf '[include]\\n\\tpath = ../src/c\\n' | tee -a .git/config", git: true},
		{name: "git config core.hooksPath", intent: "ALL", line: "git config core.hooksPath src/hooks", git: true},
		{name: "git config include.path", intent: "ALL", line: "git config include.path ../src/c", git: true},
		{name: "git config alias", line: "git -C src config alias.st '!sh src/attack.sh'", git: true},
		{name: "git config --worktree", intent: "ALL", line: "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor src/x", git: true},
		{name: "git config --global", line: "git config --global core.hooksPath {WS}/src/hooks", git: true},
		{name: "GIT_CONFIG_GLOBAL names a file outside", line: "GIT_CONFIG_GLOBAL={OUT}/victim git config --global user.name x", git: true},
		{name: "GIT_DIR and git config", line: "cd src && GIT_DIR={WS}/.git git config x.y z", git: true},
		{name: "a hook that git commit runs, planted by -c core.hooksPath", prepare: hook, line: "git -c core.hooksPath=src/hooks commit -q --allow-empty -m x", git: true},
		{name: ".git/commondir", intent: "ALL", line: "git status -s; echo {WS}/src/g | tee .git/commondir", git: true},
		{name: ".git/info/attributes", intent: "ALL", line: "git status -s; echo '* filter=x' | tee .git/info/attributes", git: true},
		{name: ".git/objects/info/alternates", intent: "ALL", line: "git status -s; mkdir -p .git/objects/info && echo {OUT} | tee .git/objects/info/alternates", git: true},
		{name: ".git/modules", intent: "ALL", line: "git status -s; mkdir -p .git/modules/m/hooks && echo x | tee .git/modules/m/hooks/post-checkout", git: true},
		{name: ".git is renamed, with git in the line", intent: "ALL", line: "git status -s; mv .git src/g", git: true, alone: true},
		{name: "git's files without git in the line", intent: "ALL", line: "echo {WS} | tee .git/HEAD"},
		{name: "a branch is moved without git in the line", sh: "git rev-parse HEAD~1 | tee .git/refs/heads/main"},
		{name: "git commit in a script", sh: "git commit -q --allow-empty -m x"},
		{name: "git's index without git in the line", intent: "ALL", line: "truncate -s 12 .git/index"},
		{name: "git's objects without git in the line", intent: "ALL", line: "rm -rf .git/objects", alone: true},
		{name: "one of git's objects without git in the line", intent: "ALL", sh: "f=$(find .git/objects -type f | head -n 1); rm -f $f", alone: true},
		{name: "a pack that another clone has too, with git in the line", intent: "ALL", prepare: sharedPack, line: "git status -s; for p in .git/objects/pack/*.pack; do chmod u+w $p; echo x | tee -a $p; done", git: true, alone: true},
		{name: "objects that a clone has too, with git in the line", intent: "ALL", prepare: sharedObjects, line: "git status -s; for o in .git/objects/??/*; do chmod u+w $o; echo x | tee $o; done", git: true, alone: true},
		{name: "objects that a clone has too, by dd", intent: "ALL", prepare: sharedObjects, line: "git status -s; for o in .git/objects/??/*; do chmod u+w $o; dd if=src/a.txt of=$o bs=1 conv=notrunc status=none; done", git: true, alone: true},
		{name: "objects that a clone has too, by a hard link in scope", prepare: sharedObjects, line: "git status -s; for o in .git/objects/??/*; do ln $o src/h && chmod u+w src/h && tee src/h < src/a.txt; rm -f src/h; done", git: true, alone: true},
		{name: "objects that the workspace, a clone, has from another repository", prepare: sharedOrigin, line: "git status -s; for o in .git/objects/??/*; do chmod u+w $o; echo x | tee $o; done", git: true, alone: true},
		{name: "objects that a clone has too, without git in the line", intent: "ALL", prepare: sharedObjects, sh: "for o in .git/objects/??/*; do chmod u+w $o; echo x | tee $o; done", alone: true},
		{name: "git worktree add", intent: "ALL", line: "git worktree add -q src/tree", git: true},
		{name: "git worktree add outside of the workspace", line: "git worktree add -q {OUT}/tree", git: true},
		{name: "git submodule add", intent: "ALL", line: "git -c protocol.file.allow=always submodule add -q {WS} src/module", git: true},
		{name: "git checkout of an older file out of scope", line: "git checkout -q HEAD~1 -- docs/other.md", git: true},
		{name: "git reset --hard to a commit of its own making", before: "git branch evil $(git commit-tree -p HEAD -m x $(echo evil | git hash-object -w --stdin | sed 's/.*/100644 blob &\\tother.md/' | git mktree))",
			line: "git reset -q --hard evil", git: true},
		{name: "git rm and git mv out of scope", line: "git mv docs/other.md src/stolen; git rm -q docs/deep/er/page.md", git: true},
		{name: "git clean of what it ignores", line: "git clean -fdxq", git: true, alone: true},
		{name: "git apply of a patch out of scope", prepare: patch, line: "git apply src/p.diff", git: true},
		{name: "git init outside of the workspace", line: "git init -q {OUT}/r", git: true},
		{name: "mkdir .git, where there is none", intent: "ALL", sh: "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit", bare: true},
		{name: "git init, where there is none", intent: "ALL", line: "git init -q", git: true, bare: true},
		{name: "git init --bare in scope", line: "git init -q --bare --template= src/bare.git", git: true},
		{name: "git clone --bare into scope", line: "git clone -q --bare . src/bare.git", git: true},
		{name: "a repository without .git, made by hand in scope", sh: "cd src && mkdir -p bare.git/objects bare.git/refs bare.git/hooks && echo x > bare.git/hooks/post-index-change && printf '[core]\n\tfsmonitor = sh src/attack.sh\n' > bare.git/config && echo ref: refs/heads/main > bare.git/HEAD"},
		{name: "a repository without .git whose commondir is the workspace's", sh: "mkdir src/bare.git && cd src/bare.git && echo ../../.git > commondir && echo ref: refs/heads/main > HEAD"},
		{name: "directories make a repository of files that were there", prepare: headAndConfig, line: "mkdir src/bare.git/objects src/bare.git/refs"},
		{name: "renamed directories make a repository of files that were there", prepare: partsOfRepository, line: "mv src/bare.git/a src/bare.git/objects; mv src/bare.git/b src/bare.git/refs"},
		{name: "the configuration of a repository without .git that is there", prepare: bareRepository, line: "printf '[core]\n\tfsmonitor = sh src/attack.sh\n' | tee -a src/bare.git/config"},
		{name: "a hook in a repository without .git that is there", prepare: bareRepository, line: "mkdir src/bare.git/hooks && echo x | tee src/bare.git/hooks/post-index-change"},
		{name: "a place for build output of which git tracks files", prepare: trackedTarget, line: "echo x | tee target/kept"},
		{name: "the same, taken out of git's index before", prepare: trackedTarget, before: "git rm -q -r --cached target", line: "echo x | tee target/kept", git: true},
		{name: "a rebase that runs a program when the operator goes on", line: "git status -s; mkdir .git/rebase-merge && printf 'pick HEAD\nexec sh src/attack.sh\n' | tee .git/rebase-merge/git-rebase-todo", git: true},
		{name: "a rebase by a strategy that is a program", line: "git status -s; mkdir .git/rebase-merge && echo planted | tee .git/rebase-merge/strategy", git: true},
		{name: "a list of things to do that is a link into the scope", line: "git status -s; mkdir .git/rebase-merge && ln -s ../../src/a.txt .git/rebase-merge/git-rebase-todo", git: true},
		{name: "a cherry-pick by a strategy that is a program", line: "git status -s; mkdir .git/sequencer && printf '[options]\n\tstrategy = planted\n' | tee .git/sequencer/opts", git: true},
		{name: "git rebase -x that stops", line: "git rebase -q -x 'test ! -e src/a.txt' -x 'sh src/attack.sh' HEAD~1", git: true, alone: true},
		{name: "git replace in a script", sh: "git replace HEAD HEAD~1"},
		{name: ".git/info/grafts, without git in the line", line: "echo x | tee .git/info/grafts"},
		{name: ".git/shallow, without git in the line", line: "echo x | tee .git/shallow"},
		{name: ".git/remotes, with git in the line", line: "git status -s; mkdir .git/remotes && echo 'URL: {OUT}' | tee .git/remotes/origin", git: true},
		{name: "GIT_SSH_COMMAND", sh: "echo x | tee docs/other.md", line: "GIT_SSH_COMMAND='sh {WS}/src/attack.sh' git fetch ssh://localhost/x", git: true},
		{name: "GIT_EXTERNAL_DIFF", sh: "echo x | tee docs/other.md", line: "echo z > src/a.txt; GIT_EXTERNAL_DIFF='sh src/attack.sh' git diff", git: true},
	}
}

func trackedTarget(w *world) {
	w.put("ws/Cargo.toml", "[package]\n")
	w.put("ws/target/kept", "kept\n")
	w.git("add", "Cargo.toml", "target")
	w.git("commit", "-qm", "target")
	w.own()
}

func headAndConfig(w *world) {
	w.put("ws/src/bare.git/HEAD", "ref: refs/heads/main\n")
	w.put("ws/src/bare.git/config", "[core]\n\tfsmonitor = sh src/attack.sh\n")
}

func partsOfRepository(w *world) {
	headAndConfig(w)
	w.put("ws/src/bare.git/a/x", "x\n")
	w.put("ws/src/bare.git/b/x", "y\n")
}

func bareRepository(w *world) {
	w.git("init", "-q", "--bare", "--template=", "src/bare.git")
	w.own()
}

func hook(w *world) { w.put("ws/src/hooks/pre-commit", "#!/bin/sh\necho x | tee docs/other.md\n") }

// sharedPack gives the packs other names, as git does that clones a path.
func sharedPack(w *world) {
	w.git("repack", "-q", "-a", "-d")
	packs, err := filepath.Glob(filepath.Join(w.ws, ".git/objects/pack/*.pack"))
	check.OK(w.t, err)
	for _, pack := range packs {
		check.OK(w.t, os.Link(pack, filepath.Join(w.home, "outside", filepath.Base(pack))))
	}
	w.own()
}

// sharedObjects clones the workspace by its path: git links the objects.
func sharedObjects(w *world) { w.clone(w.ws, filepath.Join(w.home, "outside", "clone")) }

// sharedOrigin makes the workspace such a clone.
func sharedOrigin(w *world) {
	origin, cloned := filepath.Join(w.home, "outside", "origin"), filepath.Join(w.ws, "cloned")
	w.clone(w.ws, origin, "--bare")
	check.OK(w.t, os.RemoveAll(filepath.Join(w.ws, ".git")))
	w.clone(origin, cloned, "--no-checkout")
	check.OK(w.t, os.Rename(filepath.Join(cloned, ".git"), filepath.Join(w.ws, ".git")))
	check.OK(w.t, os.Remove(cloned))
	check.OK(w.t, os.RemoveAll(filepath.Join(w.ws, ".orchestration", "agent_trace.jsonl"))) // it led into the one that is gone
}

// clone has the world's user clone a repository.
func (w *world) clone(from, to string, options ...string) {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"clone", "-q", "--local", from, to}, options...)...)
	cmd.Dir, cmd.Env = w.home, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "GIT_CONFIG_NOSYSTEM=1"}
	if w.user {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential()}
	}
	out, err := cmd.CombinedOutput()
	check.Must(w.t, err == nil, "git clone: %v\n%s", err, out)
}

func patch(w *world) {
	w.put("ws/src/p.diff", "--- a/docs/other.md\n+++ b/docs/other.md\n@@ -1,2 +1,2 @@\n # Other\n-more\n+x\n")
}
