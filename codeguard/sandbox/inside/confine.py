"""Engage the layers, one after another, and report which hold."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable
from os import geteuid, getpid, getppid  # as they are before the world of the code under test
from typing import Any

from . import limits, syscalls, wire

if sys.platform == "linux":
    from . import bpf, kernel, namespaces, probe

LAYERS = ("namespaces", "capabilities", "no_new_privs", "landlock", "seccomp", "child_filter", "rlimits")
_PROBE_MEMORY = 256 * 1024 * 1024
_MAX_DESCRIPTORS = 1 << 16
_RULES = wire.JOB + 2  # next to the control socket, away from the numbers of a child's descriptors


class LayerError(Exception):
    """A layer was engaged without an error but does not hold."""


class Confinement:
    """The layers of this zygote: name to (engaged, detail)."""

    def __init__(self, without: frozenset[str]) -> None:
        self.without = without
        self.layers: dict[str, tuple[bool, str]] = {}
        self.filter: Any = None
        self.rules = -1  # Landlock's, with which each child enters a domain of its own
        self.zygote = 0

    def attempt(self, name: str, act: Callable[[], object]) -> None:
        """Engage or test one layer, and record the result."""
        if name in self.without:
            self.layers[name] = (False, "left out on request")
            return
        try:
            self.layers[name] = (True, str(act() or ""))
        except (OSError, LayerError) as error:
            self.layers[name] = (False, str(error))

    def holds(self, name: str) -> bool:
        """Whether a layer is engaged."""
        return self.layers.get(name, (False, ""))[0]

    def enter_child(self, bounds: limits.Bounds, filtered: bool = True) -> None:
        """Confine a freshly forked child, leaving it the descriptors `wire.RESULT` and `wire.JOB` only."""
        if self.rules >= 0:  # a domain of its own: no signal from one child to another
            kernel.landlock_restrict(self.rules)
        os.closerange(0, wire.RESULT)
        os.closerange(wire.JOB + 1, _MAX_DESCRIPTORS)
        if "rlimits" not in self.without:
            limits.apply(bounds)
        if not self.holds("namespaces") and sys.platform == "linux":
            # no pid namespace that would end with the zygote
            kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)
            if getppid() != self.zygote:
                os._exit(0)
        if filtered and self.filter is not None:
            self.filter.install()

    def level(self) -> int:
        """Return the level of the engaged layers, as `Level`'s number."""
        if not all(map(self.holds, ("no_new_privs", "seccomp", "child_filter", "rlimits"))):
            return 0
        around = [self.holds(name) for name in ("landlock", "namespaces")]
        if not self.holds("capabilities") or not any(around):
            return 1
        return 3 if all(around) else 2

    def report(self) -> dict[str, Any]:
        """Return level and layers as plain values."""
        return {"level": self.level(), "layers": [[name, *found] for name, found in self.layers.items()]}


def confine(without: frozenset[str], control: int) -> Confinement:
    """Engage every layer that this system supports, then test them in a child."""
    confinement = Confinement(without)
    machine = syscalls.column(os.uname().machine)
    if sys.platform != "linux" or machine is None:
        for name in LAYERS:
            confinement.layers[name] = (False, f"not made for {sys.platform} on {os.uname().machine}")
        return confinement

    def install() -> str:
        kernel.Filter(bpf.zygote_filter(machine)).install()
        found = kernel.raw("socket", 2, 1, 0)
        return _expect("socket", found, errno.EPERM)

    def ready() -> str:
        confinement.filter = kernel.Filter(bpf.child_filter(machine))
        found = probe.ask(
            lambda: confinement.enter_child(limits.child_limits(1.0, _PROBE_MEMORY)),
            probe.acts,
        )
        if wrong := probe.unexpected(found):
            raise LayerError(f"not refused by the filter: {_listed(wrong)}")
        return _listed(found)

    def limit() -> str:
        found = probe.ask(
            lambda: confinement.enter_child(limits.child_limits(1.0, _PROBE_MEMORY), filtered=False),
            lambda: probe.limited(_PROBE_MEMORY),
        )
        if found | {"processes": ""} != {"descriptors": "EMFILE", "processes": "", "memory": "ENOMEM"}:
            raise LayerError(f"not limited: {_listed(found) or 'the child that tried was ended'}")
        return _listed(found)  # of processes: see the layer that makes the user an ordinary one

    if "capabilities" not in without:
        kernel.empty_bounding_set()
        namespaces.leave_root()
    confinement.attempt("namespaces", lambda: _isolate(control))
    confinement.zygote = getpid()
    confinement.attempt("capabilities", _drop)
    confinement.attempt("no_new_privs", _no_new_privs)
    with contextlib.suppress(OSError):  # hides its memory from the user's other processes; no layer
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    confinement.attempt("landlock", lambda: _landlock(confinement))
    confinement.attempt("seccomp", install)
    confinement.attempt("rlimits", limit)
    confinement.attempt("child_filter", ready)
    if not confinement.holds("child_filter"):
        confinement.filter = None
    return confinement


def _expect(act: str, found: int, code: int) -> str:
    if found != -code:
        raise LayerError(f"{act} gave {found}, expected {errno.errorcode[code]}")
    return f"{act} {errno.errorcode[code]}"


def _listed(found: dict[str, str]) -> str:
    return ", ".join(f"{name} {how}" for name, how in found.items())


def _isolate(control: int) -> str:
    namespaces.enter(control)
    found = probe.ask(lambda: None, probe.outside)
    if found != probe.NOTHING_OUTSIDE:
        raise LayerError(f"something is there: {_listed(found) or 'the child that looked was ended'}")
    return _listed(found)


def _drop() -> str:
    """Empty the capability sets, and test whether the user is an ordinary user of the machine.

    The uid does not decide: 0 may be mapped to an ordinary user. The kernel exempts only its own root, even
    without capabilities, from the limit on processes.
    """
    kernel.drop_capabilities()
    left = kernel.capabilities()
    if left:
        raise LayerError(f"capabilities {left:#x} left, user {geteuid()}")
    found = probe.ask(
        lambda: limits.apply(limits.child_limits(1.0, _PROBE_MEMORY)),
        lambda: probe.limited(_PROBE_MEMORY),
    )
    user = f"user {geteuid()}"
    if found.get("processes") != "EAGAIN":
        raise LayerError(f"none left, but {user} is the machine's root: {_listed(found) or 'no answer'}")
    if geteuid() == 0:
        user += ", which is not the machine's root: processes EAGAIN"
    kept = kernel.bounding_set()
    return f"none left, {user}" + (f", bounding set {kept:#x} kept, void by no_new_privs" if kept else "")


def _no_new_privs() -> str:
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if kernel.prctl(kernel.PR_GET_NO_NEW_PRIVS) != 1:
        raise LayerError("not set")
    return ""


def _landlock(confinement: Confinement) -> str:
    version, rules = kernel.landlock_deny_all()
    os.dup2(rules, _RULES, inheritable=False)
    os.close(rules)
    confinement.rules = _RULES
    try:
        os.close(os.open("/", os.O_RDONLY | os.O_DIRECTORY))
    except OSError as error:
        if error.errno != errno.EACCES:
            raise
        return f"version {version}, open EACCES"
    raise LayerError("open went through")
