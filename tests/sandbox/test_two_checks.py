"""Two checks, at once or one after the other, exchange nothing through any object of the kernel."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from attacks import unconfined
from attacks.arena import Arena
from attacks.catalogue import CATEGORIES, PRELUDES
from attacks.confined import Range

from codeguard.sandbox import Call, Job, JobResult, Level, Limits, Sandbox, Status, Tier

LEVELS = {"L3": (), "L2 without namespaces": ("namespaces",), "L2 without Landlock": ("landlock",)}


@dataclass(frozen=True)
class Channel:
    """What one process does, again and again, and an expression that is true in another one that notices."""

    speak: str
    heard: str


NAME = "b'@TOKEN@'"
TEXT = f"(text := C.create_string_buffer({NAME}), C.addressof(text))[1]"
CHANNELS = {
    "word of a library": Channel(
        "call('futex', WORD, 1, MOST, 0, 0, 0)",
        "call('futex', WORD, 0, VALUE, put(struct.pack('QQ', 0, 10 ** 7)), 0, 0) == 0",
    ),
    "moved waiters": Channel(
        "call('futex', WORD, 3, 1, MOST, AT, 0)",
        "call('futex', WORD, 0, VALUE, put(struct.pack('QQ', 0, 10 ** 7)), 0, 0) == 0",
    ),
    "shared memory by number": Channel(
        "syscall('shmget', @PORT@, 4096, 0o1666)", "syscall('shmget', @PORT@, 4096, 0) >= 0"
    ),
    "semaphore by number": Channel(
        "syscall('semget', @PORT@, 1, 0o1666)", "syscall('semget', @PORT@, 1, 0) >= 0"
    ),
    "messages by number": Channel("syscall('msgget', @PORT@, 0o1666)", "syscall('msgget', @PORT@, 0) >= 0"),
    "messages by name": Channel(
        f"syscall('mq_open', {TEXT}, 0o102, 0o666, 0)", f"syscall('mq_open', {TEXT}, 0, 0, 0) >= 0"
    ),
    "file": Channel("os.mkdir('@MARKER@')", "os.path.exists('@MARKER@')"),
    "file in memory": Channel(
        "os.close(os.open('/dev/shm/@TOKEN@', os.O_CREAT))", "os.path.exists('/dev/shm/@TOKEN@')"
    ),
    "lock on a file": Channel(
        "KEPT.append(KEPT or os.open('@SECRET_FILE@', 0)) or fcntl.flock(KEPT[0], 2)",
        "fcntl.flock(os.open('@SECRET_FILE@', 0), 2 | 4)",
    ),
    "abstract socket": Channel(
        "KEPT.append(KEPT or listening(socket.AF_UNIX, '\\0@TOKEN@-channel'))",
        "not socket.socket(socket.AF_UNIX).connect('\\0@TOKEN@-channel')",
    ),
    "port": Channel(
        "KEPT.append(KEPT or listening(socket.AF_INET, ('127.0.0.1', @PORT@)))",
        "not socket.socket().connect(('127.0.0.1', @PORT@))",
    ),
    "process counter": Channel("forked()", "forked() + 1 != forked()"),
}

SOURCE = (
    PRELUDES["words"]
    + """
import fcntl, socket
KEPT = []
def listening(family, name):
    made = socket.socket(family)
    made.bind(name)
    made.listen()
    return made
def forked():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child
def speak():
    try:
        SPEAK
    except OSError:
        pass
def heard():
    try:
        return bool(HEARD)
    except BlockingIOError:
        return True
    except OSError:
        return False
def speaking():
    for _ in range(2000):
        speak()
def silent():
    for _ in range(2000):
        pass
def hearing():
    return [heard() for _ in range(200)].count(True)
"""
)
# with a network of its own, for the sockets, in which loopback is up
DRIVER = """
import fcntl, socket, struct
with socket.socket() as up:
    fcntl.ioctl(up, 0x8914, struct.pack("16sH14x", b"lo", 1))
listener = os.getpid()
reading, writing = os.pipe()
speaker = os.fork()
if speaker == 0:
    speak()
    os.write(writing, b"x")
    while os.getppid() == listener:
        speak()
    os._exit(0)
os.read(reading, 1)
found = any(heard() for _ in range(3000))
os.kill(speaker, 9)
print(found)
"""


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    made = Arena()
    yield made
    made.close()


def _source(arena: Arena, channel: Channel) -> str:
    text = SOURCE.replace("SPEAK", channel.speak).replace("HEARD", channel.heard)
    return arena.fill(text, PORT="20011")


@pytest.mark.skipif(not unconfined.available(), reason="no unprivileged namespaces to be harmless in")
@pytest.mark.parametrize("name", CHANNELS)
def test_two_processes_exchange_something_where_nothing_confines_them(name: str) -> None:
    arena = Arena()
    try:
        done = subprocess.run(
            [*unconfined.UNSHARE, "-n", sys.executable, "-I", "-c", _source(arena, CHANNELS[name]) + DRIVER],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        arena.close()
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.fixture(scope="module", params=LEVELS)
def pair(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    without = frozenset(LEVELS[request.param])
    with Sandbox(Level.L2, workers=2, without=without | {"files"}) as made:
        if made.level < (Level.L2 if without else Level.L3):
            pytest.skip(f"this machine's sandbox reaches {made.level.name} only")
        yield made


@pytest.mark.parametrize("name", CHANNELS)
def test_two_checks_exchange_nothing(name: str, pair: Sandbox, arena: Arena) -> None:
    source = _source(arena, CHANNELS[name])

    def job(call: str) -> Job:
        return Job(source, (Call(call),), Tier.NATIVE, Limits(wall_s=20.0))

    def seen(result: JobResult) -> tuple[Status, object]:
        return result.status, [call.value for call in result.calls]

    _, alone = map(seen, pair.run_many([job("silent"), job("hearing")]))
    assert alone in [(Status.COMPLETED, [0]), (Status.VIOLATION, [None])]
    first, during, second = map(seen, pair.run_many([job("speaking"), job("hearing"), job("speaking")]))
    assert first == second
    assert during == alone
    for _ in range(4):  # in each of the children that were waiting meanwhile
        assert seen(pair.run(job("hearing"))) == alone


@pytest.mark.parametrize("level", LEVELS)
def test_no_shared_object_is_reached_at_any_level_that_is_enough(level: str) -> None:
    with Range(frozenset(LEVELS[level])) as range_:
        if range_.sandbox.level < Level.L2:
            pytest.skip(f"this machine's sandbox reaches {range_.sandbox.level.name} only")
        found = {attack.id: range_.effects(attack, Tier.NATIVE) for attack in CATEGORIES["shared"]}
    assert {name: effects for name, effects in found.items() if effects} == {}


def test_an_allowed_wake_reaches_nobody_outside(pair: Sandbox, arena: Arena) -> None:
    source = arena.fill(
        PRELUDES["words"]
        + "def wake():\n    return [call('futex', word, 129, MOST, 0, 0, 0) for word in (WORD, ZERO)]\n"
    )
    assert pair.run(Job(source, (Call("wake"),), Tier.NATIVE)).calls[0].value == [0, 0]
    assert not arena.waiter.woken()
