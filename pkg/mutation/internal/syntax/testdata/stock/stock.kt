package stock

class Item(val name: String, val amount: Int)

class Stock(private val limit: Int) {
    fun count(items: List<Item>, only: Boolean): Int {
        var sum = 0
        for (item in items) {
            val amount = if (only) 1 else item.amount * 2
            sum += minOf(amount, limit)
        }
        return sum
    }

    fun show(totals: Map<String, Int>): String {
        val lines = totals.map { entry -> entry.key + ": " + entry.value }
        return lines.joinToString(", ")
    }
}
