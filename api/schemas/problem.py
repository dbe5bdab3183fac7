"""RFC 9457 problem details."""

from __future__ import annotations

from pydantic import BaseModel, Field

MEDIA_TYPE = "application/problem+json"


class FieldProblem(BaseModel):
    """One field that can't be used."""

    field: str = Field(description="Dotted name of the field.", examples=["profiles.0"])
    message: str = Field(description="What is wrong.", examples=["there is no profile 'los-1'."])
    remedy: str = Field(default="", description="How to mend it.", examples=["Known: baseline, loss-1."])


class Problem(BaseModel):
    """Why a request failed."""

    type: str = Field(description="Kind of problem, stable.", examples=["urn:lastbyte:problem:invalid-input"])
    title: str = Field(description="The kind in words.")
    status: int = Field(description="The HTTP status again.")
    detail: str = Field(description="What happened this time.")
    instance: str = Field(description="Path of the request.")
    errors: list[FieldProblem] = Field(default_factory=list, description="Fields that can't be used, if any.")
