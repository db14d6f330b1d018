"""Files: every way to read, make, change or find one outside."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from attacks.case import LANDLOCK, NAMESPACES, POLICY, SECCOMP, Attack, Proof, rows

FILES = (POLICY, SECCOMP, LANDLOCK, NAMESPACES)


def _writes(id: str, mechanism: str, statement: str, needs: str = "") -> Attack:  # noqa: A002
    source = f"import os\ndef attack():\n    {statement}\n" if "\n" not in statement else statement
    return Attack(id, mechanism, Proof.MARKER, source, FILES, needs=needs)


def _reads(
    id: str,  # noqa: A002
    mechanism: str,
    source: str,
    sought: str = "@SECRET@",
    residual: tuple[tuple[str, str], ...] = (),
) -> Attack:
    return Attack(id, mechanism, Proof.LEAK, source, FILES, sought=sought, residual=residual)


ATTACKS = (
    *rows(
        _writes,
        """
=== open-write: open for writing
open('@MARKER@', 'w').close()
=== os-open: openat(2) directly
os.open('@MARKER@', os.O_CREAT | os.O_WRONLY)
=== mkdir: mkdir(2)
os.mkdir('@MARKER@')
=== unlink: unlink(2) of a file that matters
os.unlink('@DIR@/precious')
=== rename: rename(2) over a file that matters
os.rename('@DIR@/log', '@DIR@/precious')
=== hard-link: link(2)
os.link('@DIR@/precious', '@MARKER@')
=== symbolic-link: symlink(2)
os.symlink('/', '@MARKER@')
=== truncate: truncate(2) by path, without opening
os.truncate('@DIR@/precious', 0)
=== chmod: chmod(2)
os.chmod('@DIR@/precious', 0o600)
=== utime: utimensat(2): a changed date
os.utime('@DIR@/precious', (1, 1))
=== mkfifo: mknod(2) of a fifo
os.mkfifo('@MARKER@')
=== socket-file: bind(2) of a Unix socket makes a file
import socket
def attack():
    socket.socket(socket.AF_UNIX).bind('@MARKER@')
=== extended-attribute: setxattr(2)
os.setxattr('@DIR@/precious', 'user.mark', b'1')
=== rmdir: rmdir(2)
os.rmdir('@DIR@/room')
=== sqlite-file: sqlite3 opens files in its own C code
needs: __import__('importlib.util').util.find_spec('_sqlite3') is not None
import sqlite3
def attack():
    sqlite3.connect('@MARKER@').execute('create table t (x)')
=== array-file: numpy writes an array from C
__import__('numpy').ones(1).tofile('@MARKER@')
=== mapped-array: numpy maps a new file into memory
import numpy
def attack():
    numpy.memmap('@MARKER@', mode='w+', shape=1)
=== array-of-objects: numpy.load unpickles what an array of objects holds
import io, os
import numpy
class Order:
    def __reduce__(self):
        return os.mkdir, ('@MARKER@',)
def attack():
    made = io.BytesIO()
    numpy.save(made, numpy.array([Order()], dtype=object), allow_pickle=True)
    made.seek(0)
    numpy.load(made, allow_pickle=True)
=== xml-write: a tree of XML writes itself to a path
import xml.etree.ElementTree as tree
def attack():
    tree.ElementTree(tree.Element('a')).write('@MARKER@')
=== tar-extract: an archive's member is extracted to a path that it names itself
import io, tarfile
def attack():
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("@MARKER@"))
    made.seek(0)
    tarfile.open(fileobj=made).extractall("/")
=== cookie-jar: a jar of cookies saves itself
import http.cookiejar
def attack():
    http.cookiejar.MozillaCookieJar("@MARKER@").save()
=== tls-key-log: an SSL context's keylog file is opened by OpenSSL
needs: __import__('importlib.util').util.find_spec('_ssl') is not None
import ssl
def attack():
    ssl.create_default_context().keylog_filename = '@MARKER@'
=== logging-handler: a logging handler opens its file
import logging
def attack():
    logging.FileHandler('@MARKER@').close()
=== mapped-file: a shared mapping changes a file without write(2)
import mmap, os
def attack():
    descriptor = os.open("@DIR@/precious", os.O_RDWR)
    with mmap.mmap(descriptor, 0) as mapping:
        mapping[0:1] = b"X"
        mapping.flush()
    os.utime(descriptor)
=== inherited-write: writing to every descriptor finds a log file that the application left inheritable
import os
def attack():
    for descriptor in range(3, 256):
        try:
            if "/log" in os.readlink(f"/proc/self/fd/{descriptor}"):
                os.write(descriptor, b"@TOKEN@")
        except OSError:
            pass
=== inherited-directory: a directory descriptor that was left open is a root for openat(2)
import os
def attack():
    for descriptor in range(3, 256):
        try:
            os.open("marker", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor)
        except OSError:
            pass
=== fchdir: fchdir(2) into an inherited directory, then relative names
import os
def attack():
    for descriptor in range(3, 256):
        try:
            os.fchdir(descriptor)
            open("marker", "w").close()
        except OSError:
            pass
=== dot-dot: climbing out of the working directory with ..
open('../' * 30 + '@MARKER@', 'w').close()
=== copy-file-range: copy_file_range(2) moves bytes between descriptors in the kernel
import os
def attack():
    source = os.open("@DIR@/precious", os.O_RDONLY)
    target = os.open("@DIR@/room/copy", os.O_CREAT | os.O_WRONLY)
    os.copy_file_range(source, target, 5)
=== faulthandler-file: faulthandler writes a dump to any descriptor, from C
import faulthandler
def attack():
    with open("@MARKER@", "w") as file:
        faulthandler.dump_traceback(file)
=== posix-shared-memory: shm_open makes a segment under /dev/shm that outlives the process
import _posixshmem, os
def attack():
    _posixshmem.shm_open("/attack-@TOKEN@", os.O_CREAT | os.O_RDWR, mode=0o600)
=== posix-semaphore: a named semaphore is a file under /dev/shm
import _multiprocessing
def attack():
    _multiprocessing.SemLock(0, 1, 1, "/attack-@TOKEN@", False)
=== temporary-file: tempfile picks a directory from the environment or a list
import tempfile
def attack():
    tempfile.mkstemp(dir='@DIR@')
""",
    ),
    *rows(
        _reads,
        """
=== open-read: open for reading
def attack():
    return open('@SECRET_FILE@').read()
=== traceback-source-line: a traceback shows a line of whatever file a code object claims to come from
import traceback
def attack():
    try:
        exec(compile("1/0", "@SECRET_FILE@", "exec"))
    except ZeroDivisionError:
        return traceback.format_exc()
=== import-as-read: importing a file from a path is reading it
import sys
def attack():
    sys.path.insert(0, "@DIR@")
    import arena_secret_module
    return arena_secret_module.VALUE
=== license-printer: site's license object reads the files that it is told
def attack():
    license._Printer__filenames = ["@SECRET_FILE@"]
    license._Printer__lines = None
    license._Printer__setup()
    return license._Printer__lines
=== descriptor-path: /dev/fd reopens an inherited descriptor
import os
def attack():
    for descriptor in range(3, 256):
        try:
            return open(f"/dev/fd/{descriptor}/secret").read()
        except OSError:
            pass
=== linecache: linecache reads lines of any file
import linecache
def attack():
    return linecache.getline('@SECRET_FILE@', 1)
=== config-parser: a parser of the standard library opens a path and quotes it in its error
import configparser
def attack():
    try:
        configparser.ConfigParser().read("@SECRET_FILE@")
    except configparser.Error as error:
        return str(error)
=== array-of-file: numpy reads a file from C
import numpy
def attack():
    return numpy.fromfile('@SECRET_FILE@', dtype='u1').tobytes().decode()
=== table-of-file: numpy reads a table of text by its path
import numpy
def attack():
    return str(numpy.loadtxt('@SECRET_FILE@', dtype=str, comments=None, delimiter='\\0'))
=== archive-member: an archive in memory takes up a file by its path
import io, tarfile
def attack():
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.add("@SECRET_FILE@")
    return made.getvalue().decode()
=== xml-external-entity: a document's external entity names a file, and the parser in C asks for it
import io
import xml.sax
from xml.sax.handler import ContentHandler, feature_external_ges
class Keep(ContentHandler):
    text = ""
    def characters(self, content):
        self.text += content
def attack():
    keep, parser = Keep(), xml.sax.make_parser()
    parser.setFeature(feature_external_ges, True)
    parser.setContentHandler(keep)
    parser.parse(io.StringIO('<!DOCTYPE a [<!ENTITY e SYSTEM "file:@SECRET_FILE@">]><a>&e;</a>'))
    return keep.text
=== package-data: pkgutil.get_data reads beside any module through its loader
import json, os, pkgutil
def attack():
    return pkgutil.get_data("json", os.path.relpath("@SECRET_FILE@", os.path.dirname(json.__file__))).decode()
=== file-address: an opener of addresses reads file: ones
import urllib.request
def attack():
    return urllib.request.urlopen("file://@SECRET_FILE@").read().decode()
=== netrc-error: a reader of passwords quotes the line that it does not understand
import netrc
def attack():
    try:
        netrc.netrc("@SECRET_FILE@")
    except netrc.NetrcParseError as error:
        return str(error)
=== io-open-code: io.open_code opens without the open hook
import io
def attack():
    return io.open_code('@SECRET_FILE@').read().decode()
""",
    ),
    _reads(
        "list-directory",
        "getdents64(2)",
        "import os\ndef attack():\n    return os.listdir('@DIR@')\n",
        sought="precious",
    ),
    _reads(
        "stat-oracle",
        "stat(2) tells size and existence",
        """
import os
def attack():
    return ['size', os.stat('@SECRET_FILE@').st_size]
""",
        sought='["size", 33]',
    ),
    _reads(
        "access-oracle",
        "access(2) tells whether a file exists",
        """
import os
def attack():
    return ['there', os.access('@SECRET_FILE@', os.F_OK)]
""",
        sought='["there", true]',
    ),
    _reads(
        "readlink",
        "readlink(2)",
        "import os\ndef attack():\n    return os.readlink('/proc/self/exe')\n",
        sought="python",
    ),
    _reads(
        "working-directory",
        "getcwd(2) tells a path of the host",
        "import os\ndef attack():\n    return os.getcwd()\n",
        sought=str(Path(tempfile.gettempdir(), "tmp")),  # how folders begin that a proof is run in
    ),
    _reads(
        "module-paths",
        "loaded modules and sys tell where the interpreter is installed, often below a user's home",
        "import sys, os\ndef attack():\n    return ['at', sys.prefix, sys.executable, os.__file__]\n",
        sought=sys.prefix,
        residual=(
            ("native", "where Python is installed is no secret, and only the result could carry it out"),
        ),
    ),
)
