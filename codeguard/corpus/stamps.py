"""What one stat of a file says about whether its content is still the one that was read."""

from __future__ import annotations

import os

UNSETTLED = ""  # the stamp of a file that may change again without its times showing it
COARSEST_NS = 2_000_000_000  # between two times that a common file system can tell apart


def stamp_of(info: os.stat_result) -> str:
    """Return what changes when a file does: size, times in nanoseconds, inode and device.

    The content's time can be set back by anyone who may write the file; the time of change cannot.
    """
    return f"{info.st_size} {info.st_mtime_ns} {info.st_ctime_ns} {info.st_ino} {info.st_dev}"


def settled_stamp(info: os.stat_result, now_ns: int) -> str:
    """Return the stamp of a file that is read from `now_ns` (nanoseconds since 1970) on, or UNSETTLED.

    A later change could get the same times if the last one is too recent: then no stamp stands for the content.
    """
    recent = max(info.st_mtime_ns, info.st_ctime_ns) > now_ns - COARSEST_NS
    return UNSETTLED if recent else stamp_of(info)
