"""curl with HTTP/3 by quiche, compiled once from crates.io and kept in the cache.

``clients/curl-quiche/Cargo.lock`` pins and checksums every part: quiche, BoringSSL (inside boring-sys), nghttp2 and
curl itself, whose whole source the curl-sys crate carries. The folder in the cache is named after the digest of the
recipe, so a changed recipe is built anew and an old build stays usable. About two minutes on two cores.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.resources
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lastbyte.adapters.launch import Launch, launch_file, read_launch, write_launch
from lastbyte.domain.errors import Unavailable
from lastbyte.provision import toolchain
from lastbyte.provision.debian import Progress
from lastbyte.settings import cache_dir

PROGRAM = "curl-quiche"

_RECIPE_FILES = ("Cargo.toml", "Cargo.lock", "src/lib.rs", "requirements.txt")

_CMAKE_OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DCMAKE_EXE_LINKER_FLAGS=-s -Wl,--gc-sections",  # a small file starts faster, and each trial starts it anew
    "-DBUILD_CURL_EXE=ON",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DBUILD_STATIC_LIBS=ON",
    "-DBUILD_TESTING=OFF",
    "-DBUILD_EXAMPLES=OFF",
    "-DBUILD_LIBCURL_DOCS=OFF",
    "-DBUILD_MISC_DOCS=OFF",
    "-DENABLE_CURL_MANUAL=OFF",
    "-DCURL_USE_PKGCONFIG=OFF",  # nothing of the system but libc and zlib may slip in
    "-DUSE_QUICHE=ON",
    "-DUSE_NGHTTP2=ON",
    "-DNGHTTP2_USE_STATIC_LIBS=ON",
    "-DOPENSSL_USE_STATIC_LIBS=ON",
    # Both symbols are there, but CMake's checks link without libstdc++ and miss them; without the second, QLOGDIR
    # gives no file.
    "-DHAVE_SSL_SET_QUIC_USE_LEGACY_CODEPOINT=1",
    "-DHAVE_QUICHE_CONN_SET_QLOG_FD=1",
    "-DCMAKE_C_STANDARD_LIBRARIES=-l:libstdc++.a -lm -lpthread -ldl",
    "-DCURL_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt",
    "-DCURL_DISABLE_LDAP=ON",
    "-DCURL_USE_LIBPSL=OFF",
    "-DUSE_LIBIDN2=OFF",
    "-DCURL_USE_LIBSSH2=OFF",
    "-DCURL_BROTLI=OFF",
    "-DCURL_ZSTD=OFF",
)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Where cargo left what curl is linked with."""

    quiche_archive: Path
    quiche_source: Path
    curl_source: Path
    boringssl: Path
    nghttp2: Path


def recipe_dir() -> Path:
    """Folder of the Cargo project."""
    return Path(str(importlib.resources.files("clients"))) / PROGRAM


def recipe_digest() -> str:
    """First 16 hex digits of the SHA-256 of the recipe: lock file, Cargo project and CMake options."""
    digest = hashlib.sha256()
    for name in _RECIPE_FILES:
        digest.update(name.encode() + b"\0" + (recipe_dir() / name).read_bytes() + b"\0")
    digest.update("\0".join(_CMAKE_OPTIONS).encode())
    return digest.hexdigest()[:16]


def built() -> Path | None:
    """The curl that this recipe built earlier; None when there is none."""
    program = cache_dir() / "clients" / PROGRAM / recipe_digest() / "bin/curl"
    return program if os.access(program, os.X_OK) else None


def install(progress: Progress) -> Path:
    """Build curl unless it is there, and point the launch file at it. Safe against concurrent calls.

    Raises Unavailable naming the step that failed, its log, and how to mend it.
    """
    with _locked(cache_dir() / "clients" / PROGRAM, progress):
        program = built() or _build(progress)
        launch = Launch((str(program),), (str(program),))
        if read_launch(launch_file(PROGRAM)) != launch:
            write_launch(launch_file(PROGRAM), launch)
    return program


@contextlib.contextmanager
def _locked(folder: Path, progress: Progress) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another process that builds it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(progress: Progress) -> Path:
    missing = toolchain.missing_build_packages()
    if missing:
        raise Unavailable(
            f"curl-quiche can't be compiled: {', '.join(missing)} not installed. "
            f"Run: apt-get install -y {' '.join(missing)}   and then: lastbyte setup"
        )
    base = cache_dir() / "clients" / PROGRAM
    log = base / "build.log"
    log.write_text("")
    for left in base.glob(".build.*"):  # of a build that was killed; no other one runs, because we hold the lock
        shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=".build.", dir=base))
    try:
        rust = toolchain.find_rust(progress)
        progress("fetching the sources that Cargo.lock pins, and libclang")
        project = work / "project"
        shutil.copytree(recipe_dir(), project, ignore=shutil.ignore_patterns("target"))
        libclang = toolchain.fetch_libclang(project / "requirements.txt", work / "libclang", log)
        parts = _compile_parts(project, rust, libclang, log, progress)
        curl = _compile_curl(work, parts, log, progress)
        target = work / "done/bin"
        target.mkdir(parents=True)
        shutil.copy2(curl, target / "curl")
        _check(target / "curl", log)
        final = base / recipe_digest()
        shutil.rmtree(final, ignore_errors=True)
        target.parent.rename(final)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return final / "bin/curl"


def _compile_parts(project: Path, rust: toolchain.Rust, libclang: Path, log: Path, progress: Progress) -> _Parts:
    env = {
        **os.environ,
        **rust.env,
        "LIBCLANG_PATH": str(libclang),
        "BINDGEN_EXTRA_CLANG_ARGS": f"-I{_gcc_include()}",  # the wheel has no compiler headers (stddef.h) of its own
        "CARGO_TARGET_DIR": str(project / "target"),
    }
    cargo = str(rust.cargo)
    metadata = _run(
        [cargo, "metadata", "--locked", "--all-features", "--format-version", "1"],
        project,
        env,
        log,
        "fetching the sources",
        "Check that the crates.io registry is reachable",
    )
    sources = {p["name"]: Path(p["manifest_path"]).parent for p in json.loads(metadata)["packages"]}
    version = ".".join(map(str, rust.version))
    progress(f"compiling quiche and BoringSSL with Rust {version} (about two minutes)")
    messages = _run(
        [cargo, "build", "--release", "--locked", "--message-format=json-render-diagnostics"],
        project,
        env,
        log,
        "compiling quiche",
        "Look at the end of the log",
    )
    archive: Path | None = None
    out: dict[str, Path] = {}
    for message in map(json.loads, messages.splitlines()):
        package = message.get("package_id", "")
        if message["reason"] == "build-script-executed":
            out.update((n, Path(message["out_dir"])) for n in ("boring-sys", "libnghttp2-sys") if f"#{n}@" in package)
        elif message["reason"] == "compiler-artifact" and "#quiche@" in package:
            archive = next((Path(name) for name in message["filenames"] if name.endswith(".a")), archive)
    if archive is None or len(out) != 2:
        raise Unavailable(f"cargo built quiche but not the static library that curl needs; its log is {log}.")
    return _Parts(archive, sources["quiche"], sources["curl-sys"] / "curl", out["boring-sys"], out["libnghttp2-sys"])


def _compile_curl(work: Path, parts: _Parts, log: Path, progress: Progress) -> Path:
    progress("compiling curl")
    prefix = work / "prefix"
    (prefix / "lib").mkdir(parents=True)
    for archive in (parts.boringssl / "build/libssl.a", parts.boringssl / "build/libcrypto.a"):
        shutil.copy2(archive, prefix / "lib")
    shutil.copy2(parts.quiche_archive, prefix / "lib/libquiche.a")
    shutil.copy2(parts.nghttp2 / "i/lib/libnghttp2.a", prefix / "lib")
    shutil.copytree(parts.boringssl / "boringssl/include", prefix / "include")
    shutil.copytree(parts.nghttp2 / "i/include/nghttp2", prefix / "include/nghttp2")
    shutil.copy2(parts.quiche_source / "include/quiche.h", prefix / "include")
    source = work / "curl"
    shutil.copytree(parts.curl_source, source)
    for folder in ("docs", "docs/examples"):  # the crate leaves docs/ out, CMakeLists.txt names it
        (source / folder).mkdir(exist_ok=True)
        (source / folder / "CMakeLists.txt").touch()
    options = (
        *_CMAKE_OPTIONS,
        f"-DOPENSSL_ROOT_DIR={prefix}",
        f"-DQUICHE_INCLUDE_DIR={prefix}/include",
        f"-DQUICHE_LIBRARY={prefix}/lib/libquiche.a",
        f"-DNGHTTP2_INCLUDE_DIR={prefix}/include",
        f"-DNGHTTP2_LIBRARY={prefix}/lib/libnghttp2.a",
    )
    build = work / "curl-build"
    remedy = "Look at the end of the log"
    env = dict(os.environ)
    _run(["cmake", "-S", str(source), "-B", str(build), *options], work, env, log, "configuring curl", remedy)
    jobs = str(len(os.sched_getaffinity(0)))
    _run(["cmake", "--build", str(build), "--parallel", jobs], work, env, log, "compiling curl", remedy)
    return build / "src/curl"


def _check(program: Path, log: Path) -> None:
    shown = _run(
        [str(program), "-V"], program.parent, dict(os.environ), log, "starting the new curl", "Look at the log"
    )
    if not re.search(r"quiche/", shown) or not re.search(r"^Features:.* HTTP2 .*\bHTTP3\b", shown, re.MULTILINE):
        raise Unavailable(f"The curl that was built lacks HTTP/2 or HTTP/3 by quiche; the log is {log}.")


def _gcc_include() -> str:
    done = subprocess.run(["cc", "-print-file-name=include"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _run(command: Sequence[str], cwd: Path, env: Mapping[str, str], log: Path, what: str, remedy: str) -> str:
    """Run a build step, its diagnostics to ``log``; its standard output is returned. Raises Unavailable."""
    started = time.monotonic()
    with log.open("a") as out:
        out.write(f"$ {' '.join(command)}\n")
        out.flush()
        try:
            done = subprocess.run(
                list(command), cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=out, text=True, check=False
            )
        except OSError as exc:
            raise Unavailable(f"curl-quiche can't be built: {command[0]} can't be started: {exc.strerror}.") from exc
        if "--message-format=json-render-diagnostics" not in command and command[1:2] != ["metadata"]:
            out.write(done.stdout)
        out.write(f"# exit {done.returncode} after {time.monotonic() - started:.1f} s\n\n")
    if done.returncode != 0:
        last = [
            line for line in log.read_text().splitlines() if re.search(r"\berror\b|CMake Error", line, re.IGNORECASE)
        ]
        said = f" ({last[-1].strip()[:200]})" if last else ""
        raise Unavailable(
            f"curl-quiche can't be built: {what} failed{said}. The whole log is {log}. {remedy}, then: lastbyte setup"
        )
    return done.stdout
