"""Which routes a token with a scope may use: those that are declared as ``scoped``.

Such a route answers from the stores only, whose clients enforce the scope, or from what
is the same for everyone; or it checks the scope itself.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import Request

from core.stores.errors import OutOfScopeError
from core.stores.scope import current_scope

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

_SCOPED: set[Callable[..., Any]] = set()


def scoped(endpoint: Endpoint) -> Endpoint:
    """Declare that the answer of a route respects the scope of its caller."""
    _SCOPED.add(endpoint)
    return endpoint


def is_scoped(endpoint: Callable[..., Any]) -> bool:
    """Whether a route was declared to respect scopes."""
    return endpoint in _SCOPED


async def refuse_unscoped(request: Request) -> None:
    """Refuse (403) tokens with a scope unless the route respects it; for all routes."""
    scope, route = current_scope(), request.scope["route"]
    if scope and not is_scoped(route.endpoint):
        raise OutOfScopeError(
            f"the token is limited ({scope}), and {request.method} {route.path} does "
            "not respect limits: use a token without a scope"
        )
