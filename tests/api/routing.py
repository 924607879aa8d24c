"""The routes of the application, without stores."""

from fastapi import FastAPI
from fastapi.routing import APIRoute

from api import app as application
from api.app import create_app
from core.settings.settings import Settings

ROUTES = [
    route
    for part in application._PARTS
    for route in part.router.routes
    if isinstance(route, APIRoute)
]


def app_without_stores() -> FastAPI:
    """Return an application whose stores do not answer: only routing matters."""
    away = "http://127.0.0.1:9"
    return create_app(Settings(**{"fuseki_url": away, "store_read_url": away}))
