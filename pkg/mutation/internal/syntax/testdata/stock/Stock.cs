using System.Collections.Generic;

class Stock
{
    private int limit = 10;

    public int Count(IEnumerable<Item> items, bool only)
    {
        var sum = 0;
        foreach (var item in items)
        {
            var amount = only ? 1 : item.Amount * 2;
            sum += Least(amount, limit);
        }
        return sum;
    }

    private static int Least(int left, int right) => left < right ? left : right;

    public string Show(string prefix)
    {
        try { return $"{prefix}: {limit}"; }
        catch (System.Exception problem) { return problem.Message; }
    }
}
