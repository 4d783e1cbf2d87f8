"""How the process of one exercise is confined, on top of what bubblewrap does to all of them together.

A warm process lies in bubblewrap's namespaces. Each exercise gets a child of it in a process namespace of its own (it
sees no other process, and with its first process everything that it started ends), with a temporary folder of its own,
no capabilities, limits, and a filter of system calls: no further process, no socket, no memory that no limit counts.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import signal
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_NEWNS, _NEWIPC, _NEWPID = 0x20000, 0x08000000, 0x20000000  # linux/sched.h
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REC, _PRIVATE = 1, 2, 4, 8, 0x4000, 0x40000  # linux/mount.h
_NO_NEW_PRIVS, _SECCOMP, _AMBIENT, _AMBIENT_CLEAR = 38, 22, 47, 4  # linux/prctl.h
TMP_FILES = 4096  # in the temporary folder
TMP_BYTES = 64 << 20  # bytes of it
PROCESSES = 128  # threads, where the user's processes are counted


class ResourceLimits(NamedTuple):
    """What one exercise may use.

    Attributes:
        seconds: of CPU time; six times as long where it only waits.
        memory: bytes, beyond what the warm process has.
    """

    seconds: float = 10.0
    memory: int = 2 << 30


class ProcessExit(NamedTuple):
    """How a confined process ended: as `os.waitstatus_to_exitcode` has it, and the CPU time that it took.

    `total` is the CPU time of the warm process and of all its children so far.
    """

    status: int
    seconds: float
    total: float = 0.0


def enter_pid_namespace(*descriptors: int) -> None:
    """Go on as the first process of a namespace that is this process's own; what it was before waits for it to end.

    To come back to its own namespace, as `apart` has to, takes rights over it, and bubblewrap's is not an ordinary
    user's. What waits closes these file descriptors.
    """
    _call_libc("unshare", _NEWPID)
    pid = os.fork()
    if pid:
        for descriptor in descriptors:
            os.close(descriptor)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)


def fork_child(work: Callable[[], None], limits: ResourceLimits, confined: bool) -> int:
    """Run `work` in a process of its own, and give its pid. It is for the caller to wait for, and to `end`.

    Unless `confined`, it is only limited.
    """
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    try:
        if confined:
            _call_libc("unshare", _NEWPID)  # the next child is the first process of a new namespace
        pid = os.fork()
        if not pid:
            with _ExitOnLeave():
                os.close(own)
                os.setpgid(0, 0)
                if confined:
                    _set_up_namespace()
                _apply_limits(limits)
                if confined:
                    install_seccomp_filter()
                work()
    finally:
        if confined:
            _call_libc("setns", own, _NEWPID)  # or no other child could get one
        os.close(own)
    return pid


def kill_child(pid: int, confined: bool) -> None:
    """End a process that `apart` started, and what that started: unless `confined`, as far as it is still in its
    group."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    if not confined:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


class _ExitOnLeave:
    """A block after which the process is over, whatever happened in it."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        if error is not None and kind is not SystemExit:
            with contextlib.suppress(OSError):
                os.write(2, f"{kind.__name__ if kind else ''}: {error}\n".encode())
        os._exit(0 if error is None else 70)


def _set_up_namespace() -> None:
    """Have a /proc and a temporary folder of its own, as the first process of a new namespace, and no rights."""
    _call_libc("unshare", _NEWNS | _NEWIPC)
    _call_libc("mount", None, b"/", None, _REC | _PRIVATE, None)
    _call_libc("mount", b"proc", b"/proc", b"proc", _RDONLY | _NOSUID | _NODEV | _NOEXEC, None)
    options = f"size={TMP_BYTES},nr_inodes={TMP_FILES},mode=700".encode()
    _call_libc("mount", b"tmpfs", b"/tmp", b"tmpfs", _NOSUID | _NODEV, options)
    _call_libc("prctl", _AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)
    _call_libc("prctl", _NO_NEW_PRIVS, 1, 0, 0, 0)
    header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
    _call_libc("capset", header, nothing)


def _apply_limits(limits: ResourceLimits) -> None:
    import resource  # Windows has none, and `coginst doctor` imports this file there as well

    seconds = int(limits.seconds) + 2  # the alarm of `utils.feedback` rings first, and says where
    used = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    data = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[5]) * os.sysconf("SC_PAGE_SIZE")
    for what, most in {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_DATA: data + limits.memory,  # torch says that there is no more, and nobody is killed
        resource.RLIMIT_AS: used + limits.memory + (1 << 28),  # and what is shared, which the former does not count
        resource.RLIMIT_FSIZE: TMP_BYTES,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: PROCESSES,
        resource.RLIMIT_MSGQUEUE: 0,
    }.items():
        highest = resource.getrlimit(what)[1]
        most = most if highest == resource.RLIM_INFINITY else min(most, highest)
        resource.setrlimit(what, (most, most + 1 if what == resource.RLIMIT_CPU else most))
    with contextlib.suppress(OSError):  # if the machine runs out of memory all the same, this goes first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="utf-8")


def _call_libc(name: str, *arguments: object) -> None:
    """Call a function of the C library. Raises `OSError` where it fails."""
    if getattr(_libc(), name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


# --- the filter of system calls -------------------------------------------------------------------------

# What starts processes, reaches the network, other processes or the kernel, or takes memory that no limit counts, by
# number: asm/unistd_64.h, and asm-generic/unistd.h for aarch64. `clone` is for threads alone; the C library falls back
# to it where there is no `clone3`.
_X86 = {
    "fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "ptrace": 101, "process_vm_readv": 310,
    "process_vm_writev": 311, "memfd_create": 319, "memfd_secret": 447, "shmget": 29, "semget": 64, "msgget": 68,
    "mq_open": 240, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308,
    "open_by_handle_at": 304, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsmount": 432, "mount_setattr": 442,
    "userfaultfd": 323, "bpf": 321, "perf_event_open": 298, "add_key": 248, "request_key": 249, "keyctl": 250,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "kexec_load": 246, "init_module": 175,
    "finit_module": 313, "socket": 41, "kcmp": 312, "pidfd_open": 434, "pidfd_getfd": 438, "personality": 135,
}  # fmt: skip
_ARM = {
    "execve": 221, "execveat": 281, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271,
    "memfd_create": 279, "memfd_secret": 447, "shmget": 194, "semget": 190, "msgget": 186, "mq_open": 180, "mount": 40,
    "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268, "open_by_handle_at": 265,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsmount": 432, "mount_setattr": 442, "userfaultfd": 282,
    "bpf": 280, "perf_event_open": 241, "add_key": 217, "request_key": 218, "keyctl": 219, "io_uring_setup": 425,
    "io_uring_enter": 426, "io_uring_register": 427, "kexec_load": 104, "init_module": 105, "finit_module": 273,
    "socket": 198, "kcmp": 272, "pidfd_open": 434, "pidfd_getfd": 438, "personality": 92,
}  # fmt: skip
_CLONE3, _THREAD = 435, 0x10000
_SETLEASE = 1024  # linux/fcntl.h: makes others wait who open the file, and every runner sees the same files


class Architecture(NamedTuple):
    """A kind of processor: how the kernel calls it (linux/audit.h), its `clone` and `fcntl`, and what it refuses."""

    audit_arch: int
    clone_number: int
    fcntl_number: int
    denied_calls: dict[str, int]


ARCHITECTURES = {"x86_64": Architecture(0xC000003E, 56, 72, _X86), "aarch64": Architecture(0xC00000B7, 220, 25, _ARM)}

# A program of the Berkeley packet filter: (code, jump if true, jump if false, operand), linux/filter.h.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000


def seccomp_program(machine: Architecture) -> bytes:
    """The filter for a processor."""
    refuse, missing = _REFUSE | errno.EPERM, _REFUSE | errno.ENOSYS
    steps = [
        (_LOAD, 0, 0, 4),  # the processor
        (_EQUAL, 1, 0, machine.audit_arch),
        (_RETURN, 0, 0, _KILL),  # a call in another machine's numbers
        (_LOAD, 0, 0, 0),  # the call's number
        (_AT_LEAST, 0, 1, 0x40000000),  # x32's numbers
        (_RETURN, 0, 0, refuse),
        (_EQUAL, 0, 1, _CLONE3),
        (_RETURN, 0, 0, missing),
    ]
    for number in machine.denied_calls.values():
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, refuse)]
    steps += [
        (_EQUAL, 0, 4, machine.fcntl_number),
        (_LOAD, 0, 0, 24),  # its command
        (_EQUAL, 0, 1, _SETLEASE),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
        (_EQUAL, 0, 3, machine.clone_number),
        (_LOAD, 0, 0, 16),  # its flags
        (_ANY_BIT, 1, 0, _THREAD),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def install_seccomp_filter() -> None:
    """Refuse, from here on, what `program` refuses. Raises `OSError` where this processor is not known."""
    machine = ARCHITECTURES.get(platform.machine())
    if machine is None:
        raise OSError(errno.ENOTSUP, f"no filter of system calls for {platform.machine()}")
    code = seccomp_program(machine)
    held = ctypes.create_string_buffer(code, len(code))
    whole = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(held))
    _call_libc("prctl", _SECCOMP, 2, ctypes.c_char_p(whole), 0, 0)


def probe() -> None:
    """Try what every exercise is going to need, and print "well". Raises `OSError` where this machine refuses it."""

    def work() -> None:
        held = Path("/tmp", "probe")
        held.write_text("well", encoding="utf-8")
        os.write(1, held.read_bytes())

    enter_pid_namespace()
    for _ in range(2):  # the second shows that the way back was there
        os.waitpid(fork_child(work, ResourceLimits(), confined=True), 0)
