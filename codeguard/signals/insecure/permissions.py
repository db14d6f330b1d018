"""Rights of files and processes that are too wide."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codeguard.models import Confidence, Severity
from codeguard.reading.patterns import lazy
from codeguard.signals.base import Rule
from codeguard.signals.insecure.base import Check, Found, View, names
from codeguard.signals.insecure.words import SECRET, mentions

_SYSTEM = (
    "/etc/passwd", "/etc/shadow", "/etc/sudoers", "/etc/cron", "/etc/ld.so", "/etc/hosts", "/etc/profile",
    "/etc/ssh", "/etc/pam.d", "/etc/systemd", "/etc/init", "/root/.ssh", "/boot/",
)  # fmt: skip


def _wide(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    assert isinstance(node, ast.Call)
    by_method = (
        isinstance(node.func, ast.Attribute) and node.func.attr == "chmod" and not name.startswith("os.")
    )
    mode = _mode(
        view,
        view.argument(
            node, "mode", 0 if (by_method and name.startswith("pathlib")) or len(node.args) == 1 else 1
        ),
    )
    if mode is None:
        return
    if mode & 0o002 and not mode & 0o1000:
        yield Found(node, f"mode {mode:o} lets everybody write")
    elif mode & 0o6000 and mode & 0o011:
        yield Found(node, f"mode {mode:o} runs with the owner's rights, whoever starts it")
    elif mode & 0o044 and _of_secret(view, _changed(node, by_method=by_method)):
        yield Found(node, f"mode {mode:o} lets others read a secret")


def _changed(node: ast.Call, *, by_method: bool) -> ast.expr | None:
    if by_method and isinstance(node.func, ast.Attribute):
        return node.func.value
    return node.args[0] if node.args else None


def _of_secret(view: View, node: ast.expr | None) -> bool:
    """Whether a path, or what its name is bound to, is one of a key or a secret."""
    if node is None:
        return False
    text = " ".join(ast.unparse(value)[:200] for value in (node, *view.names.values_of(node)))
    return mentions(text, SECRET) or _KEY_FILE.search(text) is not None


_KEY_FILE = lazy(r"\.(?:key|pem|p12|pfx|env|htpasswd|netrc|pgpass)\b|id_(?:rsa|ed25519|ecdsa)\b")


def _mode(view: View, node: ast.expr | None) -> int | None:
    value = view.names.constant(node)
    if isinstance(value, int):
        return value
    if node is None:
        return None
    bits = 0
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            bits |= _BITS.get(part.attr, 0)
    return bits or None


_BITS = {
    "S_IRWXO": 0o007, "S_IWOTH": 0o002, "S_IROTH": 0o004, "S_IXOTH": 0o001, "S_IRWXG": 0o070, "S_IWGRP": 0o020,
    "S_IRGRP": 0o040, "S_IRWXU": 0o700, "S_IRUSR": 0o400, "S_IWUSR": 0o200, "S_ISUID": 0o4000, "S_ISGID": 0o2000,
    "S_ISVTX": 0o1000, "S_IXUSR": 0o100, "S_IXGRP": 0o010,
}  # fmt: skip


def _umask(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    assert isinstance(node, ast.Call)
    value = view.constant(node, "mask", 0)
    if not isinstance(value, int) or isinstance(value, bool) or value & 0o002:
        return
    # `old = os.umask(0)` followed by `os.umask(old)` reads the mask.
    statement = view.statement(node)
    severity = Severity.LOW if isinstance(statement, ast.Assign) else Severity.MEDIUM
    yield Found(node, f"umask {value:o} lets everybody write to new files", severity)


def _made_wide(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    assert isinstance(node, ast.Call)
    mode = _mode(
        view,
        view.argument(
            node, "mode", {"os.mkdir": 1, "os.makedirs": 1, "os.open": 2, "os.mkfifo": 1}.get(name)
        ),
    )
    given = view.argument(
        node, "mode", {"os.mkdir": 1, "os.makedirs": 1, "os.open": 2, "os.mkfifo": 1}.get(name)
    )
    if given is not None and mode is not None and mode & 0o002 and not mode & 0o1000:
        # The umask takes the bit away again, as it does with the default 0o777 of a folder.
        severity = Severity.LOW if (mode == 0o777 and name != "os.open") or mode == 0o666 else Severity.MEDIUM
        yield Found(node, f"mode {mode:o} lets everybody write", severity)


def _order(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    """`setuid` before `setgid`: the group stays root's. Without a look at the groups: the others stay."""
    assert isinstance(node, ast.Call)
    function = view.function_of(node)
    holder: ast.AST | None = function or view.reading.tree
    if holder is None:
        return
    calls = [
        (part.lineno, view.names.called(part)) for part in ast.walk(holder) if isinstance(part, ast.Call)
    ]
    later = [
        called
        for line, called in calls
        if line > node.lineno and called in ("os.setgid", "os.setgroups", "os.initgroups")
    ]
    before = [called for line, called in calls if line < node.lineno]
    if view.names.constant(node.args[0] if node.args else None) == 0:
        yield Found(node, "the program takes root's rights", Severity.MEDIUM, Confidence.LOW)
    elif later:
        yield Found(node, f"after setuid {later[0]} fails: the group's rights stay")
    elif not any(called in ("os.setgid", "os.setregid", "os.setresgid", "os.setegid") for called in before):
        yield Found(
            node,
            "the rights of root's group stay: setgid and setgroups come first",
            Severity.LOW,
            Confidence.LOW,
        )


def _system_file(view: View, node: ast.AST, name: str) -> Iterator[Found]:
    assert isinstance(node, ast.Call)
    if name == "open":
        mode = view.constant(node, "mode", 1, "r")
        if not any(letter in str(mode) for letter in "wax+"):
            return
    target = node.args[-1] if name.startswith(("shutil.", "os.rename", "os.replace")) and len(node.args) > 1 else (
        node.args[0] if node.args else None)  # fmt: skip
    text = view.names.text(target)
    if text is not None and text.startswith(_SYSTEM):
        yield Found(node, f"{text} is changed by a program")


CHECKS = (
    Check(
        Rule(
            "world-writable",
            "A file gets rights that let everybody write",
            Severity.MEDIUM,
            Confidence.HIGH,
            "Every user of the machine can change it. 0o600 for secrets, 0o644 or 0o755 for the rest.",
            bad='import os\n\nos.chmod("/srv/app/run.sh", 0o777)',
            good='import os\n\nos.chmod("/srv/app/run.sh", 0o755)',
            cwe=(732,),
        ),
        calls=names("os.chmod os.fchmod os.lchmod pathlib.Path.chmod"),
        methods=names("chmod"),
        look=_wide,
    ),
    Check(
        Rule(
            "wide-umask",
            "New files can be written by everybody",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "umask(0) takes away the protection of every file made after it. Use 0o077 or 0o022.",
            bad="import os\n\nos.umask(0)",
            good="import os\n\nos.umask(0o077)",
            cwe=(276,),
        ),
        calls=names("os.umask"),
        look=_umask,
    ),
    Check(
        Rule(
            "made-world-writable",
            "A file is made with rights that let everybody write",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "Every user of the machine can change it. Give 0o600, or 0o700 for a folder.",
            bad='import os\n\nfd = os.open("/srv/state", os.O_CREAT | os.O_WRONLY, 0o777)',
            good='import os\n\nfd = os.open("/srv/state", os.O_CREAT | os.O_WRONLY, 0o600)',
            cwe=(276, 732),
        ),
        calls=names("os.open os.mkdir os.makedirs os.mkfifo pathlib.Path.mkdir pathlib.Path.touch"),
        look=_made_wide,
    ),
    Check(
        Rule(
            "privileges-not-dropped",
            "Root's rights are given up in the wrong order",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "After setuid the process may not change its groups any more. setgroups, setgid, then setuid.",
            bad="import os\n\ndef drop(uid, gid):\n    os.setuid(uid)\n    os.setgid(gid)",
            good="import os\n\ndef drop(uid, gid):\n    os.setgroups([])\n    os.setgid(gid)\n    os.setuid(uid)",
            cwe=(273, 271, 250),
        ),
        calls=names("os.setuid os.seteuid os.setreuid"),
        look=_order,
    ),
    Check(
        Rule(
            "system-file-changed",
            "A file of the system is written",
            Severity.MEDIUM,
            Confidence.MEDIUM,
            "Accounts, schedules and keys of the machine are no business of a program. Leave them to its "
            "administrator.",
            bad='with open("/etc/sudoers", "a") as file:\n    file.write("x")',
            good='with open("/srv/app/settings", "a") as file:\n    file.write("x")',
            cwe=(73, 250),
        ),
        calls=names(
            "open shutil.copy shutil.copyfile shutil.move os.rename os.replace pathlib.Path.write_text"
        ),
        look=_system_file,
    ),
)
