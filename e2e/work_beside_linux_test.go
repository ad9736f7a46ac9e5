package e2e_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// needsLayers skips the test where commands cannot work on layers. Where CI is set it fails instead.
func needsLayers(t *testing.T) {
	t.Helper()
	if why := (machine{level: "full"}).missing(); why != "" {
		check.Must(t, os.Getenv("CI") == "", "there is no sandbox level full: %s", why)
		t.Skip(why)
	}
}

// A server that an agent left running in the background has a database open, and its log. A line that writes to them is in the
// way of the server if it works on a layer, where locks hold nobody outside: nothing of it is taken over. Sent again, it works on
// the workspace itself, and neither loses what it wrote.
func TestLinesBesideAServer(t *testing.T) {
	t.Parallel()
	needsLayers(t)
	for _, mode := range []string{"wal", "persist", "delete"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.write("src/serve.py", "import sqlite3, time, os\nlog = open('src/log', 'a')\nc = sqlite3.connect('src/data.db', isolation_level=None)\nc.execute('pragma journal_mode="+mode+"')\nc.execute('create table t(a)')\nlog.write('began\\n'); log.flush()\nopen('src/ready', 'w').close()\n"+
				"while not os.path.exists('src/stop'):\n    try:\n        c.execute('insert into t values(?)', ('served',))\n    except sqlite3.OperationalError:\n        pass\n    time.sleep(0.1)\nlog.write('ended\\n'); log.close(); c.close()\n")
			a := w.startedOn(machine{level: "full"}).agent()
			session := a.Selects("INT-001")
			id, _ := a.behind(session, "python3 src/serve.py")
			eventually(t, "it serves", func() bool { _, err := os.Stat(w.path("src/ready")); return err == nil })
			for _, line := range []string{
				"echo more >> src/log",
				"python3 -c \"import sqlite3; c = sqlite3.connect('src/data.db', timeout=60); c.execute('insert into t values(?)', ('ours',)); c.commit(); c.close()\"",
			} {
				r := a.Call("execute_command", args{"session": session, "command": line})
				t.Logf("%s", r.Text)
				check.Must(t, r.Error && strings.Contains(r.Text, "Send the same line again"), "%s: %s", line, r.Text)
				a.OK("discard_staged", args{"session": session, "staged_id": r.Object["staged_id"]})
				again := a.OK("execute_command", args{"session": session, "command": line})
				check.That(t, again.Object["direct_because"] == "this line failed on a layer" && again.Object["exit_code"] == 0.0, "%s", again.Text)
			}
			w.write("src/stop", "")
			a.endedJob(session, id)
			check.Equal(t, w.read("src/log"), "began\nmore\nended\n")
			count := a.OK("execute_command", args{"session": session, "command": "python3 -c \"import sqlite3; c = sqlite3.connect('src/data.db'); print(c.execute('pragma integrity_check').fetchone()[0], c.execute('select count(*) from t where a=?', ('ours',)).fetchone()[0]); assert c.execute('select count(*) from t').fetchone()[0] > 1\""})
			check.That(t, strings.Contains(count.Text, "ok 1\n"), "%s", count.Text)
		})
	}
}

// A test suite in the background that watches its sources runs again for what lines on layers change. They are put in place by a
// rename, as editors save. That is why node --watch is no such suite: it follows a file, not its name, and misses the second rename.
func TestWatchModeBesideLines(t *testing.T) {
	t.Parallel()
	needsLayers(t)
	w := newWorkspace(t)
	w.write("src/price.js", "module.exports = 1\n")
	w.write("src/price.test.js", "const price = require('./price.js')\nrequire('node:test')('price', () => { require('fs').appendFileSync('src/runs', price + '\\n') })\n")
	w.write("src/watch.js", "const { spawnSync } = require('child_process')\nconst run = () => spawnSync(process.execPath, ['--test', 'src/price.test.js'])\nrequire('fs').watch('src', (_, name) => name === 'price.js' && run())\nrun()\n")
	a := w.startedOn(machine{level: "full"}).agent()
	session := a.Selects("INT-001")
	id, _ := a.behind(session, "node src/watch.js")
	ran := func(price string) bool {
		runs, _ := os.ReadFile(w.path("src/runs"))
		return strings.Contains(string(runs), price+"\n")
	}
	eventually(t, "it runs", func() bool { return ran("1") })
	for i, line := range []string{
		"echo 'module.exports = 2' > src/price.js", "sed -i s/2/3/ src/price.js", "echo 'module.exports = 4' > src/price.new && mv src/price.new src/price.js", "rm src/price.js; printf 'module.exports = 5' > src/price.js",
	} {
		r := a.OK("execute_command", args{"session": session, "command": line})
		check.That(t, r.Object["direct_because"] == nil, "%s", r.Text)
		want := strconv.Itoa(i + 2)
		eventually(t, "it runs again for "+line, func() bool { return ran(want) })
	}
	a.OK("stop_command", args{"session": session, "command_id": id})
}
