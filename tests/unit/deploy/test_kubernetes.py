"""deploy/kubernetes against Kubernetes' own schemas, and the rule that only the worker has rights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

BASE = Path(__file__).parents[3] / "deploy" / "kubernetes" / "base"
KUBERNETES = "1.37"


def documents() -> Iterator[tuple[str, Any]]:
    for name in yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]:
        for document in yaml.safe_load_all((BASE / name).read_text()):
            yield f"{document['kind']} {document['metadata']['name']}", document


def pods() -> Iterator[tuple[str, Any]]:
    for name, document in documents():
        if "template" in document.get("spec", {}):
            yield name, document["spec"]["template"]["spec"]


def test_every_file_is_listed() -> None:
    listed = yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == sorted(file.name for file in BASE.glob("*.yaml") if file.name != "kustomization.yaml")


@pytest.mark.parametrize(("name", "document"), list(documents()))
def test_it_is_what_kubernetes_knows(name: str, document: Any) -> None:
    kubernetes_validate.validate(document, KUBERNETES, strict=True)


@pytest.mark.parametrize(("name", "pod"), list(pods()))
def test_rights_are_given_to_the_worker_alone(name: str, pod: Any) -> None:
    is_worker = name.startswith("Deployment worker-")
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"].get("runAsNonRoot", False) is not is_worker
    for container in [*pod["containers"], *pod.get("initContainers", [])]:
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"]
        assert not context["allowPrivilegeEscalation"]
        assert context["capabilities"]["drop"] == ["ALL"]
        assert set(context["capabilities"].get("add", [])) == (
            {"NET_ADMIN", "NET_RAW", "SYS_ADMIN", "SYS_NICE"} if is_worker else set()
        )
        assert container["resources"]["limits"]["memory"]
    devices = [volume for volume in pod.get("volumes", []) if "hostPath" in volume]
    assert [volume["hostPath"]["path"] for volume in devices] == (["/dev/net/tun"] if is_worker else [])
