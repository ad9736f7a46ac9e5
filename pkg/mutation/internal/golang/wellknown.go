package golang

import (
	"go/ast"
	"go/parser"
	"slices"
	"strings"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// signatures are the methods of interfaces by which packages of the standard
// library find values of any type, and so call what these files never name. A
// method of another signature is not found. Behind + are methods of the same
// interface: a type that has none of them here does not have it, as far as
// these files tell, and nobody asks a value for it at run time.
const signatures = `
	Accept() (Conn, error); Addr() Addr; AfterFunc(func()) func() bool; AppendBinary([]byte) ([]byte, error);
	AppendStackPointer([]byte, int) []byte; AppendText([]byte) ([]byte, error); AppendUint16([]byte, uint16) []byte;
	AppendUint32([]byte, uint32) []byte; AppendUint64([]byte, uint64) []byte; As(any) bool; At(int, int) color.Color;
	BaseContext() context.Context; Begin() (Tx, error); BeginTx(context.Context, TxOptions) (Tx, error);
	BlockSize() int + Sum Size Write Encrypt CryptBlocks; Bytes() []byte + Encapsulate Decapsulate; Bounds() Rectangle;
	CancelRequest(*Request); CheckNamedValue(*NamedValue) error; Clone() (Cloner, error); Close() error; CloseIdleConnections();
	CloseNotify() <-chan bool; CloseWrite() error; ColorIndexAt(int, int) uint8; ColorModel() color.Model;
	ColumnConverter(int) ValueConverter; ColumnTypeDatabaseTypeName(int) string; ColumnTypeLength(int) (int64, bool);
	ColumnTypeNullable(int) (bool, bool); ColumnTypePrecisionScale(int) (int64, int64, bool); ColumnTypeScanType(int) reflect.Type;
	Columns() []string + Next; Commit() error + Rollback; Compose(byte, bool, []byte, int32) error; Connect(context.Context) (Conn, error);
	ConnectionState() tls.ConnectionState; Control(func(fd uintptr)) error; Convert(Color) Color; ConvertValue(any) (Value, error);
	Cookies(*url.URL) []*Cookie; CryptBlocks([]byte, []byte); Curve() Curve; Deadline() (time.Time, bool);
	Decapsulate([]byte) ([]byte, error); Decompose([]byte) (byte, bool, []byte, int32); Decrypt([]byte, []byte);
	Decrypt(io.Reader, []byte, DecrypterOpts) ([]byte, error); Done() <-chan struct{} + Err Deadline;
	Draw(Image, image.Rectangle, image.Image, image.Point); Driver() Driver; ECDH(*PublicKey) ([]byte, error); EnableFullDuplex() error;
	Enabled(context.Context, Level) bool; Encapsulate() ([]byte, []byte); Encapsulator() Encapsulator; Encrypt([]byte, []byte);
	End() token.Pos; Equal(crypto.PublicKey) bool; Err() error + Done Deadline; Error() string; Eval(func(tag string) bool) bool;
	Exec([]Value) (Result, error); Exec(string, []Value) (Result, error); ExecContext(context.Context, []NamedValue) (Result, error);
	ExecContext(context.Context, string, []NamedValue) (Result, error); Flag(int) bool; Flush(); Flush() error; FlushError() error;
	Format(State, rune); Generate(*rand.Rand, int) reflect.Value; GenerateKey(io.Reader) (*PrivateKey, error); Get() any + Set;
	Get(string) (*ClientSessionState, bool); Glob(string) ([]string, error); Gname() (string, error); GoString() string;
	GobDecode([]byte) error; GobEncode() ([]byte, error); Handle(context.Context, Record) error; HasNextResultSet() bool; HashFunc() Hash;
	Header() Header; HeaderBlockFragment() []byte; HeaderEncoder() (*hpack.Encoder, *bytes.Buffer);
	Hijack() (net.Conn, *bufio.ReadWriter, error); Info() (FileInfo, error); Int63() int64 + Seed Uint64; Is(error) bool; IsBoolFlag() bool;
	IsDir() bool + Name; IsHTTP2NoCachedConnError(); IsValid() bool; IsZero() bool; LastInsertId() (int64, error);
	Len() int + Less Swap Push; Less(int, int) bool + Len Swap; Level() Level; LocalAddr() Addr; Lock() + Unlock; LogValue() Value;
	Lstat(string) (FileInfo, error); MarshalBinary() ([]byte, error); MarshalJSON() ([]byte, error); MarshalJSONTo(*jsontext.Encoder) error;
	MarshalText() ([]byte, error); MarshalXML(*Encoder, StartElement) error; MarshalXMLAttr(Name) (Attr, error); ModTime() time.Time;
	Mode() FileMode; Name() string + IsDir ModTime Info; Network() string + String; NewCBCDecrypter([]byte) BlockMode;
	NewCBCEncrypter([]byte) BlockMode; NewCTR([]byte) Stream; NewClientConn(net.Conn, func()) (RoundTripper, error);
	NewGCM(int, int) (AEAD, error); NewPrivateKey([]byte) (*PrivateKey, error); NewPublicKey([]byte) (*PublicKey, error);
	Next([]Value) error; Next([]byte, bool) ([]byte, error); NextResultSet() error; NonceSize() int; NumInput() int; Opaque() bool;
	Open([]byte, []byte, []byte, []byte) ([]byte, error); Open(string) (Conn, error); Open(string) (File, error);
	OpenConnector(string) (Connector, error); Options() Options; Overhead() int; Peek(int) ([]byte, error); Ping(context.Context) error;
	Pop() any + Push Len; Pos() token.Pos; Precision() (int, bool); Prepare(string) (Stmt, error);
	PrepareContext(context.Context, string) (Stmt, error); Public() PublicKey; PublicKey() *PublicKey; PublicSuffix(string) string;
	Push(any) + Pop Len; Push(string, *PushOptions) error; Put(string, *ClientSessionState); PutUint16([]byte, uint16);
	PutUint32([]byte, uint32); PutUint64([]byte, uint64); Quantize(color.Palette, image.Image) color.Palette; Query([]Value) (Rows, error);
	Query(string, []Value) (Rows, error); QueryContext(context.Context, []NamedValue) (Rows, error);
	QueryContext(context.Context, string, []NamedValue) (Rows, error); RGBA() (uint32, uint32, uint32, uint32);
	RGBA64At(int, int) color.RGBA64; Read([]byte) (int, error); Read(func(fd uintptr) (done bool)) error; ReadAt([]byte, int64) (int, error);
	ReadByte() (byte, error); ReadDir(int) ([]DirEntry, error); ReadDir(string) ([]DirEntry, error); ReadFile(string) ([]byte, error);
	ReadFrom(Reader) (int64, error); ReadFrom([]byte) (int, Addr, error); ReadFrom(io.Reader) (int64, error);
	ReadLink(string) (string, error); ReadRequestBody(any) error; ReadRequestHeader(*Request) error; ReadResponseBody(any) error;
	ReadResponseHeader(*Response) error; ReadRune() (rune, int, error); Readdir(int) ([]fs.FileInfo, error); RemoteAddr() Addr;
	Reset() + Sum BlockSize Write; Reset(io.Reader, []byte) error; ResetSession(context.Context) error; Rollback() error + Commit;
	RoundTrip(*Request) (*Response, error); RowsAffected() (int64, error); Scan(ScanState, rune) error; Scan(any) error;
	Seal([]byte, []byte, []byte, []byte) []byte; Seed(int64) + Int63; Seek(int64, int) (int64, error); ServeHTTP(ResponseWriter, *Request);
	Set(int, int, color.Color); Set(string) error + String; SetCookies(*url.URL, []*Cookie); SetDeadline(time.Time) error;
	SetRGBA64(int, int, color.RGBA64); SetReadDeadline(time.Time) error; SetWriteDeadline(time.Time) error;
	Sign(io.Reader, []byte, SignerOpts) ([]byte, error); SignMessage(io.Reader, []byte, SignerOpts) ([]byte, error); Signal() + String;
	Size() int + Sum BlockSize; Size() int64; SkipSpace(); StackPointer() jsontext.Pointer; Start(*ServerInfo) (string, []byte, error);
	Stat() (FileInfo, error); Stat() (fs.FileInfo, error); Stat(string) (FileInfo, error); String() string; Sub(string) (FS, error);
	Sum([]byte) []byte; Sum32() uint32; Sum64() uint64; Swap(int, int) + Len Less; Sys() any + ModTime; SyscallConn() (RawConn, error);
	Temporary() bool; Timeout() bool; Token() (Token, error); Token(bool, func(rune) bool) ([]byte, error); Type() FileMode;
	Uint16([]byte) uint16; Uint32([]byte) uint32; Uint64() uint64; Uint64([]byte) uint64; Uname() (string, error);
	UnencryptedNetConn() net.Conn; Unlock() + Lock; UnmarshalBinary([]byte) error; UnmarshalJSON([]byte) error;
	UnmarshalJSONFrom(*jsontext.Decoder) error; UnmarshalText([]byte) error; UnmarshalXML(*Decoder, StartElement) error;
	UnmarshalXMLAttr(Attr) error; UnreadByte() error; UnreadRune() error; Unwrap() ResponseWriter; Unwrap() []error; Unwrap() error;
	Value() (Value, error); Value(any) any; Visit(Node) Visitor; Width() (int, bool); WithAttrs([]Attr) Handler; WithGroup(string) Handler;
	Write([]byte) (int, error); Write(func(fd uintptr) (done bool)) error; WriteAt([]byte, int64) (int, error); WriteByte(byte) error;
	WriteHeader(int); WriteRequest(*Request, any) error; WriteResponse(*Response, any) error; WriteString(io.Writer, string) (int, error);
	WriteString(string) (int, error); WriteTo(Writer) (int64, error); WriteTo([]byte, Addr) (int, error); WriteTo(io.Writer) (int64, error);
	XORKeyStream([]byte, []byte)`

// wellKnown are the signatures by the names of the methods.
var wellKnown = sync.OnceValue(func() map[string][]required {
	known := map[string][]required{}
	for text := range strings.SplitSeq(signatures, ";") {
		signature, with, _ := strings.Cut(strings.TrimSpace(text), " + ")
		name, _, _ := strings.Cut(signature, "(")
		e, err := parser.ParseExpr("func" + strings.TrimPrefix(signature, name))
		if f, ok := e.(*ast.FuncType); ok && err == nil {
			known[name] = append(known[name], required{f, strings.Fields(with)})
		}
	}
	return known
})

// required is a method of an interface, with others of it.
type required struct {
	signature *ast.FuncType
	with      []string
}

// isWellKnown tells whether a method could be one that the standard library
// looks for, or an encoder of somebody else.
func (s *side) isWellKnown(m *member) bool {
	name := m.object.Name
	if strings.HasPrefix(name, "Marshal") || strings.HasPrefix(name, "Unmarshal") || testKind(name) != "" {
		return true
	}
	for _, known := range wellKnown()[name] {
		if m.signature == nil {
			return true
		}
		if len(known.with) > 0 && !slices.ContainsFunc(known.with, func(other string) bool { return s.gives(m.owner, other) }) {
			continue
		}
		in, out := typesOf(m.signature)
		if s.couldBeAll(in, known.signature.Params) && s.couldBeAll(out, known.signature.Results) {
			return true
		}
	}
	return false
}

// gives tells whether a type, or one that is a part of it, has a member.
func (s *side) gives(info *typeInfo, name string) bool {
	list, _ := s.parts(info)
	return slices.ContainsFunc(list, func(part *typeInfo) bool { return has(part, name) || s.unseen[use{part, name}] != absent })
}

// typesOf are the types of the parameters and results of a method, which is
// declared with a body or in an interface.
func typesOf(signature *tree.Node) (in, out []*tree.Node) {
	if signature.Kind == "function type" {
		last := len(signature.Kids) - 1
		return signature.Kids[:last], signature.Kids[last].Kids
	}
	for i, list := range []*[]*tree.Node{&in, &out} {
		for _, p := range signature.Kids[i].Kids {
			*list = append(*list, p.Kids[len(p.Kids)-1])
		}
	}
	return in, out
}

func (s *side) couldBeAll(types []*tree.Node, list *ast.FieldList) bool {
	if len(types) != list.NumFields() {
		return false
	}
	for i, t := range types {
		if !s.couldBeType(t, list.List[i].Type) {
			return false
		}
	}
	return true
}

// sameTypes are predeclared types that have two names.
var sameTypes = map[string]string{"byte": "uint8", "rune": "int32"}

// couldBeType tells whether a type could be one of the standard library's. In
// doubt it could.
func (s *side) couldBeType(t *tree.Node, known ast.Expr) bool {
	if t == nil {
		return true
	}
	switch t.Kind {
	case "name":
		return s.couldBeName(t, known)
	case "pointer":
		star, ok := known.(*ast.StarExpr)
		return ok && s.couldBeType(t.Kids[0], star.X)
	case "slice type":
		array, ok := known.(*ast.ArrayType)
		return ok && s.couldBeType(t.Kids[0], array.Elt)
	case "array type", "struct":
		return false
	case "map type":
		_, ok := known.(*ast.MapType)
		return ok
	case "channel type":
		_, ok := known.(*ast.ChanType)
		return ok
	case "function type":
		_, ok := known.(*ast.FuncType)
		return ok
	case "selector":
		return s.couldBeSelector(t, known)
	}
	return true
}

func (s *side) couldBeName(t *tree.Node, known ast.Expr) bool {
	id, isName := known.(*ast.Ident)
	switch {
	case t.Object == nil && (predeclaredTypes[t.Text] || t.Text == "error" || t.Text == "any"):
		same := func(name string) string {
			if other, ok := sameTypes[name]; ok {
				return other
			}
			return name
		}
		return isName && same(id.Name) == same(t.Text)
	case t.Object == nil:
		return true // another file declares it, perhaps as an alias
	case t.Object.Kind == "type parameter":
		return true
	}
	info := s.declared(t)
	return info == nil || info.alias || t.Object.Pinned != ""
}

func (s *side) couldBeSelector(t *tree.Node, known ast.Expr) bool {
	if !standardPackages()[s.packages[t.Kids[0]]] {
		return true
	}
	switch e := known.(type) {
	case *ast.Ident:
		return e.Name == t.Kids[1].Text
	case *ast.SelectorExpr:
		return e.Sel.Name == t.Kids[1].Text
	}
	return false
}
