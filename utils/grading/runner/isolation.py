"""Confine the process of one exercise. Bubblewrap's isolation, which all exercises share, also applies.

The fork server runs in bubblewrap's namespaces. For each exercise it starts a child in a new PID namespace: the child
sees no other process, and when the child ends, its descendants end too. The child has a private temporary folder, no
capabilities, resource limits, and a system call filter. The filter forbids new processes, new sockets, and
kinds of memory that no limit covers.
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
from typing import Literal, NamedTuple, NoReturn

Isolation = Literal["bwrap", "container", "none"]

_NEWNS, _NEWIPC, _NEWPID = 0x20000, 0x08000000, 0x20000000  # linux/sched.h
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REC, _PRIVATE = 1, 2, 4, 8, 0x4000, 0x40000  # linux/mount.h
_NO_NEW_PRIVS, _SECCOMP, _AMBIENT, _AMBIENT_CLEAR = 38, 22, 47, 4  # linux/prctl.h
TMP_FILES = 4096  # maximum number of files in the temporary folder
TMP_BYTES = 64 << 20  # maximum number of bytes in the temporary folder
PROCESSES = 128  # maximum number of processes and threads of the user (RLIMIT_NPROC)


class ResourceLimits(NamedTuple):
    """The resources that one exercise may use.

    Attributes:
        seconds: CPU seconds. An answer that only waits may take six times as long.
        memory: bytes in addition to the memory of the fork server.
    """

    seconds: float = 10.0
    memory: int = 2 << 30


class ProcessExit(NamedTuple):
    """How a confined process ended.

    Attributes:
        status: the exit code, in the convention of `os.waitstatus_to_exitcode`.
        seconds: the CPU seconds of the process.
        total: the CPU seconds of the fork server and all its children so far.
    """

    status: int
    seconds: float
    total: float = 0.0


def enter_pid_namespace(*descriptors: int) -> None:
    """Fork, and continue in the child as the first process of a new PID namespace.

    The parent closes the given file descriptors, waits for the child and exits with the child's status. The new
    namespace is necessary because `fork_child` must later return to the fork server's namespace. A process can
    return to a namespace only if it has rights over it. An ordinary user has no rights over bubblewrap's namespace.
    """
    _call_libc("unshare", _NEWPID)
    pid = os.fork()
    if pid:
        for descriptor in descriptors:
            os.close(descriptor)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)


def fork_child(work: Callable[[], None], limits: ResourceLimits, isolation: Isolation) -> int:
    """Run `work` in a new process and return its PID. The caller must wait for the process and call `kill_child`.

    Args:
        isolation: "bwrap" for namespaces and the system call filter; "container" for the filter only, because a
            container forbids new namespaces; "none" for neither. The resource limits always apply.
    """
    has_namespace = isolation == "bwrap"
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    try:
        if has_namespace:
            _call_libc("unshare", _NEWPID)  # The next child is the first process of a new namespace.
        pid = os.fork()
        if not pid:
            os.close(own)
            _run_and_exit(work, limits, isolation)
    finally:
        if has_namespace:
            # Return to the original namespace. Otherwise, no later fork could create a new namespace.
            _call_libc("setns", own, _NEWPID)
        os.close(own)
    return pid


def kill_child(pid: int, isolation: Isolation) -> None:
    """Kill a process that `fork_child` started, and its descendants.

    Without isolation, descendants that have left the process group survive.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    if isolation != "bwrap":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def _run_and_exit(work: Callable[[], None], limits: ResourceLimits, isolation: Isolation) -> NoReturn:
    """Confine this process, run `work`, and always exit, even if an exception is raised."""
    status = 70
    try:
        os.setpgid(0, 0)
        if isolation == "bwrap":
            _set_up_namespace()
        _apply_limits(limits)
        if isolation != "none":
            _call_libc("prctl", _NO_NEW_PRIVS, 1, 0, 0, 0)
            install_seccomp_filter()
        work()
        status = 0
    except SystemExit:
        pass
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(status)


def _set_up_namespace() -> None:
    """In the first process of a new PID namespace, mount a new /proc and /tmp and drop all capabilities."""
    _call_libc("unshare", _NEWNS | _NEWIPC)
    _call_libc("mount", None, b"/", None, _REC | _PRIVATE, None)
    _call_libc("mount", b"proc", b"/proc", b"proc", _RDONLY | _NOSUID | _NODEV | _NOEXEC, None)
    options = f"size={TMP_BYTES},nr_inodes={TMP_FILES},mode=700".encode()
    _call_libc("mount", b"tmpfs", b"/tmp", b"tmpfs", _NOSUID | _NODEV, options)
    _call_libc("prctl", _AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)
    header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
    _call_libc("capset", header, nothing)


def _apply_limits(limits: ResourceLimits) -> None:
    import resource  # Windows has no such module, and `coginst doctor` imports this file on Windows too.

    seconds = int(limits.seconds) + 2  # `utils.exercises.timeout` stops the answer first and reports the line.
    pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()
    used, data = (int(pages[field]) * os.sysconf("SC_PAGE_SIZE") for field in (0, 5))
    for what, most in {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_DATA: data + limits.memory,  # Above this limit, an allocation raises an exception.
        resource.RLIMIT_AS: used + limits.memory + (1 << 28),  # Shared memory also counts towards this limit.
        resource.RLIMIT_FSIZE: TMP_BYTES,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: PROCESSES,
        resource.RLIMIT_MSGQUEUE: 0,
    }.items():
        highest = resource.getrlimit(what)[1]
        most = most if highest == resource.RLIM_INFINITY else min(most, highest)
        resource.setrlimit(what, (most, most + 1 if what == resource.RLIMIT_CPU else most))
    with contextlib.suppress(OSError):  # If the machine still runs out of memory, the kernel kills this process first.
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="utf-8")


def _call_libc(name: str, *arguments: object) -> None:
    """Call a C library function.

    Raises:
        OSError: the function fails.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


# --- the system call filter -----------------------------------------------------------------------------

# The denied system calls and their numbers (asm/unistd_64.h, and asm-generic/unistd.h for aarch64). They can
# start processes, give access to the network, to other processes or to the kernel, or allocate memory that no limit
# covers. `clone` is allowed only for threads. `clone3` is reported as missing, so the C library uses `clone` instead.
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
_SETLEASE = 1024  # linux/fcntl.h; denied, because a lease on a shared file delays the other runners that open it


class Architecture(NamedTuple):
    """A processor architecture: its audit constant (linux/audit.h) and the numbers of its system calls."""

    audit_arch: int
    clone_number: int
    fcntl_number: int
    denied_calls: dict[str, int]


ARCHITECTURES = {"x86_64": Architecture(0xC000003E, 56, 72, _X86), "aarch64": Architecture(0xC00000B7, 220, 25, _ARM)}

# Instructions of a Berkeley Packet Filter (linux/filter.h): (code, jump if true, jump if false, operand).
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000


def seccomp_program(machine: Architecture) -> bytes:
    """Return the system call filter for an architecture as BPF bytecode."""
    refuse, missing = _REFUSE | errno.EPERM, _REFUSE | errno.ENOSYS
    steps = [
        (_LOAD, 0, 0, 4),  # the architecture of the call
        (_EQUAL, 1, 0, machine.audit_arch),
        (_RETURN, 0, 0, _KILL),  # The call uses the system call numbers of a different architecture.
        (_LOAD, 0, 0, 0),  # the number of the call
        (_AT_LEAST, 0, 1, 0x40000000),  # the system call numbers of the x32 ABI
        (_RETURN, 0, 0, refuse),
        (_EQUAL, 0, 1, _CLONE3),
        (_RETURN, 0, 0, missing),
    ]
    for number in machine.denied_calls.values():
        steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, refuse)]
    steps += [
        (_EQUAL, 0, 4, machine.fcntl_number),
        (_LOAD, 0, 0, 24),  # the command of fcntl
        (_EQUAL, 0, 1, _SETLEASE),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
        (_EQUAL, 0, 3, machine.clone_number),
        (_LOAD, 0, 0, 16),  # the flags of clone
        (_ANY_BIT, 1, 0, _THREAD),
        (_RETURN, 0, 0, refuse),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def install_seccomp_filter() -> None:
    """Install the filter from `seccomp_program` for this process.

    Raises:
        OSError: there is no filter for the architecture of this machine, or the kernel does not accept the filter.
    """
    machine = ARCHITECTURES.get(platform.machine())
    if machine is None:
        raise OSError(errno.ENOTSUP, f"no system call filter for {platform.machine()}")
    code = seccomp_program(machine)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    _call_libc("prctl", _SECCOMP, 2, ctypes.c_char_p(program), 0, 0)


def probe() -> None:
    """Run two confined children that use /tmp, and print "well" for each. Raises `OSError` if isolation fails."""

    def work() -> None:
        path = Path("/tmp", "probe")
        path.write_text("well", encoding="utf-8")
        os.write(1, path.read_bytes())

    enter_pid_namespace()
    for _ in range(2):  # The second child shows that returning to the original namespace works.
        os.waitpid(fork_child(work, ResourceLimits(), "bwrap"), 0)
