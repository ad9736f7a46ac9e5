import ctypes, os, platform, resource, signal, subprocess, sys, threading, time, fcntl
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == 'aarch64'
def call(amd, arm_, *a):
    return libc.syscall(arm_ if arm else amd, *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
server, group = int(sys.argv[1]), int(sys.argv[2])
threads = [int(t) for t in os.listdir('/proc/%d/task' % server)] if server > 1 else []
info = ctypes.create_string_buffer(128)
ctypes.cast(info, ctypes.POINTER(ctypes.c_int))[0] = 34
ctypes.cast(info, ctypes.POINTER(ctypes.c_int))[2] = -1
def reached(what):
    print('REACHED', what)
