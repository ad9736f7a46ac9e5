// The lexers of a grammar, with the tables that tables.cc printed in place of
// the functions that were generated.

#include <tree_sitter/parser.h>
#include TABLES

static uint16_t class_of(int32_t c) {
  if (c >= 0 && c < 128) return ascii[c];
  uint32_t at = 0;
  for (uint32_t size = RANGES; size > 1;) {
    uint32_t half = size / 2;
    if (starts[at + half] <= c) at += half;
    size -= half;
  }
  return classes[at];
}

static uint16_t action(TSStateId state, uint16_t class) {
  uint32_t low = rows[state], high = rows[state + 1];
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (of[middle] == class) return to[middle];
    if (of[middle] < class) low = middle + 1;
    else high = middle;
  }
  return most[state];
}

static bool lex(TSLexer *lexer, TSStateId state) {
  for (bool found = false;;) {
    if (accepts[state] != NONE) {
      found = true;
      lexer->result_symbol = accepts[state];
      lexer->mark_end(lexer);
    }
    uint16_t next = action(state, lexer->eof(lexer) ? END : class_of(lexer->lookahead));
    if (next == NONE) return found;
    lexer->advance(lexer, next & 1);
    state = next / 2;
  }
}

static bool ts_lex(TSLexer *lexer, TSStateId state) { return lex(lexer, state); }
static bool ts_lex_keywords(TSLexer *lexer, TSStateId state) { return lex(lexer, KEYWORDS + state); }

// The generated functions get other names, which nothing uses: they are left out.
#define ts_lex(lexer, state) generated(lexer, state)
#define ts_lex_keywords(lexer, state) generated_keywords(lexer, state)
#include PARSER
