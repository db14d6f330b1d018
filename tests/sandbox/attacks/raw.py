"""A prelude for attacks that need system calls which Python has no name for.

It defines `syscall(number, *arguments)`: through ctypes where that can be
imported or is found lying around in memory, as an attacker would look for
it. `SYS` are numbers by name for x86-64 and arm64.
"""

RAW = """
import gc, os, sys

NUMBERS = {
    "x86_64": dict(
        ptrace=101, process_vm_readv=310, process_vm_writev=311, kcmp=312, memfd_create=319, bpf=321,
        userfaultfd=323, perf_event_open=298, io_uring_setup=425, io_uring_enter=426, pidfd_open=434,
        pidfd_getfd=438, pidfd_send_signal=424, keyctl=250, add_key=248, request_key=249, shmget=29, shmat=30,
        shmctl=31, msgget=68, msgsnd=69, msgrcv=70, semget=64, semctl=66, mq_open=240, personality=135,
        unshare=272, setns=308, mount=165, chroot=161, pivot_root=155, open_tree=428, move_mount=429,
        clone=56, clone3=435, vfork=58, tgkill=234, rt_sigqueueinfo=129, timer_create=222, prctl=157,
        prlimit64=302, openat2=437, name_to_handle_at=303, execveat=322, getpid=39, process_madvise=440,
        sched_setattr=314, ioprio_set=251, setpriority=141, fcntl=72, mmap=9, mprotect=10, mlock=149,
        openat=257, munmap=11, socket=41, connect=42, kill=62, migrate_pages=256, exit=60, wait4=61, arch_prctl=158,
        modify_ldt=154, acct=163, sethostname=170, swapon=167, syslog=103, uname=63, getcpu=309,
    ),
    "aarch64": dict(
        ptrace=117, process_vm_readv=270, process_vm_writev=271, kcmp=272, memfd_create=279, bpf=280,
        userfaultfd=282, perf_event_open=241, io_uring_setup=425, io_uring_enter=426, pidfd_open=434,
        pidfd_getfd=438, pidfd_send_signal=424, keyctl=219, add_key=217, request_key=218, shmget=194,
        shmat=196, shmctl=195, msgget=186, msgsnd=189, msgrcv=188, semget=190, semctl=191, mq_open=180,
        personality=92, unshare=97, setns=268, mount=40, chroot=51, pivot_root=41, open_tree=428,
        move_mount=429, clone=220, clone3=435, tgkill=131, rt_sigqueueinfo=138, timer_create=107, prctl=167,
        prlimit64=261, openat2=437, name_to_handle_at=264, execveat=281, getpid=172, process_madvise=440,
        sched_setattr=274, ioprio_set=30, setpriority=140, fcntl=25, mmap=222, mprotect=226, mlock=228,
        openat=56, munmap=215, socket=198, connect=203, kill=129, migrate_pages=238, exit=93, wait4=260,
        acct=89, sethostname=161, swapon=224, syslog=116, uname=160, getcpu=168,
    ),
}
SYS = NUMBERS[os.uname().machine]


def _tools():
    try:
        import ctypes
        return ctypes
    except ImportError:
        pass
    found = sys.modules.get("ctypes")
    if found is not None:
        return found
    # Removed from sys.modules is not gone: its functions keep its globals alive.
    for thing in gc.get_objects():
        if isinstance(thing, dict) and thing.get("__name__") == "ctypes" and "CDLL" in thing:
            return type(sys)("x") if False else _Namespace(thing)
    raise ImportError("no ctypes in this process")


class _Namespace:
    def __init__(self, names):
        self.__dict__.update(names)


C = _tools()
LIBC = C.CDLL(None, use_errno=True)
LIBC.syscall.restype = C.c_long


def syscall(number, *arguments):
    number = SYS[number] if isinstance(number, str) else number
    wrapped = [C.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = LIBC.syscall(C.c_long(number), *wrapped)
    return -C.get_errno() if result == -1 else result
"""
