package languages

import (
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// linkPython finds what the imports of a module mean.
func (j *joint) linkPython(f *file, s *side) {
	for n := range s.tree.Nodes {
		switch s.kind(n) {
		case "import_from_statement":
			j.linkFrom(f, s, n)
		case "import_statement":
			for c := range s.tree.Children(n) {
				if s.field(c) != "name" {
					continue
				}
				module, leaf := c, c+1
				if s.kind(c) == "aliased_import" {
					module, leaf = s.child(c, "name"), s.child(c, "alias")
				} else if strings.Contains(s.tree.Source(c), ".") {
					continue // it declares the package, not the module
				}
				if base, ok := j.absolute(f, s.tree.Source(module)); ok {
					j.linkAttributes(f, s, leaf, base)
				}
			}
		}
	}
}

// linkFrom links what a from-import names, be it a name of a module or a module
// of a package.
func (j *joint) linkFrom(f *file, s *side, n int) {
	base, ok := j.from(f, s, n)
	if !ok {
		return
	}
	target := j.module(f, base)
	for c := range s.tree.Children(n) {
		if s.field(c) != "name" {
			continue
		}
		name, binding := c, c+1
		if s.kind(c) == "aliased_import" {
			name, binding = s.child(c, "name"), s.child(c, "alias")
		}
		if name < 0 || binding < 0 || s.kind(name) != "dotted_name" || int(s.tree.Nodes[name].Next) != name+2 {
			continue
		}
		word := s.tree.Source(name)
		if target != nil && (target.gives(target.before)[word] != nil || target.gives(target.after)[word] != nil) {
			s.linkTo(name+1, target)
		} else if j.without(base, word) {
			j.linkAttributes(f, s, binding, path.Join(base, word))
		}
	}
}

// linkAttributes links the attributes of a name that stands for a module.
func (j *joint) linkAttributes(f *file, s *side, leaf int, base string) {
	target := j.module(f, base)
	if target == nil || leaf < 0 {
		return
	}
	s.linkMembers(leaf, target, "attribute", "object", "attribute")
}

// without tells that the package at a directory does not itself have a name, so
// that it is that of a module in it.
func (j *joint) without(dir, word string) bool {
	init := path.Join(dir, "__init__.py")
	if f := j.at(init); f != nil {
		return f.gives(f.before)[word] == nil && f.gives(f.after)[word] == nil && f.before.unsafeFor == "" && f.after.unsafeFor == ""
	}
	if j.read == nil {
		return false
	}
	content, err := j.read(init)
	return verdict.IsMissing(err) || err == nil && !slices.Contains(words(string(content)), word) && !strings.Contains(string(content), "*")
}

// module is the file of the call that has the module at a path without an
// ending; nil if it could be another.
func (j *joint) module(f *file, base string) *file {
	plain, init := base+".py", path.Join(base, "__init__.py")
	name := plain
	if j.stands(init) {
		if j.stands(plain) {
			return nil
		}
		name = init
	}
	if target := j.at(name); target != nil && target != f {
		return target
	}
	return nil
}

// from is the path of the module in a from-import, without an ending.
func (j *joint) from(f *file, s *side, n int) (base string, ok bool) {
	module := s.child(n, "module_name")
	if module < 0 {
		return "", false
	}
	text := strings.Join(strings.Fields(s.tree.Source(module)), "")
	if s.kind(module) != "relative_import" {
		return j.absolute(f, text)
	}
	rest := strings.TrimLeft(text, ".")
	dir := path.Dir(f.path)
	for range len(text) - len(rest) - 1 {
		if dir == "." {
			return "", false
		}
		dir = path.Dir(dir)
	}
	return path.Join(dir, strings.ReplaceAll(rest, ".", "/")), true
}

// absolute is the path of a module that is named from the top, without an
// ending: below the workspace or its src directory, if it is in one of them
// only, nothing beside the importing file or above it has its name, and it is no
// module of the standard library.
func (j *joint) absolute(f *file, name string) (base string, ok bool) {
	first, _, _ := strings.Cut(name, ".")
	if first == "" || pythonInstalled[first] {
		return "", false
	}
	whole := strings.ReplaceAll(name, ".", "/")
	has := func(dir string) bool {
		at := path.Join(dir, first)
		return j.stands(at+".py") || j.stands(at+"/__init__.py") || j.at(path.Join(dir, whole)+".py") != nil || j.stands(at)
	}
	dir := ""
	switch top, src := has(""), has("src"); {
	case top == src:
		return "", false
	case src:
		dir = "src"
	}
	// A program is started in its own directory, or in one above it.
	for own := path.Dir(f.path); own != "."; own = path.Dir(own) {
		if own != dir && (has(own) || has(path.Join(own, "src"))) {
			return "", false
		}
	}
	return path.Join(dir, whole), true
}

// importedFrom builds the name a of a from-import as a as a.
func (b *builder) importedFrom(n int, field string) *tree.Node {
	if field != "name" || b.parentKind(n) != "import_from_statement" || int(b.tree.Nodes[n].Next) != n+2 {
		return nil
	}
	line := b.line(n)
	name := &tree.Node{Kind: label("dotted_name", "name"), Literal: true, Line: line, Kids: []*tree.Node{b.foreign(n+1, "")}}
	return &tree.Node{Kind: label("aliased_import", field), Literal: true, Line: line, Kids: []*tree.Node{name, token("as", line), b.name(n+1, "alias")}}
}

// pythonInstalled are the modules of the standard library.
var pythonInstalled = setOf(strings.Fields(`__future__ __main__ _thread abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64
	bdb binascii binhex bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall
	compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis
	distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch formatter fractions ftplib functools gc
	genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io
	ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt
	multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev parser pathlib pdb pickle pickletools
	pipes pkg_resources pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue
	quopri random re readline reprlib resource rlcompleter runpy sched secrets select selectors setuptools shelve shlex shutil signal site smtpd
	smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess
	sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios test textwrap this threading time timeit tkinter token
	tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref
	webbrowser winreg winsound wsgiref xdrlib xml xmlrpc xxlimited zipapp zipfile zipimport zlib zoneinfo annotationlib string_templatelib`)...)

// pythonHooks are found by those who run tests.
var pythonHooks = setOf("load_tests", "setUpModule", "tearDownModule", "setup_module", "teardown_module", "setup_function", "teardown_function",
	"setup", "teardown", "collect_ignore", "collect_ignore_glob", "pytestmark")
