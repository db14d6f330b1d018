"""/proc and /sys: what the kernel tells and lets change."""

from __future__ import annotations

from attacks.case import LANDLOCK, NAMESPACES, POLICY, SECCOMP, Attack, Proof, rows

FILES = (POLICY, SECCOMP, LANDLOCK, NAMESPACES)


def _reads(id: str, mechanism: str, source: str, sought: str = "@SECRET@") -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.LEAK, source, FILES, sought=sought)


ATTACKS = (
    *rows(
        _reads,
        """
=== own-environ: /proc/self/environ keeps what os.environ was cleaned of
def attack():
    return open('/proc/self/environ').read()
=== parent-environ: the environment of another process of the same user
def attack():
    return open('/proc/@VICTIM@/environ').read()
=== parent-descriptor: /proc/PID/fd reopens what another process has open
import os
def attack():
    for name in os.listdir("/proc/@HOST_PID@/fd"):
        try:
            return open(f"/proc/@HOST_PID@/fd/{name}/secret").read()
        except OSError:
            pass
=== parent-root: /proc/PID/root is the other process' view of all files
def attack():
    return open('/proc/@HOST_PID@/root@SECRET_FILE@').read()
=== parent-memory: /proc/PID/mem reads another process' memory
def attack():
    for line in open("/proc/@VICTIM@/maps"):
        if "[stack]" in line:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            with open("/proc/@VICTIM@/mem", "rb", 0) as memory:
                memory.seek(start)
                return memory.read(end - start).decode("latin-1").replace("\\0", " ")[-3000:]
""",
    ),
    _reads(
        "process-list",
        "/proc lists every process with its command line",
        """
import os
def attack():
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found.append(open(f"/proc/{name}/cmdline").read().replace("\\0", " "))
            except OSError:
                pass
    return found
""",
        sought="@VICTIM_COMMAND@",
    ),
    _reads(
        "memory-map",
        "/proc/self/maps undoes address randomisation",
        "def attack():\n    return open('/proc/self/maps').read()[:4000]\n",
        sought="python",
    ),
    _reads(
        "open-ports",
        "/proc/net/tcp lists who listens",
        """
def attack():
    return [int(l.split()[1].split(':')[1], 16) for l in """
        "open('/proc/net/tcp').read().splitlines()[1:]]\n",
        sought="@PORT@",
    ),
    _reads(
        "mount-table",
        "/proc/self/mountinfo shows the host's mounts",
        "def attack():\n    return open('/proc/self/mountinfo').read()\n",
        sought="/proc",
    ),
    _reads(
        "kernel-release",
        "/proc/version identifies the kernel to attack",
        "def attack():\n    return open('/proc/version').read()\n",
        sought="Linux version",
    ),
    _reads(
        "hardware-facts",
        "/sys describes the machine",
        "import os\ndef attack():\n    return os.listdir('/sys/kernel')\n",
        sought="mm",
    ),
    Attack(
        "own-memory",
        "/proc/self/mem writes read-only memory of one's own process",
        Proof.CRASH,
        """
def attack():
    for line in open("/proc/self/maps"):
        if "r-xp" in line and "libc" in line:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            with open("/proc/self/mem", "r+b", 0) as memory:
                memory.seek(start)
                memory.write(bytes(end - start))
""",
        FILES,
    ),
    Attack(
        "victim-oom-score",
        "/proc/PID/oom_score_adj makes another process the one to be killed",
        Proof.LEAK,
        """
def attack():
    with open("/proc/@VICTIM@/oom_score_adj", "w") as file:
        file.write("999")
    return ["doomed", int(open("/proc/@VICTIM@/oom_score_adj").read())]
""",
        FILES,
        sought='["doomed", 999]',
    ),
)
