package shell

import "strings"

// takesOne are the predicates of find with one argument.
const takesOne = `-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -maxdepth -mindepth
		-newer -anewer -cnewer -newermt -newerct -newerat -mtime -atime -ctime -mmin -amin -cmin -size -perm -user -group
		-uid -gid -links -inum -samefile -fstype -printf -regextype -used -context`

// find reads what -exec and its like run, and where -fprint and its like write.
func (r *reader) find(args []Arg, c command) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case !a.Exact:
			if couldRun(args, i) {
				r.unjudged("an argument of find is not literal, and can be -exec")
				return
			}
		case Among("-exec -execdir -ok -okdir", a.Text):
			end := i + 1
			for end < len(args) && args[end].Text != ";" && (args[end].Text != "+" || args[end-1].Text != "{}") {
				end++
			}
			r.execute(args[i+1:end], strings.HasSuffix(a.Text, "dir"), c)
			i = end
		case a.Begins("-fprint") || a.Text == "-fls":
			r.output(args[min(i+1, len(args)):], c)
			i++
		case Among(takesOne, a.Text):
			if i+1 < len(args) && !args[i+1].Many {
				i++
			}
		}
	}
}

// couldRun reports whether the unknown word at i can be an -exec with a program behind it.
func couldRun(args []Arg, i int) bool {
	a := args[i]
	switch {
	case a.Many && a.Open:
		return true
	case a.Text != "" && !strings.HasPrefix("-exec", a.Text) && !strings.HasPrefix("-ok", a.Text) && !a.Begins("-"):
		return false
	case a.Many:
		return true
	case i+1 == len(args):
		return false
	}
	next := args[i+1]
	return !next.Begins("-")
}

func (r *reader) execute(words []Arg, each bool, c command) {
	if each { // -execdir: in the directory of each file
		c.in = elsewhere
	}
	fed := make([]Arg, 0, len(words))
	for _, a := range words {
		if a.Text == "{}" {
			fed = append(fed, Arg{Many: true, Open: true})
			continue
		}
		fed = append(fed, marked(a, "{}"))
	}
	c.fed = true
	r.run(fed, c)
}

// output is a file that find writes: like a redirection.
func (r *reader) output(args []Arg, c command) {
	if len(args) == 0 {
		return
	}
	if !args[0].Exact {
		r.unjudged("the file that find writes is not literal")
		return
	}
	if !isDevice(args[0].Text) {
		r.redirected(args[0].Text, true, c.in)
	}
}
