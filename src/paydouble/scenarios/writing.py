"""A scenario as plain data and as the text of a file: only the keys that were given, numbers with their digits."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import yaml

from paydouble.core.json_text import Number
from paydouble.scenarios.model import Scenario
from paydouble.yamlfile.tree import PLAIN_WORDS

_WIDTH: Final = 110


def plain(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as the mapping that its file holds; numbers with a fraction are `Number`s."""
    made: dict[str, Any] = _plain(scenario.model_dump(by_alias=True, exclude_unset=True))
    return made


def write_scenario(scenario: Scenario) -> str:
    """Return the YAML text of a scenario's file."""
    # Mappings and lists without nested ones go on one line, as people write steps.
    return yaml.dump(
        plain(scenario),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=_WIDTH,
        default_flow_style=None,
    )


def _plain(value: Any) -> Any:  # noqa: ANN401 - what a dumped model holds
    match value:
        case dict():
            return {name: _plain(member) for name, member in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case Decimal() if not isinstance(value, Number):
            return Number(format(value, "f"))
        case _:
            return value


class _Dumper(yaml.SafeDumper):
    """Quotes each text that our reader, or a YAML 1.1 reader, would take for something else."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002 - PyYAML's signature
        """Write everything out: our reader refuses aliases."""
        return True


def _number(dumper: yaml.SafeDumper, number: Number) -> yaml.ScalarNode:
    # An exact amount without a fraction is a YAML integer.
    kind = "int" if number.lexeme.lstrip("-").isdigit() else "float"
    return dumper.represent_scalar(f"tag:yaml.org,2002:{kind}", number.lexeme)


_Dumper.add_representer(Number, _number)
# The first resolver that matches wins, so ours come before those of YAML 1.1.
_Dumper.yaml_implicit_resolvers = {
    first: [
        *((f"tag:yaml.org,2002:{kind}", pattern) for kind, pattern in PLAIN_WORDS),
        *yaml.SafeDumper.yaml_implicit_resolvers.get(first, []),
    ]
    for first in {*"+-.0123456789", *yaml.SafeDumper.yaml_implicit_resolvers}
}
