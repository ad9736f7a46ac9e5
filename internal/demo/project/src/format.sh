# Formats numbers for people.

degrees() {
    echo "$1 C"
}
