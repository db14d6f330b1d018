"""What the code attempted: an audit hook that records, deduplicates and limits.

The child reports this itself: hostile code can hide effects or invent them.
"""

from __future__ import annotations

import builtins
import errno
import os
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from .wire import CALLS, MAX_EFFECT, MAX_EFFECTS

FILENAME = "<candidate>"  # of the code under test, where the job names no file


def _address(arguments: tuple[object, ...]) -> object:
    address = arguments[1] if len(arguments) > 1 else ""
    if isinstance(address, tuple) and len(address) >= 2:
        return f"{address[0]}:{address[1]}"
    return address


def _command(arguments: tuple[object, ...]) -> object:
    words = arguments[1] if len(arguments) > 1 else arguments[0]
    if isinstance(words, list | tuple):
        return " ".join(map(str, words))
    return words


def _first(arguments: tuple[object, ...]) -> object:
    return arguments[0] if arguments else ""


def _request(arguments: tuple[object, ...]) -> object:
    return " ".join(str(part) for part in arguments[:3] if part)


def _writes(arguments: tuple[object, ...]) -> bool:
    """Return whether a file is opened to change it; the mode is missing where only the flags are known."""
    flags = arguments[2] if len(arguments) > 2 else 0
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


# By what is shown of their arguments: kinds of effects, and the audit events that are one.
_Show = Callable[[tuple[object, ...]], object]
_KINDS: dict[_Show | None, dict[str, str]] = {
    _first: {
        "import": "import",
        "open": "open",
        "list": "os.listdir os.scandir os.walk glob.glob",
        "delete": "os.remove os.rmdir shutil.rmtree",
        "write": "os.rename os.mkdir os.link os.symlink os.chmod os.chown os.truncate os.utime",
        "chdir": "os.chdir",
        "setenv": "os.putenv os.unsetenv",
        "exec": "os.system os.startfile pty.spawn",
        "kill": "os.kill os.killpg signal.pthread_kill",
        "resolve": "socket.getaddrinfo socket.gethostbyname socket.gethostbyaddr",
        "native": "ctypes.dlopen",
    },
    _command: {"exec": "os.exec os.posix_spawn os.spawn subprocess.Popen", "unpickle": "pickle.find_class"},
    _address: {
        "connect": "socket.connect socket.sendto socket.sendmsg http.client.connect",
        "bind": "socket.bind",
    },
    _request: {"connect": "urllib.Request"},
    None: {
        "fork": "os.fork os.forkpty",
        "thread": "_thread.start_new_thread _thread.start_joinable_thread",
        "socket": "socket.__new__",
        "native": "ctypes.dlsym ctypes.call_function mmap.__new__",
        "bytecode": "marshal.loads code.__new__ function.__new__",
        "exec-code": "exec",
        "compile-code": "compile",
        "stdin": "builtins.input",
        "introspect": "sys._getframe sys.settrace sys.setprofile sys.addaudithook"
        " gc.get_objects gc.get_referrers gc.get_referents",
        "setrlimit": "resource.setrlimit resource.prlimit",
    },
}
_EVENTS = {
    event: (kind, show)
    for show, kinds in _KINDS.items()
    for kind, events in kinds.items()
    for event in events.split()
}


# namedtuple, dataclass, enum and similar do these on behalf of any code
_OFTEN_INNOCENT = frozenset(
    event
    for event, (kind, _) in _EVENTS.items()
    if kind in ("exec-code", "compile-code", "introspect", "bytecode")
)

_STARTING_THREADS = {
    "_thread": "start_new_thread start_new start_joinable_thread",
    "threading": "_start_new_thread _start_joinable_thread",
}


class Effects:
    """The attempts recorded so far, in order, each once."""

    def __init__(self) -> None:
        self.active = False
        self.filename = FILENAME
        self.before: list[str] = []
        self.seen: dict[str, None] = {}
        self._imports = 0
        self._watched: list[tuple[str, dict[str, Any], dict[str, Any]]] = []

    def note(self, kind: str, what: object = "") -> None:
        """Record one attempt, `kind` or `kind:what`."""
        if not self.active or len(self.seen) >= MAX_EFFECTS:
            return
        if kind == "import":  # a package imports many by itself, and what else it does has to be seen as well
            self._imports += 1
            if self._imports > MAX_EFFECTS // 2:
                return
        try:
            if isinstance(what, bytes):
                what = what.decode("utf-8", "replace")
            text = f"{kind}:{what}" if what != "" else kind
            self.seen[text.encode("utf-8", "replace").decode()[:MAX_EFFECT]] = None
        except Exception:  # an argument's own __str__ may raise anything
            self.seen[kind] = None

    def clear(self) -> None:
        """Forget what was recorded."""
        self.before, self.seen, self._imports = [], {}, 0

    def divide(self) -> None:
        """Keep apart what was recorded so far, while the module was executed, from what its calls will do."""
        before = [*self.seen, CALLS]
        self.clear()
        self.before = before

    def watch(self, names: Iterable[object]) -> None:
        """Remember what standard modules and their functions are, to note later which of them were replaced."""
        modules = [item for item in (builtins, *names) if isinstance(item, types.ModuleType)]
        standard = [item for item in modules if item.__name__ in sys.stdlib_module_names]
        self._watched = [
            (
                f"{item.__name__}.",
                vars(item),
                {name: made for name, made in vars(item).items() if callable(made)},
            )
            for item in standard
        ]
        self._watched.append(("", sys.modules, {**sys.modules}))

    def restore(self) -> None:
        """Undo what was replaced, so that what follows is our own code, and note it."""
        replaced = []  # first all of it: noting calls functions that may be among them
        for prefix, now, before in self._watched:
            for name, made in before.items():
                if now.get(name) is not made:
                    now[name] = made
                    replaced.append(prefix + name)
        self._watched = []
        self.active = True
        for name in replaced:
            self.note("replace", name)
        self.active = False

    def _hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.active:
            return
        known = _EVENTS.get(event)
        if known is not None and (event not in _OFTEN_INNOCENT or self._direct()):
            kind, show = ("write", _first) if event == "open" and _writes(arguments) else known
            self.note(kind, "" if show is None else show(arguments))

    def _direct(self) -> bool:
        """Return whether the code itself does it, rather than a standard module on its behalf."""
        self.active = False  # inspecting the frame is an event as well
        try:
            return sys._getframe(2).f_code.co_filename.startswith(self.filename)
        finally:
            self.active = True

    def listen(self) -> None:
        """Install the audit hook permanently, once, in the zygote."""
        sys.addaudithook(self._hook)
        self._refuse_threads()

    def _refuse_threads(self) -> None:
        """Refuse threads as everything else is refused: the kernel's way gives a RuntimeError, as code itself does."""

        def refused(*_arguments: object, **_named: object) -> None:
            self.note("thread")
            raise PermissionError(errno.EPERM, "no thread can be started here")

        for module, names in _STARTING_THREADS.items():
            loaded = sys.modules.get(module)
            for name in names.split():
                if hasattr(loaded, name):
                    setattr(loaded, name, refused)
