"""Requests that are valid, nearly valid, invalid and malformed, and what must hold for every answer.

`business` plays against a sandbox in this process, `sockets` against a server. A seed repeats a play.
"""
