package helper

// Plan is what a helper does, in the order of the fields. Paths are absolute and have no links in them.
type Plan struct {
	// Devices are bound into a /dev that has nothing else; those that do not exist are left out.
	Devices []string
	// Layers lie over directories before anything is taken.
	Layers []Layer
	// Trees are taken while they can still be written. Covers and Masks name them by their index, each one once.
	Trees []string
	// Kept are taken after everything was made read-only, and put back where a cover lies over them.
	Kept []string
	// Covers replace whole directories.
	Covers []Cover
	// Links are made in covers.
	Links []Link
	// Masks are put in place one after the other, so the outer ones come first.
	Masks []Mask
	// MaxPID is the greatest process id that there can be, 0 for any: process ids
	// are threads, too. It is only for kernels where each namespace has its own.
	MaxPID uint32
	// Loopback is 1 to bring up the only interface of a network namespace.
	Loopback uint8
	// Landlock is the second boundary.
	Landlock Landlock
	// Filter is the seccomp program, as the kernel takes it.
	Filter []byte
	// Supervised is 1 where the filter puts calls to a supervisor.
	Supervised uint8

	// Dir is where the command starts. It must be the directory with the number Inode on Device: it was checked by
	// descriptor. Under a Layer numbers say nothing, and what happens there stays in the layer.
	Dir           string
	Device, Inode uint64
	// Path, Args and Env are the command.
	Path string
	Args []string
	Env  []string
}

// Layer is a directory whose changes go elsewhere (overlayfs): to Upper, by way
// of Work, an empty directory of the same file system.
type Layer struct{ Path, Upper, Work string }

// Cover is a directory that something else stands in for.
type Cover struct {
	Path string
	// Tree is the index of what does, or Empty.
	Tree uint32
}

// Link is a symbolic link to be made.
type Link struct{ Path, Target string }

// Sees reports whether a path is what it is outside: no cover lies over it, or it was kept.
func (p *Plan) Sees(path string) bool {
	for _, kept := range p.Kept {
		if path == kept || Below(path, kept) {
			return true
		}
	}
	for _, cover := range p.Covers {
		if Below(path, cover.Path) {
			return false
		}
	}
	return true
}

// Below reports whether a path is below a directory, by their names.
func Below(path, dir string) bool {
	return len(path) > len(dir) && path[:len(dir)] == dir && (path[len(dir)] == '/' || dir == "/")
}

// Empty stands for a directory of its own with nothing in it.
const Empty = ^uint32(0)

// Mask is one path with its own rule.
type Mask struct {
	Kind Kind
	Path string
	// Tree is for Writable.
	Tree uint32
	// Content is for the kind of that name.
	Content string
}

// Kind says what a mask does.
type Kind byte

// The kinds of masks.
const (
	// Writable puts a tree back in its place.
	Writable Kind = iota + 1
	// Frozen makes what is there read-only.
	Frozen
	// Anchor changes nothing but that the directory cannot be renamed or
	// removed: it holds something that must stay where it is.
	Anchor
	// Hidden puts something there that cannot be opened.
	Hidden
	// Content puts a file there that says something else.
	Content
	// Emptied puts an empty directory there.
	Emptied
)

// Landlock has the rights that are handled, and where they are allowed.
type Landlock struct {
	Tree, File, Scoped uint64
	Allowed            []string
	// Read is allowed for what is Readable, as far as that is there.
	Read     uint64
	Readable []string
}
