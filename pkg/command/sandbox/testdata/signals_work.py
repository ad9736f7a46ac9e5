def child(): return subprocess.Popen(['sleep', '100'], start_new_session=True)
c = child(); c.kill(); assert c.wait() == -9
c = child(); c.terminate(); assert c.wait() == -15
c = child(); os.kill(c.pid, signal.SIGINT); assert c.wait() == -2
c = child(); os.killpg(c.pid, signal.SIGTERM); assert c.wait() == -15
os.kill(os.getpid(), 0)
try:
    os.kill(c.pid, 0); assert False, 'a dead one'
except ProcessLookupError: pass
try:
    os.kill(os.getpid(), 999); assert False, 'no signal'
except OSError as e: assert e.errno == 22, e
got = []
signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
signal.raise_signal(signal.SIGUSR1); signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
assert call(200, 130, threading.get_native_id(), 10) == 0
os.kill(0, signal.SIGUSR1)
assert len(got) == 4, got
assert subprocess.run(['sh', '-c', 'kill -KILL $$']).returncode == -9
assert subprocess.run(['sh', '-c', 'kill -ABRT 0'], start_new_session=True).returncode == -6
assert subprocess.run(['timeout', '0.1', 'sleep', '100']).returncode == 124
assert subprocess.run(['sh', '-c', 'sleep 100 & kill $!; wait $!']).returncode == 143
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.prlimit(os.getppid(), resource.RLIMIT_CORE)
print('worked')
