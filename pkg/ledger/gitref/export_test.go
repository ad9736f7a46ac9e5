package gitref

import "bytes"

// LimitImport bounds the lines of one import.
func LimitImport(lines int) (restore func()) {
	before := importBudget
	importBudget.lines = lines
	return func() { importBudget = before }
}

// LimitLoose bounds the segments that stand as loose objects.
func LimitLoose(segments int) (restore func()) {
	before := maxLoose
	maxLoose = segments
	return func() { maxLoose = before }
}

// Dictionary is the text that segments refer to.
var Dictionary = first.Text

// WriteSegment gives a segment of lines.
func WriteSegment(lines [][]byte) ([]byte, error) {
	var file bytes.Buffer
	w, err := newSegmentWriter(&file)
	for i := 0; i < len(lines) && err == nil; i++ {
		err = w.add(lines[i])
	}
	if err == nil {
		err = w.Close()
	}
	return file.Bytes(), err
}

// ReadSegment gives the text of a segment.
func ReadSegment(file []byte) ([]byte, error) {
	var text []byte
	err := eachLine(bytes.NewReader(file), func(line []byte) error {
		text = append(append(text, line...), '\n')
		return nil
	})
	return text, err
}
