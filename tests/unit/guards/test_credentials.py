"""Credentials, addresses and permissions as plain functions."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

from hypothesis import given
from hypothesis import strategies as st

from paydouble.guards.credentials import address_allowed, basic_header, parse_basic, permitted

keys = st.text(st.characters(exclude_characters=":", exclude_categories=["Cs"]))
secrets = st.text(st.characters(exclude_categories=["Cs"]))
anything = st.text(st.characters(exclude_categories=()))
addresses = st.ip_addresses()
names = st.text("ab-", min_size=1, max_size=8)


@given(key=keys, secret=secrets)
def test_what_is_written_is_read(key: str, secret: str) -> None:
    """Any key without a colon and any secret, with colons and beyond ASCII, come through the header."""
    assert parse_basic(basic_header(key, secret)) == (key, secret)


@given(header=anything | st.builds("Basic {}".format, anything))
def test_no_header_breaks_anything(header: str) -> None:
    """Whatever stands in the header, stray bytes included, it is read or it is not."""
    found = parse_basic(header)

    assert found is None or len(found) == 2


@given(address=addresses.filter(lambda each: getattr(each, "ipv4_mapped", None) is None), bits=st.integers(0, 32))
def test_an_address_is_in_its_own_networks(address: object, bits: int) -> None:
    """Every network around an address allows it; one in other clothes counts as what it stands for, as below."""
    network = ip_network(f"{address}/{bits}", strict=False)

    assert address_allowed(str(address), (network,))


@given(address=st.ip_addresses(v=4), other=st.ip_addresses(v=4), bits=st.integers(0, 32))
def test_an_ipv4_address_counts_the_same_in_ipv6_clothes(address: object, other: object, bits: int) -> None:
    """`::ffff:a.b.c.d` is allowed exactly where `a.b.c.d` is."""
    networks = (ip_network(f"{other}/{bits}", strict=False),)

    plain, clothed = address_allowed(str(address), networks), address_allowed(f"::ffff:{address}", networks)

    assert plain == clothed == (ip_address(str(address)) in networks[0])


@given(text=anything)
def test_what_is_no_address_is_not_allowed(text: str) -> None:
    """A peer without an address is in no network."""
    assert not address_allowed(text + " ", (ip_network("0.0.0.0/0"), ip_network("::/0")))


@given(name=names, start=st.integers(0, 8), end=st.integers(0, 8))
def test_a_star_stands_for_any_run_of_characters(name: str, start: int, end: int) -> None:
    """A name with any run replaced by a star still matches; with a foreign letter it does not."""
    start, end = min(start, len(name)), max(min(start, len(name)), min(end, len(name)))

    assert permitted(name, [f"{name[:start]}*{name[end:]}"])
    assert not permitted(name, [f"{name}x*", f"*x{name}"])
    assert not permitted(name, [])
