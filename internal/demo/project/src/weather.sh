#!/bin/sh
# Prints the weather of a city: weather.sh CITY CELSIUS
. "$(dirname "$0")/format.sh"

report() {
    city=$1
    celsius=$2
    echo "$city: $(degrees "$celsius")"
}

report "$@"
