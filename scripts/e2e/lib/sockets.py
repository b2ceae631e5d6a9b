"""Connecting: the options that the tests' clients have in common."""

import socket
import ssl


def connect(host, port, timeout, tls=False, receive_buffer=None, source=None):
    """A connected socket. receive_buffer: its size in bytes, which must be set before; tls: any certificate will do;
    source: the address it comes from, like 127.0.0.2."""
    connection = socket.socket()
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(timeout)
    if source:
        connection.bind((source, 0))
    connection.connect((host, port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if tls:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = context.wrap_socket(connection, server_hostname=host)
    return connection
