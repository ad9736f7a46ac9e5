import { load } from './store.js';

interface Item { name: string; amount: number }

const limit = 10;

// Counts what is left of each item.
export function count(items: Item[], { only, skip = [] }: Options = {}): Total[] {
  const totals = new Map();
  for (const item of items) {
    if (skip.includes(item.name)) continue;
    const known = totals.get(item.name) ?? 0;
    totals.set(item.name, known + (only ? 1 : item.amount * 2));
  }
  return [...totals].map(([name, total]) => ({ name, total: Math.min(total, limit) }));
}

async function main(path: string): Promise<void> {
  try {
    const items = await load(path);
    console.log(`read ${items.length} items`, count(items, { only: true }));
  } catch (problem) {
    console.error('failed:', problem.message);
  }
}

main('stock.json');
