# Reads a JSON list of programs, runs each in a namespace of its own, and prints
# the list of what each printed, or how it failed.
import contextlib, io, json, sys, warnings

warnings.simplefilter("ignore")
results = []
for source in json.load(sys.stdin):
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(source, "program", "exec"), {"__name__": "program"})
    except BaseException as e:
        out.write("threw " + type(e).__name__)
    results.append(out.getvalue()[:2000])
json.dump(results, sys.stdout)
