"""The harness that most projects use, and that these attacks beat: exec, call, compare, exit status.

It reads a job as JSON on standard input and runs it in its own process. The
result pipe's descriptor is its argument.
"""

import json
import os
import sys


def main() -> None:
    job = json.load(sys.stdin)
    result_descriptor = int(sys.argv[1])
    expected = job["expected"]
    namespace = {"__name__": "candidate", "__builtins__": __builtins__}
    if job.get("before"):
        # An earlier check in the same interpreter.
        earlier = {"__name__": "candidate", "__builtins__": __builtins__}
        try:
            exec(compile(job["before"], "<earlier>", "exec"), earlier)
            for expression in job["before_calls"]:
                eval(expression, earlier)
        except BaseException:
            pass
    exec(compile(job["source"], "<candidate>", "exec"), namespace)
    values = []
    for expression in job["calls"]:
        try:
            values.append(eval(expression, namespace))
        except Exception as error:
            values.append(error)
    passed = expected is None or all(value == want for value, want in zip(values, expected, strict=True))
    try:
        shown = json.dumps(values)
    except Exception:
        shown = json.dumps([repr(value) for value in values])
    os.write(result_descriptor, shown.encode() + b"\n")
    if job["judge"] == "stdout":
        print("passed" if passed else "failed", flush=True)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
