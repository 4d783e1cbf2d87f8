"""Cut the network: with this folder on PYTHONPATH, every Python of a test run can only connect to this machine. Every
other attempt raises an error.

The attempt is also recorded in COURSE_OUTBOUND, because a library may catch the error, and an offline course must not
even try.
"""

import ipaddress
import os
import socket

_connect, _getaddrinfo = socket.socket.connect, socket.getaddrinfo


def _here(host: object) -> bool:
    if host in (None, "", "localhost", socket.gethostname()):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _refuse(host: object) -> None:
    log = os.environ.get("COURSE_OUTBOUND")
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"{host}\n")
    raise OSError(f"the tests run with the network cut, and something asked for {host}")


def connect(self: socket.socket, address: object) -> None:
    if self.family in (socket.AF_INET, socket.AF_INET6) and not _here(address[0]):
        _refuse(address[0])
    return _connect(self, address)


def getaddrinfo(host: object, *args: object, **kwargs: object) -> list:
    name = host.decode() if isinstance(host, bytes) else host
    if not _here(name):
        _refuse(name)
    return _getaddrinfo(host, *args, **kwargs)


socket.socket.connect, socket.getaddrinfo = connect, getaddrinfo
