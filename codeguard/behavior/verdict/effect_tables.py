"""Names in the standard library and in well-known packages that have effects, with their kinds."""

from __future__ import annotations

from collections.abc import Mapping

NETWORK, PROCESS, FILES, ENVIRONMENT = "network", "process", "files", "environment"
CODE, NATIVE, ESCAPE = "dynamic code", "native code", "interpreter internals"
CLOCK, CHANCE, EVALUATION, THREADS, EXIT = "clock", "randomness", "eval", "threads", "exit"

CONVICTING = frozenset({NETWORK, PROCESS, FILES, ENVIRONMENT, CODE, NATIVE, ESCAPE})
"""Effects that convict if the trusted function lacks them; honest implementations differ in the others."""

OUTWARD = frozenset({NETWORK, PROCESS, FILES})
"""What a function is for that gets to it; of a claim to be that function nothing is left without any of it."""


def _table(rows: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """Turn kinds with their names, separated by spaces, into a mapping from names to kinds."""
    return {prefix + name: kind for kind, names in rows.items() for name in names.split()}


MODULES: Mapping[str, str] = _table(
    {
        NETWORK: """
            socket ssl http.client http.server http.cookiejar urllib.request urllib3 requests httpx aiohttp
            ftplib smtplib poplib imaplib telnetlib
            xmlrpc socketserver asyncio.streams paramiko websocket websockets pycurl nntplib
        """,
        PROCESS: "subprocess pty multiprocessing concurrent.futures.process _posixsubprocess posix",
        FILES: "shutil tempfile fileinput mmap dbm shelve sqlite3 zipfile tarfile glob",
        NATIVE: "ctypes cffi _ctypes",
        CODE: "importlib imp runpy marshal pickle code codeop dill cloudpickle zipimport",
        ESCAPE: "gc",
        CHANCE: "random secrets uuid numpy.random",
        CLOCK: "time",
        THREADS: "threading _thread atexit signal sched",
    }
)
"""To import one of these is to be able to."""

MEMBERS: Mapping[str, str] = {
    **_table(
        {
            PROCESS: """
                system popen fork forkpty kill killpg posix_spawn posix_spawnp startfile abort _exit nice
                execl execle execlp execlpe execv execve execvp execvpe
                spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe
            """,
            FILES: """
                open remove unlink rmdir removedirs mkdir makedirs rename renames replace link symlink chmod chown
                chdir chroot listdir scandir walk truncate mkfifo read write dup dup2 pipe utime stat lstat readlink
            """,
            ENVIRONMENT: "environ environb getenv getenvb putenv unsetenv getlogin getcwd uname",
            CHANCE: "urandom",
        },
        "os.",
    ),
    **_table(
        {
            CODE: "modules meta_path path_hooks",
            ESCAPE: "settrace setprofile _getframe _current_frames",
            ENVIRONMENT: "argv",
            FILES: "stdin",
            EXIT: "exit",
        },
        "sys.",
    ),
    **_table(
        {
            CODE: "exec compile __import__ breakpoint",
            EVALUATION: "eval",
            FILES: "open input",
            EXIT: "exit quit",
        },
        "builtins.",
    ),
    **_table(
        {
            NETWORK: "asyncio.open_connection asyncio.start_server",
            PROCESS: "asyncio.create_subprocess_exec asyncio.create_subprocess_shell",
            FILES: """
                io.open io.FileIO pathlib.Path codecs.open
                numpy.load numpy.loadtxt numpy.genfromtxt numpy.fromfile numpy.fromregex numpy.memmap numpy.DataSource
                numpy.save numpy.savez numpy.savez_compressed numpy.savetxt numpy.lib.npyio numpy.lib.format
            """,
            NATIVE: "numpy.ctypeslib numpy.f2py",
            ENVIRONMENT: "platform.node getpass.getuser getpass.getpass",
            CODE: "types.FunctionType types.CodeType",
            ESCAPE: "inspect.stack inspect.currentframe",
            CLOCK: "datetime.datetime.now datetime.datetime.today datetime.datetime.utcnow datetime.date.today",
        }
    ),
}
"""To name one of these is to be able to."""

INTERNALS = frozenset(
    """
    __subclasses__ __globals__ __builtins__ __code__ __closure__ __loader__ __spec__ __self__
    f_globals f_locals f_back gi_frame cr_frame tb_frame
    """.split()  # noqa: SIM905 - words read better as words
)
"""Attributes that lead from any object to everything else.

`__mro__` and its like lead to `object`, which has a name as well, and from there by one of these.
"""

OBSERVED: Mapping[str, str] = _table(
    {
        NETWORK: "connect bind resolve socket",
        PROCESS: "exec fork kill",
        FILES: "open list delete write chdir",
        ENVIRONMENT: "environ env setenv",
        NATIVE: "native",
        THREADS: "thread",
        CLOCK: "clock",
        CHANCE: "random",
    }
)
"""How the sandbox names what it saw."""

LOOKING = frozenset({"environ", "env"})
"""Of these, to look at the environment and to leave it as it is."""
