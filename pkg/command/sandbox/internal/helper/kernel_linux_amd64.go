package helper

const sysStatx = 332
