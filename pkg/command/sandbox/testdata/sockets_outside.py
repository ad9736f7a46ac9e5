"""Listens outside of the box in as many ways as there are to get a name.

Arguments: a directory out of scope, one in scope, the box's temporary one, two
FIFOs. Prints the targets as JSON, binds one more when the first FIFO is opened
and says so by the second, and prints what reached it when its input ends.
"""
import ctypes, json, os, selectors, socket, sys

out, scope, temp, ask, told = sys.argv[1:]
targets, hits, held = [], [], []
watch = selectors.DefaultSelector()
libc = ctypes.CDLL(None, use_errno=True)


def serve(sock, label):
    if sock.type != socket.SOCK_DGRAM:
        sock.listen(128)
    watch.register(sock, selectors.EVENT_READ, label)


def target(name, directory, base, kind=socket.SOCK_STREAM):
    targets.append({'name': name, 'dir': directory, 'base': os.fsencode(base).hex(), 'kind': int(kind)})


def at(directory, base, bound=None, kind=socket.SOCK_STREAM):
    """A listener bound by its name in a directory, whatever its length."""
    os.makedirs(directory, exist_ok=True)
    os.chdir(directory)
    sock = socket.socket(socket.AF_UNIX, kind)
    path = b'\1\0' + os.fsencode(bound or base)  # python takes no name that fills the address
    if libc.bind(sock.fileno(), ctypes.create_string_buffer(path, len(path)), len(path)):
        raise OSError(ctypes.get_errno(), directory + '/' + base)
    return sock


def plain(name, directory, base, **more):
    serve(at(directory, base, **more), name)
    target(name, directory, base, more.get('kind', socket.SOCK_STREAM))


def every(where, root):
    plain(where + ' absolute', root + '/a', 'sock', bound=root + '/a/sock')
    plain(where + ' relative', root + '/b', 'sock')
    serve(at(root + '/c', 'first'), where + ' renamed')
    os.rename('first', 'sock'); target(where + ' renamed', root + '/c', 'sock')
    serve(at(root + '/d0', 'sock', bound=root + '/d0/sock'), where + ' directory renamed')
    os.rename(root + '/d0', root + '/d'); target(where + ' directory renamed', root + '/d', 'sock')
    serve(at(root + '/e', 'sock.tmp', bound=root + '/e/sock.tmp'), where + ' control master')
    os.link('sock.tmp', 'sock'); os.unlink('sock.tmp'); target(where + ' control master', root + '/e', 'sock')
    serve(at(root + '/f', 'real', bound=root + '/f/real'), where + ' hard link')
    os.link('real', 'sock'); target(where + ' hard link', root + '/f', 'sock')
    serve(at(root + '/g', 'real'), where + ' link')
    os.symlink('real', 'sock'); target(where + ' link', root + '/g', 'sock')
    serve(at(root + '/h', 'sock'), where + ' link to directory')
    os.symlink('h', root + '/hl'); target(where + ' link to directory', root + '/hl', 'sock')
    names = ['new\nline', ' leading', 'sp ace', 'tab\t', 'trailing ', '@at', 'x (deleted)', '\\134', b'\xff\xfe\x80', 'ü', '-']
    for i, name in enumerate(names):
        name = os.fsdecode(name)
        plain('%s name %d' % (where, i), root + '/n', name, bound=os.fsencode(root + '/n/' + name))
        plain('%s relative name %d' % (where, i), root + '/m', name, bound=os.fsencode(name))
    plain(where + ' 107 bytes', root + '/i', 'x' * 107)
    plain(where + ' 108 bytes', root + '/i', 'y' * 108)
    plain(where + ' deep', root + '/j' + '/deeeeeeeeeeep' * 12, 'sock')
    plain(where + ' packets', root + '/k', 'sock', kind=socket.SOCK_SEQPACKET)
    plain(where + ' datagrams', root + '/l', 'sock', kind=socket.SOCK_DGRAM)
    if libc.fork() == 0:
        libc.unshare(0x40000000 if os.geteuid() == 0 else 0x50000000)  # another network namespace
        # another process listens there; its own hits go the way of all others
        for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
            held.append(at(root + '/o%d' % kind, 'sock', kind=kind))
            if kind == socket.SOCK_STREAM:
                held[-1].listen(128)
        ours.send(b'x')
        socket.send_fds(ours, [b'y'], [sock.fileno() for sock in held])
        os._exit(0)
    assert theirs.recv(1)
    for fd in socket.recv_fds(theirs, 1, 2)[1]:
        sock = socket.socket(fileno=fd)
        label = '%s other network %d' % (where, sock.type)
        watch.register(sock, selectors.EVENT_READ, label)
        target(label, root + '/o%d' % sock.type, 'sock', sock.type)


ours, theirs = socket.socketpair()
every('out', out)
every('scope', scope)
plain('temp', temp, 'sock')
targets[-1]['dir'] = '/tmp'
for kind in socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM:
    name = '\0orchestra-%d-%d' % (os.getpid(), kind)
    sock = socket.socket(socket.AF_UNIX, kind); sock.bind(name)
    serve(sock, 'abstract %d' % kind)
    targets.append({'name': 'abstract %d' % kind, 'dir': '', 'base': name.encode().hex(), 'kind': int(kind)})
target('late', out + '/late', 'sock')
json.dump(targets, open(scope + '/targets', 'w'))
os.chmod(scope + '/targets', 0o644)
print('ready', flush=True)

watch.register(os.open(ask, os.O_RDONLY | os.O_NONBLOCK), selectors.EVENT_READ, 'ask')
watch.register(sys.stdin, selectors.EVENT_READ, 'end')
while True:
    for key, _ in watch.select():
        if key.data == 'end':
            # what was sent before the command ended is there, for it waits for nothing
            print(json.dumps(hits), flush=True)
            os._exit(0)
        if key.data == 'ask':
            watch.unregister(key.fd)
            plain('late', out + '/late', 'sock')
            os.write(os.open(told, os.O_WRONLY), b'x')
            continue
        label = key.data
        if key.fileobj.type == socket.SOCK_DGRAM:
            way = key.fileobj.recv(100)
        else:
            connection = key.fileobj.accept()[0]
            connection.settimeout(10)
            connection.send(b'REACHED')
            try: way = connection.recv(100)
            except OSError: way = b'?'
        hits.append(label + ': ' + way.decode())
