package shell

import "mvdan.cc/sh/v3/syntax"

// stmts reads commands that run one after the other.
func (r *reader) stmts(list []*syntax.Stmt, s scope) flow {
	f := stay(s.in)
	for _, stmt := range list {
		f = r.stmt(stmt, s.at(f.both()))
	}
	return f
}

func (r *reader) stmt(stmt *syntax.Stmt, s scope) flow {
	if stmt == nil {
		return stay(s.in)
	}
	for _, redirect := range stmt.Redirs {
		r.redirect(redirect, s)
	}
	if stmt.Background || stmt.Coprocess || stmt.Disown {
		r.out.Background = true
		r.apart(func() { r.command(stmt.Cmd, stmt.Redirs, s) })
		return stay(s.in)
	}
	f := r.command(stmt.Cmd, stmt.Redirs, s)
	if stmt.Negated {
		return flow{f.failure, f.success}
	}
	return f
}

// apart reads what runs in a shell of its own, so that a cd in it changes nothing behind it.
func (r *reader) apart(read func()) {
	moves := r.moves
	read()
	r.moves = moves
}

func (r *reader) subshell(list []*syntax.Stmt, s scope) flow {
	r.apart(func() { r.stmts(list, s) })
	return stay(s.in)
}

func (r *reader) command(cmd syntax.Command, redirs []*syntax.Redirect, s scope) flow {
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		return r.call(c, redirs, s)
	case *syntax.BinaryCmd:
		return r.binary(c, s)
	case *syntax.Block:
		return r.stmts(c.Stmts, s)
	case *syntax.Subshell:
		return r.subshell(c.Stmts, s)
	case *syntax.IfClause:
		return r.condition(c, s)
	case *syntax.WhileClause:
		return r.loop(s, func() {
			body := r.stmts(c.Cond, s)
			r.stmts(c.Do, s.at(body.both()))
		})
	case *syntax.ForClause:
		return r.loop(s, func() { r.iteration(c, s) })
	case *syntax.CaseClause:
		return r.choice(c, s)
	case *syntax.FuncDecl:
		r.declare(c, s)
	case *syntax.TimeClause:
		return r.stmt(c.Stmt, s)
	case *syntax.CoprocClause:
		r.out.Background = true
		if c.Name != nil {
			r.assignName(c.Name.Lit())
		}
		r.apart(func() { r.stmt(c.Stmt, s) })
	case *syntax.DeclClause:
		r.declClause(c, s)
	case *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
		r.inside(c, s)
	default:
		r.unjudged("the line has a construct that is not known: %T", cmd)
		return lost
	}
	return stay(s.in)
}

func (r *reader) binary(c *syntax.BinaryCmd, s scope) flow {
	switch c.Op {
	case syntax.AndStmt:
		x := r.stmt(c.X, s)
		y := r.stmt(c.Y, s.at(x.success))
		return flow{y.success, x.failure.or(y.failure)}
	case syntax.OrStmt:
		x := r.stmt(c.X, s)
		y := r.stmt(c.Y, s.at(x.failure))
		return flow{x.success.or(y.success), y.failure}
	}
	r.apart(func() { r.stmt(c.X, s) })
	r.apart(func() { r.stmt(c.Y, s) })
	return stay(s.in)
}

func (r *reader) condition(c *syntax.IfClause, s scope) flow {
	cond := r.stmts(c.Cond, s)
	then := r.stmts(c.Then, s.at(cond.success))
	if c.Else == nil {
		return stay(then.both().or(cond.failure))
	}
	otherwise := r.condition(c.Else, s.at(cond.failure))
	return stay(then.both().or(otherwise.both()))
}

// loop reads a body that runs again from wherever it left the shell.
func (r *reader) loop(s scope, body func()) flow {
	from, moves := len(r.pending), r.moves
	body()
	if r.moves == moves {
		return stay(s.in)
	}
	for i := range r.pending[from:] {
		r.pending[from+i].in = elsewhere
	}
	return lost
}

func (r *reader) iteration(c *syntax.ForClause, s scope) {
	if list, ok := c.Loop.(*syntax.WordIter); ok {
		r.assignName(list.Name.Value)
		for _, item := range list.Items {
			r.set(list.Name.Value, r.word(item, s).from...)
		}
		if len(list.Items) == 0 || c.Select {
			r.set(list.Name.Value, anything)
		}
	} else {
		r.inside(c.Loop, s)
	}
	r.stmts(c.Do, s)
}

func (r *reader) choice(c *syntax.CaseClause, s scope) flow {
	r.word(c.Word, s)
	out := s.in
	for _, item := range c.Items {
		for _, pattern := range item.Patterns {
			r.word(pattern, s)
		}
		in := s.in
		if item.Op != syntax.Break {
			in = out
		}
		out = out.or(r.stmts(item.Stmts, s.at(in.or(out))).both())
	}
	return stay(out)
}

// declare reads a function where it stands: when it runs, and from where, is not followed.
func (r *reader) declare(c *syntax.FuncDecl, s scope) {
	r.functions = true
	if c.Name != nil && Among("cd pushd popd command builtin", c.Name.Value) {
		r.moved = true
	}
	r.afterwards(func() { r.stmt(c.Body, s) })
}

// afterwards reads code that runs at another time than where it stands.
func (r *reader) afterwards(read func()) {
	moves := r.moves
	r.deferred++
	read()
	r.deferred--
	r.roams = r.roams || r.moves != moves // whoever calls it is somewhere else afterwards
}
