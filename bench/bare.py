"""The least that FastAPI can do, to be measured beside the API."""

from __future__ import annotations

from fastapi import FastAPI

app = FastAPI()


@app.get("/healthz")
@app.get("/bare")
def bare() -> dict[str, str]:
    """A route as those of the API are: a function that FastAPI runs in a thread and whose answer it checks."""
    return {"status": "ok"}
