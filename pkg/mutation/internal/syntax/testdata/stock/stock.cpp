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

class Shelf {
 public:
  explicit Shelf(int room) : room_(room) {}
  bool takes(const Item& item) const { return used_ + item.amount <= room_; }
  void put(const Item& item) {
    if (takes(item)) used_ += item.amount;
  }
  int left(const Shelf& other) const { return this->room_ - used_ + other.room_; }

 private:
  int room_;
  int used_ = 0;
};

template <class T>
T least(T left, T right) {
  return left < right ? left : right;
}

}
