"""All sandboxes of a process, found by id or by the Authorization header of a request."""

from __future__ import annotations

from collections.abc import Iterator

from paydouble.core.errors import UnknownThing, UsageError
from paydouble.guards.credentials import basic_header, parse_basic
from paydouble.sandbox.business import Sandbox


class Registry:
    """The sandboxes that exist; ids and business keys are unique among them."""

    __slots__ = ("_by_header", "_by_id", "_by_key")

    def __init__(self) -> None:
        """Start without any."""
        self._by_id: dict[str, Sandbox] = {}
        self._by_key: dict[str, Sandbox] = {}
        # By the whole header that a well-formed client sends: a look-up per request instead of decoding it.
        self._by_header: dict[str, Sandbox] = {}

    def __iter__(self) -> Iterator[Sandbox]:
        """Iterate in the order of creation."""
        return iter(tuple(self._by_id.values()))

    def __len__(self) -> int:
        """Count the sandboxes."""
        return len(self._by_id)

    def __contains__(self, sandbox_id: object) -> bool:
        """Return whether there is a sandbox with this id."""
        return sandbox_id in self._by_id

    def add(self, sandbox: Sandbox) -> None:
        """Add a sandbox; `UsageError` when its id or its key is taken."""
        identity = sandbox.identity
        if identity.id in self._by_id:
            raise UsageError(f"there already is a sandbox {identity.id!r}", member="id")
        if identity.business_key in self._by_key:
            raise UsageError(f"the key {identity.business_key!r} is another sandbox's", member="business_key")
        self._by_id[identity.id] = sandbox
        self._by_key[identity.business_key] = sandbox
        self._by_header[basic_header(identity.business_key, identity.business_secret)] = sandbox

    def remove(self, sandbox: Sandbox) -> None:
        """Remove a sandbox; its credentials are unknown from now on."""
        identity = sandbox.identity
        del self._by_id[identity.id]
        del self._by_key[identity.business_key]
        del self._by_header[basic_header(identity.business_key, identity.business_secret)]

    def get(self, sandbox_id: str) -> Sandbox:
        """Return a sandbox by id; `UnknownThing` when there is none."""
        try:
            return self._by_id[sandbox_id]
        except KeyError:
            raise UnknownThing(f"There is no sandbox {sandbox_id[:64]!r}.") from None

    def find(self, authorization: str | None) -> tuple[Sandbox | None, bool]:
        """Return the sandbox of an Authorization header's business key, or None, and whether the secret is right."""
        if authorization is None:
            return None, False
        sandbox = self._by_header.get(authorization)
        if sandbox is not None:
            return sandbox, True
        credentials = parse_basic(authorization)
        if credentials is None:
            return None, False
        sandbox = self._by_key.get(credentials[0])
        return sandbox, sandbox is not None and sandbox.identity.business_secret == credentials[1]
