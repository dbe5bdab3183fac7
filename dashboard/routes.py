"""Which function draws which address."""

from __future__ import annotations

from dashboard.client import ApiClient, ApiProblem
from dashboard.pages import campaign, campaigns, cell, clients, compare, crossover, home, schedules, trends, vantages
from dashboard.pages.place import Place
from dashboard.pages.view import Drawn

PLAIN = {
    "/": home.draw,
    "/campaigns": campaigns.draw,
    "/clients": clients.draw,
    "/compare": compare.draw,
    "/crossover": crossover.draw,
    "/schedules": schedules.draw,
    "/trends": trends.draw,
    "/vantages": vantages.draw,
}


def draw(api: ApiClient, place: Place) -> Drawn:
    """The page of a place; raises what the API client raises, and ApiProblem 404 where there is none."""
    if place.pathname in PLAIN:
        return PLAIN[place.pathname](api, place)
    match place.pathname.strip("/").split("/"):
        case ["campaigns", campaign_id]:
            return campaign.draw(api, place, campaign_id)
        case ["campaigns", campaign_id, "cells", cell_id] if cell_id.isdigit():
            return cell.draw(api, place, campaign_id, int(cell_id))
        case _:
            raise NoSuchPage


class NoSuchPage(ApiProblem):
    """The address leads nowhere."""

    def __init__(self) -> None:
        super().__init__(404, "There is no such page", "The address leads nowhere.", [])
