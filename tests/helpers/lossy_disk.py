"""A disk whose power a test can cut: ext4 on a loop device, which is shut down without writing its caches."""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_SHUTDOWN_IOCTL = 0x8004587D  # EXT4_IOC_SHUTDOWN
_NO_LOG_FLUSH = 2  # EXT4_GOING_FLAGS_NOLOGFLUSH: neither the data nor the journal in memory is written
_SIZE = 256 << 20


class LossyDisk:
    """A mounted file system on a loop device."""

    def __init__(self, folder: Path) -> None:
        self.image, self.path = folder / "disk.img", folder / "disk"
        self.device = ""

    def create(self) -> None:
        """Create and mount the file system. Raise OSError or CalledProcessError if the machine does not allow it."""
        self.path.mkdir()
        with self.image.open("wb") as file:
            file.truncate(_SIZE)
        _run("mkfs.ext4", "-q", str(self.image))
        self.device = _run("losetup", "--find", "--show", str(self.image)).strip()
        self.mount()

    def mount(self) -> None:
        """Mount the file system, which replays its journal."""
        _run("mount", self.device, str(self.path))

    def cut_power(self) -> None:
        """Discard everything that has not been written to the device. Later writes fail until the next mount."""
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _SHUTDOWN_IOCTL, struct.pack("I", _NO_LOG_FLUSH))
        finally:
            os.close(folder)

    def unmount(self) -> None:
        """Unmount the file system."""
        _run("umount", str(self.path))

    def remove(self) -> None:
        """Unmount the file system if it is mounted, and release the device."""
        if self.path.is_mount():
            self.unmount()
        if self.device:
            _run("losetup", "--detach", self.device)
        self.image.unlink(missing_ok=True)


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@contextmanager
def mount_lossy_disk(folder: Path) -> Iterator[LossyDisk]:
    """Mount a disk for the duration of the block. Skip the test by name if the machine does not allow it."""
    missing = [name for name in ("mkfs.ext4", "losetup", "mount", "umount") if shutil.which(name) is None]
    if os.geteuid() or missing:
        pytest.skip(f"cuts the power of a loop device: needs root and mkfs.ext4, losetup and mount ({missing} missing)")
    disk = LossyDisk(folder)
    try:
        try:
            disk.create()
            disk.cut_power()
            disk.unmount()
            disk.mount()
        except (OSError, subprocess.CalledProcessError) as error:
            reason = getattr(error, "stderr", "") or error
            pytest.skip(f"cuts the power of a loop device, which this machine does not allow: {reason}")
        yield disk
    finally:
        disk.remove()
