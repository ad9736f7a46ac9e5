package replay

import (
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// Line is what a command line means for git, as far as it says.
type Line struct {
	// Changes: a git command in it can change the work tree. Alone: nothing in it but git changes anything.
	Changes, Alone bool
	// First is the first such command, as "git merge".
	First string
	// Paths: all such commands only do to paths what cp, mv and rm do (git mv).
	Paths bool
	// Fetches: it takes commits from elsewhere. Pushes: it gives some there.
	Fetches, Pushes bool
	// Pure: nothing but git can run, as far as the line says.
	Pure bool
	// Remotes: it can move remote-tracking branches only by fetching from remotes: those of Named, or any where nil.
	Remotes bool
	Named   []string
	// Words are what its git commands name.
	Words []string
	// Uncommitted: a git command leaves what it makes of Words uncommitted (merge --squash, cherry-pick -n).
	Uncommitted bool
	// Tree is a command that would make, move or end a linked work tree, as "git worktree add"; "" if none.
	Tree string
	// LedgerPush is a word by which it would push refs of the ledger; "" if none.
	LedgerPush string
}

// ReadLine reads a line.
func ReadLine(reading *shell.Reading) Line {
	l := Line{Alone: true, Paths: true, Pure: len(reading.Unjudged) == 0, Remotes: true}
	for _, p := range reading.Programs {
		switch {
		case p.Name == "git":
			l.git(p.Args)
		case p.ByGit:
			l.Pure = false
		case !shell.Among(printing, p.Name):
			l.Alone = false
		}
	}
	l.Remotes = l.Remotes && l.Fetches && l.Pure && l.Alone
	return l
}

// printing are programs that change nothing by themselves: a line with them can run twice.
const printing = `cd echo printf true false : pwd head tail cat grep wc sort uniq cut tr test [
	ls set exit timeout time command env`

// leaving are the subcommands that leave the work tree alone, or change it in no way that a scope has to yield to.
const leaving = ` add annotate archive blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format cherry clone column
 commit commit-graph commit-tree config count-objects credential describe diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import
 fetch fetch-pack fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc get-tar-commit-id grep hash-object help index-pack init interpret-trailers
 log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge-base merge-file merge-tree mktag mktree multi-pack-index name-rev notes pack-objects
 pack-redundant pack-refs patch-id prune prune-packed push range-diff reflog remote repack replace request-pull rerere rev-list rev-parse send-email
 send-pack shortlog show show-branch show-index show-ref status stripspace symbolic-ref tag unpack-file unpack-objects update-index update-ref
 update-server-info var verify-commit verify-pack verify-tag version whatchanged write-tree `

// movers are those of them that can write any ref, or take commits from elsewhere.
const movers = ` bundle clone fast-import fetch-pack init notes push reflog remote replace send-pack symbolic-ref update-ref `

// known are the subcommands that change the work tree, and no remote-tracking branch. Any other is an alias or a program.
const known = ` am apply checkout checkout-index cherry-pick clean merge mv pull read-tree rebase reset restore revert rm stash switch worktree `

// onPaths are those that do to paths what other programs could do as well.
const onPaths = ` apply checkout-index clean mv rm `

// ofTrees are the subcommands of git worktree that write in .git/worktrees; prune does too, where there is something to prune.
const ofTrees = ` add lock move remove repair unlock `

// git reads one git command.
func (l *Line) git(args []shell.Arg) {
	name, rest, plain := subcommand(args)
	if name == "" && plain {
		return // git --version
	}
	rests := make([]string, len(rest)) // as far as they are known
	for i, a := range rest {
		rests[i] = a.Text
	}
	changes := !shell.Among(leaving, name) && !looks(name, rests)
	if changes {
		if !l.Changes {
			l.First = "git " + name
		}
		l.Changes = true
		l.Paths = l.Paths && shell.Among(onPaths, name)
	}
	if !plain || shell.Among(movers, name) || changes && !shell.Among(known, name) {
		l.Remotes = false
	}
	pushes := shell.Among("push send-pack", name)
	l.Pushes = l.Pushes || pushes
	switch name {
	case "fetch", "pull":
		l.Fetches = true
		l.fetch(rest)
	case "clone", "ls-remote", "submodule":
		l.Fetches = true
	case "worktree":
		if len(rests) > 0 && shell.Among(ofTrees, rests[0]) {
			l.Tree = "git worktree " + rests[0]
		}
	}
	for _, word := range rests {
		if pushes && (word == "--mirror" || strings.Contains(word, "refs/orchestra") || strings.Contains(word, "refs/*")) {
			l.LedgerPush = word
		}
		switch {
		case word == "--squash" || shell.Among("cherry-pick revert", name) && shell.Among("-n --no-commit", word):
			l.Uncommitted = true
		case !strings.HasPrefix(word, "-"):
			l.Words = append(l.Words, word)
		}
	}
}

// subcommand finds it behind the options of git. plain: none of these has git look elsewhere, and the name is literal.
func subcommand(args []shell.Arg) (name string, rest []shell.Arg, plain bool) {
	plain = true
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case !a.Exact:
			return "", nil, false
		case !a.Begins("-"):
			return a.Text, args[i+1:], plain
		case a.Text == "-C":
			i++
		case shell.Among("-c --git-dir --work-tree --namespace --super-prefix --config-env --exec-path --attr-source", a.Text):
			i++
			plain = false
		case shell.Among("-p -P --paginate --no-pager --version -v --help -h --no-optional-locks --literal-pathspecs", a.Text):
		default:
			plain = false
		}
	}
	return "", nil, plain
}

// looks reports whether a command that can change the work tree only looks.
func looks(name string, rest []string) bool {
	looking := map[string]string{
		"stash": "list show drop clear create store", "worktree": "list", "bisect": "log view terms", "submodule": "status summary",
	}
	if words, has := looking[name]; has {
		return len(rest) > 0 && shell.Among(words, rest[0])
	}
	options := "-h --help"
	if name == "apply" {
		if options = "--stat --numstat --summary --check"; slices.Contains(rest, "--apply") {
			return false
		}
	}
	return slices.ContainsFunc(rest, func(o string) bool { return shell.Among(options, o) })
}

// fetch reads what a fetch or pull names: remotes, and what of them.
func (l *Line) fetch(args []shell.Arg) {
	operands := 0
	for _, a := range args {
		switch {
		case !a.Exact:
			l.Remotes = false
		case a.Begins("-"):
			if option, _, _ := strings.Cut(a.Text, "="); !shell.Among(harmless, option) {
				l.Remotes = false
			}
		case operands == 0:
			l.Named = append(l.Named, a.Text)
			operands++
		case strings.ContainsAny(a.Text, ":+^"):
			l.Remotes = false
		default:
			operands++
		}
	}
}

// harmless are the options of fetch and pull that change neither where commits come from nor which branches get them.
const harmless = `-q -v -p -t -r -n --quiet --verbose --all --prune --tags --no-tags --depth --deepen
	--unshallow --rebase --no-rebase --ff --ff-only --no-ff --autostash --no-autostash --no-edit --progress --no-commit
	--squash --stat --no-stat --atomic --no-recurse-submodules --dry-run`
