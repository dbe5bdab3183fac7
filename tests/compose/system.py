"""docker-compose.yml as a user runs it, on the engine that this machine has, under a project name of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from lastbyte.provision import curl_quiche
from lastbyte.settings import cache_dir

ROOT = Path(__file__).parents[2]
BASE_IMAGE = "python:3.13-slim-trixie"
COMMAND_LIMIT_S = 900.0


def engine_trouble() -> str:
    """Why no container can be run here; empty when an engine with Compose answers."""
    try:
        for command in (["docker", "compose", "version"], ["docker", "info", "--format", "{{.ServerVersion}}"]):
            done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
            if done.returncode != 0:
                said = (done.stderr or done.stdout).strip().splitlines()
                return f"{' '.join(command)}: {said[-1] if said else done.returncode}"
    except FileNotFoundError:
        return "there is no docker command on PATH"
    except subprocess.TimeoutExpired:
        return "the engine does not answer"
    return ""


def documented(part: str, document: str = "operations.md") -> str:
    """The block of a document that stands under "tested: PART"."""
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    block = text.split(f"<!-- tested: {part} -->\n```")[1].split("```")[0]
    return block.partition("\n")[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@dataclass
class System:
    """One composed system; ``close`` removes its containers, networks and volumes."""

    project: str = "lastbyte-test"
    api_port: int = field(default_factory=free_port)
    dashboard_port: int = field(default_factory=free_port)
    files: list[str] = field(default_factory=lambda: ["docker-compose.yml"])
    watching: subprocess.Popen[str] | None = None
    """README's last command, while it runs."""

    def __post_init__(self) -> None:
        self.project_elsewhere = f"{self.project}-elsewhere"
        self.env_file = ROOT / ".env"
        self.env_before = self.env_file.read_bytes() if self.env_file.is_file() else None
        self.api_url = f"http://127.0.0.1:{self.api_port}"
        self.dashboard_url = f"http://127.0.0.1:{self.dashboard_port}"
        self.http = httpx.Client(base_url=f"{self.api_url}/api/v1", timeout=30)
        self.environment = {
            **os.environ,
            "COMPOSE_PROJECT_NAME": self.project,
            "COMPOSE_PROFILES": "testbed",
            "LASTBYTE_API_BIND": f"127.0.0.1:{self.api_port}",
            "LASTBYTE_DASHBOARD_BIND": f"127.0.0.1:{self.dashboard_port}",
            "LASTBYTE_PYTHON_IMAGE": _base_image(),
        }

    def compose(self, *arguments: str) -> str:
        """Run docker compose in the checkout; its standard output. Fails with what it said."""
        named = [part for file in self.files for part in ("-f", file)]
        return self.run("docker", "compose", "--ansi", "never", *named, *arguments)

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def manual(self, part: str, folder: Path, document: str = "operations.md", *, elsewhere: bool = False) -> None:
        """Run the commands that a document gives under "tested: PART", with ``folder`` as working folder."""
        place = (
            {"COMPOSE_FILE": str(ROOT / "compose.vantage.yml"), "COMPOSE_PROJECT_NAME": self.project_elsewhere}
            if elsewhere
            else {"COMPOSE_FILE": ":".join(str(ROOT / file) for file in self.files)}
        )
        done = subprocess.run(
            ["bash", "-euxo", "pipefail", "-c", documented(part, document)],
            cwd=folder,
            env={**self.environment, **place},
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, f"{part}: {done.returncode}\n{done.stdout}\n{done.stderr}"

    def crontab(self, folder: Path) -> str:
        """Run the line of the documented crontab as cron(8) would, now; returns what it printed.

        Its own variables say where the API and the files are; those alone are set to this system's.
        """
        *settings, line = documented("crontab").strip().splitlines()
        variables = dict(setting.split("=", 1) for setting in settings)
        assert set(variables) == {"API", "CONFIG"}
        command = line.split(maxsplit=5)[5]
        assert "%" not in command, "cron ends the command there"
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd="/",
            env={"PATH": "/usr/bin:/bin", "HOME": "/", "API": f"{self.api_url}/api/v1", "CONFIG": str(folder)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def build(self) -> None:
        """Build the images; curl is taken from this machine's cache when it was built there by the same recipe."""
        if curl_quiche.built() and not os.environ.get("LASTBYTE_TEST_COMPILE_CURL"):
            self.environment["LASTBYTE_CURL_CONTEXT"] = str(cache_dir() / "clients" / curl_quiche.PROGRAM)
            self.files.append("tests/compose/reuse-curl.yml")
        profiles, build, *_ = self.readme()
        self.follow(profiles)
        self.follow(build)

    def readme(self) -> list[str]:
        """The four commands that README gives for containers: profiles into .env, build, up, watch the demo."""
        profiles, build, up, watch = documented("containers", "../README.md").strip().splitlines()
        return [profiles, build, up, watch]

    def start(self, command: str) -> subprocess.Popen[str]:
        """Start a command as README's reader does, in the checkout; ``follow`` is the same with its end awaited.

        Set for it are only what keeps this system apart from another (project, ports) and where it comes from.
        """
        ours = {name: value for name, value in self.environment.items() if name != "COMPOSE_PROFILES"}
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=ROOT,
            env={**ours, "COMPOSE_FILE": ":".join(self.files)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def follow(self, command: str, started: subprocess.Popen[str] | None = None) -> str:
        """What a command printed until its end, which must be a good one."""
        process = started or self.start(command)
        try:
            said, _ = process.communicate(timeout=COMMAND_LIMIT_S)
        except BaseException:
            process.kill()
            process.wait()
            raise
        assert process.returncode == 0, f"{command}: {process.returncode}\n{said[-5000:]}"
        return said

    def containers(self, service: str) -> list[str]:
        """Ids of the running containers of a service."""
        return self.compose("ps", "--quiet", service).split()

    def remote(self, *arguments: str, key: str = "") -> str:
        """Run docker compose for compose.vantage.yml: another machine, as far as one machine can be two."""
        command = (
            "docker",
            "compose",
            "--ansi",
            "never",
            "-p",
            self.project_elsewhere,
            "-f",
            "compose.vantage.yml",
        )
        self.environment["LASTBYTE_VANTAGE_KEY"] = key
        return self.run(*command, *arguments)

    def inspect(self, container: str) -> Any:
        return json.loads(self.run("docker", "inspect", container))[0]

    def sql(self, query: str) -> list[list[str]]:
        """Rows of a query, as the database's own client prints them."""
        shown = self.compose(
            "exec", "-T", "postgres", "psql", "-U", "lastbyte", "-d", "lastbyte", "-AtF", "\t", "-c", query
        )
        return [line.split("\t") for line in shown.splitlines()]

    def get(self, path: str) -> Any:
        answer = self.http.get(path)
        if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            raise httpx.ReadError(answer.text)  # coming up, or gone: ``wait`` goes on
        assert answer.is_success, answer.text
        return answer.json()

    def wait(self, condition: Callable[[], Any], limit_s: float, what: str) -> Any:
        """What ``condition`` returns once it is true; errors of a system that is coming up count as not yet."""
        deadline = time.monotonic() + limit_s
        while True:
            try:
                if found := condition():
                    return found
            except httpx.HTTPError:
                pass
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {limit_s:g} s: {what}\n{self.compose('logs', '--tail', '15')}")
            time.sleep(0.3)

    def close(self) -> None:
        self.http.close()
        self.remote("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "10")
        self.compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "10")
        if self.env_before is None:
            self.env_file.unlink(missing_ok=True)
        else:
            self.env_file.write_bytes(self.env_before)


def _base_image() -> str:
    """The base image, with this machine's own settings of apt where it has any (a mirror's, a proxy's)."""
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False).stdout
    kept = [line for line in dump.splitlines() if line.startswith(("Acquire::Check-", "Acquire::http::Proxy"))]
    if not kept:
        return BASE_IMAGE
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "site.conf").write_text("\n".join(kept) + "\n")
        Path(folder, "Dockerfile").write_text(f"FROM {BASE_IMAGE}\nCOPY site.conf /etc/apt/apt.conf.d/99site\n")
        subprocess.run(["docker", "build", "-q", "-t", "lastbyte-test-base", folder], check=True, capture_output=True)
    return "lastbyte-test-base"
