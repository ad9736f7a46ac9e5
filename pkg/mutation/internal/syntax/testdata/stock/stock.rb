module Stock
  LIMIT = 10

  def self.count(items, only)
    totals = Hash.new(0)
    items.each do |item|
      amount = only ? 1 : item.amount * 2
      totals[item.name] += [amount, LIMIT].min
    end
    totals
  end

  def self.show(prefix, totals)
    lines = totals.map { |name, total| "#{prefix} #{name}: #{total}" }
    lines.sort.join(", ")
  rescue ArgumentError => problem
    problem.message
  end
end
