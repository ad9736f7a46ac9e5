// The whole interface between a module and the Go side, but for fuel.c: no WASI.
//
// A module parses one text, writes the tree as one flat array and is thrown
// away or reused. Nothing here frees the text or the array before the next
// parse: the Go side copies what it needs right after the call.

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tree_sitter/api.h>

#define EXPORT(name) __attribute__((export_name(#name))) name

const TSLanguage *LANGUAGE(void);

// node is the wire format of tree.go: five little-endian words.
typedef struct {
  uint32_t symbol_and_field; // symbol | field << 16
  uint32_t flags;
  uint32_t start, end; // bytes
  uint32_t next;       // index of the first node after this one's descendants
} node;

enum { NAMED = 1, EXTRA = 2, ERROR = 4, MISSING = 8 };

static char *text;
static node *nodes;
static uint32_t count, capacity;

// No time passes in here: the Go side limits the time from outside.
int clock_gettime(clockid_t id, struct timespec *now) {
  memset(now, 0, sizeof *now);
  return 0;
}

// The core prints only what nobody asked for (its log, its drawings of a tree,
// its last words before abort). Without these the C library's streams would be
// linked, and with them imports from the host.
#undef stderr
FILE *const stderr = NULL;
int fprintf(FILE *file, const char *format, ...) { return 0; }
int vsnprintf(char *buffer, size_t size, const char *format, va_list arguments) {
  if (size) *buffer = 0;
  return 0;
}
int snprintf(char *buffer, size_t size, const char *format, ...) {
  if (size) *buffer = 0;
  return 0;
}
int fputc(int c, FILE *file) { return c; }
int fputs(const char *text, FILE *file) { return 0; }
size_t fwrite(const void *from, size_t size, size_t n, FILE *file) { return n; }
int fclose(FILE *file) { return 0; }
FILE *fdopen(int descriptor, const char *mode) { return NULL; }

char *EXPORT(text_buffer)(uint32_t length) {
  free(text);
  return text = malloc(length ? length : 1);
}

static inline bool add(TSTreeCursor *cursor) {
  if (count == capacity) {
    capacity = capacity ? capacity * 2 : 4096;
    node *grown = realloc(nodes, capacity * sizeof(node));
    if (!grown) return false;
    nodes = grown;
  }
  TSNode n = ts_tree_cursor_current_node(cursor);
  nodes[count++] = (node){
      .symbol_and_field = ts_node_symbol(n) | (uint32_t)ts_tree_cursor_current_field_id(cursor) << 16,
      .flags = (ts_node_is_named(n) ? NAMED : 0) | (ts_node_is_extra(n) ? EXTRA : 0) |
               (ts_node_is_error(n) ? ERROR : 0) | (ts_node_is_missing(n) ? MISSING : 0),
      .start = ts_node_start_byte(n),
      .end = ts_node_end_byte(n),
  };
  return true;
}

// flatten writes the tree in order of reading. The parents' indices wait on a
// stack of their own: a deep tree is no deep recursion.
static bool flatten(TSTree *tree) {
  uint32_t depth = 0, room = 256;
  uint32_t *parents = malloc(room * sizeof *parents);
  if (!parents) return false;
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
  count = 0;
  bool ok = add(&cursor);
  parents[0] = 0;
  while (ok) {
    if (ts_tree_cursor_goto_first_child(&cursor)) {
      if (++depth == room) {
        uint32_t *grown = realloc(parents, (room *= 2) * sizeof *parents);
        if (!(ok = grown != NULL)) break;
        parents = grown;
      }
    } else {
      for (;;) {
        nodes[parents[depth]].next = count;
        if (depth == 0) goto done;
        if (ts_tree_cursor_goto_next_sibling(&cursor)) break;
        ts_tree_cursor_goto_parent(&cursor);
        depth--;
      }
    }
    parents[depth] = count;
    ok = add(&cursor);
  }
done:
  ts_tree_cursor_delete(&cursor);
  free(parents);
  return ok;
}

// parse parses the first length bytes of the text buffer and returns how many
// nodes the tree has; 0 if it could not.
uint32_t EXPORT(parse)(uint32_t length) {
  TSParser *parser = ts_parser_new();
  if (!parser || !ts_parser_set_language(parser, LANGUAGE())) return 0;
  TSTree *tree = ts_parser_parse_string(parser, NULL, text, length);
  bool ok = tree && flatten(tree);
  if (tree) ts_tree_delete(tree);
  ts_parser_delete(parser);
  return ok ? count : 0;
}

node *EXPORT(node_buffer)(void) { return nodes; }

uint32_t EXPORT(symbol_count)(void) { return ts_language_symbol_count(LANGUAGE()); }
uint32_t EXPORT(field_count)(void) { return ts_language_field_count(LANGUAGE()); }
const char *EXPORT(symbol_name)(uint32_t symbol) { return ts_language_symbol_name(LANGUAGE(), symbol); }
const char *EXPORT(field_name)(uint32_t field) { return ts_language_field_name_for_id(LANGUAGE(), field); }
