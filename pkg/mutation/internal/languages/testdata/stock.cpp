#include <string>
#include <vector>

namespace stock {

struct Item { std::string name; int amount; };

int count(const std::vector<Item>& items, bool only) {
  int sum = 0;
  for (const auto& item : items) {
    auto amount = only ? 1 : item.amount * 2;
    auto limited = [amount](int most) { return amount < most ? amount : most; };
    sum += limited(10);
  }
  return sum;
}

template <class T>
T least(T left, T right) {
  return left < right ? left : right;
}

}
