"""Objects of the kernel that an allowed call could share with a process outside, or with another check."""

from __future__ import annotations

from attacks.case import FRESH, POLICY, SECCOMP, Attack, Proof, rows
from attacks.raw import RAW

CALLS = (POLICY, SECCOMP)
STARTS = (POLICY, SECCOMP, "rlimits")

# `WORD` and `ZERO` are words of libc's file on which a process outside waits; the second is zero.
WORDS = (
    RAW
    + """
import struct
HERE = os.uname().machine != "x86_64"
MORE = dict(
    futex=(202, 98), set_robust_list=(273, 99), get_robust_list=(274, 100), set_tid_address=(218, 96),
    futex_waitv=(449, 449), futex_wake=(454, 454), futex_wait=(455, 455), futex_requeue=(456, 456),
    fstat=(5, 80), times=(100, 153), gettid=(186, 178), getrusage=(98, 165), madvise=(28, 233), rseq=(334, 293),
)
def call(name, *arguments):
    return syscall(MORE[name][HERE] if name in MORE else name, *arguments)
START = C.cast(LIBC.getpid, C.c_void_p).value & ~3
WORD, ZERO = START + @WORD@, START + @ZERO@
VALUE = int.from_bytes(C.string_at(WORD, 4), "little")
OWN = C.create_string_buffer(512)
AT = C.addressof(OWN)
MOST, NOBODY = 1 << 30, 0x3FFFFFFE
def put(data):
    C.memmove(AT + 64, data, len(data))
    return AT + 64
"""
)


def _wakes(id: str, mechanism: str, body: str, needs: str = "") -> Attack:  # noqa: A002 - the field's own name
    return Attack(id, mechanism, Proof.CONTACT, WORDS + "def attack():\n" + body, CALLS, needs=needs)


def _gives(
    id: str,  # noqa: A002 - the field's own name
    mechanism: str,
    expression: str,
    stopped_by: tuple[str, ...] = CALLS,
    needs: str = "",
) -> Attack:
    source = f"{WORDS}\ndef attack():\n    return ['gave', {expression}]\n"
    return Attack(id, mechanism, Proof.LEAK, source, stopped_by, sought='["gave", true]', needs=needs)


NEW_KERNEL = "tuple(map(int, os.uname().release.split('.')[:2])) >= (6, 7)"
GLIBC = "platform.libc_ver()[0] == 'glibc'"

ATTACKS = (
    *rows(
        _wakes,
        """
=== futex-wake: FUTEX_WAKE without the private flag wakes whoever waits on a page of libc, anywhere on the machine
    call('futex', WORD, 1, MOST, 0, 0, 0)
=== futex-wake-bitset: FUTEX_WAKE_BITSET does the same
    call('futex', WORD, 10, MOST, 0, 0, 0xFFFFFFFF)
=== futex-requeue: FUTEX_REQUEUE takes those who wait elsewhere, so that their wake-up never reaches them
    call('futex', WORD, 3, 0, MOST, AT, 0)
=== futex-compare-requeue: FUTEX_CMP_REQUEUE steals the wake-ups of others
    call('futex', WORD, 4, 0, MOST, AT, VALUE)
=== futex-wake-operation: FUTEX_WAKE_OP changes a word of one's own and wakes on another's
    call('futex', WORD, 5, MOST, 0, AT, 0)
=== futex-high-bits: the flag in the half of the argument that the kernel does not read
    call('futex', WORD, 1 | 128 << 32, MOST, 0, 0, 0)
=== thread-id-cleared: set_tid_address: at the end of a thread the kernel wakes who waits on the word of its id
    import _thread
    ended = []
    def thread():
        call('set_tid_address', ZERO)
        ended.append(call('gettid'))
    _thread.start_new_thread(thread, ())
    while not ended or syscall('tgkill', syscall('getpid'), ended[0], 0) == 0:
        pass
""",
    ),
    *rows(
        _wakes,
        """
=== futex2-wake: futex_wake(2), newer than most lists, has a number of its own
    call('futex_wake', WORD, 0xFFFFFFFF, MOST, 2)
=== futex2-requeue: futex_requeue(2) reads both words from memory, where a filter cannot look
    call('futex_requeue', put(struct.pack('QQIIQQII', VALUE, WORD, 2, 0, 0, AT, 2, 0)), 0, 0, MOST)
""",
        NEW_KERNEL,
    ),
    _wakes(
        "robust-list-at-exit",
        "set_robust_list: at the end of the process the kernel itself wakes who waits on the listed word",
        """    C.memmove(AT, struct.pack("QqQ", AT, 0, ZERO), 24)
    call('set_robust_list', AT, 24)
    os._exit(0)
""",
    ),
    _wakes(
        "robust-list-of-libc",
        "the list that libc has registered lies in memory that the process may write, so no call is needed",
        """    LIBC.pthread_self.restype = C.c_void_p
    me = LIBC.pthread_self()
    for place in range(me, me + 2048, 8):
        to_itself, offset, pending = struct.unpack("QqQ", C.string_at(place, 24))
        if to_itself == place and -512 < offset < 0 and pending == 0:
            C.memmove(place, struct.pack("QqQ", place, 0, ZERO), 24)
    os._exit(0)
""",
        GLIBC,
    ),
    *rows(
        _gives,
        """
=== futex-wait: FUTEX_WAIT without the private flag listens to whoever maps the page
call('futex', WORD, 0, VALUE, AT, 0, 0) == -110
=== process-id-by-futex: FUTEX_TRYLOCK_PI on a word of one's own tells whether a process of that id exists
len({call('futex', put(struct.pack('I', number)), 8, 0, 0, 0, 0) for number in (@VICTIM@, NOBODY)}) > 1
=== process-id-by-private-lock: FUTEX_LOCK_PI with a timeout tells the same, and lends the other process a priority
len({call('futex', put(struct.pack('I', number)), 134, 0, AT, 0, 0) for number in (@VICTIM@, NOBODY)}) > 1
=== shared-mapping: MAP_SHARED makes memory that is an object of its own, with a key for futexes
syscall('mmap', 0, 4096, 3, 0x21, -1, 0) > 0
=== page-cache: MADV_WILLNEED reads pages of a shared library into the cache that all processes have
call('madvise', START & ~4095, 4096, 3) == 0
=== ticks-of-the-machine: times(2) counts since the machine's start
call('times', AT) > 0
=== switches: getrusage(2) tells how often other processes took the core
call('getrusage', 0, AT + 64) == 0
=== thread-identity: rseq(2) registers memory that the kernel writes while other processes run
call('rseq', AT, 32, 0, 1) == -22
""",
    ),
    _gives(
        "futex-wait-vector",
        "futex_waitv(2) listens on many words, private or not, as memory says",
        "call('futex_waitv', put(struct.pack('QQII', VALUE, WORD, 2, 0)), 1, 0, AT, 1) == -110",
        needs=NEW_KERNEL,
    ),
    _gives(
        "futex2-wait",
        "futex_wait(2), which has a number of its own",
        "call('futex_wait', WORD, VALUE, 0xFFFFFFFF, 2, AT, 1) == -110",
        needs=NEW_KERNEL,
    ),
    Attack(
        "process-counter",
        "process ids are one counter, so that the next check sees how many processes this one started",
        Proof.STATE,
        WORDS
        + """
def attack():
    if os.fork() == 0:
        os._exit(0)
    os.wait()
""",
        (POLICY, FRESH, SECCOMP),
        after=WORDS
        + """
def probe():
    try:
        child = os.fork()
    except OSError:
        return [call('gettid'), syscall('getpid'), LIBC.getppid()]
    if child == 0:
        os._exit(0)
    os.wait()
    return child
""",
    ),
    Attack(
        "inode-counter",
        "pipes are numbered by one counter of the machine",
        Proof.STATE,
        WORDS
        + """
def attack():
    for _ in range(100):
        for end in os.pipe():
            os.close(end)
""",
        (POLICY, FRESH, SECCOMP),
        after=WORDS
        + """
def probe():
    room = C.create_string_buffer(256)
    try:
        os.pipe()
    except OSError:
        pass
    return [room.raw[8:16].hex() for number in range(3, 16) if call('fstat', number, C.addressof(room)) == 0]
""",
    ),
)
