use std::collections::HashMap;

pub struct Item {
    name: String,
    amount: i32,
}

pub fn count(items: &[Item], only: bool) -> HashMap<String, i32> {
    let mut totals = HashMap::new();
    for item in items {
        let amount = if only { 1 } else { item.amount * 2 };
        let entry = totals.entry(item.name.clone()).or_insert(0);
        *entry += least(amount, 10);
    }
    totals
}

fn least(left: i32, right: i32) -> i32 {
    match left < right {
        true => left,
        false => right,
    }
}

pub fn show(total: Option<i32>) -> String {
    if let Some(number) = total {
        return format!("{} left", number);
    }
    String::new()
}
