"""Run a command: REPORT COMMAND...; writes its seconds and its maximum resident set to the file REPORT.

A process begins with the maximum of the one that starts it, so this one is to be as small as Python can be
(`python -I -S`), and imports what is built in and nothing else.
"""

import os
import sys
import time

started = time.perf_counter()
process = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(process, 0)
seconds = time.perf_counter() - started
with open(sys.argv[1], "w") as report:
    report.write(f"{seconds!r} {usage.ru_maxrss}")
sys.exit(os.waitstatus_to_exitcode(status))
