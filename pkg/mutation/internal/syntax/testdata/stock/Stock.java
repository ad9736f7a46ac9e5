package stock;

import java.util.*;

class Stock {
  private final Map<String, Integer> totals = new HashMap<>();

  int count(List<Item> items, boolean only) {
    int sum = 0;
    for (Item item : items) {
      int amount = only ? 1 : item.amount() * 2;
      totals.merge(item.name(), amount, (left, right) -> left + right);
      sum += amount;
    }
    return sum;
  }

  void show(String prefix) {
    try {
      for (int i = 0; i < totals.size(); i++) {
        System.out.println(prefix + i);
      }
    } catch (RuntimeException problem) {
      System.err.println(problem.getMessage());
    }
  }
}
