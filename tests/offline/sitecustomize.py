"""Cuts the network: on PYTHONPATH, every Python of a test run can reach this machine only, and says so when asked for
more.

A course that works offline must not even try: a library that swallows the error still left a line in COURSE_OUTBOUND.
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
