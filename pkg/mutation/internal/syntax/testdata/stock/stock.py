"""Counts stock."""
import json
from collections import defaultdict


def count(items, only=False):
    totals = defaultdict(int)
    for item in items:
        amount = 1 if only else item["amount"] * 2
        totals[item["name"]] += amount
    names = [name for name in totals if totals[name] > 3]
    return {name: min(totals[name], 10) for name in sorted(names)}


class Stock:
    limit = 4

    def __init__(self, path):
        with open(path) as source:
            self.items = json.load(source)

    def show(self):
        for number, entry in enumerate(self.items):
            print(f"{number}: {entry['name']}", entry)
