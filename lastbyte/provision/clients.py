"""Bringing the programs of the described clients: compiled by a recipe, or unpacked from a Debian suite."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lastbyte.adapters.client_descriptions import ClientDescription, DebianInstall, load_descriptions
from lastbyte.adapters.executables import Executables, base_environment, find_executable
from lastbyte.adapters.launch import Launch, launch_file, read_launch, write_launch
from lastbyte.domain.client import ClientBuild
from lastbyte.domain.errors import ClientUnavailable, InvalidInput, Unavailable
from lastbyte.provision import curl_quiche, debian
from lastbyte.provision.debian import Progress
from lastbyte.provision.source_clients import folder_of, home_of, install_from_source

Installer = Callable[[Progress], object]

RECIPES: Mapping[str, Installer] = {curl_quiche.PROGRAM: curl_quiche.install}
"""Recipes that a description may name."""


@dataclass(frozen=True, slots=True)
class ClientStatus:
    """One described program, as it is on this machine."""

    description: ClientDescription
    build: ClientBuild | None
    problem: str
    """Why there is no build; empty when there is one."""
    outdated: bool = False
    """True when it was built by an earlier recipe: it runs, but ``install_clients`` would build it anew."""

    @property
    def ready(self) -> bool:
        """True when nothing has to be installed."""
        return self.build is not None and not self.outdated

    @property
    def command(self) -> str:
        """The command that brings it; empty when none does."""
        return command_of(self.description)


def command_of(description: ClientDescription) -> str:
    """The command that brings the program; empty when lastbyte can't."""
    if description.install is None:
        return ""
    return f"lastbyte clients install {description.program}" if description.install.optional else "lastbyte setup"


def client_status(description: ClientDescription) -> ClientStatus:
    """Find the program and ask its version."""
    try:
        build = Executables().build_of(description.clients[0])
    except ClientUnavailable as exc:
        return ClientStatus(description, None, str(exc))
    return ClientStatus(description, build, "", _is_outdated(description))


def client_statuses() -> list[ClientStatus]:
    """Every described program. Raises InvalidInput for a description that can't be read."""
    return [client_status(description) for description in load_descriptions()]


def needs_install(description: ClientDescription) -> bool:
    """True when ``install_client`` would have something to do; looks at files only."""
    if description.install is None:
        return False
    return find_executable(description.executable) is None or _is_outdated(description)


def install_clients(progress: Progress) -> dict[str, str]:
    """Install every described program that is missing and not optional; a failure does not stop the others.

    Returns the programs that failed, each with what is wrong and how to mend it.
    """
    problems: dict[str, str] = {}
    for description in load_descriptions():
        if needs_install(description) and not description.optional:
            try:
                install_client(description, progress)
            except Unavailable as exc:
                problems[description.program] = str(exc)
    return problems


def install_client(description: ClientDescription, progress: Progress) -> None:
    """Install one program in the way its description says. Raises Unavailable, or InvalidInput for no such recipe."""
    install = description.install
    if install is None:
        raise Unavailable(
            f"{description.program} is not installed by lastbyte: {description.source} has no [install]. Put it "
            f"where the description looks for it: {', '.join(description.executable)}."
        )
    if install.debian is not None:
        _install_debian(description, install.debian, progress)
        return
    if install.go or install.python:
        install_from_source(description, progress)
        return
    recipe = RECIPES.get(install.recipe or "")
    if recipe is None:
        known = ", ".join(sorted(RECIPES))
        raise InvalidInput(
            f"{description.source}: install.recipe", f"no recipe {install.recipe!r}.", f"Known: {known}."
        )
    recipe(progress)


def _is_outdated(description: ClientDescription) -> bool:
    """True when the launch file that is in use points at a build of another recipe."""
    found, ours = find_executable(description.executable), read_launch(launch_file(description.program))
    folder = folder_of(description)
    if folder is not None and found is not None and found == ours:
        home = home_of(description, folder) if folder.is_dir() else None
        return home is None or not Path(found.files[0]).is_relative_to(home)
    if description.install is None or description.install.recipe != curl_quiche.PROGRAM:
        return False
    current = curl_quiche.built()
    return found is not None and found == ours and (current is None or found.command != (str(current),))


def _install_debian(description: ClientDescription, wanted: DebianInstall, progress: Progress) -> None:
    problems: list[str] = []
    for suite in wanted.suites:
        try:
            tree = debian.unpacked(suite, wanted.packages, f"client-{description.program}", progress)
        except Unavailable as exc:
            problems.append(str(exc))
            continue
        launch = _launch_of(tree, wanted)
        shown = _output([*launch.command, *description.clients[0].version_argv], description.clients[0].env)
        if shown and wanted.requires in shown:
            write_launch(launch_file(description.program), launch)
            return
        problems.append(f"Debian {suite}'s {wanted.program} does not show {wanted.requires!r} in its version.")
    raise Unavailable(f"{description.program} can't be had: {' '.join(problems)} Then run: {command_of(description)}")


def _launch_of(tree: debian.UnpackedRoot, wanted: DebianInstall) -> Launch:
    """Start through the unpacked loader itself: a wrapper script would cost each trial a shell."""
    command = tree.command(wanted.program)
    program = tree.root / wanted.program.lstrip("/")
    listed = _output([command[0], "--list", *command[1:]], {})  # ld.so(8)
    libraries = {
        str(Path(word).resolve())
        for line in listed.splitlines()
        for word in line.split()
        if word.startswith(str(tree.root)) and Path(word).is_file()
    }
    files = (str(program), *sorted(libraries - {str(program.resolve())}))
    packages = " ".join(f"{name}={version}" for name, version in tree.versions.items())
    return Launch(tuple(command), files, f"Debian {tree.suite}: {packages}")


def _output(command: list[str], env: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=30, env={**base_environment(), **env}
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
