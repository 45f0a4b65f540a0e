"""`paydouble openapi`."""

from __future__ import annotations

import json

import pytest
import yaml

from paydouble.cli.main import run


def test_it_prints_the_document_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON by default, with the server's URL as it is given."""
    status = run(["openapi", "--server-url", "https://pay.test"])

    document = json.loads(capsys.readouterr().out)
    assert (status, document["openapi"][:3], document["servers"][0]["url"]) == (0, "3.1", "https://pay.test")
    assert "/api/v1/pay-in/deposit-creation" in document["paths"]


def test_it_prints_the_control_document(capsys: pytest.CaptureFixture[str]) -> None:
    """--control prints the control API's document."""
    status = run(["openapi", "--control"])

    document = json.loads(capsys.readouterr().out)
    assert (status, document["servers"][0]["url"]) == (0, "http://127.0.0.1:8080")
    assert "/_paydouble/sandboxes/{s}/faults" in document["paths"]


def test_yaml_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """--format yaml prints the same document."""
    run(["openapi"])
    as_json = json.loads(capsys.readouterr().out)
    run(["openapi", "--format", "yaml"])

    assert yaml.safe_load(capsys.readouterr().out) == as_json
