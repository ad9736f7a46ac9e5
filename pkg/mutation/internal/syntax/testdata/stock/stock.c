#include <stdio.h>

#define LIMIT 10

struct item { const char *name; int amount; };

static int least(int left, int right) {
  return left < right ? left : right;
}

int count(const struct item *items, int length, int only) {
  int sum = 0;
  for (int i = 0; i < length; i++) {
    const struct item *item = &items[i];
    int amount = only ? 1 : item->amount * 2;
    if (amount > 3)
      sum += least(amount, LIMIT);
  }
  printf("%d of %d\n", sum, length);
  return sum;
}
