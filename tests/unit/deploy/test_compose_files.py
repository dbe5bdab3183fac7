"""The compose files beside one another, without an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]


class _Loader(yaml.SafeLoader):
    """Reads Compose's own tag as what it stands for: the value is taken away."""


_Loader.add_constructor("!reset", lambda _loader, _node: None)


def services(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.load((ROOT / name).read_text(encoding="utf-8"), _Loader)["services"]  # noqa: S506
    return read


def test_podman_is_spared_start_interval_wherever_it_stands() -> None:
    checked = {name for name, service in services("docker-compose.yml").items() if "healthcheck" in service}
    spared = services("compose.podman.yml")
    assert set(spared) == checked
    assert all(service["healthcheck"].get("start_interval", "") is None for service in spared.values())


def test_memory_backed_folders_have_only_options_that_podman_knows() -> None:
    for name, service in services("docker-compose.yml").items():
        for folder in service.get("tmpfs", []):
            options = {option.partition("=")[0] for option in folder.partition(":")[2].split(",") if option}
            assert options <= {"exec", "mode", "size"}, f"{name}: {folder}"
