"""Where things are and how they are reached, from the environment (``LASTBYTE_*``) with defaults for embedded use."""

from __future__ import annotations

import enum
import os
from functools import lru_cache
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


def cache_dir() -> Path:
    """Folder for what is built or unpacked once: ``LASTBYTE_CACHE``, else ``~/.cache/lastbyte``."""
    configured = os.environ.get("LASTBYTE_CACHE")
    if configured:
        return Path(configured).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base).absolute() / "lastbyte"


def var_dir() -> Path:
    """Folder for the state of a running system: ``LASTBYTE_VAR``, else ``./var``."""
    return Path(os.environ.get("LASTBYTE_VAR", "var")).expanduser().absolute()


def testbed_dir() -> Path:
    """Folder where a running testbed describes itself: ``LASTBYTE_TESTBED``, else ``var``; shared by containers."""
    configured = os.environ.get("LASTBYTE_TESTBED")
    return Path(configured).expanduser().absolute() if configured else var_dir()


testbed_dir.__test__ = False  # type: ignore[attr-defined] # not a test, whatever its name starts with


class KeysWanted(enum.StrEnum):
    """When callers of the API must show a key."""

    AUTO = "auto"
    """Unless only this machine reaches it."""
    REQUIRED = "required"
    OFF = "off"
    """Never; it then runs on loopback only."""


class Settings(BaseSettings):
    """Settings shared by API, worker and dashboard; each is an environment variable ``LASTBYTE_<NAME>``.

    Or a file ``lastbyte_<name>`` in the folder that LASTBYTE_SECRETS names; the environment goes before it.
    """

    model_config = SettingsConfigDict(env_prefix="LASTBYTE_", extra="ignore", env_ignore_empty=True)

    database_url: str = Field(default="postgresql+psycopg://postgres@/lastbyte", description="SQLAlchemy URL.")
    broker_url: str = Field(default="redis://127.0.0.1:6379/0", description="Celery broker: Redis or Valkey.")
    api_url: str = Field(default="http://127.0.0.1:8000", description="Where the dashboard finds the API.")
    api_host: str = Field(default="127.0.0.1", description="Address that the API listens on.")
    api_port: int = Field(default=8000, ge=1, le=65535, description="Port that the API listens on.")
    api_published: str = Field(
        default="",
        description="Where a container's port is published, as host:port; counts in place of api_host for keys.",
    )
    keys: KeysWanted = Field(
        default=KeysWanted.AUTO,
        description="API keys: auto (asked for unless only loopback reaches it), required, off.",
    )
    api_key: SecretStr = Field(
        default=SecretStr(""),
        description="Key that dashboard and commands show to the API, and that the API takes with all rights.",
    )
    rate_limit_per_minute: int = Field(default=600, ge=1, description="Requests per minute of a key without its own.")
    endpoints_file: Path = Field(
        default=Path(__file__).parent.parent / "endpoints.json", description="Catalogue of endpoints."
    )
    log_format: str = Field(
        default="auto",
        pattern="^(auto|json|console)$",
        description="json, console, or auto: console on a terminal, else key=value.",
    )
    worker_metrics_port: int = Field(default=0, ge=0, le=65535, description="Port of the worker's /metrics; 0: none.")
    worker_metrics_host: str = Field(default="127.0.0.1", description="Address of the worker's /metrics.")
    vantage: str = Field(default="local", description="Name of the place this worker measures from.")
    box: str = Field(default="auto", description="auto, kernel or uml.")
    address_family: str = Field(
        default="prefer-ipv4",
        pattern="^(prefer-)?ipv[46]$",
        description="Addresses that workers measure: ipv4, ipv6, prefer-ipv4 or prefer-ipv6; one per cell, all arms.",
    )
    trial_timeout_s: float = Field(default=60.0, gt=0, description="Limit of one trial, in seconds.")
    cell_limit_s: float = Field(
        default=3600.0, gt=0, description="A worker hands a cell back after so long; it goes on with it later."
    )
    cell_grace_s: float = Field(
        default=60.0, gt=0, description="A process still stuck so long after that and its longest trial is killed."
    )
    lease_s: float = Field(
        default=20.0,
        ge=1,
        le=60,
        description="A worker that is silent for so long has lost its cell to others; it renews four times as often.",
    )
    trial_retention_days: int = Field(
        default=0, ge=0, description="Trials are dropped by the month, so many days after it ended; 0: never."
    )
    allowed_networks: str = Field(
        default="",
        description="Networks inside which may be measured all the same, in CIDR notation, separated by commas.",
    )
    courtesy_requests_per_day: int = Field(default=2000, ge=0, description="Fetches per production host and UTC day.")
    courtesy_bytes_per_day: int = Field(
        default=5_000_000_000, ge=0, description="Bytes per production host and UTC day."
    )
    courtesy_min_gap_s: float = Field(
        default=0.2, ge=0, le=60, description="Pause between fetches from a production host, in seconds."
    )
    artifacts_dir: Path | None = Field(
        default=None, description="Folder for what watched trials leave; default: artifacts in LASTBYTE_VAR."
    )
    artifacts_max_bytes: int = Field(
        default=5_000_000_000, ge=0, description="Size of that folder from which on nothing more is taken in."
    )
    artifacts_days: float = Field(default=14.0, gt=0, description="Days after which they are removed.")

    @property
    def artifacts_folder(self) -> Path:
        """Folder for what watched trials leave."""
        return (self.artifacts_dir or var_dir() / "artifacts").expanduser().absolute()


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of this process, read once."""
    return Settings(_secrets_dir=secrets_dir())  # type: ignore[call-arg] # an argument of BaseSettings


def secrets_dir() -> Path | None:
    """Folder of settings that must not stand in an environment; None when none is named or it is not there."""
    configured = os.environ.get("LASTBYTE_SECRETS")
    return Path(configured) if configured and Path(configured).is_dir() else None
