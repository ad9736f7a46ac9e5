import ctypes, mmap, os, shutil, struct, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
src = '/mnt/ws/src/'
def has(data): return b'LEAK' in data
def reopened(p):
    fd = os.open(p, os.O_PATH)
    try: return open('/proc/self/fd/%d' % fd, 'rb').read()
    finally: os.close(fd)
def mapped(p):
    with open(p, 'rb') as f: return mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:]
def written(p):
    os.close(os.open(p, os.O_WRONLY)); return b'LEAK'
def copied(p):
    shutil.copyfile(p, os.environ['TMPDIR'] + '/c'); return open(os.environ['TMPDIR'] + '/c', 'rb').read()
def linked(p):
    os.link(p, src + 'hard')
    try: return open(src + 'hard', 'rb').read()
    finally: os.unlink(src + 'hard')
def symlinked(p):
    os.symlink(p, src + 'soft')
    try: return open(src + 'soft', 'rb').read()
    finally: os.unlink(src + 'soft')
def renamed(p):
    os.rename(p, src + 'r')
    try: return open(src + 'r', 'rb').read()
    finally: os.rename(src + 'r', p)
def parent(p):
    os.rename(os.path.dirname(p), src + 'd')
    try: return open(src + 'd/' + os.path.basename(p), 'rb').read()
    finally: os.rename(src + 'd', os.path.dirname(p))
def exchanged(p):
    open(src + 'x', 'w').close()
    if libc.renameat2(-100, (src + 'x').encode(), -100, p.encode(), 2): raise OSError
    try: return open(src + 'x', 'rb').read()
    finally: libc.renameat2(-100, (src + 'x').encode(), -100, p.encode(), 2)
def handle(p):
    h = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128)); m = ctypes.c_int()
    libc.name_to_handle_at(-100, p.encode(), h, ctypes.byref(m), 0)
    fd = libc.open_by_handle_at(os.open('/mnt/ws', 0), h, 0)
    return os.read(fd, 9) if fd >= 0 else b''
def own(p):
    line = "mount --bind '%s' /mnt/ws/docs/out.md; mount --bind \"$(dirname '%s')\" /mnt/ws/docs; cat '%s' /mnt/ws/docs/*" % (p, p, p)
    return subprocess.run(['unshare', '-rm', 'sh', '-c', line], stdout=-1, stderr=-3).stdout
def run(p): return subprocess.run(['sh', '-c', '. "$0"', p], stdout=-3, stderr=-1).stderr
ways = [
    ('open', lambda p: open(p, 'rb').read()), ('mmap', mapped), ('reopen', reopened), ('copy', copied), ('write', written),
    ('root', lambda p: open('/proc/self/root' + p, 'rb').read()), ('cwd', lambda p: open('/proc/self/cwd/' + os.path.relpath(p), 'rb').read()),
    ('init', lambda p: open('/proc/1/root' + p, 'rb').read()), ('parent', lambda p: open('/proc/%d/root%s' % (os.getppid(), p), 'rb').read()),
    ('link', linked), ('symlink', symlinked), ('rename', renamed), ('rename of the directory', parent), ('exchange', exchanged), ('handle', handle),
]
for p in sys.stdin.read().splitlines():
    for name, way in ways + ([('namespace', own), ('source', run)] if p.startswith('/mnt/ws') else []):
        try:
            if has(way(p)): print(name + ':' + p)
        except OSError: pass
