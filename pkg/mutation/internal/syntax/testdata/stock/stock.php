<?php
namespace Stock;

class Stock
{
    private $limit = 10;

    public function count(array $items, bool $only): int
    {
        $sum = 0;
        foreach ($items as $item) {
            $amount = $only ? 1 : $item->amount * 2;
            $sum += min($amount, $this->limit);
        }
        return $sum;
    }

    public function show(string $prefix): string
    {
        $lines = array_map(function ($line) use ($prefix) {
            return "$prefix: $line";
        }, ['one', 'two']);
        return implode(', ', $lines);
    }
}
