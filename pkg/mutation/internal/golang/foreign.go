package golang

import (
	"path"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// foreign stands for every type that is surely made of nothing that this
// package declares. Its members are somebody else's, and so is what they give:
// no package can import, and so name, the one that imports it.
var foreign = &tree.Node{Kind: "foreign type"}

// standardPackages are the packages of the standard library by their paths.
// Their names are known without reading them.
var standardPackages = words(`archive/tar archive/zip bufio bytes cmp compress/bzip2 compress/flate compress/gzip compress/lzw
	compress/zlib container/heap container/list container/ring context crypto crypto/aes crypto/cipher crypto/des crypto/dsa crypto/ecdh
	crypto/ecdsa crypto/ed25519 crypto/elliptic crypto/fips140 crypto/hkdf crypto/hmac crypto/hpke crypto/md5 crypto/mlkem
	crypto/pbkdf2 crypto/rand crypto/rc4 crypto/rsa crypto/sha1 crypto/sha256 crypto/sha3 crypto/sha512 crypto/subtle crypto/tls
	crypto/x509 crypto/x509/pkix database/sql database/sql/driver debug/buildinfo debug/dwarf debug/elf debug/gosym debug/macho debug/pe
	debug/plan9obj embed encoding encoding/ascii85 encoding/asn1 encoding/base32 encoding/base64 encoding/binary encoding/csv
	encoding/gob encoding/hex encoding/json encoding/pem encoding/xml errors expvar flag fmt go/ast go/build go/build/constraint
	go/constant go/doc go/doc/comment go/format go/importer go/parser go/printer go/scanner go/token go/types go/version hash
	hash/adler32 hash/crc32 hash/crc64 hash/fnv hash/maphash html html/template image image/color image/color/palette image/draw
	image/gif image/jpeg image/png index/suffixarray io io/fs io/ioutil iter log log/slog log/syslog maps math math/big math/bits
	math/cmplx math/rand math/rand/v2 mime mime/multipart mime/quotedprintable net net/http net/http/cgi net/http/cookiejar
	net/http/fcgi net/http/httptest net/http/httptrace net/http/httputil net/http/pprof net/mail net/netip net/rpc net/rpc/jsonrpc
	net/smtp net/textproto net/url os os/exec os/signal os/user path path/filepath plugin reflect regexp regexp/syntax runtime
	runtime/cgo runtime/coverage runtime/debug runtime/metrics runtime/pprof runtime/race runtime/trace slices sort strconv strings
	structs sync sync/atomic syscall testing testing/fstest testing/iotest testing/quick testing/slogtest testing/synctest text/scanner
	text/tabwriter text/template text/template/parse time unicode unicode/utf16 unicode/utf8 unique unsafe weak`)

// genericFunctions are those of the standard library whose results can have
// types of their arguments.
var genericFunctions = words(`cmp.Or errors.AsType iter.Pull iter.Pull2 maps.All maps.Clone maps.Collect maps.Copy maps.DeleteFunc
	maps.Equal maps.EqualFunc maps.Insert maps.Keys maps.Values math/rand/v2.N reflect.TypeAssert reflect.TypeFor runtime.AddCleanup
	slices.All slices.AppendSeq slices.Backward slices.Chunk slices.Clip slices.Clone slices.Collect slices.Compact slices.CompactFunc
	slices.Concat slices.Delete slices.DeleteFunc slices.Grow slices.Insert slices.Max slices.MaxFunc slices.Min slices.MinFunc
	slices.Repeat slices.Replace slices.Sorted slices.SortedFunc slices.SortedStableFunc slices.Values sync.OnceFunc sync.OnceValue
	sync.OnceValues unique.Make weak.Make`)

// sameAsFirst are generic functions that give what their first argument is.
var sameAsFirst = words(`cmp.Or maps.Clone slices.Clip slices.Clone slices.Compact slices.CompactFunc slices.Concat slices.Delete
	slices.DeleteFunc slices.Grow slices.Insert slices.Repeat slices.Replace`)

// findPackages decides which names in front of a selector are surely those of
// imported packages, and not of variables that another file declares.
func (s *side) findPackages(f *source) {
	open := map[string]bool{} // what has to be told apart
	for _, n := range f.bases {
		open[n.Text] = true
	}
	known, unsure := map[string]string{}, 0
	for _, spec := range f.ast.Imports {
		importPath := unquote(spec.Path.Value)
		name := ""
		switch {
		case spec.Name != nil:
			name = spec.Name.Name
		case importPath == "C":
			name = "C"
		case standardPackages()[importPath]:
			name = path.Base(strings.TrimSuffix(importPath, "/v2"))
		}
		switch name {
		case "_", ".":
		case "":
			unsure++
		default:
			known[name] = importPath
			delete(open, name)
		}
	}
	for _, n := range f.bases {
		if importPath, ok := known[n.Text]; ok {
			s.packages[n] = importPath
		} else if len(open) == unsure {
			// Every import is used: so all of these are.
			s.packages[n] = n.Text
		}
	}
}

// isForeign tells whether a type is surely made of nothing that this package
// declares.
func (s *side) isForeign(t *tree.Node) bool { return s.madeElsewhere(t, 0) }

func (s *side) madeElsewhere(t *tree.Node, hops int) bool {
	if t == nil || hops > maxHops {
		return false
	}
	all := func(parts []*tree.Node) bool {
		for _, p := range parts {
			if p != nil && !s.madeElsewhere(p, hops+1) {
				return false
			}
		}
		return true
	}
	switch t.Kind {
	case "foreign type":
		return true
	case "name":
		return t.Object == nil && (predeclaredTypes[t.Text] || t.Text == "error" || t.Text == "any")
	case "selector":
		return s.packages[t.Kids[0]] != ""
	case "pointer", "slice type", "map type", "channel type", "variadic", "index", "results":
		return all(t.Kids)
	case "array type":
		return all(t.Kids[1:])
	case "function type":
		return all(t.Kids)
	case "struct", "interface":
		return len(t.Kids) == 0
	}
	return false
}

// membersElsewhere tells whether the members of a type's values are surely
// not those of a type of this package. It may be made of such.
func (s *side) membersElsewhere(t *tree.Node) bool {
	if t != nil && t.Kind == "pointer" {
		t = t.Kids[0]
	}
	if t != nil && t.Kind == "index" {
		t = t.Kids[0]
	}
	return s.isForeign(t)
}
