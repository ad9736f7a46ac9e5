// Asks the host now and then whether to go on: a parser that loops is ended,
// and Go's garbage collector, which waits for all threads, is not kept waiting
// by a long text. wazero's own way of doing that (WithCloseOnContextDone) checks
// at every turn of every loop and takes 2.5 times as long.

__attribute__((import_module("host"), import_name("stop"))) int stop(void);

static int left;

static __attribute__((noinline, cold)) void ask(void) {
  left = 20000; // some 0.5 ms of work
  if (stop()) __builtin_trap();
}

// __sanitizer_cov_trace_pc is called where build.sh has the compiler put calls
// for measuring coverage.
__attribute__((always_inline)) void __sanitizer_cov_trace_pc(void) {
  if (__builtin_expect(--left < 0, 0)) ask();
}
