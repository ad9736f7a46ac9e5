iov = (ctypes.c_void_p * 2)(ctypes.cast(info, ctypes.c_void_p), 8)
there = (ctypes.c_void_p * 2)(0x400000, 8)
for t in threads:
    if call(310, 270, t, iov, 1, there, 1, 0) > 0: reached('its memory')
    if libc.ptrace(0x4206, t, 0, 0) == 0: reached('it, by ptrace')
    for name in 'environ', 'maps', 'mem', 'auxv', 'fd':
        for path in '/proc/%d/' % t, '/proc/%d/task/%d/' % (server, t):
            try:
                if name == 'fd': os.readlink(path + 'fd/0')
                else: os.read(os.open(path + name, os.O_RDONLY), 1)
                reached(path + name)
            except OSError as e:
                if name == 'mem' and e.errno == 5: reached(path + name)
    fd = call(434, 434, t, 0o200) # PIDFD_THREAD, which is O_EXCL
    if fd >= 0 and call(424, 424, fd, 0, None, 0) == 0: reached('a thread by its descriptor')
    if fd >= 0 and call(438, 438, fd, 0, 0) >= 0: reached('a descriptor of the server')
    fd = os.open('/proc/%d' % t, os.O_RDONLY | os.O_DIRECTORY)
    if call(424, 424, fd, 0, None, 0) == 0: reached('a thread by its directory')
    if libc.kill(t, 0) == 0: reached('kill of %d' % t)
    if call(200, 130, t, 0) == 0: reached('tkill')
    if call(234, 131, server, t, 0) == 0: reached('tgkill')
    if call(129, 138, t, 0, info) == 0: reached('rt_sigqueueinfo')
    if call(297, 240, server, t, 0, info) == 0: reached('rt_tgsigqueueinfo')
    if call(302, 261, t, 7, ctypes.create_string_buffer(b'\xff' * 16), None) == 0: reached('prlimit')
    if call(62, 129, t | 1 << 32, 0) == 0: reached('kill with more bits')
    if call(302, 261, t | 1 << 32, 7, ctypes.create_string_buffer(b'\xff' * 16), None) == 0: reached('prlimit with more bits')
if libc.kill(-1, 0) == 0: reached('kill of all')
if group and libc.kill(-group, 0) == 0: reached('kill of the group')
fd = call(434, 434, server, 0)
if fd >= 0 and call(424, 424, fd, 0, None, 0) == 0: reached('pidfd')
fd = os.open('/proc/%d' % server, os.O_RDONLY | os.O_DIRECTORY)
if call(424, 424, fd, 0, None, 0) == 0: reached('the directory in proc')
r, w = os.pipe()
try:
    fcntl.fcntl(r, 10, 40)
    fcntl.fcntl(r, fcntl.F_SETOWN, server)
    fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)
    os.write(w, b'x')
except OSError: pass
