package helper

const sysStatx = 291
