"""https targets: TLS 1.2 or higher, and a valid certificate (contract section 8)."""

from __future__ import annotations

import ssl
import warnings
from pathlib import Path
from typing import Any

import pytest
import trustme
from receivers import receiving
from servers import running

from paydouble.core.errors import UsageError
from paydouble.runtime.host import HostOptions
from paydouble.server import Server, ServerOptions

CA = trustme.CA()


@pytest.fixture
def ca_file(tmp_path: Path) -> Path:
    """Return the file of the certificate that signed the receivers' certificates."""
    path = tmp_path / "ca.pem"
    CA.cert_pem.write_to_path(str(path))
    return path


def _context(name: str = "127.0.0.1") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    CA.issue_cert(name).configure_cert(context)
    return context


async def _delivery(context: ssl.SSLContext, **shared: Any) -> dict[str, Any]:  # noqa: ANN401 - members of HostOptions
    """Send one event to a receiver with this context and return the delivery after its first attempt."""
    async with (
        receiving(tls=context) as receiver,
        running(ServerOptions(port=0, shared=HostOptions(**shared))) as client,
    ):
        box = await client.sandbox(notification_url=receiver.url, scenario="abandoned")
        await box.deposit()
        await box.advance(by="0s")
        (delivery,) = await box.deliveries()
        assert len(receiver.requests) == (delivery["status"] == "delivered")
        return delivery


async def test_a_certificate_of_a_trusted_authority_is_accepted(ca_file: Path) -> None:
    """With `ca_file` a local authority's certificate is accepted."""
    delivery = await _delivery(_context(), ca_file=ca_file)

    assert delivery["status"] == "delivered"


async def test_an_untrusted_certificate_is_refused() -> None:
    """Without it the attempt fails with `tls`, and nothing is sent."""
    delivery = await _delivery(_context())

    assert delivery["attempts"][0]["error"]["kind"] == "tls"
    assert "certificate" in delivery["attempts"][0]["error"]["message"].lower()


async def test_insecure_targets_checks_nothing() -> None:
    """With `insecure_targets` any certificate is accepted."""
    delivery = await _delivery(_context("elsewhere.test"), insecure_targets=True)

    assert delivery["status"] == "delivered"


async def test_a_certificate_for_another_host_is_refused(ca_file: Path) -> None:
    """A trusted certificate for another name is refused."""
    delivery = await _delivery(_context("elsewhere.test"), ca_file=ca_file)

    assert delivery["attempts"][0]["error"]["kind"] == "tls"


@pytest.mark.parametrize("insecure", [False, True])
async def test_old_tls_is_refused(ca_file: Path, insecure: bool) -> None:
    """A receiver with TLS 1.1 at most gets nothing, even when its certificate is not checked."""
    context = _context()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1_1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")

    delivery = await _delivery(context, ca_file=ca_file, insecure_targets=insecure)

    assert delivery["attempts"][0]["error"]["kind"] == "tls"


async def test_a_receiver_without_tls_is_a_tls_error(ca_file: Path) -> None:
    """A plain receiver under an https URL gives the error `tls`."""
    shared = HostOptions(ca_file=ca_file)
    async with receiving() as receiver, running(ServerOptions(port=0, shared=shared)) as client:
        url = receiver.url.replace("http:", "https:")
        settings = {"webhooks": {"timeout": "200ms"}}
        box = await client.sandbox(notification_url=url, scenario="abandoned", settings=settings)
        await box.deposit()
        await box.advance(by="0s")

        (delivery,) = await box.deliveries()
        assert delivery["attempts"][0]["error"]["kind"] in {"tls", "timeout"}


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_bad_ca_file_is_refused_at_start(tmp_path: Path, content: str | None) -> None:
    """A CA file that is missing or has no certificate stops the start, with the option's name."""
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)

    with pytest.raises(UsageError, match=r"^--ca-file: .*ca\.pem cannot be used: "):
        Server(ServerOptions(port=0, shared=HostOptions(ca_file=path)))
