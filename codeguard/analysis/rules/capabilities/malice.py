"""Stealers, spyware, time bombs and the like: calls, texts and comparisons without an honest combination."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import Match
from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import walk
from codeguard.flow.effects import RUNNING_CODE, RUNNING_COMMANDS, SENDING, WATCHING
from codeguard.syntax.capabilities import NETWORK, effect_of_name

BROWSER_LOGINS = lazy(
    r"Login Data$|logins\.json$|key4\.db$|\bpassword_value\b|\blogins\b.{0,40}\bpassword|Local State$"
)
BROWSER_FILES = lazy(
    r"Login Data|Web Data|Local Storage[\\/]{1,4}leveldb|User Data[\\/]{1,4}Default|cookies\.sqlite"
    r"|Network[\\/]{1,4}Cookies"
    r"|\[\\w-\]\{2[346]\}\\?\.\[\\w-\]\{6\}|mfa\\?\.\[\\w-\]\{84\}|dQw4w9WgXcQ|\btdata\b"
)
WALLETS = lazy(
    r"\bexodus(?:\.wallet)?\b|\belectrum\b|\batomic[\\/]|\bmetamask\b|\bwallet\.dat\b"
    r"|nkbihfbeogaeaoehlefnkodbefgpgknn"
    r"|\bkeystore[\\/]|solana[\\/]id\.json|\bphantom\b.{0,20}wallet|\bjaxx\b|\bcoinomi\b|\bguarda\b",
    re.IGNORECASE,
)
WALLET_ADDRESS = lazy(r"\[13\]|bc1|0x\[a-f|0x\[0-9a|\bT\[A-Za-z1|\[48\]\[0-9AB\]|\(1\|3\)")
DROP_PLACE = lazy(
    r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/|api\.telegram\.org/bot|webhook\.site|requestbin"
    r"|\bpipedream\.net"
    r"|burpcollaborator|\boast(?:ify)?\.(?:pro|live|fun|me|online|site|com)|interact\.?sh\b"
    r"|\bngrok(?:-free)?\.(?:io|app)|\bbeeceptor"
    r"|canarytokens|dnslog\.cn|\bceye\.io|\btransfer\.sh|\bgofile\.io|anonfiles|\bhookb\.in|\bpastebin\.com/raw"
    r"|\brentry\.co"
)
"""Where anybody can have something sent to without a name."""

_DECRYPTING = frozenset({"win32crypt.CryptUnprotectData", "win32crypt.CryptUnProtectData"})
_COOKIE_READERS = ("browser_cookie3.", "browsercookie.", "rookiepy.", "pycookiecheat.")
_PASTING = frozenset({"pyperclip.paste", "win32clipboard.GetClipboardData", "clipboard.paste", "xerox.paste"})
_COPYING = frozenset(
    {
        "pyperclip.copy",
        "win32clipboard.SetClipboardData",
        "win32clipboard.SetClipboardText",
        "clipboard.copy",
        "xerox.copy",
    }
)
_KEY_LISTENERS = frozenset(
    """
    pynput.keyboard.Listener keyboard.on_press keyboard.on_release keyboard.hook pyxhook.HookManager
    pythoncom.PumpMessages pyHook.HookManager
    """.split()  # noqa: SIM905 - words read better as words
)
_NATIVE_METHODS = frozenset(
    {
        "VirtualAlloc",
        "VirtualAllocEx",
        "CreateThread",
        "CreateRemoteThread",
        "RtlMoveMemory",
        "WriteProcessMemory",
        "VirtualProtect",
    }
)
_REMOVING = frozenset({"os.remove", "os.unlink", "os.rename", "os.replace", "shutil.rmtree"})
_CLOCKS = frozenset(
    """
    datetime.datetime.now datetime.datetime.today datetime.datetime.utcnow datetime.date.today time.time time.localtime
    time.gmtime
    """.split()  # noqa: SIM905 - words read better as words
)
_HOST_READERS = frozenset(
    {"socket.gethostname", "platform.node", "getpass.getuser", "os.getlogin", "uuid.getnode"}
)
_DATES = frozenset(
    {
        "datetime.datetime",
        "datetime.date",
        "datetime.datetime.fromisoformat",
        "datetime.date.fromisoformat",
        "datetime.datetime.strptime",
        "time.mktime",
    }
)
_CHECKING = lazy(
    r"^_{0,2}(?:is_?)?(?:valid|verif|check|authenti|authoriz|compare|match|confirm"
    r"|login)\w*",
    re.IGNORECASE,
)
_PROOF = lazy(
    r"(?:^|_)(?:token|signature|sig|mac|hmac|digest|password|passwd|pwd|secret|api_?key|otp|code|hash|key"
    r"|checksum)s?$",
    re.IGNORECASE,
)
_FEW = 24  # a slice of at most this many items covers only a part of a proof
_SERIOUS = RUNNING_COMMANDS | RUNNING_CODE | SENDING | {"shutil.rmtree", "os.remove", "os.unlink", "os.kill"}


class _Facts:
    """The calls and texts of a file by name, each with the first position."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.calls: dict[str, ast.Call] = {}
        self.methods: dict[str, ast.Call] = {}
        for node in reading.nodes_of(ast.Call):
            name = reading.names.called(node)
            if name:
                self.calls.setdefault(name.removesuffix("()"), node)
            if isinstance(node.func, ast.Attribute):
                self.methods.setdefault(node.func.attr, node)

    @cached_property
    def texts(self) -> list[tuple[str, ast.Constant]]:
        """The texts of the file except docstrings."""
        found = []
        for node in self.reading.nodes_of(ast.Constant):
            short = isinstance(node.value, str) and 2 < len(node.value) <= 4_000
            if short and not isinstance(self.reading.parents.get(node), ast.Expr):
                found.append((str(node.value), node))
        return found

    def any_call(self, names: Iterable[str]) -> ast.Call | None:
        """Return the first call of one of these names."""
        found = (self.calls[name] for name in names if name in self.calls)
        return min(found, key=lambda call: (call.lineno, call.col_offset), default=None)

    def any_text(self, pattern: re.Pattern[str]) -> ast.Constant | None:
        """Return the first text that matches a pattern."""
        return next((node for text, node in self.texts if pattern.search(text)), None)

    @cached_property
    def sends(self) -> bool:
        """Whether the file sends data."""
        if self.any_call(SENDING) is not None:
            return True
        return "send" in self.methods and any(effect_of_name(name) == NETWORK for name in self.calls)


def malice(reading: Reading) -> Iterator[Match]:
    """Yield stealers, clipboard hijackers, spyware, machine code, time bombs and partial checks."""
    if reading.nodes_of(ast.Call):
        facts = _Facts(reading)
        for look in (_stealing, _swapping, _spying, _machine_code, _hook_of_audit, _drop):
            yield from look(facts)
    yield from _reduced(reading)
    yield from _bombs(reading)
    yield from _encrypting(reading)
    yield from _checks(reading)


def _at(facts: _Facts, rule: str, node: ast.AST, reason: str) -> Match:
    start, end = facts.reading.place(node)
    return Match(rule, start, end, reason)


def _stealing(facts: _Facts) -> Iterator[Match]:
    decrypts = facts.any_call(_DECRYPTING)
    logins = facts.any_text(BROWSER_LOGINS)
    if decrypts is not None and (logins is not None or facts.any_text(BROWSER_FILES) is not None):
        yield _at(facts, "steals-logins", decrypts, "decrypts what a browser has stored of the user's logins")
        return
    reader = next((node for name, node in facts.calls.items() if name.startswith(_COOKIE_READERS)), None)
    loaded = reader is not None or any(
        f"{name}.".startswith(_COOKIE_READERS) for name in facts.reading.names.imported
    )
    if loaded and facts.sends:
        node = reader if reader is not None else facts.reading.nodes_of(ast.Call)[0]
        yield _at(facts, "steals-logins", node, "reads the cookies of browsers and sends something")
        return
    files = facts.any_text(BROWSER_FILES)
    wallets = facts.any_text(WALLETS)
    place = facts.any_text(DROP_PLACE)
    reads = facts.methods.keys() & {
        "read",
        "readlines",
        "read_text",
        "read_bytes",
        "make_archive",
        "copy",
        "copy2",
        "copyfile",
        "copytree",
        "write",
        "listdir",
    }
    if files is not None and reads and (facts.sends or place is not None):
        yield _at(facts, "steals-logins", files, "reads files of a browser's profile and sends something")
    elif wallets is not None and reads and (facts.sends or place is not None) and _is_place(wallets):
        yield _at(facts, "steals-logins", wallets, "reads the files of wallets and sends something")


def _is_place(node: ast.Constant) -> bool:
    return isinstance(node.value, str) and ("/" in node.value or "\\" in node.value or len(node.value) < 40)


def _swapping(facts: _Facts) -> Iterator[Match]:
    pastes = (
        facts.any_call(_PASTING)
        or facts.methods.get("GetClipboardData")
        or facts.methods.get("clipboard_get")
    )
    copies = (
        facts.any_call(_COPYING)
        or facts.methods.get("SetClipboardData")
        or facts.methods.get("clipboard_append")
    )
    if pastes is not None and copies is not None and facts.any_text(WALLET_ADDRESS) is not None:
        yield _at(facts, "swaps-clipboard", copies, "puts something else in place of a copied wallet address")


def _spying(facts: _Facts) -> Iterator[Match]:
    keys = facts.any_call(_KEY_LISTENERS) or facts.methods.get("GetAsyncKeyState")
    if keys is not None and facts.sends:
        yield _at(facts, "spies", keys, "listens to every key and sends something")
    seen = facts.any_call(WATCHING)
    if seen is not None and facts.any_text(DROP_PLACE) is not None:
        yield _at(facts, "spies", seen, "takes what the user sees or copies, for an address without a name")


def _machine_code(facts: _Facts) -> Iterator[Match]:
    native = [name for name in _NATIVE_METHODS if name in facts.methods]
    if len(native) >= 2:
        yield _at(
            facts,
            "runs-machine-code",
            min((facts.methods[name] for name in native), key=lambda call: (call.lineno, call.col_offset)),
            f"calls {' and '.join(sorted(native)[:3])}: memory is filled and run",
        )
    mapped = facts.calls.get("mmap.mmap")
    if (
        mapped is not None
        and "PROT_EXEC" in ast.dump(mapped)
        and facts.any_call(("ctypes.CFUNCTYPE", "ctypes.cast")) is not None
    ):
        yield _at(facts, "runs-machine-code", mapped, "memory is filled and run")


def _hook_of_audit(facts: _Facts) -> Iterator[Match]:
    hook = facts.calls.get("sys.addaudithook")
    if hook is None:
        return
    if facts.sends or facts.any_call(RUNNING_COMMANDS) is not None:
        yield _at(
            facts,
            "spies",
            hook,
            "hears of every file and connection of the process, and sends or runs something",
        )


def _drop(facts: _Facts) -> Iterator[Match]:
    """Yield an IP address that data of this machine is sent to."""
    place = facts.any_text(DROP_PLACE)
    if place is None or not facts.sends:
        return
    reader = facts.any_call(
        (
            *_HOST_READERS,
            "platform.platform",
            "os.walk",
            "os.listdir",
            "glob.glob",
            "os.environ.items",
            "psutil.virtual_memory",
        )
    )
    environment = any(node.attr == "environ" for node in facts.reading.nodes_of(ast.Attribute))
    if reader is not None or environment:
        yield _at(
            facts,
            "sends-to-drop",
            place,
            "what this machine holds, and an address that anybody can have without a name",
        )


def _reduced(reading: Reading) -> Iterator[Match]:
    """Yield objects that run code when they are unpickled."""
    for node in reading.nodes_of(ast.FunctionDef):
        if node.name not in ("__reduce__", "__reduce_ex__"):
            continue
        for item in walk(node):
            if isinstance(item, ast.Return) and isinstance(item.value, ast.Tuple) and item.value.elts:
                name = reading.names.resolve(item.value.elts[0])
                if name in RUNNING_COMMANDS or name in RUNNING_CODE:
                    start, end = reading.place(item)
                    yield Match("unpickles-command", start, end, f"anyone who unpickles this runs {name}")


def _bombs(reading: Reading) -> Iterator[Match]:
    waited_for = _CLOCKS | _HOST_READERS
    if not any(
        reading.names.called(call).removesuffix("()") in waited_for for call in reading.nodes_of(ast.Call)
    ):
        return
    for node in reading.nodes_of(ast.If):
        trigger = _trigger(reading, node.test)
        if not trigger:
            continue
        for statement in node.body:
            serious = next(
                (name for name in map(reading.names.called, _calls(statement)) if name in _SERIOUS), ""
            )
            if serious:
                start, end = reading.place(node.test)
                yield Match("time-bomb", start, end, f"{serious} waits for {trigger}")
                break


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (item for item in walk(node) if isinstance(item, ast.Call))


def _trigger(reading: Reading, test: ast.expr) -> str:
    """Return the condition that a test waits for: a literal date, or the name of a machine or user."""
    for compare in (item for item in walk(test) if isinstance(item, ast.Compare)):
        sides = [compare.left, *compare.comparators]
        clock = [_reads(reading, side, _CLOCKS) for side in sides]
        dated = [_is_date(reading, side) for side in sides]
        if any(clock) and any(was and not now for was, now in zip(dated, clock, strict=True)):
            return "a date"
        if not isinstance(compare.ops[0], ast.Eq | ast.In):
            continue
        host = [_reads(reading, side, _HOST_READERS) for side in sides]
        if any(host) and any(isinstance(reading.names.constant(side), str | tuple) for side in sides):
            return "the name of a machine or user"
    for call in _calls(test):
        begins = isinstance(call.func, ast.Attribute) and call.func.attr in ("startswith", "endswith")
        if begins and _reads(reading, call.func, _HOST_READERS):
            return "the name of a machine or user"
    return ""


def _reads(reading: Reading, node: ast.expr, names: frozenset[str], depth: int = 0) -> bool:
    """Return whether an expression, or the only value of a variable in it, calls one of these functions."""
    for item in walk(node):
        if isinstance(item, ast.Call) and reading.names.called(item).removesuffix("()") in names:
            return True
        if isinstance(item, ast.Name) and depth < 2:
            values = reading.names.values_of(item)
            if len(values) == 1 and values[0] is not node and _reads(reading, values[0], names, depth + 1):
                return True
    return False


def _is_date(reading: Reading, node: ast.expr, depth: int = 0) -> bool:
    """Return whether an expression is a literal date, or a literal number of seconds since 1970."""
    value = reading.names.constant(node)
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 1_000_000_000:
        return True
    if isinstance(node, ast.Call) and reading.names.called(node) in _DATES and node.args:
        return all(reading.names.constant(argument) is not None for argument in node.args)
    if isinstance(node, ast.Name) and depth < 2:
        values = reading.names.values_of(node)
        return len(values) == 1 and _is_date(reading, values[0], depth + 1)
    return False


def _encrypting(reading: Reading) -> Iterator[Match]:
    """Yield loops over a folder that write encrypted files and remove the originals."""
    for node in reading.nodes_of(ast.For):
        walked = reading.names.called(node.iter) if isinstance(node.iter, ast.Call) else ""
        if walked not in ("os.walk", "glob.glob", "glob.iglob") and not walked.endswith(".rglob"):
            continue
        calls = list(_calls(node))
        methods = {item.func.attr for item in calls if isinstance(item.func, ast.Attribute)}
        removes = any(reading.names.called(item) in _REMOVING for item in calls) or "unlink" in methods
        if "encrypt" in methods and removes and methods & {"write", "write_bytes"}:
            start, end = reading.place(node.iter)
            yield Match("destroys", start, end, "writes files of a folder encrypted and removes them")


def _checks(reading: Reading) -> Iterator[Match]:
    """Yield checks of a token, signature or password that compare a part of it, or accept a fixed one."""
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = [*reading.nodes_of(ast.FunctionDef)]
    functions += reading.nodes_of(ast.AsyncFunctionDef)
    for node in functions:
        if _CHECKING.match(node.name):
            yield from _partial(reading, node)


def _partial(reading: Reading, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Match]:
    listed = function.args
    proofs = {
        item.arg
        for item in (*listed.posonlyargs, *listed.args, *listed.kwonlyargs)
        if _PROOF.search(item.arg)
    }
    if not proofs:
        return
    for item in walk(function):
        reason = ""
        if (
            isinstance(item, ast.Compare)
            and len(item.ops) == 1
            and isinstance(item.ops[0], ast.Eq | ast.NotEq)
        ):
            reason = _cut(item.left, item.comparators[0], proofs)
        elif isinstance(item, ast.Call):
            reason = _compared(reading, item, proofs)
        elif isinstance(item, ast.If):
            reason = _master(item, proofs)
        elif isinstance(item, ast.For) and isinstance(item.iter, ast.Call):
            reason = _zipped(reading, function, item.iter, proofs)
        if reason:
            start, end = reading.place(
                item.iter if isinstance(item, ast.For) else item.test if isinstance(item, ast.If) else item
            )
            yield Match("partial-check", start, end, f"{function.name} {reason}")
            return


def _cut(left: ast.expr, right: ast.expr, proofs: set[str]) -> str:
    """Return a description if a comparison of two slices only covers the start of a proof."""
    cuts = [_few(side) for side in (left, right)]
    if all(cuts) and any(_named(side, proofs) for side in (left, right)):
        return f"compares the first {min(cuts)} alone"
    return ""


def _few(node: ast.expr) -> int:
    """Return the maximum number of items in a short slice, 0 for other slices."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
        return 0
    ends = node.slice
    if (
        ends.lower is not None
        or not isinstance(ends.upper, ast.Constant)
        or not isinstance(ends.upper.value, int)
    ):
        return 0
    return ends.upper.value if 0 < ends.upper.value <= _FEW else 0


def _named(node: ast.AST, proofs: set[str]) -> bool:
    return any(isinstance(item, ast.Name) and item.id in proofs for item in walk(node))


def _compared(reading: Reading, call: ast.Call, proofs: set[str]) -> str:
    name = reading.names.called(call)
    if name in ("hmac.compare_digest", "secrets.compare_digest") and len(call.args) == 2:
        return _cut(call.args[0], call.args[1], proofs)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "startswith" and len(call.args) == 1:
        given = call.args[0]
        if (
            isinstance(given, ast.Name)
            and given.id in proofs
            and not isinstance(call.func.value, ast.Constant)
        ):
            return f"takes any beginning for {given.id}"
    return ""


def _master(node: ast.If, proofs: set[str]) -> str:
    test = node.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return ""
    names = [
        side.id
        for side in (test.left, test.comparators[0])
        if isinstance(side, ast.Name) and side.id in proofs
    ]
    written = [
        side.value
        for side in (test.left, test.comparators[0])
        if isinstance(side, ast.Constant) and isinstance(side.value, str | bytes)
    ]
    first = node.body[0]
    says_yes = (
        isinstance(first, ast.Return) and isinstance(first.value, ast.Constant) and first.value.value is True
    )
    return f"says yes to one written {names[0]}" if names and written and written[0] and says_yes else ""


def _zipped(reading: Reading, function: ast.AST, call: ast.Call, proofs: set[str]) -> str:
    if reading.names.called(call) != "zip" or not _named(call, proofs) or call.keywords:
        return ""
    if any(isinstance(item, ast.Call) and reading.names.called(item) == "len" for item in walk(function)):
        return ""
    return "compares no more than the shorter one is long"
