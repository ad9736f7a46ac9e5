#!/bin/sh
# Runs the project's tests; prints what failed and exits 1.
cd "$(dirname "$0")/.." || exit 1
failed=0

expect() {
    if [ "$2" != "$3" ]; then
        echo "FAIL $1: want '$2', got '$3'"
        failed=1
    else
        echo "ok   $1"
    fi
}

expect "celsius" "Oslo: 7 °C" "$(sh src/weather.sh Oslo 7)"
expect "fahrenheit" "Oslo: 45 °F" "$(UNITS=us sh src/weather.sh Oslo 7)"
exit $failed
