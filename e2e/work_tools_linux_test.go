package e2e_test

import "github.com/intentgov/orchestra-mcp/internal/check"

// toolJobs are what other builds, tests and formatters do, those that watch, and databases of programs that crashed. Changes of
// Python sources change their sizes, as Python tells what it has compiled by size and second.
func toolJobs() []job {
	if check.Short() {
		return nil // to the server they are what the other jobs are
	}
	jobs := []job{
		{
			name: "CMake", needs: []string{"cmake", "ninja"},
			files: map[string]string{
				".gitignore": "/build/\n", "main.c": "#include \"config.h\"\n#include \"table.h\"\nint cents(int);\nint main(void) { return cents(3) != PRICE || table[1] != 2; }\n", "money/cents.c": "int cents(int n) { return 100 * n; }\n", "config.h.in": "#define PRICE @PRICE@\n", "table.txt": "1, 2, 3\n",
				"CMakeLists.txt": "cmake_minimum_required(VERSION 3.18)\nproject(shop C)\nenable_testing()\nset(PRICE 300)\nconfigure_file(config.h.in config.h)\nadd_library(money STATIC money/cents.c)\n" +
					"add_custom_command(OUTPUT table.h DEPENDS ${CMAKE_SOURCE_DIR}/table.txt COMMAND sh ${CMAKE_SOURCE_DIR}/table.sh ${CMAKE_SOURCE_DIR}/table.txt > table.h VERBATIM)\n" +
					"add_executable(shop main.c ${CMAKE_BINARY_DIR}/table.h)\ntarget_include_directories(shop PRIVATE ${CMAKE_BINARY_DIR})\ntarget_link_libraries(shop money)\nadd_test(NAME price COMMAND shop)\ninstall(TARGETS shop money)\ninstall(FILES table.txt DESTINATION share)\n",
				"table.sh": "echo 'static int table[] = {'; cat \"$1\"; echo '};'\n",
			},
			lines: []string{
				"cmake -S . -B build -G 'Unix Makefiles' && cmake --build build -j2 && build/shop", "cmake --build build | grep -c Building > built # fails", "sed -i s/100/200/ money/cents.c && cmake --build build | grep -c Building >> built", "build/shop # fails",
				"cd build && ctest -Q # fails", "sed -i s/200/100/ money/cents.c; touch table.txt; cmake --build build | grep -c Building >> built; cd build && ctest -Q && rm -r Testing", "cmake --install build --prefix out && out/bin/shop && cmake --install build --prefix out",
				"cmake -S . -B build/ninja -G Ninja && cmake --build build/ninja && cmake --build build/ninja | tail -1 >> built", "cmake --build build/ninja | tail -1 >> built; sed -i s/300/400/ CMakeLists.txt && cmake --build build/ninja && build/ninja/shop # fails",
				"sed -i s/400/300/ CMakeLists.txt && cmake --build build/ninja && build/ninja/shop && rm -r build/ninja", "cmake -S . -B made -G 'Unix Makefiles' && cmake --build made && made/shop", "cmake --build made | grep -c Building >> built # fails", "cmake --build made --target clean; made/shop # fails",
				"rm -f */CMakeFiles/CMakeOutput.log */CMakeFiles/CMakeConfigureLog.yaml # which have random names", "rm -r build && mkdir build && mv made/* build && rmdir made; make -C build # fails",
			},
		},
		{
			name: "pytest", needs: []string{"pytest"},
			files: map[string]string{
				".gitignore": "__pycache__/\n.pytest_cache/\n", "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests']\n", "shop/__init__.py": "", "shop/price.py": "def price(n):\n    return 100 * n\n",
				"tests/conftest.py":   "import pytest, sys\nsys.path.insert(0, '.')\n\n\n@pytest.fixture\ndef shop(tmp_path):\n    (tmp_path / 'shop').mkdir()\n    (tmp_path / 'shop').rename(tmp_path / 'moved')\n    return tmp_path / 'moved'\n",
				"tests/test_price.py": "from shop.price import price\n\n\ndef test_price():\n    assert price(3) == 300\n\n\ndef test_kept(shop, cache, monkeypatch):\n    monkeypatch.chdir(shop)\n    open('kept', 'w').write('x')\n    cache.set('shop/price', price(1))\n    assert cache.get('shop/price', 0) == 100\n",
				"tests/test_other.py": "import pytest\nfrom shop.price import price\n\n\n@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_cents(n):\n    assert price(n) % 100 == 0\n",
			},
			lines: []string{
				"pytest -q", "pytest -q", "sed -i s/100/1100/ shop/price.py && pytest -q # fails", "pytest -q --lf # fails", "sed -i s/1100/100/ shop/price.py && pytest -q --lf && pytest -q --ff -x", "pytest -q --cache-clear --basetemp=tmp", "pytest -q --basetemp=tmp && pytest -q --basetemp=tmp/in tests/test_price.py",
				"pytest -q --junitxml=report.xml && grep -c testcase report.xml > cases && rm report.xml", "unset PYTHONPYCACHEPREFIX; pytest -q", "rm -rf .pytest_cache tmp && find . -name __pycache__ -prune -exec rm -r {} + && pytest -q", "pytest -q tests/none.py # fails", "unset PYTHONPYCACHEPREFIX; echo >> tests/test_price.py; pytest -q; rm -r shop/__pycache__",
			},
		},
		{
			name: "pip and sources",
			files: map[string]string{
				".gitignore": ".venv/\n__pycache__/\n", "requirements.txt": "./money\n", "use.py": "import money\nassert money.cents(3) == 300, money\n", "money/money.py": "def cents(n):\n    return 100 * n\n", "money/pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'build_money'\nbackend-path = ['.']\n",
				// A build of a package needs no other package with a back end of its own.
				"money/build_money.py": "import os, zipfile\n\n\ndef build_wheel(to, settings=None, metadata=None, editable=None):\n    name = 'money-1.0-py3-none-any.whl'\n    info = 'money-1.0.dist-info/'\n    files = {'money.pth': os.getcwd()} if editable else {'money.py': open('money.py').read()}\n" +
					"    files[info + 'METADATA'] = 'Metadata-Version: 2.1\\nName: money\\nVersion: 1.0\\n'\n    files[info + 'WHEEL'] = 'Wheel-Version: 1.0\\nGenerator: money\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'\n    files[info + 'RECORD'] = ''.join(f + ',,\\n' for f in [*files, info + 'RECORD'])\n" +
					"    os.makedirs('build', exist_ok=True)\n    open('build/stamp', 'a').write('built\\n')\n    with zipfile.ZipFile(os.path.join(to, name), 'w') as wheel:\n        for f, text in files.items():\n            wheel.writestr(zipfile.ZipInfo(f), text)\n    return name\n\n\ndef build_editable(to, settings=None, metadata=None):\n    return build_wheel(to, editable=True)\n",
			},
			prepare: wheels,
			lines: []string{
				"python3 -m venv --without-pip .venv && .venv/bin/python -m pip install -q --no-index -r requirements.txt && .venv/bin/python use.py", ".venv/bin/python -m pip install -q --no-index --target vendor ./money && PYTHONPATH=vendor python3 use.py", ".venv/bin/python -m pip install -q --no-index --target vendor --upgrade ./money",
				"sed -i s/100/1100/ money/money.py && .venv/bin/python use.py", ".venv/bin/python -m pip install -q --no-index -e ./money && .venv/bin/python use.py # fails", "sed -i s/1100/100/ money/money.py && .venv/bin/python use.py",
				".venv/bin/python -m pip uninstall -q -y money; .venv/bin/python use.py # fails", "rm -r vendor .venv",
			},
		},
		{
			name: "a formatter of Python", needs: []string{"black"},
			files: map[string]string{"a.py": "x = {  'a':37,'b':42 }\n", "sub/b.py": "def f( a ) :\n  return   a\n", "sub/c.py": "x = 1\n", "sub/d.py": "class  A: pass\n", "bad.txt": "x =\n"},
			lines: []string{"black -q --check . # fails", "black -q a.py", "black -q . && black -q --check .", "chmod 755 sub/c.py; printf 'x=1' >> sub/c.py; black -q sub", "mv bad.txt bad.py; black -q . # fails", "printf 'y = [1,\\n2]' | black -q - > sub/e.py; black -q --line-length 20 sub"},
		},
		{
			name: "rsync", needs: []string{"rsync"},
			files: map[string]string{"src/a.txt": "a\n", "src/sub/b.txt": "b\n", "src/sub/deep/c.txt": "c\n", "src/run.sh": "#!/bin/sh\n"},
			lines: []string{
				"ln -s a.txt src/l; chmod 755 src/run.sh; rsync -a src/ copy/", "echo more >> src/a.txt; rm src/sub/b.txt; rsync -a --delete src/ copy/", "rsync -ai src/ copy/ > moved", "echo x >> src/a.txt; rsync -a --inplace src/ copy/", "echo y >> src/a.txt; rsync -a --backup --backup-dir=../old --delay-updates src/ copy/",
				"rsync -a --exclude=sub --delete-excluded src/ copy/", "rsync -a --checksum --chmod=F600 src/ copy/", "rsync -a --remove-source-files src/ gone/ && find src -depth -type d -empty -delete", "mkdir src && rsync -rc --delete src/ copy/",
			},
		},
		{
			name:  "directories as targets of make",
			files: map[string]string{".gitignore": "/build/\n", "list": "a b\n", "Makefile": "all: deps build\ndeps: list\n\tmkdir -p deps/in\n\tcp list deps/in/; echo deps >> log\n\ttouch deps\nbuild: list\n\tmkdir -p build/in\n\tcp list build/in/; echo build >> log\n\ttouch build\n"},
			lines: []string{"make && make", "make", "sleep 0.02; touch list", "make", "make", "mkdir old; touch -d 2001-02-03 old; touch -d 2002-03-04 deps build", "stat -c '%n %Y' old deps build > times", "make; rm -r old deps/in", "make"},
		},
		{
			name: "watch mode",
			files: map[string]string{
				"price.js": "module.exports = 1\n", "run.js": "require('fs').appendFileSync(process.env.RUNS, require('./price.js') + '\\n')\n", "price.test.js": "const price = require('./price.js')\nrequire('node:test')('price', () => { require('fs').appendFileSync(process.env.RUNS, price + '\\n'); require('assert').ok(price > 1) })\n",
				// The watcher is there some time after the first run, so a file is written until it has seen it. It may run once more, on a
				// file that is half written, and node does not always end when it is asked to: the command's end ends it.
				"watched.sh": "what=$1; shift\necho 'module.exports = 1' > price.js\nexport RUNS=$TMPDIR/runs.$$\nnode \"$@\" > $TMPDIR/output 2>&1 &\nran() { for i in $(seq 100); do grep -qs \"^$1$\" $RUNS && return; $2; sleep 0.2; done; cat $TMPDIR/output; exit 9; }\n" +
					"written() { echo 'module.exports = 2' > price.js; }\nreplaced() { echo 'module.exports = 3' > price.new; mv price.new price.js; }\nran 1 true; ran 2 written; ran 3 replaced\ngrep '^[123]$' $RUNS | sort -u > $what\n",
			},
			lines: []string{"sh watched.sh program --watch run.js", "sh watched.sh tests --watch --test price.test.js", "sh watched.sh program --watch run.js"},
		},
		{
			name: "sqlite that crashed", again: true,
			files: map[string]string{
				".gitignore": "data.db*\n", "write.py": "import sqlite3, sys, os\nc = sqlite3.connect('data.db')\nmode, crash = sys.argv[1], len(sys.argv) > 2\nassert c.execute('pragma journal_mode=' + mode).fetchone()[0] == mode\nc.execute('create table if not exists t(a, b)')\nc.executemany('insert into t values(?, ?)', [(i, 'x' * 500) for i in range(200)])\nc.commit()\n" +
					"c.execute('pragma cache_size=1')\nif crash: c.execute('update t set b=?', ('y' * 500,)); mode == 'wal' and c.commit(); os.kill(os.getpid(), 9)\nc.close()\n",
				"read.py": "import sqlite3, glob\nprint(glob.glob('data.db-[jw]*'))\nc = sqlite3.connect('data.db')\nprint(c.execute('pragma integrity_check').fetchall(), c.execute('select count(*), min(b), max(b) from t').fetchall())\nc.close()\nprint(glob.glob('data.db-*'))\n",
			},
			lines: []string{
				"python3 write.py delete", "python3 write.py delete crash # fails", "python3 read.py > journal; cat journal", "python3 write.py wal crash # fails", "python3 write.py wal crash && true # fails", "python3 read.py > wal; cat wal", "python3 write.py truncate", "python3 write.py truncate && true", "python3 read.py > truncated", "rm data.db data.db-journal; python3 write.py delete",
			},
		},
	}
	if check.Long() {
		for _, j := range jobs {
			j.name, j.ordinary = j.name+" as an ordinary user", true
			jobs = append(jobs, j)
		}
	}
	return jobs
}
