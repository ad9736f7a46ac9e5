"""What an agent's command does to answer its own request at the operator's console.

Arguments: the console's port and process, the request, a link's code with its characters in the other direction, and from the
second time on the cookie and the key of the operator's browser, as if they had leaked. Each line says a way and what came of it:
the statuses, or what was reached. The word "answered" is said of an answer that was taken, "reached" of a secret."""
import array, ctypes, glob, json, os, socket, subprocess, sys, threading, time

port, console, request, turned, cookie, key = (sys.argv[1:] + ["", ""])[:6]
port, code = int(port), turned[::-1]
libc = ctypes.CDLL(None, use_errno=True)
host = "127.0.0.1:%d" % port


def text(method, path, body):
    return ("%s %s HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nCookie: orchestra-console-%d=%s\r\nX-Orchestra-Key: %s\r\nConnection: close\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s"
            % (method, path, host, host, port, cookie, key, len(body), body)).encode()


def requests():
    yes = text("POST", "/do/answer", "decision=approve_once&request=" + request)
    if not cookie:
        return [text("POST", "/login", json.dumps({"code": code})), yes]
    return [yes, text("GET", "/view/", ""), text("GET", "/events", "")]


def status(s):
    got = s.recv(4096).decode(errors="replace")
    return got.split(" ")[1] if got.startswith("HTTP/1.1 ") else repr(got[:40])


def asks(address=("127.0.0.1", port)):
    said = []
    for one in requests():
        with socket.create_connection(address, timeout=20) as s:
            s.sendall(one)
            said.append(status(s))
    return " ".join(said)


def forked(what):
    r, w = os.pipe()
    if os.fork() == 0:
        try:
            os.write(w, what().encode())
        except Exception as e:
            os.write(w, repr(e).encode())
        os._exit(0)
    os.close(w)
    said = os.read(r, 4096).decode()
    os.close(r)
    return said


def orphan():
    def twice():
        if os.fork():
            os._exit(0)
        os.setsid()
        time.sleep(0.1)
        return asks()
    return forked(lambda: twice())


def without_environment():
    if os.path.exists("src/said"):
        os.remove("src/said")
    subprocess.run(["env", "-i", "PATH=" + os.environ["PATH"], "setsid", "-f", sys.executable, "src/attack.py"] + sys.argv[1:] + ["", ""][: 6 - len(sys.argv[1:])] + ["one"])
    while not os.path.exists("src/said"):
        time.sleep(0.02)
    return open("src/said").read()


def hidden():
    def what():
        libc.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
        return asks()
    return forked(what)


def own_files():
    said = []
    def what():
        if libc.unshare(0x400) != 0:  # CLONE_FILES
            return said.append("no files of its own")
        said.append(asks())
    t = threading.Thread(target=what)
    t.start()
    t.join()
    return said[0]


def in_flight():
    """The end of the request leaves while the socket is on its way between two processes, where nobody has it open."""
    said = []
    for one in requests():
        s = socket.create_connection(("127.0.0.1", port), timeout=20)
        s.sendall(one[:-2])
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        s.sendall(one[-2:])
        a, b = socket.socketpair()
        a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
        s.close()
        time.sleep(0.4)
        _, ancillary, _, _ = b.recvmsg(1, socket.CMSG_SPACE(4))
        s = socket.socket(fileno=array.array("i", ancillary[0][2])[0])
        s.settimeout(20)
        said.append(status(s))
    return " ".join(said)


def gone():
    for one in requests():
        s = socket.create_connection(("127.0.0.1", port), timeout=20)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        s.sendall(one)
        s.close()
    return "gone"


def forwarded():
    listener = socket.create_server(("127.0.0.1", 0))
    def forward():
        for _ in requests():
            near, _ = listener.accept()
            with near, socket.create_connection(("127.0.0.1", port), timeout=20) as far:
                far.sendall(near.recv(65536))
                near.sendall(far.recv(65536))
        return ""
    t = threading.Thread(target=forked, args=(forward,))
    t.start()
    said = asks(listener.getsockname())
    t.join()
    return said


def secrets():
    """Whatever it can read of other processes and of the user's files has the code, or is the key of answers."""
    found, mine = set(), str(os.getpid())
    def look(where, name, limit=1 << 20):
        try:
            with open(name, "rb") as f:
                if code.encode() in f.read(limit):
                    found.add(where)
        except OSError:
            pass
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or pid == mine:
            continue
        for name in "cmdline", "environ":
            look(name, "/proc/%s/%s" % (pid, name))
    base = "/proc/%s/" % console
    for name in glob.glob(base + "fd/*"):
        if os.path.isfile(name):
            look("fd", name)
    for name in glob.glob(base + "fd/*"):
        try:
            if os.readlink(name).startswith("pipe:"):
                os.set_blocking(os.open(name, os.O_RDONLY | os.O_NONBLOCK), False)
                found.add("output")
        except OSError:
            pass
    try:
        for line in open(base + "maps"):
            begin, end = (int(x, 16) for x in line.split()[0].split("-"))
            if line.split()[1].startswith("rw"):
                with open(base + "mem", "rb") as mem:
                    mem.seek(begin)
                    if code.encode() in mem.read(min(end - begin, 64 << 20)):
                        found.add("memory")
    except OSError:
        pass
    user = os.environ.get("XDG_CONFIG_HOME", os.environ["HOME"]) + "/orchestra-mcp/"
    for name in glob.glob(user + "*.html"):
        look("link", name)
    try:
        if open(user + "approval.key", "rb").read():
            found.add("approval.key")
    except OSError:
        pass
    return "reached " + " ".join(sorted(found)) if found else "nothing"


if len(sys.argv) > 7:  # a child without an environment
    said = asks()
    with open("src/saying", "w") as f:
        f.write(said)
    os.rename("src/saying", "src/said")
    sys.exit()

for name, way in {
    "plain": asks, "mapped": lambda: asks(("::ffff:127.0.0.1", port)), "any": lambda: asks(("0.0.0.0", port)), "localhost": lambda: asks(("localhost", port)),
    "child": lambda: forked(asks), "orphan": orphan, "without environment": without_environment, "hidden": hidden, "own files": own_files,
    "in flight": in_flight, "gone": gone, "forwarded": forwarded, "secrets": secrets,
}.items():
    try:
        print(name + ": " + way(), flush=True)
    except Exception as e:
        print(name + ": " + repr(e), flush=True)
