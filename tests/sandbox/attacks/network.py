"""Network and other ways to talk to a process outside."""

from __future__ import annotations

from attacks.case import LANDLOCK, NAMESPACES, POLICY, SECCOMP, Attack, Proof, rows
from attacks.raw import RAW

SOCKETS = (POLICY, SECCOMP, NAMESPACES, LANDLOCK)


def _calls(id: str, mechanism: str, source: str, needs: str = "") -> Attack:  # noqa: A002
    return Attack(id, mechanism, Proof.CONTACT, source, SOCKETS, needs=needs)


ATTACKS = (
    *rows(
        _calls,
        """
=== tcp-connect: a TCP connection
import socket
def attack():
    socket.create_connection(("127.0.0.1", @PORT@)).sendall(b"@TOKEN@")
=== c-socket: _socket, the C module below socket, on a system where the Python one is patched
import _socket
def attack():
    line = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    line.connect(("127.0.0.1", @PORT@))
    line.send(b"@TOKEN@")
=== tcp-fast-open: sendto with MSG_FASTOPEN connects without connect(2)
import socket
def attack():
    line = socket.socket()
    line.sendto(b"@TOKEN@", 0x20000000, ("127.0.0.1", @PORT@))
=== smtp-connect: the socket of a mail client
import smtplib
def attack():
    smtplib.SMTP()._get_socket("127.0.0.1", @PORT@, 5).sendall(b"@TOKEN@")
=== process-client: a connection of multiprocessing
from multiprocessing.connection import SocketClient
def attack():
    SocketClient(("127.0.0.1", @PORT@)).send_bytes(b"@TOKEN@")
=== mptcp: multipath TCP, a protocol that rules for TCP forget
needs: __import__('pathlib').Path('/proc/sys/net/mptcp/enabled').exists()
import socket
def attack():
    line = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
    line.connect(("127.0.0.1", @PORT@))
    line.sendall(b"@TOKEN@")
=== mapped-address: an IPv4 address inside an IPv6 socket
needs: __import__('pathlib').Path('/proc/net/if_inet6').exists()
import socket
def attack():
    line = socket.socket(socket.AF_INET6)
    line.connect(("::ffff:127.0.0.1", @PORT@))
    line.sendall(b"@TOKEN@")
=== udp: a datagram needs no connection; Landlock's network rules know TCP only
import socket
def attack():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"@TOKEN@", ("127.0.0.1", @UDP_PORT@))
=== unix-path: a Unix socket by its path
import socket
def attack():
    line = socket.socket(socket.AF_UNIX)
    line.connect("@DIR@/unix")
    line.sendall(b"@TOKEN@")
=== unix-abstract: an abstract Unix socket, which has no file for a path rule to forbid
import socket
def attack():
    line = socket.socket(socket.AF_UNIX)
    line.connect("\\0arena-@TOKEN@")
    line.sendall(b"@TOKEN@")
=== unix-datagram: an abstract Unix datagram
import socket
def attack():
    line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    line.sendto(b"@TOKEN@", "\\0arena-dgram-@TOKEN@")
=== http-client: a client of the standard library with its own socket module reference
import urllib.request
def attack():
    try:
        urllib.request.urlopen("http://127.0.0.1:@PORT@/@TOKEN@", timeout=0.3)
    except OSError:
        pass
=== asyncio-client: an event loop connects without blocking
import asyncio
async def run():
    _, writer = await asyncio.open_connection("127.0.0.1", @PORT@)
    writer.write(b"@TOKEN@")
    await writer.drain()
def attack():
    asyncio.run(run())
=== shell-redirect: a program started from the check does the connecting
import subprocess, sys
def attack():
    text = "import socket; socket.create_connection(('127.0.0.1', @PORT@)).sendall(b'@TOKEN@')"
    subprocess.run([sys.executable, "-c", text])
""",
    ),
    _calls(
        "raw-socket-call",
        "socket(2) and connect(2) through syscall(2), past every Python function",
        RAW
        + """
import struct
def attack():
    line = syscall("socket", 2, 1, 0)
    address = C.create_string_buffer(struct.pack("<H", 2) + struct.pack(">H", @PORT@) + b"\\x7f\\0\\0\\1" + bytes(8))
    syscall("connect", line, C.addressof(address), 16)
    os.write(line, b"@TOKEN@")
""",
    ),
    Attack(
        "interface-names",
        "if_nameindex asks a netlink socket for the machine's interfaces",
        Proof.LEAK,
        """
import socket
def attack():
    return [name for _, name in socket.if_nameindex()]
""",
        SOCKETS,
        sought="@INTERFACE@",
    ),
    Attack(
        "system-v-shared-memory",
        "a System V segment has no file and stays for the next process of the user",
        Proof.STATE,
        RAW
        + """
def attack():
    return syscall("shmget", 0x5eed, 4096, 0o1666)
""",
        (POLICY, SECCOMP, NAMESPACES),
        after=RAW
        + """
def probe():
    found = syscall("shmget", 0x5eed, 0, 0)
    if found >= 0:
        syscall("shmctl", found, 0, 0)
    return found >= 0
""",
    ),
    Attack(
        "system-v-message",
        "a System V message queue keeps a message for the next process",
        Proof.STATE,
        RAW
        + """
def attack():
    queue = syscall("msgget", 0x5eee, 0o1666)
    message = C.create_string_buffer((1).to_bytes(8, "little") + b"@TOKEN@")
    return syscall("msgsnd", queue, C.addressof(message), 16, 0)
""",
        (POLICY, SECCOMP, NAMESPACES),
        after=RAW
        + """
def probe():
    return syscall("msgget", 0x5eee, 0) >= 0
""",
    ),
    Attack(
        "keyring",
        "the user keyring keeps a key that the next process of the same user can read",
        Proof.STATE,
        RAW
        + """
def attack():
    kind, name = C.create_string_buffer(b"user"), C.create_string_buffer(b"attack")
    return syscall("add_key", C.addressof(kind), C.addressof(name), C.addressof(name), 6, -4)
""",
        (POLICY, SECCOMP),
        after=RAW
        + """
def probe():
    kind, name = C.create_string_buffer(b"user"), C.create_string_buffer(b"attack")
    return syscall("keyctl", 10, -4, C.addressof(kind), C.addressof(name), 0) >= 0
""",
    ),
)
