"""Where things are and how they are reached, from the environment (``LASTBYTE_*``) with defaults for embedded use."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from pydantic import Field
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


class Settings(BaseSettings):
    """Settings shared by API, worker and dashboard; each is an environment variable ``LASTBYTE_<NAME>``."""

    model_config = SettingsConfigDict(env_prefix="LASTBYTE_", extra="ignore")

    database_url: str = Field(default="postgresql+psycopg://postgres@/lastbyte", description="SQLAlchemy URL.")
    broker_url: str = Field(default="redis://127.0.0.1:6379/0", description="Celery broker: Redis or Valkey.")
    api_url: str = Field(default="http://127.0.0.1:8000", description="Where the dashboard finds the API.")
    endpoints_file: Path = Field(
        default=Path(__file__).parent.parent / "endpoints.json", description="Catalogue of endpoints."
    )
    vantage: str = Field(default="local", description="Name of the place this worker measures from.")
    box: str = Field(default="auto", description="auto, kernel or uml.")
    trial_timeout_s: float = Field(default=60.0, gt=0, description="Limit of one trial, in seconds.")
    courtesy_requests_per_day: int = Field(default=2000, ge=0, description="Fetches per production host and UTC day.")
    courtesy_bytes_per_day: int = Field(
        default=5_000_000_000, ge=0, description="Bytes per production host and UTC day."
    )
    courtesy_min_gap_s: float = Field(
        default=0.2, ge=0, le=60, description="Pause between fetches from a production host, in seconds."
    )


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of this process, read once."""
    return Settings()
