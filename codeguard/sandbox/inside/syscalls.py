"""System calls by number, and what the two filters let through, for x86-64 and arm64.

Numbers are of the kernel's own tables: arch/x86/entry/syscalls/syscall_64.tbl
and include/uapi/asm-generic/unistd.h (arm64). They never change once given.
"""

from __future__ import annotations

import errno
from typing import NamedTuple

from . import wire, words

# name:x86-64:arm64, with a hyphen where a machine does not have the call
_NUMBERS = words(
    "read:0:63 write:1:64 open:2:- close:3:57 stat:4:- fstat:5:80 lstat:6:- poll:7:- lseek:8:62 mmap:9:222",
    "mprotect:10:226 munmap:11:215 brk:12:214 rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139",
    "ioctl:16:29 pread64:17:67 pwrite64:18:68 readv:19:65 writev:20:66 access:21:- pipe:22:- select:23:-",
    "sched_yield:24:124 mremap:25:216 madvise:28:233 shmget:29:194 shmat:30:196 shmctl:31:195 dup:32:23",
    "dup2:33:- pause:34:- nanosleep:35:101 getitimer:36:102 alarm:37:- setitimer:38:103 getpid:39:172",
    "sendfile:40:71 socket:41:198 connect:42:203 accept:43:202 sendto:44:206 recvfrom:45:207 sendmsg:46:211",
    "recvmsg:47:212 shutdown:48:210 bind:49:200 listen:50:201 getsockname:51:204 getpeername:52:205",
    "socketpair:53:199 setsockopt:54:208 getsockopt:55:209 clone:56:220 fork:57:- vfork:58:- execve:59:221",
    "exit:60:93 wait4:61:260 kill:62:129 uname:63:160 semget:64:190 fcntl:72:25 flock:73:32 fsync:74:82",
    "fdatasync:75:83 truncate:76:45 ftruncate:77:46 getdents:78:- getcwd:79:17 chdir:80:49 fchdir:81:50",
    "rename:82:- mkdir:83:- rmdir:84:- creat:85:- link:86:- unlink:87:- symlink:88:- readlink:89:- chmod:90:-",
    "fchmod:91:52 chown:92:- fchown:93:55 lchown:94:- umask:95:166 gettimeofday:96:169 getrlimit:97:163",
    "getrusage:98:165 sysinfo:99:179 times:100:153 ptrace:101:117 getuid:102:174 syslog:103:116",
    "getgid:104:176 setuid:105:146 setgid:106:144 geteuid:107:175 getegid:108:177 setpgid:109:154",
    "getppid:110:173 getpgrp:111:- setsid:112:157 setreuid:113:145 setregid:114:143 getgroups:115:158",
    "setgroups:116:159 setresuid:117:147 getresuid:118:148 setresgid:119:149 getresgid:120:150",
    "getpgid:121:155 getsid:124:156 capget:125:90 capset:126:91 rt_sigtimedwait:128:137",
    "rt_sigqueueinfo:129:138 rt_sigsuspend:130:133 sigaltstack:131:132 utime:132:- mknod:133:- statfs:137:43",
    "fstatfs:138:44 getpriority:140:141 setpriority:141:140 sched_setparam:142:118 sched_getparam:143:121",
    "sched_setscheduler:144:119 sched_getscheduler:145:120 sched_get_priority_max:146:125",
    "sched_get_priority_min:147:126 mlock:149:228 munlock:150:229 mlockall:151:230 pivot_root:155:41",
    "prctl:157:167 setrlimit:160:164 chroot:161:51 sync:162:81 settimeofday:164:170 mount:165:40",
    "umount2:166:39 reboot:169:142 sethostname:170:161 gettid:186:178 setxattr:188:5 getxattr:191:8",
    "lgetxattr:192:9 listxattr:194:11 tkill:200:130 time:201:- futex:202:98 sched_setaffinity:203:122",
    "sched_getaffinity:204:123 epoll_create:213:- getdents64:217:61 set_tid_address:218:96",
    "restart_syscall:219:128 clock_settime:227:112 clock_gettime:228:113 clock_getres:229:114",
    "clock_nanosleep:230:115 exit_group:231:94 epoll_wait:232:- epoll_ctl:233:21 tgkill:234:131 utimes:235:-",
    "waitid:247:95 mbind:237:235 inotify_init:253:- openat:257:56 mkdirat:258:34 mknodat:259:33 fchownat:260:54",
    "newfstatat:262:79 unlinkat:263:35 renameat:264:38 linkat:265:37 symlinkat:266:36 readlinkat:267:78",
    "fchmodat:268:53 faccessat:269:48 pselect6:270:72 ppoll:271:73 unshare:272:97 set_robust_list:273:99",
    "splice:275:76 utimensat:280:88 epoll_pwait:281:22 timerfd_create:283:85 eventfd:284:- fallocate:285:47",
    "accept4:288:242 eventfd2:290:19 epoll_create1:291:20 dup3:292:24 pipe2:293:59 inotify_init1:294:26",
    "preadv:295:69 pwritev:296:70 rt_tgsigqueueinfo:297:240 recvmmsg:299:243 prlimit64:302:261",
    "sendmmsg:307:269 setns:308:268 getcpu:309:168 process_vm_readv:310:270 process_vm_writev:311:271",
    "renameat2:316:276 seccomp:317:277 getrandom:318:278 memfd_create:319:279 execveat:322:281",
    "membarrier:324:283 copy_file_range:326:285 preadv2:327:286 pwritev2:328:287 statx:332:291 rseq:334:293",
    "pidfd_send_signal:424:424 pidfd_open:434:434 clone3:435:435 close_range:436:436 openat2:437:437",
    "pidfd_getfd:438:438 faccessat2:439:439 epoll_pwait2:441:441 landlock_create_ruleset:444:444",
    "landlock_add_rule:445:445 landlock_restrict_self:446:446 fchmodat2:452:452",
)


class Argument(NamedTuple):
    """An argument that a filter compares: its place, its name, and each value that it may have, with a name.

    Filters see its low half. The kernel ignores the other half of these, or refuses what has one.
    """

    place: int
    name: str
    values: dict[str, int]


class Allowed(NamedTuple):
    """An allowed call: the arguments compared, the object of the kernel's behind it, who shares that, and the need.

    The texts are the columns of the table in docs/reference.md.
    """

    arguments: tuple[Argument, ...]
    object: str
    shared: str
    need: str


_PROTECTION = Argument(
    2,
    "protection",  # memory is never made executable: what is not loaded yet never runs as machine code
    {"PROT_NONE": 0, "PROT_READ": 1, "PROT_WRITE": 2, "PROT_READ|PROT_WRITE": 3},
)
_SPACE, _SIGNALS, _NOBODY = "its own address space", "its own signal handlers and mask", "nobody"

# What a check needs from its fork to its end. Everything else that an interpreter asks for is answered by its
# world or refused.
CHILD: dict[str, Allowed] = {
    "read": Allowed(
        (Argument(0, "descriptor", {"the job's pipe": wire.JOB}),),
        "the pipe of its job",
        "the application, which writes; closed before code runs, and no descriptor gets its number again",
        "take the job",
    ),
    "write": Allowed(
        (Argument(0, "descriptor", {"the result's pipe": wire.RESULT}),),
        "the pipe of its result",
        "the application, which reads and believes nothing",
        "give the answer",
    ),
    "close": Allowed((), "its own descriptors", _NOBODY, "close the job's pipe"),
    "mmap": Allowed(
        (_PROTECTION, Argument(3, "flags", {"MAP_PRIVATE|MAP_ANONYMOUS": 0x22})),
        _SPACE,
        _NOBODY,
        "memory of the interpreter's objects",
    ),
    "munmap": Allowed((), _SPACE, _NOBODY, "give memory back"),
    "mprotect": Allowed(
        (_PROTECTION,),
        _SPACE,
        "nobody: a page that others map too is copied when written",
        "memory that musl's allocator has reserved",
    ),
    "mremap": Allowed(
        (Argument(3, "flags", {"MREMAP_MAYMOVE": 1}),), _SPACE, _NOBODY, "lists and arrays that grow"
    ),
    "brk": Allowed((), _SPACE, _NOBODY, "memory of the C library"),
    "rt_sigaction": Allowed((), _SIGNALS, _NOBODY, "modules that set a handler when imported"),
    "rt_sigprocmask": Allowed((), _SIGNALS, _NOBODY, "the C library, before it starts a thread or a program"),
    "rt_sigreturn": Allowed((), _SIGNALS, _NOBODY, "return from a handler"),
    "futex": Allowed(
        (
            Argument(
                1,
                "operation",
                {
                    "FUTEX_WAIT_PRIVATE": 128,
                    "FUTEX_WAKE_PRIVATE": 129,
                    "FUTEX_WAIT_BITSET_PRIVATE": 137,
                    "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME": 393,
                },
            ),
        ),
        "waiters on a word of its own address space",
        "nobody: private, so that the key is the address space, not the page",
        "locks and events with a timeout, and one-time initialisation in C",
    ),
    "restart_syscall": Allowed(
        (), "the wait that a stop signal interrupted", _NOBODY, "go on waiting; the kernel makes this call"
    ),
    "clock_gettime": Allowed(
        (Argument(0, "clock", {"CLOCK_REALTIME": 0, "CLOCK_MONOTONIC": 1}),),
        "the machine's clock",
        "the machine, which only root can set",
        "timeouts of locks, where the clock cannot be read without a call",
    ),
    "getrandom": Allowed(
        (Argument(2, "flags", {"none": 0, "GRND_NONBLOCK": 1}),),
        "the machine's random number generator",
        "the machine; what one reader gets tells nothing of others",
        "the seed of OpenSSL's contexts, of expat's tables",
    ),
    "exit_group": Allowed((), "its own end", "the zygote, which learns how it ended", "end"),
}

# Additional calls of the zygote, which runs no code under test: to fork, supply, watch, limit and reap its children.
ZYGOTE: dict[str, Allowed] = {
    "read": Allowed((), "its pipes", "the child that tests the layers", "read what that child found"),
    "write": Allowed(
        (), "the control socket, its pipes", "the application", "report layers, and how a child ended"
    ),
    "recvmsg": Allowed(
        (), "the control socket", "the application", "orders, and the ends of a child's pipes"
    ),
    "pipe2": Allowed((), "a new pipe", "the child that tests the layers", "test the layers"),
    "dup2": Allowed((), "its own descriptors", _NOBODY, "the numbers of a child's descriptors"),
    "dup3": Allowed((), "its own descriptors", _NOBODY, "the same on arm64"),
    "close_range": Allowed((), "its own descriptors", _NOBODY, "leave a child two descriptors"),
    "clone": Allowed(
        # no thread, no namespace, no shared memory, and no word that the kernel clears and wakes at its end
        (Argument(0, "flags", {"SIGCHLD": 17}),),
        "a new child",
        "the child, whose memory is a copy",
        "a child for each check",
    ),
    "kill": Allowed(
        (Argument(1, "signal", {"SIGKILL": 9}),),
        "a process",
        "the processes that it sees: its children alone where namespaces or Landlock hold",
        "end a child whose check is over",
    ),
    "wait4": Allowed(
        (Argument(2, "options", {"none": 0}),), "its children", _NOBODY, "reap a child and learn its CPU time"
    ),
    "getppid": Allowed((), "its process id", _NOBODY, "a child notices that its zygote has ended"),
    "prctl": Allowed(
        (Argument(0, "option", {"PR_SET_PDEATHSIG": 1, "PR_SET_SECCOMP": 22}),),
        "its own process",
        _NOBODY,
        "confine a child",
    ),
    "prlimit64": Allowed(
        (Argument(0, "process", {"its own": 0}),), "its own limits", _NOBODY, "limit a child"
    ),
    "landlock_restrict_self": Allowed((), "its own Landlock domain", _NOBODY, "a domain for each child"),
}

# Attempted by ordinary programs: answered with an error, so that the code continues and the attempt is
# recorded. A call on no list ends the process.
_REFUSED: dict[int, list[str]] = {
    errno.EACCES: words(
        "open openat openat2 creat stat lstat newfstatat statx access faccessat faccessat2 readlink",
        "readlinkat rename renameat renameat2 mkdir mkdirat rmdir link linkat unlink unlinkat symlink",
        "symlinkat chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat mknod mknodat truncate utime",
        "utimes utimensat setxattr getxattr lgetxattr listxattr statfs fstatfs chdir fchdir execve execveat",
        "getdents getdents64 memfd_create getcwd",
    ),
    errno.EPERM: words(
        "read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 poll ppoll select pselect6",
        "pipe pipe2 dup dup2 dup3 fcntl ioctl flock fsync fdatasync ftruncate fallocate sendfile splice",
        "copy_file_range socket socketpair connect accept accept4 bind listen sendto recvfrom sendmsg recvmsg",
        "sendmmsg recvmmsg shutdown getsockname getpeername setsockopt getsockopt fork vfork clone wait4",
        "waitid kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal pidfd_open pidfd_getfd",
        "rt_sigtimedwait rt_sigsuspend pause alarm getitimer setitimer timerfd_create ptrace process_vm_readv",
        "process_vm_writev prctl seccomp setrlimit getrlimit prlimit64 getpriority setpriority sched_setparam",
        "sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max sched_get_priority_min",
        "sched_setaffinity sched_getaffinity setuid setgid setreuid setregid setresuid setresgid getresuid",
        "getresgid setgroups getgroups setpgid getpgid getpgrp setsid getsid capget capset mount umount2",
        "chroot pivot_root unshare setns sethostname settimeofday clock_settime reboot sync syslog sysinfo",
        "umask mlock munlock mlockall shmget shmat shmctl semget epoll_create epoll_create1 epoll_ctl",
        "epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 inotify_init inotify_init1 close_range",
        "landlock_create_ruleset landlock_add_rule landlock_restrict_self membarrier",
        # what tells one process from another, or what the machine does: process ids and the numbers of pipes
        # count what others start
        "getpid gettid getppid getuid geteuid getgid getegid uname getcpu lseek fstat times getrusage",
        # of threads: a child has one. The kernel wakes, for everybody, what a robust list or the word of a
        # thread's id names when the process ends
        "set_robust_list set_tid_address rseq sched_yield exit sigaltstack",
        "madvise mbind nanosleep clock_nanosleep clock_getres gettimeofday time",
    ),
    # glibc falls back to clone, whose flags a filter can read; clone3's it cannot
    errno.ENOSYS: ["clone3"],
}

REFUSED: dict[str, int] = {name: code for code, names in _REFUSED.items() for name in names}

MACHINES: dict[str, int] = {"x86_64": 0, "amd64": 0, "aarch64": 1, "arm64": 1}
AUDIT_ARCH: tuple[int, int] = (0xC000003E, 0xC00000B7)


def column(machine: str) -> int | None:
    """Return the column of `NUMBERS` for a machine name of `uname -m`, None for another machine."""
    return MACHINES.get(machine.lower())


def _numbers() -> dict[str, tuple[int | None, int | None]]:
    rows = (entry.split(":") for entry in _NUMBERS)
    return {name: (_number(first), _number(second)) for name, first, second in rows}


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


# a call that a machine does not have has the number None there
NUMBERS: dict[str, tuple[int | None, int | None]] = _numbers()
