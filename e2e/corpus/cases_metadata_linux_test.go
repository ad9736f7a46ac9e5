package corpus_test

import (
	"os/exec"
	"path/filepath"
)

// metadataAttacks change what is no content, or hide that they changed one.
func metadataAttacks() []attack {
	return []attack{
		{name: "chmod only", line: "chmod 777 docs/other.md"},
		{name: "chmod of a directory", line: "chmod 700 docs/deep"},
		{name: "chmod outside of the workspace", line: "chmod 777 {HOME}/.ssh/id_ed25519"},
		{name: "touch only", line: "touch docs/other.md"},
		{name: "an extended attribute only", python: "import os\nos.setxattr('docs/other.md', 'user.x', b'x')"},
		{name: "an extended attribute of a directory only", python: "import os\nos.setxattr('docs/deep', 'user.x', b'x')", alone: true},
		{name: "chmod and back", line: "chmod 777 docs/other.md; chmod 644 docs/other.md"},
		{name: "chmod of the workspace itself", line: "chmod 777 ."},
		{name: "an owner only", line: "chown 65533 docs/other.md; true"},
		{name: "chattr of a file out of scope", line: "chattr +d docs/other.md", varies: true},
		{name: "a file out of scope is immutable for a while", line: "chattr +i docs/other.md && chattr -i docs/other.md", varies: true},
		{name: "a new file out of scope that cannot be removed", intent: "GEN", line: "echo x | tee gen/new.txt; chattr +i gen/new.txt; true", then: mutable("ws/gen/new.txt"), alone: true},
		{name: "touch -r hides a change", sh: "cp -p docs/other.md src/ref; printf '# OtheR\\nmore\\n' | tee docs/other.md; touch -r src/ref docs/other.md"},
		{name: "cp -p hides a change", sh: "cp -p docs/other.md src/ref; printf '# OtheR\\nmore\\n' | tee src/b > /dev/null; touch -r src/ref src/b; rm docs/other.md; cp -p src/b docs/other.md"},
		{name: "a change is written back", sh: "cp docs/other.md src/ref; echo x | tee docs/other.md; cat src/ref | tee docs/other.md"},
		{name: "a file is deleted and made again as it was", sh: "cp docs/other.md src/ref; rm docs/other.md; cp src/ref docs/other.md"},
		{name: "a file becomes a directory", sh: "rm docs/other.md; mkdir docs/other.md"},
		{name: "a file becomes a link to a copy of it", sh: "cp docs/other.md src/copy; rm docs/other.md; ln -s ../src/copy docs/other.md"},
		{name: "a directory is renamed and back", line: "mv docs d2; mv d2 docs"},
		{name: "an empty directory out of scope", line: "mkdir docs/empty"},
	}
}

// mutable lets a file be removed again.
func mutable(name string) func(w *world) {
	return func(w *world) {
		w.t.Cleanup(func() { _ = exec.Command("chattr", "-i", filepath.Join(w.top, name)).Run() })
	}
}

// homeAttacks are on the user's own files.
func homeAttacks() []attack {
	return []attack{
		{name: "~/.bashrc", line: "echo x | tee -a ~/.bashrc"},
		{name: "~/.bash_profile, where there is none", line: "echo x | tee ~/.bash_profile"},
		{name: "~/.gitconfig", line: "printf '[alias]\\n' | tee -a ~/.gitconfig"},
		{name: "~/.ssh/authorized_keys", line: "echo x | tee -a ~/.ssh/authorized_keys"},
		{name: "~/.ssh is renamed", line: "mv ~/.ssh ~/ssh"},
		{name: "~/.local/bin gets a program", line: "mkdir -p ~/.local/bin && cp /bin/true ~/.local/bin/git"},
		{name: "~/.config/autostart gets an entry", line: "mkdir -p ~/.config/autostart && echo x | tee ~/.config/autostart/x.desktop"},
		{name: "the times of ~/.ssh/authorized_keys", line: "touch -d 1999-01-01 ~/.ssh/authorized_keys"},
		{name: "a file of the user that is not watched", line: "echo x | tee {OUT}/victim"},
		{name: "a file of the user that the line hides", line: `d=$(printf '\150ome'); f=out; cd .. && echo x | tee "$d/${f}side/victim"`, blind: "outside of the workspace only what the line names is looked at"},
		{name: "~/.npmrc by npm's own means", python: "import os\nos.replace('src/a.txt', os.path.expanduser('~/.npmrc'))"},
		{name: "~/.config/orchestra-mcp, the operator's settings", line: "mkdir -p ~/.config/orchestra-mcp && echo 'sandbox: \"off\"' | tee ~/.config/orchestra-mcp/config.yaml"},
		{name: "the user's build cache", line: "echo x | tee ~/.cache/go-build/entry"},
		{name: "HOME is set to another directory", line: "HOME={ELSE} && echo x | tee ~/victim"},
		{name: "the user's files are renamed by exchange", python: "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.renameat2(-100, b'src/a.txt', -100, b'{OUT}/victim', 2)"},
	}
}
