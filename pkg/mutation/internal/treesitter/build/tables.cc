// Prints the lexers of a grammar as tables, for lexer.c.
//
// Compiled to WebAssembly, the generated functions, which have a branch for each
// character of each state, take most of the time that a process needs to compile
// a module. Here each state is asked where each character leads. What it compares
// characters with says where the answer can change.

#include <stdio.h>
#include <stdlib.h>
#include <tree_sitter/parser.h>

enum { ERROR = -1, LAST = 0x10FFFF, END = LAST + 1, NONE = 0xFFFF };

static bool borders[END + 2]; // by character + 1: may an answer change here?
static bool changed;

static void border(int at) {
  if (at > ERROR && at <= LAST && !borders[at + 1]) borders[at + 1] = changed = true;
}

struct character {
  int32_t value;
  bool less(int than) const { return border(than), value < than; }
  bool operator==(int other) const { return less(other + 1) && !less(other); }
  bool operator!=(int other) const { return !(*this == other); }
  bool operator<(int other) const { return less(other); }
  bool operator<=(int other) const { return less(other + 1); }
  bool operator>(int other) const { return !less(other + 1); }
  bool operator>=(int other) const { return !less(other); }
  bool in(const TSCharacterRange *ranges, uint32_t count) const {
    bool found = false;
    for (uint32_t i = 0; i < count; i++) found |= *this >= ranges[i].start & *this <= ranges[i].end;
    return found;
  }
};
static bool operator==(int other, character c) { return c == other; }
static bool operator<=(int other, character c) { return c >= other; }
static bool operator<(int other, character c) { return c > other; }

static int next, accepted;
#undef START_LEXER
#undef ADVANCE
#undef ADVANCE_MAP
#undef SKIP
#undef ACCEPT_TOKEN
#undef END_STATE
#define set_contains(ranges, count, c) c.in(ranges, count)
#define START_LEXER() \
  bool eof;           \
  character lookahead = {lexer->lookahead};
#define ADVANCE(state) return next = 2 * (state), true;
#define SKIP(state) return next = 2 * (state) + 1, true;
#define ADVANCE_MAP(...)                                              \
  {                                                                   \
    static const uint16_t map[] = {__VA_ARGS__};                      \
    for (unsigned i = 0; i < sizeof map / sizeof map[0]; i += 2)      \
      if (lookahead == map[i]) ADVANCE(map[i + 1])                    \
  }
#define ACCEPT_TOKEN(symbol) accepted = symbol;
#define END_STATE() return false;
#include PARSER

static bool at_end;
static bool eof(const TSLexer *lexer) { return at_end; }

// The states of the keywords' lexer are counted behind those of the other.
static int keywords, states;

// action is where a character leads in a state: twice the next state, and one
// more if it is skipped; NONE if it ends the token. END is the end of the text.
static int action(int state, int c) {
  TSLexer lexer = {};
  at_end = c == END;
  lexer.lookahead = at_end ? 0 : c;
  lexer.eof = eof;
  accepted = NONE;
  if (state < keywords) return ts_lex(&lexer, state) ? next : NONE;
  return ts_lex_keywords(&lexer, state - keywords) ? next + 2 * keywords : NONE;
}

static int starts[END + 2], ranges; // the first characters of the ranges, and END

static void divide() {
  ranges = 0;
  for (int c = ERROR; c <= END; c++)
    if (borders[c + 1]) starts[ranges++] = c;
}

// reach counts the states that can be reached from those up to highest.
static void reach(int highest) {
  for (; states <= highest; states++)
    for (int i = 0; i < ranges; i++) {
      int to = action(states, starts[i]);
      if (to != NONE && to / 2 > highest) highest = to / 2;
    }
}

static void print(const char *type, const char *name, const int *values, int count) {
  printf("static const %s %s[] = {", type, name);
  for (int i = 0; i < count; i++) printf("%d,", values[i]);
  printf("};\n");
}

static int classes[END + 2], example[256], ascii[128];

int main() {
  borders[ERROR + 1] = borders[END + 1] = true;
  int count = 0, highest = 0;
  for (int i = 0; i < STATE_COUNT; i++) {
    int state = ts_lex_modes[i].lex_state;
    if (state != (TSStateId)-1 && state > highest) highest = state;
  }
  do {
    divide();
    changed = false;
    states = 0;
    keywords = NONE;
    reach(highest);
    keywords = states;
    reach(states);
  } while (changed);

  // Characters that no state tells apart are of one class.
  for (int i = 0; i < ranges; i++) {
    int like = 0, state = 0;
    for (; like < count; like++) {
      for (state = 0; state < states && action(state, starts[i]) == action(state, example[like]); state++);
      if (state == states) break;
    }
    if (like == 256) return 1;
    if (like == count) example[count++] = starts[i];
    classes[i] = like;
    for (int c = starts[i]; c < 128 && c < starts[i + 1]; c++) if (c >= 0) ascii[c] = like;
  }

  // A row has the classes that do not lead where most do.
  int *accepts = new int[states], *most = new int[states], *rows = new int[states + 1];
  int *of = new int[states * count], *to = new int[states * count], length = 0;
  for (int state = 0; state < states; state++) {
    int row[256], best = 0;
    for (int i = 0; i < count; i++) row[i] = action(state, example[i]);
    accepts[state] = accepted;
    for (int i = 0; i < count; i++) {
      int same = 0;
      for (int j = 0; j < count; j++) same += row[i] == row[j];
      if (same > best) best = same, most[state] = row[i];
    }
    rows[state] = length;
    for (int i = 0; i < count; i++)
      if (row[i] != most[state]) of[length] = i, to[length++] = row[i];
  }
  rows[states] = length;
  if (length > NONE || 2 * states > NONE) return 1;
  printf("enum { NONE = %d, KEYWORDS = %d, RANGES = %d, END = %d };\n", NONE, keywords, ranges - 1, classes[ranges - 1]);
  print("uint8_t", "ascii", ascii, 128);
  print("int32_t", "starts", starts, ranges - 1);
  print("uint8_t", "classes", classes, ranges - 1);
  print("uint16_t", "accepts", accepts, states);
  print("uint16_t", "most", most, states);
  print("uint16_t", "rows", rows, states + 1);
  print("uint8_t", "of", of, length);
  print("uint16_t", "to", to, length);
}
