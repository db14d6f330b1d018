"""System calls and flags that lists made for older kernels, or for other purposes, overlook."""

from __future__ import annotations

from attacks.case import DEADLINE, FACADE, FRESH, NAMESPACES, POLICY, RLIMITS, SECCOMP, Attack, Proof, rows
from attacks.raw import RAW

X86 = "platform.machine() == 'x86_64'"
MORE = (
    RAW
    + """
HERE = os.uname().machine != "x86_64"
MORE = dict(
    madvise=(28, 233), clock_gettime=(228, 113), set_mempolicy=(238, 237), inotify_init1=(294, 26), signalfd4=(289, 74),
    eventfd2=(290, 19), memfd_secret=(447, 447), membarrier=(324, 283), vmsplice=(278, 75), fanotify_init=(300, 262),
    seccomp=(317, 277), mincore=(27, 232), get_robust_list=(274, 100), listmount=(458, 458), landlock=(444, 444),
    lsm_list_modules=(461, 461), mseal=(462, 462), remap_file_pages=(216, 234),
)
def call(name, *arguments):
    return syscall(MORE[name][HERE] if name in MORE else name, *arguments)
ROOM = C.create_string_buffer(64)
AT = C.addressof(ROOM)
SIZE_AT = C.addressof(SIZE := C.create_string_buffer((64).to_bytes(4, "little"), 8))
ONE_AT = C.addressof(ONE := C.create_string_buffer((1).to_bytes(8, "little"), 8))
ROOTS_AT = C.addressof(ROOTS := C.create_string_buffer((24).to_bytes(8, "little") + b"\\xff" * 8, 24))
# one instruction that lets everything through
ALLOW = C.create_string_buffer(b"\\x06\\0\\0\\0\\0\\0\\xff\\x7f", 8)
FILTER = C.create_string_buffer((1).to_bytes(8, "little") + C.addressof(ALLOW).to_bytes(8, "little"), 16)
FILTER_AT = C.addressof(FILTER)
"""
)


def _gives(
    id: str,  # noqa: A002 - the field's own name
    mechanism: str,
    expression: str,
    stopped_by: tuple[str, ...] = (POLICY, SECCOMP),
    needs: str = "",
) -> Attack:
    source = f"{MORE}\ndef attack():\n    return ['gave', {expression}]\n"
    return Attack(id, mechanism, Proof.LEAK, source, stopped_by, sought='["gave", true]', needs=needs)


ATTACKS = (
    *rows(
        _gives,
        """
=== hypervisor-socket: AF_VSOCK talks to the hypervisor, and a network namespace does not hold it
needs: __import__('os').path.exists('/proc/sys/net/vsock') or __import__('os').path.exists('/dev/vsock')
syscall('socket', 40, 1, 0) >= 0
=== file-watch: inotify tells what others do to files
call('inotify_init1', 0) >= 0
=== signal-descriptor: signalfd takes signals past every handler
call('signalfd4', -1, AT, 8, 0) >= 0
=== event-descriptor: eventfd makes a channel that is no pipe
call('eventfd2', 0, 0) >= 0
=== mount-watch: fanotify, open to everybody since Linux 5.13, tells what happens to files
call('fanotify_init', 0x200, 0) >= 0
=== own-supervisor: a filter with a listener: the process decides its own system calls, and holds a new descriptor
syscall('prctl', 38, 1, 0, 0, 0) == 0 and call('seccomp', 1, 8, FILTER_AT) >= 0
=== rules-of-its-own: landlock_create_ruleset makes an object of the kernel's, and a descriptor
call('landlock', ONE_AT, 8, 0) >= 0
""",
        (POLICY, SECCOMP, RLIMITS),
    ),
    _gives(
        "another-process-clock",
        "clock_gettime with a process id in it tells the CPU time that the zygote used for other checks",
        "call('clock_gettime', (~1 << 3) | 2, AT) == 0",
    ),
    *rows(
        _gives,
        """
=== merged-memory: MADV_MERGEABLE lets the kernel share equal pages with other processes, which timing then shows
needs: __import__('os').path.exists('/sys/kernel/mm/ksm')
call('madvise', syscall('mmap', 0, 4096, 3, 0x22, -1, 0), 4096, 12) == 0
=== kernel-timer: timer_create arms a timer that an alarm's owner does not see
syscall('timer_create', 0, 0, AT) == 0
=== memory-policy: set_mempolicy steers the pages of the process
needs: __import__('os').path.exists('/sys/devices/system/node')
call('set_mempolicy', 0, 0, 0) == 0
=== adopted-orphans: prctl(PR_SET_CHILD_SUBREAPER) takes the place of who buries processes
syscall('prctl', 36, 1, 0, 0, 0) == 0
=== every-processor-interrupted: membarrier interrupts all processors, as often as one likes
call('membarrier', 1, 0, 0) == 0
=== cached-pages: mincore tells which pages of a library other programs have used (CVE-2019-5489)
call('mincore', C.cast(LIBC.getpid, C.c_void_p).value & ~4095, 4096, AT) == 0
=== foreign-lock-list: get_robust_list gives an address of another process
call('get_robust_list', os.getppid() or 1, AT, AT + 8) == 0
=== mount-list: listmount numbers the mounts without any /proc
needs: tuple(map(int, os.uname().release.split('.')[:2])) >= (6, 8)
call('listmount', ROOTS_AT, AT, 4, 0) > 0
=== security-modules: lsm_list_modules tells what the kernel guards itself with
needs: tuple(map(int, os.uname().release.split('.')[:2])) >= (6, 8)
call('lsm_list_modules', AT, SIZE_AT, 0) > 0
=== sealed-memory: mseal forbids every later change of a mapping
needs: tuple(map(int, os.uname().release.split('.')[:2])) >= (6, 10)
call('mseal', syscall('mmap', 0, 4096, 3, 0x22, -1, 0), 4096, 0) == 0
=== rearranged-pages: remap_file_pages, long replaced, still changes mappings of shared memory
call('remap_file_pages', syscall('mmap', 0, 8192, 3, 0x21, -1, 0), 4096, 0, 1, 0) == 0
""",
    ),
    _gives(
        "segment-table",
        "modify_ldt opens the processor's segment table, with a history of kernel bugs",
        "syscall('modify_ldt', 0, AT, 16) >= 0",
        needs=X86,
    ),
    _gives(
        "thread-register",
        "arch_prctl moves the base of the thread's own data",
        "syscall('arch_prctl', 0x1003, AT) == 0",
        needs=X86,
    ),
    Attack(
        "gifted-pages",
        "vmsplice puts pages into a pipe that can still be changed after they were written",
        Proof.LEAK,
        MORE
        + """
import struct
def attack():
    reading, writing = os.pipe()
    vector = C.create_string_buffer(struct.pack("QQ", AT, 64))
    return ["gave", call("vmsplice", writing, C.addressof(vector), 1, 0) > 0]
""",
        (POLICY, SECCOMP, RLIMITS),
        sought='["gave", true]',
    ),
    Attack(
        "larger-pipe",
        "F_SETPIPE_SZ makes the pipe that the host reads hold a megabyte",
        Proof.LEAK,
        MORE
        + """
def attack():
    return ["gave", any(syscall("fcntl", number, 1031, 1 << 20) >= 1 << 20 for number in range(64))]
""",
        (POLICY, SECCOMP),
        sought='["gave", true]',
    ),
    Attack(
        "semaphore",
        "a System V semaphore keeps a number for the next process",
        Proof.STATE,
        MORE
        + """
def attack():
    return syscall("semctl", syscall("semget", 77, 1, 0o1600), 0, 16, 5)
""",
        (POLICY, SECCOMP),
        after=MORE
        + "def probe():\n    return syscall('semctl', syscall('semget', 77, 1, 0), 0, 12, 0) == 5\n",
    ),
    Attack(
        "named-queue",
        "a POSIX message queue has a name that the next process finds",
        Proof.STATE,
        MORE
        + """
def attack():
    name = C.create_string_buffer(b"attack")
    return syscall("mq_open", C.addressof(name), 0o102, 0o600, 0)
""",
        (POLICY, SECCOMP, RLIMITS),
        after=MORE
        + """
def probe():
    name = C.create_string_buffer(b"attack")
    return syscall("mq_open", C.addressof(name), 2, 0, 0) >= 0
""",
    ),
    Attack(
        "gone-but-running",
        "every descriptor is closed, so that the host goes on to the next check, and the loop stays",
        Proof.CUT,
        """
import os
def attack():
    os.closerange(0, 1024)
    while True:
        pass
""",
        (POLICY, FRESH, DEADLINE),
    ),
    Attack(
        "answer-and-stay",
        "the answer is given in full and the process stays, holding the pipe",
        Proof.CUT,
        """
import os
def attack():
    body = b'["end","completed","",[],null]'
    for number in range(3, 64):
        try:
            os.write(number, len(body).to_bytes(4, "big") + body)
        except OSError:
            pass
    while True:
        pass
""",
        (POLICY, DEADLINE),
    ),
    Attack(
        "read-every-descriptor",
        "whatever descriptor is open is read and listed",
        Proof.LEAK,
        """
import os
def attack():
    found = []
    for number in range(256):
        for read in (
            lambda: os.read(os.open("secret", os.O_RDONLY, dir_fd=number), 100),
            lambda: os.pread(number, 1000, 0),
        ):
            try:
                found.append(read().decode("latin-1"))
            except OSError:
                pass
    return found
""",
        (POLICY, FRESH, SECCOMP, NAMESPACES),
        sought="@SECRET@",
    ),
    Attack(
        "passed-descriptor",
        "a descriptor goes through a socket pair and comes out under another number (SCM_RIGHTS)",
        Proof.LEAK,
        """
import array, socket
def attack():
    one, other = socket.socketpair()
    one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [one.fileno()]))])
    return ["gave", len(other.recvmsg(1, 100)[1]) == 1]
""",
        (POLICY, FACADE, SECCOMP, RLIMITS),
        sought='["gave", true]',
    ),
)
