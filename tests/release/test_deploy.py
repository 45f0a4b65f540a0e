"""`deploy/`: several servers behind nginx, whose sandboxes are found by the beginning of their ids and keys."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from paydouble.core.errors import UnknownThing, UsageError
from paydouble.runtime.host import Host, HostOptions, SandboxSpec
from paydouble.sandbox.forking import ForkSpec

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


async def test_ids_and_keys_begin_with_the_name_of_the_server() -> None:
    """Those that are made up do; others are refused, since the proxy would not find them."""
    host = Host(HostOptions(instance="i2"))
    try:
        made = host.create(SandboxSpec())
        fork = host.fork(made, ForkSpec(), None)
        chosen = host.create(SandboxSpec(id="i2-mine"))
        for spec, member in ((SandboxSpec(id="mine"), "id"), (SandboxSpec(business_key="mine"), "business_key")):
            with pytest.raises(UsageError, match="this server is i2 of several") as refused:
                host.create(spec)
            assert refused.value.member == member
        with pytest.raises(UnknownThing, match="if it was restarted, its sandboxes have ended with it"):
            host.find("i2-gone")
    finally:
        await host.close()

    for box in (made, fork, chosen):
        assert box.identity.id.startswith("i2-")
        assert box.identity.business_key.startswith("key_i2-")


@pytest.mark.parametrize("name", ["servers.conf", "kubernetes/servers.conf"])
def test_each_server_has_a_block_and_makes_sandboxes(name: str) -> None:
    """The blocks are named as instances are, and `any` has all of them."""
    text = (DEPLOY / name).read_text("utf-8")
    blocks = dict(re.findall(r"^upstream (i\d+) \{ server (\S+);", text, re.MULTILINE))
    every = re.findall(r"^  server (\S+) ", text, re.MULTILINE)

    assert len(blocks) == 4
    assert every == list(blocks.values())


def test_the_cluster_has_the_pods_that_nginx_knows() -> None:
    """Their number, their names and their port are those of servers.conf, and all files are there."""
    documents = [
        each for path in (DEPLOY / "kubernetes").glob("*.yaml") for each in yaml.safe_load_all(path.read_text("utf-8"))
    ]
    (pods,) = [each for each in documents if each["kind"] == "StatefulSet"]
    names = [f"{pods['metadata']['name']}-{number}" for number in range(pods["spec"]["replicas"])]
    (container,) = pods["spec"]["template"]["spec"]["containers"]
    port = container["ports"][0]["containerPort"]
    wanted = [f"{name}.{pods['spec']['serviceName']}:{port}" for name in names]
    text = (DEPLOY / "kubernetes" / "servers.conf").read_text("utf-8")

    assert re.findall(r"^upstream i\d+ \{ server (\S+);", text, re.MULTILINE) == wanted
    assert pods["spec"]["serviceName"] in [each["metadata"]["name"] for each in documents if each["kind"] == "Service"]
    custom = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text("utf-8"))
    files = [each.rpartition("=")[2] for each in (*custom["resources"], *custom["configMapGenerator"][0]["files"])]
    assert [each for each in files if not (DEPLOY / each).is_file()] == []


def test_shards_share_four_servers() -> None:
    """With real servers and nginx: nobody sees what is not theirs, and a killed server takes only its own sandboxes."""
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    done = subprocess.run(
        [sys.executable, "tools/farm.py", "--minutes", "0.1", "--shards", "8"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrong: 0" in done.stdout
    assert re.search(r"^[1-9]\d* rounds began after one server was killed", done.stdout, re.MULTILINE)


def test_the_entry_for_testcontainers_names_the_packages() -> None:
    """Those of the three clients, as they are called there."""
    text = (ROOT / "clients" / "registry" / "paydouble" / "index.md").read_text("utf-8")
    entry = yaml.safe_load(text.split("---\n")[1])
    java, go, node = entry["docs"]
    pom = (ROOT / "clients" / "java" / "paydouble-testcontainers" / "pom.xml").read_text("utf-8")

    assert [each["id"] for each in entry["docs"]] == ["java", "go", "nodejs"]
    for tag in re.findall(r"<(?:groupId|artifactId)>[^<]+</", java["installation"]):
        assert tag in pom
    module = (ROOT / "clients/go/paydoublecontainer/go.mod").read_text("utf-8").split()[1]
    assert module in go["installation"]
    name = json.loads((ROOT / "clients" / "node" / "package.json").read_text("utf-8"))["name"]
    assert f" {name} " in node["installation"]
