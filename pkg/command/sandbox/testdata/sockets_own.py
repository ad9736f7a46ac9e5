"""What programs do with sockets among themselves, which works in a box as outside."""
import asyncio, ctypes, errno, multiprocessing, os, signal, socket, sys, tempfile, threading
from concurrent.futures import ThreadPoolExecutor

libc = ctypes.CDLL(None, use_errno=True)
UNIX = socket.AF_UNIX


def echo(server):
    while True:
        connection = server.accept()[0]
        connection.sendall(connection.recv(100))
        connection.close()


def listen(address, kind=socket.SOCK_STREAM, family=UNIX, backlog=300):
    server = socket.socket(family, kind)
    server.bind(address)
    server.listen(backlog)
    threading.Thread(target=echo, args=[server], daemon=True).start()
    return server


def works(address, kind=socket.SOCK_STREAM, family=UNIX, timeout=None):
    client = socket.socket(family, kind)
    client.settimeout(timeout)
    client.connect(address)
    client.sendall(b'hello')
    assert client.recv(100) == b'hello'
    return client


def refused(number, f, *a):
    try: f(*a)
    except OSError as e: assert e.errno == number, (e, errno.errorcode[number])
    else: assert False, 'it was connected'


def square(x): return x * x


def own():
    for place in tempfile.mkdtemp(), tempfile.mkdtemp(dir='.'):
        os.chdir(place)
        here = os.getcwd()
        listen('relative'); works('relative'); works(here + '/relative', timeout=5); works('./relative')
        os.rename('relative', 'renamed'); works('renamed')
        os.link('renamed', 'linked'); os.symlink('linked', 'link'); works('linked'); works('link')
        listen('packets', socket.SOCK_SEQPACKET); works('packets', socket.SOCK_SEQPACKET)
        listen(b'\xff\n '); works(b'\xff\n ')
        os.makedirs('d' * 200); os.chdir('d' * 200); listen('deep'); works('deep'); os.chdir(here)
        refused(errno.ENOENT, works, here + '/absent')
        open('file', 'w').close(); refused(errno.ECONNREFUSED, works, 'file')
        stale = socket.socket(UNIX); stale.bind('stale'); stale.close(); refused(errno.ECONNREFUSED, works, 'stale')
        refused(errno.EPROTOTYPE, works, 'renamed', socket.SOCK_SEQPACKET)
        client = works('renamed'); refused(errno.EISCONN, client.connect, 'renamed')
        full = socket.socket(UNIX); full.bind('full'); full.listen(0)
        waiting = [socket.socket(UNIX) for _ in range(2)]
        for w in waiting: w.setblocking(False)
        waiting[0].connect('full'); refused(errno.EAGAIN, waiting[1].connect, 'full')
        # one that waits holds up nobody, and can be killed
        child = os.fork()
        if child == 0:
            os.close(1)
            socket.socket(UNIX).connect(here + '/full')
        works('renamed'); os.kill(child, signal.SIGTERM); assert os.waitpid(child, 0)[1] == signal.SIGTERM
        late = threading.Thread(target=lambda: socket.socket(UNIX).connect(here + '/full')); late.start()
        works('renamed'); full.accept(); full.accept(); late.join()
        os.chdir(home)
    listen('\0own-%d' % os.getpid()); works('\0own-%d' % os.getpid())
    server = socket.socket(UNIX); server.bind(''); server.listen(5)
    threading.Thread(target=echo, args=[server], daemon=True).start(); works(server.getsockname())


def internet():
    server = listen(('127.0.0.1', 0), family=socket.AF_INET)
    address = server.getsockname()
    with ThreadPoolExecutor(200) as pool:
        list(pool.map(lambda i: works(address, family=socket.AF_INET, timeout=[None, 30][i % 2]), range(200)))
    unused = socket.socket(); unused.bind(('127.0.0.1', 0))
    refused(errno.ECONNREFUSED, works, unused.getsockname(), socket.SOCK_STREAM, socket.AF_INET)
    a, b = socket.socket(type=socket.SOCK_DGRAM), socket.socket(type=socket.SOCK_DGRAM)
    a.bind(('127.0.0.1', 0)); b.connect(a.getsockname()); b.send(b'x'); assert a.recv(1) == b'x'
    assert libc.connect(b.fileno(), b'\0' * 16, 16) == 0  # disconnects
    refused(errno.EDESTADDRREQ, b.send, b'x')
    def raw(fd, at, length, number): assert libc.connect(fd, at, length) == -1 and ctypes.get_errno() == number, (ctypes.get_errno(), number)
    raw(1000, b'\2\0' + b'\0' * 14, 16, errno.EBADF); raw(0, b'\2\0' + b'\0' * 14, 16, errno.ENOTSOCK)
    raw(a.fileno(), 8, 16, errno.EFAULT); raw(a.fileno(), b'\0' * 200, 200, errno.EINVAL); raw(a.fileno(), b'', 0, errno.EINVAL)
    raw(socket.socket(UNIX).detach(), b'\1\0', 2, errno.EINVAL); raw(socket.socket(UNIX).detach(), b'\2\0' + b'\0' * 14, 16, errno.EINVAL)
    route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); libc.connect(route.fileno(), b'\x10\0' + b'\0' * 10, 12)


def libraries():
    with multiprocessing.Manager() as manager:
        shared = manager.dict(); shared['x'] = 1; assert shared['x'] == 1
    with multiprocessing.get_context('forkserver').Pool(2) as pool: assert pool.map(square, [2, 3]) == [4, 9]
    async def talk():
        async def answer(reader, writer): writer.write(await reader.read(5)); await writer.drain(); writer.close()
        path = tempfile.mkdtemp() + '/s'
        async with await asyncio.start_unix_server(answer, path):
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(b'hello'); assert await reader.read(5) == b'hello'; writer.close()
    asyncio.run(talk())
    a, b = socket.socketpair(); socket.send_fds(a, [b'x'], [0]); assert len(socket.recv_fds(b, 1, 1)[1]) == 1


if __name__ == '__main__':
    home = os.getcwd()
    for part in sys.argv[1:]: globals()[part]()
    print('worked', flush=True)
    os._exit(0)
